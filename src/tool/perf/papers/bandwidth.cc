// Figure 5 of paper 2: bandwidth against the size of messages.
#include <atomic>
#include <string>
#include <vector>

#include "tool/perf/am_end.h"
#include "tool/perf/papers/meters.h"
#include "tool/perf/papers/sweep.h"
#include "tool/perf/ranks.h"
#include "tool/perf/vi_end.h"

namespace hamlyn::tool::perf::papers {

namespace {

// Reads message after message, and says how fast they came.
class Reader {
 public:
  explicit Reader(std::size_t bytes) : bytes_(bytes) {}
  void read(std::span<const std::byte> message) {
    if (count_ == all_of(bytes_) - timed(bytes_)) start_ = hamlyn_ticks();
    expect(message.size() == bytes_ && is_filled(message, count_),
           "a message was read that is not the one sent");
    ++count_;
  }
  std::uint64_t count() const { return count_; }
  bool over() const { return count_ == all_of(bytes_); }
  void report(Room& room) const { room.report(gigabytes(bytes_, hamlyn_ticks() - start_)); }

 private:
  const std::size_t bytes_;
  std::uint64_t count_ = 0, start_ = 0;
};

// --- VI: receives are given back in messages of the party's

ViShape shape_of(std::size_t bytes) {
  return {.bytes = static_cast<std::uint32_t>(bytes), .receives = window(bytes), .sends = window(bytes)};
}
std::uint64_t quarter(std::size_t bytes) { return window(bytes) / 4; }

void send_by_vi(Party& party, std::size_t bytes) {
  ViEnd end(party.interface(), shape_of(bytes));
  meet(party, end, true);
  std::uint64_t allowed = window(bytes), over = 0;
  for (std::uint64_t i = 0; i != all_of(bytes); ++i) {
    for (; i == allowed; allowed += quarter(bytes)) party.next();
    for (; i - over == window(bytes); ++over) end.await_sent();
    vi::Descriptor* const send = end.send_of(i % window(bytes));
    fill(end.sent(i % window(bytes)), i);
    send->length = static_cast<std::uint32_t>(bytes);
    end.post_send(send);
  }
  end.await_end();
}
void receive_by_vi(Party& party, Room& room, std::size_t bytes) {
  ViEnd end(party.interface(), shape_of(bytes));
  meet(party, end, false);
  Reader reader(bytes);
  while (!reader.over()) {
    vi::Descriptor* const came = end.receive();
    reader.read(end.received(came));
    end.post(came);
    const std::uint64_t count = reader.count();
    if (count % quarter(bytes) == 0 && count + window(bytes) - quarter(bytes) < all_of(bytes))
      party.send_fast({}, count);
  }
  reader.report(room);
}

Meter by_vi(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_parties(
        cores, 1, {}, [bytes](Party& party, Room&) { send_by_vi(party, bytes); }, {},
        [bytes](Party& party, Room& room) { receive_by_vi(party, room, bytes); });
  };
  return {.name = carried_name(Carrier::vi, bytes), .round = round};
}

// --- active messages: medium ones, and long ones into a segment, in which each has a place

constexpr am::HandlerNumber kTake = 1, kOver = 2;
constexpr std::uint64_t kPlaces = 8;

am::EndpointOptions options_of(am::Way way, std::size_t bytes) {
  return {.credits = bytes <= am::kMostMedium ? 0 : std::uint32_t{kPlaces / 2}, .way = way};
}

void send_by_am(Party& party, am::Way way, std::size_t bytes) {
  AmEnd end(party, options_of(way, bytes));
  end.meet();
  bool over = false;
  good(end.endpoint.set_handler(kOver, [&](am::Token&, const am::Arrival&) { over = true; }), "no handler");
  std::vector<std::byte> message(bytes);
  for (std::uint64_t i = 0; i != all_of(bytes); ++i) {
    fill(message, i);
    good(bytes <= am::kMostMedium ? end.endpoint.request(0, kTake, message)
                                  : end.endpoint.request_to(0, i % kPlaces * bytes, kTake, message),
         "no request");
  }
  while (!over) end.poll();
  party.finish();
}
void receive_by_am(Party& party, Room& room, am::Way way, std::size_t bytes) {
  AmEnd end(party, options_of(way, bytes));
  std::vector<std::byte> segment(bytes <= am::kMostMedium ? 64 : kPlaces * bytes);
  good(end.endpoint.set_segment(segment), "no segment");
  Reader reader(bytes);
  good(end.endpoint.set_handler(kTake,
                                [&](am::Token& token, const am::Arrival& arrival) {
                                  reader.read(arrival.data);
                                  if (reader.over()) good(token.reply(kOver), "no reply");
                                }),
       "no handler");
  end.meet();
  while (!reader.over()) end.poll();
  reader.report(room);
  party.finish();
}

Meter by_am(Carrier carrier, am::Way way, std::size_t bytes) {
  const auto round = [=](Cores cores, int) {
    return run_parties(
        cores, 1, {}, [=](Party& party, Room&) { send_by_am(party, way, bytes); }, {},
        [=](Party& party, Room& room) { receive_by_am(party, room, way, bytes); });
  };
  return {.name = carried_name(carrier, bytes), .round = round};
}

// --- Split-C: bulk puts, a quarter of the window at a time, and a word that says so when they have landed

using splitc::everywhere;

// Until a word of this rank's own, which another rank writes, is so much.
void await(everywhere<std::uint64_t>& word, std::uint64_t least) {
  const std::atomic_ref<std::uint64_t> mine(word.mine()[0]);
  while (mine.load(std::memory_order_acquire) < least) splitc::poll();
}

void send_by_splitc(std::size_t bytes) {
  everywhere<std::byte> places(window(bytes) * bytes);
  everywhere<std::uint64_t> come, read;
  std::vector<std::byte> messages(quarter(bytes) * bytes);
  for (std::uint64_t i = 0; i != all_of(bytes); ++i) {
    if (i >= window(bytes)) await(read, i / quarter(bytes) * quarter(bytes) + quarter(bytes) - window(bytes));
    const std::span<std::byte> message =
        std::span(messages).subspan(i % quarter(bytes) * bytes, bytes);  // in use until the sync
    fill(message, i);
    splitc::bulk_put<std::byte>(places.at(1, i % window(bytes) * bytes), message);
    if ((i + 1) % quarter(bytes) != 0 && i + 1 != all_of(bytes)) continue;
    splitc::sync();
    *come.at(1) = i + 1;
  }
  await(read, all_of(bytes));
}
void receive_by_splitc(Room& room, std::size_t bytes) {
  everywhere<std::byte> places(window(bytes) * bytes);
  everywhere<std::uint64_t> come, read;
  Reader reader(bytes);
  while (!reader.over()) {
    const std::uint64_t i = reader.count();
    await(come, i + 1);
    reader.read(places.mine().subspan(i % window(bytes) * bytes, bytes));
    if ((i + 1) % quarter(bytes) == 0 || reader.over()) splitc::put(read.at(0), i + 1);
  }
  reader.report(room);
}

Meter by_splitc(Carrier carrier, bool guarded, std::size_t bytes) {
  const RankOptions options{.way = guarded_ranks(guarded),
                            .heap = (std::size_t{1} << 20) + 2 * window(bytes) * bytes};
  const auto round = [=](Cores cores, int) {
    return run_ranks(
        cores, options, [=](Words&, Room&) { send_by_splitc(bytes); },
        [=](Words&, Room& room) { receive_by_splitc(room, bytes); });
  };
  return {.name = carried_name(carrier, bytes), .round = round};
}

}  // namespace

std::string carried_name(Carrier carrier, std::size_t bytes) {
  return prefix(Place::shm) + name_of(carrier) + ".swept." + std::to_string(bytes) + ".bandwidth";
}

Meter carried(Carrier carrier, std::size_t bytes) {
  switch (carrier) {
    case Carrier::vi:
      return by_vi(bytes);
    case Carrier::am:
      return by_am(carrier, am::Way::slots, bytes);
    case Carrier::am_vi:
      return by_am(carrier, am::Way::vi, bytes);
    case Carrier::am_vi3:
      return by_am(carrier, am::Way::vi3, bytes);
    case Carrier::splitc:
    default:
      return by_splitc(carrier, carrier != Carrier::splitc_mapped, bytes);
  }
}

}  // namespace hamlyn::tool::perf::papers
