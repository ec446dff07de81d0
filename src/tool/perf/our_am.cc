#include <array>
#include <string>
#include <vector>

#include "tool/perf/am_end.h"
#include "tool/perf/clock.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"
#include "tool/perf/touch.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kTimed = 50000;
constexpr am::HandlerNumber kAsk = 1, kAnswer = 2;
constexpr std::size_t kSegments = 8;  // places of long messages

// Requests and replies of one kind, in turn. `send` gives a request, or replies.
template <class Ask, class Answer>
std::vector<double> in_turn(Cores cores, Place place, am::Way way, Ask ask, Answer answer) {
  return run_parties(
      cores, kTimed, {.place = place},
      [ask, way](Party& party, Room& room) mutable {
        {
          AmEnd end(party, {.way = way});
          end.meet();
          std::uint64_t answered = 0;
          good(end.endpoint.set_handler(kAnswer,
                                        [&](am::Token&, const am::Arrival& arrival) {
                                          expect(arrival.arguments[0] == static_cast<std::int32_t>(answered),
                                                 "another request's answer");
                                          ++answered;
                                        }),
               "no handler");
          std::vector<std::uint64_t> moments(kTimed + 1);
          for (std::uint64_t i = 0; i <= kWarmUp + kTimed; ++i) {
            if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
            if (i == kWarmUp + kTimed) break;
            ask(end.endpoint, i);
            while (answered != i + 1) end.poll();
          }
          room.report(half_round_trips(moments));
          party.finish();
        }
      },
      {.place = place},
      [answer, way](Party& party, Room&) mutable {
        {
          AmEnd end(party, {.way = way});
          std::uint64_t asked = 0;
          good(end.endpoint.set_handler(kAsk,
                                        [&](am::Token& token, const am::Arrival& arrival) {
                                          answer(token, arrival);
                                          ++asked;
                                        }),
               "no handler");
          end.meet();
          while (asked != kWarmUp + kTimed) end.poll();
          party.finish();
        }
      });
}

std::int32_t number(std::uint64_t i) { return static_cast<std::int32_t>(i); }

Meter arguments_latency(const char* name, std::size_t count, am::Way way, Place place = Place::shm) {
  const auto round = [count, way, place](Cores cores, int) {
    return in_turn(
        cores, place, way,
        [count](am::Endpoint& endpoint, std::uint64_t i) {
          std::array<std::int32_t, am::kMostArguments> all{number(i), 1, 2, 3};
          good(endpoint.request(0, kAsk, std::span(all).first(count)), "no request");
        },
        [](am::Token& token, const am::Arrival& arrival) {
          good(token.reply(kAnswer, arrival.arguments), "no reply");
        });
  };
  return {.name = prefix(place) + name, .round = round, .single_operations = true};
}

}  // namespace

Meter am_short(Place place) { return arguments_latency("am.short.16.oneway", 4, am::Way::slots, place); }
Meter am_longest() { return arguments_latency("am.args16.oneway", am::kMostArguments, am::Way::slots); }
Meter am_short_over_vi() { return arguments_latency("am.vi.short.16.oneway", 4, am::Way::vi); }
Meter am_short_over_vi3() { return arguments_latency("am.vi3.short.16.oneway", 4, am::Way::vi3); }

Meter am_medium() {
  const auto round = [](Cores cores, int) {
    return in_turn(
        cores, Place::shm, am::Way::slots,
        [bytes = std::vector<std::byte>(am::kMostMedium)](am::Endpoint& endpoint, std::uint64_t i) mutable {
          hamlyn_fill(bytes.data(), bytes.size(), i);
          good(endpoint.request(0, kAsk, bytes, std::array{number(i)}), "no request");
        },
        [bytes = std::vector<std::byte>(am::kMostMedium)](am::Token& token,
                                                          const am::Arrival& arrival) mutable {
          const auto i = static_cast<std::uint64_t>(arrival.arguments[0]);
          expect(
              hamlyn_read_all(arrival.data.data(), arrival.data.size()) == hamlyn_filled_sum(bytes.size(), i),
              "a message was read that is not the one sent");
          hamlyn_fill(bytes.data(), bytes.size(), i);
          good(token.reply(kAnswer, bytes, arrival.arguments), "no reply");
        });
  };
  return {.name = prefix(Place::shm) + "am.medium.4096.oneway", .round = round, .single_operations = true};
}

namespace {

// Requests as fast as they go, to a handler that does not reply. `handle` looks at each.
template <class Ask, class Handle>
std::vector<double> streamed(Cores cores, const am::EndpointOptions& options, std::uint64_t warm_up,
                             std::uint64_t timed, Ask ask, Handle handle, double bytes) {
  return run_parties(
      cores, 1, {},
      [=](Party& party, Room&) {
        {
          AmEnd end(party, options);
          end.meet();
          bool over = false;
          good(end.endpoint.set_handler(kAnswer, [&](am::Token&, const am::Arrival&) { over = true; }),
               "no handler");
          Ask asks = ask;
          for (std::uint64_t i = 0; i != warm_up + timed; ++i) asks(end.endpoint, i);
          while (!over) end.poll();
          party.finish();
        }
      },
      {},
      [=](Party& party, Room& room) {
        {
          AmEnd end(party, options);
          std::vector<std::byte> segment(bytes > 1e4 ? kSegments * 65536 : 64);
          good(end.endpoint.set_segment(segment), "no segment");
          std::uint64_t asked = 0, start = 0;
          good(end.endpoint.set_handler(kAsk,
                                        [&](am::Token& token, const am::Arrival& arrival) {
                                          if (asked == warm_up) start = hamlyn_ticks();
                                          handle(arrival, asked);
                                          if (++asked == warm_up + timed)
                                            good(token.reply(kAnswer), "no reply");
                                        }),
               "no handler");
          end.meet();
          while (asked != warm_up + timed) end.poll();
          const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
          room.report(std::array{static_cast<double>(timed) * (bytes != 0 ? bytes : 1e9) / ns});
          party.finish();
        }
      });
}

}  // namespace

Meter am_rate(std::uint32_t credits) {
  const auto round = [credits](Cores cores, int) {
    return streamed(
        cores, {.credits = credits}, 100'000, 2'000'000,
        [](am::Endpoint& endpoint, std::uint64_t i) {
          good(endpoint.request(0, kAsk, std::array<std::int32_t, 4>{number(i), 1, 2, 3}), "no request");
        },
        [](const am::Arrival& arrival, std::uint64_t i) {
          expect(arrival.arguments[0] == number(i), "a message is missing");
        },
        0);
  };
  return {.name = prefix(Place::shm) + "am.short." + std::to_string(credits) + ".rate", .round = round};
}

Meter am_medium_bandwidth() {
  const auto round = [](Cores cores, int) {
    return streamed(
        cores, {.credits = 16}, warm_up_messages(4096), timed_messages(4096),
        [bytes = std::vector<std::byte>(4096)](am::Endpoint& endpoint, std::uint64_t i) mutable {
          hamlyn_fill(bytes.data(), bytes.size(), i);
          good(endpoint.request(0, kAsk, bytes), "no request");
        },
        [](const am::Arrival& arrival, std::uint64_t i) {
          expect(hamlyn_read_all(arrival.data.data(), 4096) == hamlyn_filled_sum(4096, i),
                 "not what was sent");
        },
        4096);
  };
  return {.name = prefix(Place::shm) + "am.medium.touched.4096.bandwidth", .round = round};
}

Meter am_long_bandwidth() {
  constexpr std::size_t kBytes = 65536;
  const auto round = [](Cores cores, int) {
    return streamed(
        cores, {.credits = kSegments / 2}, warm_up_messages(kBytes), timed_messages(kBytes),
        [bytes = std::vector<std::byte>(kBytes)](am::Endpoint& endpoint, std::uint64_t i) mutable {
          hamlyn_fill(bytes.data(), bytes.size(), i);
          good(endpoint.request_to(0, i % kSegments * kBytes, kAsk, bytes), "no request");
        },
        [](const am::Arrival& arrival, std::uint64_t i) {
          expect(hamlyn_read_all(arrival.data.data(), kBytes) == hamlyn_filled_sum(kBytes, i),
                 "not what was sent");
        },
        kBytes);
  };
  return {.name = prefix(Place::shm) + "am.long.touched.65536.bandwidth", .round = round};
}

namespace {

// Bursts of requests: what a request costs its sender, or its receiver when the whole burst is there.
Meter burst_cost(am::Way way, bool receiver) {
  constexpr std::uint64_t kBursts = 3000, kBurst = 32;
  constexpr int kUntilAllAreThere = 200;  // pauses
  // A VI has credits for one burst.
  const am::EndpointOptions options{.credits = way == am::Way::slots ? 0 : std::uint32_t{kBurst}, .way = way};
  const auto round = [=](Cores cores, int) {
    return run_parties(
        cores, kBursts, {},
        [=](Party& party, Room& room) {
          {
            AmEnd end(party, options);
            end.meet();
            std::uint64_t answered = 0;
            good(end.endpoint.set_handler(kAnswer, [&](am::Token&, const am::Arrival&) { ++answered; }),
                 "no handler");
            std::vector<double> times(kBursts);
            for (std::uint64_t burst = 0; burst != kBursts; ++burst) {
              const std::uint64_t start = hamlyn_ticks();
              for (std::uint64_t i = 0; i != kBurst; ++i)
                good(end.endpoint.request(0, kAsk, std::array<std::int32_t, 4>{number(i), 1, 2, 3}),
                     "no request");
              times[burst] = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() / kBurst;
              while (answered != burst + 1) end.poll();
            }
            if (!receiver) room.report(times);
            party.finish();
          }
        },
        {},
        [=](Party& party, Room& room) {
          {
            AmEnd end(party, options);
            std::uint64_t asked = 0;
            good(end.endpoint.set_handler(kAsk,
                                          [&](am::Token& token, const am::Arrival&) {
                                            if (++asked % kBurst == 0) good(token.reply(kAnswer), "no reply");
                                          }),
                 "no handler");
            end.meet();
            std::vector<double> times(kBursts);
            for (std::uint64_t burst = 0; burst != kBursts; ++burst) {
              while (asked == burst * kBurst) end.poll();
              hamlyn_rest(kUntilAllAreThere);
              const std::uint64_t before = asked, start = hamlyn_ticks();
              while (asked != (burst + 1) * kBurst) end.poll();
              times[burst] = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() /
                             static_cast<double>((burst + 1) * kBurst - before);
            }
            if (receiver) room.report(times);
            party.finish();
          }
        });
  };
  const std::string layer = way == am::Way::slots ? "am." : "am.vi.";
  return {.name = prefix(Place::shm) + layer + (receiver ? "or.cost" : "os.cost"), .round = round};
}

}  // namespace

Meter am_send_cost(am::Way way) { return burst_cost(way, false); }
Meter am_receive_cost(am::Way way) { return burst_cost(way, true); }

}  // namespace hamlyn::tool::perf
