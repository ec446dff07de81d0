// Active messages with the whole library on simulated hosts, where packets are lost, late and repeated, links
// are cut, and anybody dies at any time.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/am/hosted_am.h"
#include "test/rpc/seeds.h"
#include "test/simulation/idle.h"

namespace hamlyn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Ways, HostedAm, testing::Values(am::Way::slots, am::Way::vi, am::Way::vi3),
                         name_of_way);

TEST_P(HostedAm, calls_handlers_there_and_back) {
  Hosted hosted;
  Book book;
  bool over = false;
  hosted.add([&](Hosted& all) {
    AmEnd end(all);
    int asked = 0;
    end.good(end.endpoint.set_handler(
                 1,
                 [&](Token& token, const Arrival& arrival) {
                   ++asked;
                   std::array<std::int32_t, 2> back{arrival.arguments[0] + 1,
                                                    static_cast<std::int32_t>(arrival.arguments.size())};
                   end.good(token.reply(2, back), "a reply");
                   all.expect(token.reply(2, back) == Result::bad_argument, "a second one");
                   all.expect(end.bundle.poll() == Result::in_use, "a poll in a handler");
                   all.expect(end.endpoint.request(0, 1) == Result::in_use, "a request in a handler");
                 }),
             "a handler");
    book.names[0] = end.endpoint.name();
    end.poll_until([&] { return over; });
    all.expect(asked == 100, "each once");
  });
  hosted.add([&](Hosted& all) {
    AmEnd end(all);
    while (!book.names.contains(0)) all.host.pause(1000);
    end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
    int answered = 0;
    end.good(end.endpoint.set_handler(2,
                                      [&](Token&, const Arrival& arrival) {
                                        all.expect(arrival.arguments[0] == answered + 1, "in order");
                                        ++answered;
                                      }),
             "a handler");
    for (int i = 0; i != 100; ++i) {
      std::vector<std::int32_t> arguments(static_cast<std::size_t>(1 + i % 16), i);
      end.good(end.endpoint.request(0, 1, arguments), "a request");
    }
    all.expect(end.poll_until([&] { return answered == 100; }), "all are answered");
    over = true;
  });
  hosted.run();
}

TEST_P(HostedAm, carries_each_kind_and_length_on_rough_hosts) {
  for_each_seed(kRoughSeeds / 3, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    Book book;
    bool over = false;
    hosted.add([&](Hosted& all) { serve(all, book, over); });
    hosted.add([&](Hosted& all) {
      AmEnd end(all, {.credits = 1 + static_cast<std::uint32_t>(seed % 8)});
      Client client(all, end);
      while (!book.names.contains(0)) all.host.pause(1000);
      end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
      for (std::int32_t i = 0; i != 48; ++i) client.ask(i);
      all.expect(end.poll_until([&] { return client.over == 48; }), "all are answered");
      end.good(end.endpoint.get(0, 10, kFetched, 5000, 20), "a get");
      all.expect(end.poll_until([&] { return client.over == 49; }), "what was asked for comes");
      all.expect(end.came_back.empty(), "nothing comes back");
      over = true;
    });
    hosted.run();
  });
}

TEST_P(HostedAm, tells_of_each_request_whichever_moment_the_other_side_dies_at) {
  with_a_death_at_any_time(1, [](Hosted& hosted) {
    auto book = std::make_shared<Book>();
    auto over = std::make_shared<bool>(false);
    hosted.add([book, over](Hosted& all) { serve(all, *book, *over); });
    hosted.add([book, over](Hosted& all) {
      AmEnd end(all, {.credits = 4});
      Client client(all, end);
      while (!book->names.contains(0) && all.alive(1)) all.host.pause(1000);
      if (!book->names.contains(0)) return;
      end.good(end.endpoint.map(0, book->names[0], 7), "a mapping");
      for (std::int32_t i = 0; i != 24; ++i) client.ask(i);
      all.expect(end.poll_until([&] { return client.over + static_cast<int>(end.came_back.size()) == 24; }),
                 "each is answered or comes back");
      for (const am::Returned& each : end.came_back)
        all.expect(each.why == am::Why::unreachable || each.why == am::Why::bad_endpoint, "for that reason");
      *over = true;
    });
  });
}

// Asks for so many of whoever is found, and hears of each.
void ask_and_hear(Hosted& all, Book& book, bool& over, std::int32_t count) {
  AmEnd end(all, {.credits = 4});
  Client client(all, end);
  while (!book.names.contains(0)) all.host.pause(1000);
  end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
  for (std::int32_t i = 0; i != count; ++i) client.ask(i);
  all.expect(end.poll_until([&] { return client.over + static_cast<int>(end.came_back.size()) == count; }),
             "each is answered or comes back");
  over = true;
}

TEST_P(HostedAm, tells_of_each_request_whose_link_is_cut_at_any_time) {
  for_each_seed(kRoughSeeds / 2, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    Book book;
    bool over = false;
    hosted.add([&](Hosted& all) { serve(all, book, over, true); });
    hosted.add([&](Hosted& all) { ask_and_hear(all, book, over, 40); });
    simulation::Host& host = hosted.host;
    const std::uint64_t packets = host.chance().below(4);
    host.after(host.chance().below(5 * kMillisecond),
               [&host, packets] { host.cut(host.inhabitant(2), host.inhabitant(1), packets); });
    hosted.run();
  });
}

// Data that was on its way to the old one lands nowhere in the new one, and is told of.
TEST_P(HostedAm, tells_of_each_long_message_whose_segment_changes) {
  for_each_seed(kRoughSeeds / 4, [&](std::uint64_t seed) {
    Hosted hosted(rough_rules(seed), seed);
    Book book;
    bool over = false;
    hosted.add([&](Hosted& all) {
      AmEnd end(all);
      std::array segments{std::vector<std::byte>(kSegment), std::vector<std::byte>(kSegment)};
      end.good(end.endpoint.set_segment(segments[0]), "a segment");
      end.good(end.endpoint.set_handler(kAsk,
                                        [&](Token& token, const Arrival& arrival) {
                                          all.expect(is_filled(arrival.data, arrival.arguments[0]),
                                                     "what was sent");
                                          end.good(token.reply(kAnswer, arrival.arguments), "a reply");
                                        }),
               "a handler");
      book.names[0] = end.endpoint.name();
      for (std::size_t i = 0; i != 8; ++i) {
        const auto change_at = all.host.time() + (1 + seed % 7) * 100'000;
        end.poll_until([&] { return over || all.host.time() >= change_at; });
        end.good(end.endpoint.set_segment(segments[i % 2]), "another segment");
        std::vector<std::byte>& before = segments[(i + 1) % 2];
        before.assign(kSegment, std::byte{0x55});
        end.poll_until([&] { return over || all.host.time() >= change_at + 300'000; });
        all.expect(std::ranges::all_of(before, [](std::byte each) { return each == std::byte{0x55}; }),
                   "nothing lands in a segment that was");
      }
      end.poll_until([&] { return over; });
    });
    hosted.add([&](Hosted& all) {
      AmEnd end(all, {.credits = 4});
      int answered = 0;
      end.good(end.endpoint.set_handler(kAnswer, [&](Token&, const Arrival&) { ++answered; }), "a handler");
      while (!book.names.contains(0)) all.host.pause(1000);
      end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
      for (std::int32_t i = 0; i != 12; ++i) {
        const std::vector<std::byte> data = filled(i, 20'000);
        end.good(
            end.endpoint.request_to(0, static_cast<std::uint64_t>(i % 4) * 20'000, kAsk, data, std::array{i}),
            "a request");
        all.expect(end.poll_until([&] { return answered + static_cast<int>(end.came_back.size()) == i + 1; }),
                   "each is answered or comes back");
      }
      over = true;
    });
    hosted.run();
  });
}

TEST_P(HostedAm, a_process_that_computes_delays_only_those_who_ask_it) {
  Hosted hosted;
  Book book;
  bool computes = false, over = false;
  for (int i = 0; i != 2; ++i)
    hosted.add([&, i](Hosted& all) {
      AmEnd end(all, {.credits = 16});
      end.good(end.endpoint.set_handler(kAsk,
                                        [&](Token& token, const Arrival&) {
                                          end.good(token.reply(kAnswer, std::array{i}), "a reply");
                                        }),
               "a handler");
      book.names[i] = end.endpoint.name();
      if (i == 0) {
        end.poll_until([&] { return computes; });
        while (computes) all.host.pause(100'000);
      }
      end.poll_until([&] { return over; });
    });
  hosted.add([&](Hosted& all) {
    AmEnd end(all, {.credits = 16});
    std::array<int, 2> answered{};
    end.good(end.endpoint.set_handler(kAnswer,
                                      [&](Token&, const Arrival& arrival) {
                                        ++answered[static_cast<std::size_t>(arrival.arguments[0])];
                                      }),
             "a handler");
    while (book.names.size() != 2) all.host.pause(1000);
    for (std::uint32_t i = 0; i != 2; ++i) {
      end.good(end.endpoint.map(i, book.names[static_cast<int>(i)], 7), "a mapping");
      end.good(end.endpoint.request(i, kAsk), "a request");
    }
    all.expect(end.poll_until([&] { return answered[0] == 1 && answered[1] == 1; }), "both answer");
    computes = true;
    all.host.pause(1'000'000);
    for (int i = 0; i != 10; ++i) end.good(end.endpoint.request(0, kAsk), "a request to who computes");
    for (int i = 0; i != 50; ++i) end.good(end.endpoint.request(1, kAsk), "a request");
    all.expect(end.poll_until([&] { return answered[1] == 51; }), "who polls answers");
    all.expect(answered[0] == 1, "who computes has not answered");
    computes = false;
    all.expect(end.poll_until([&] { return answered[0] == 11; }), "and does when it polls");
    over = true;
  });
  hosted.run();
}

TEST_P(HostedAm, sleeps_until_a_message_is_there) {
  Hosted hosted;
  Book book;
  bool over = false;
  hosted.add([&](Hosted& all) {
    AmEnd end(all);
    end.bundle.set_events(true);
    int asked = 0;
    end.good(end.endpoint.set_handler(kAsk,
                                      [&](Token& token, const Arrival&) {
                                        ++asked;
                                        all.expect(end.bundle.wait() == Result::in_use,
                                                   "a wait in a handler");
                                        end.good(token.reply(kAnswer), "a reply");
                                      }),
             "a handler");
    book.names[0] = end.endpoint.name();
    all.expect(end.bundle.wait(50us) == Result::not_sent, "nothing comes in that time");
    while (asked != 20) {
      end.good(end.bundle.wait(), "a message");
      end.good(end.bundle.poll(), "a poll");
    }
    end.poll_until([&] { return over; });
  });
  hosted.add([&](Hosted& all) {
    AmEnd end(all);
    end.bundle.set_events(true);
    int answered = 0;
    end.good(end.endpoint.set_handler(kAnswer, [&](Token&, const Arrival&) { ++answered; }), "a handler");
    while (!book.names.contains(0)) all.host.pause(1000);
    end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
    for (int i = 0; i != 20; ++i) {
      all.host.pause(30'000);
      end.good(end.endpoint.request(0, kAsk), "a request");
      while (answered != i + 1) {
        end.good(end.bundle.wait(), "an answer");
        end.good(end.bundle.poll(), "a poll");
      }
    }
    over = true;
  });
  hosted.run();
}

// The environment of a rank, as `hamlyn run` makes it.
class InJob {
 public:
  explicit InJob(bool trusts_network) {
    set("HAMLYN_JOB", "whole"), set("HAMLYN_RANK", "0"), set("HAMLYN_SIZE", "2");
    set("HAMLYN_LOCAL_RANK", "0"), set("HAMLYN_LOCAL_SIZE", "2");
    set("HAMLYN_JOB_SECRET", "000102030405060708090a0b0c0d0e0f");
    if (trusts_network) set("HAMLYN_TRUSTED_NETWORK", "1");
  }
  ~InJob() {
    for (const char* const name : names_) ::unsetenv(name);
  }
  InJob(const InJob&) = delete;
  InJob& operator=(const InJob&) = delete;

 private:
  void set(const char* name, const char* value) {
    ::setenv(name, value, 1);
    names_.push_back(name);
  }
  std::vector<const char*> names_;
};

TEST_P(HostedAm, gives_its_whole_memory_to_other_hosts_if_the_network_is_trusted) {
  for (const bool trusts : {false, true}) {
    SCOPED_TRACE(trusts);
    const InJob job(trusts);
    simulation::Host::Rules rules;
    rules.hosts = 2;
    rules.weather = {.least_delay = 1000, .most_delay = 1000};
    rules.wire = {.least_delay = 1000, .most_delay = 1000};
    Hosted hosted(rules, 1);
    Book book;
    bool over = false;
    int heard = 0;
    std::vector<std::byte> theirs(50'000);
    const auto address = reinterpret_cast<std::uintptr_t>(theirs.data());
    hosted.add([&](Hosted& all) {
      AmEnd end(all);
      end.good(end.endpoint.set_segment(am::kAddressSpace), "the whole address space");
      end.good(end.endpoint.set_handler(kAsk,
                                        [&](Token&, const Arrival& arrival) {
                                          ++heard;
                                          all.expect(arrival.data.data() == theirs.data() &&
                                                         is_filled(arrival.data, 1),
                                                     "what was sent");
                                        }),
               "a handler");
      book.names[0] = end.endpoint.name();
      end.poll_until([&] { return over; });
    });
    hosted.add([&](Hosted& all) {
      AmEnd end(all);
      while (!book.names.contains(0)) all.host.pause(1000);
      end.good(end.endpoint.map(0, book.names[0], 7), "a mapping");
      const std::vector<std::byte> data = filled(1, theirs.size());
      end.good(end.endpoint.request_to(0, address, kAsk, data), "a request");
      all.expect(end.poll_until([&] { return heard + static_cast<int>(end.came_back.size()) == 1; }),
                 "it is handled, or comes back");
      all.expect((heard == 1) == trusts, "it is given to whom it may be");
      all.expect(trusts || end.came_back[0].why == am::Why::bad_offset, "and else is nowhere");
      over = true;
    });
    hosted.run();
  }
}

// While nothing comes, and while the other side does not look at what was sent.
TEST_P(HostedAm, sleeps_while_nothing_comes) {
  for (const bool asks : {false, true}) {
    Hosted hosted;
    IdleWatch watch(hosted, 1);
    Book book;
    hosted.add([&](Hosted& all) {
      AmEnd end(all, {.credits = 4});
      while (!book.names.contains(1)) all.host.pause(1000);
      end.good(end.endpoint.map(0, book.names[1], 7), "a mapping");
      for (int i = 0; asks && i != 4; ++i) end.good(end.endpoint.request(0, kAsk), "a request");
      while (end.bundle.wait(1s) == Result::ok) end.good(end.bundle.poll(), "a poll");  // they greet
      all.expect(end.bundle.wait(IdleWatch::kWait) == Result::not_sent, "nothing comes");
      watch.returned();
    });
    hosted.add([&](Hosted& all) {
      AmEnd end(all);
      book.names[1] = end.endpoint.name();
      all.host.pause(60 * IdleWatch::kSecond);
    });
    hosted.run();
    watch.expect_idle();
  }
}

// Each hears that the other cannot be sent to, whoever maps the other.
TEST(AmWays, refuse_who_comes_by_another) {
  Hosted hosted;
  Book book;
  int over = 0;
  for (int i = 0; i != 2; ++i)
    hosted.add([&, i](Hosted& all) {
      HostedAm::way = i == 0 ? am::Way::vi : am::Way::slots;
      AmEnd end(all);
      book.names[i] = end.endpoint.name();
      while (book.names.size() != 2) all.host.pause(1000);
      end.good(end.endpoint.map(0, book.names[1 - i], 7), "a mapping");
      end.good(end.endpoint.request(0, kAsk), "a request");
      all.expect(end.poll_until([&] { return end.came_back.size() == 1; }), "it comes back");
      all.expect(end.came_back.size() == 1 && end.came_back[0].why == am::Why::bad_endpoint, "by its name");
      ++over;
      end.poll_until([&] { return over == 2; });
    });
  hosted.run();
}

TEST_P(HostedAm, an_endpoint_asks_itself) {
  Hosted hosted;
  hosted.add([&](Hosted& all) {
    AmEnd end(all);
    Server server(all, end);
    Client client(all, end);
    end.good(end.endpoint.map(0, end.endpoint.name(), 7), "a mapping");
    for (std::int32_t i = 0; i != 16; ++i) client.ask(i);
    all.expect(end.poll_until([&] { return client.over == 16; }), "all are answered");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
