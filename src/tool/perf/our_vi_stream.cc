#include "tool/perf/clock.h"
#include "tool/perf/our_vi.h"
#include "tool/perf/touch.h"
#include "tool/perf/vi_end.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::uint64_t kWarmUp = 100000, kTimed = 1000000;
constexpr std::uint64_t kCredit = 16;  // receives that are given back at a time

// Gives back receives in messages of the party's: its VI has none of the other way.
void give_back(Party& party, std::uint64_t taken) {
  if (taken % kCredit == 0) party.send_fast({}, taken);
}

constexpr ViShape kShort{.receives = 64, .sends = 64};

void stream(Party& party, Room&) {
  ViEnd end(party.interface(), kShort);
  meet(party, end, true);
  std::uint64_t allowed = kShort.receives;
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    while (i == allowed) {
      party.next();
      allowed += kCredit;
    }
    vi::Descriptor* const send = end.send_of(i % kShort.sends);
    send->length = kShort.bytes;
    end.post_send(send);
    end.await_sent();
  }
  end.await_end();
}
void count(Party& party, Room& room) {
  ViEnd end(party.interface(), kShort);
  meet(party, end, false);
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    if (i == kWarmUp) start = hamlyn_ticks();
    end.post(end.receive());
    if (i + 1 + kShort.receives <= kWarmUp + kTimed) give_back(party, i + 1);
  }
  room.report(static_cast<double>(kTimed) * 1e9 /
              (static_cast<double>(hamlyn_ticks() - start) * ns_per_tick()));
}

// A window of long messages, or of writes.
struct Volume {
  std::uint32_t bytes;
  bool touched;  // each is filled by its sender, and read whole by its receiver
  ViShape shape() const { return {.bytes = bytes, .receives = kWindow, .sends = kWindow}; }
};

void send_all(Party& party, const Volume& volume) {
  ViEnd end(party.interface(), volume.shape());
  meet(party, end, true);
  std::uint64_t returned = 0;
  for (std::uint64_t i = 0; i != all_messages(volume.bytes); ++i) {
    for (; i - returned >= kWindow; ++returned) {
      party.next();
      end.await_sent();
    }
    vi::Descriptor* const send = end.send_of(i % kWindow);
    if (volume.touched) hamlyn_fill(end.sent(i % kWindow).data(), volume.bytes, i);
    send->length = volume.bytes;
    end.post_send(send);
  }
  end.await_end();
}
void receive_all(Party& party, Room& room, const Volume& volume) {
  ViEnd end(party.interface(), volume.shape());
  meet(party, end, false);
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i != all_messages(volume.bytes); ++i) {
    if (i == warm_up_messages(volume.bytes)) start = hamlyn_ticks();
    vi::Descriptor* const came = end.receive();
    expect(came->length == volume.bytes, "a message was cut short");
    if (volume.touched)
      expect(hamlyn_read_all(end.received(came).data(), volume.bytes) == hamlyn_filled_sum(volume.bytes, i),
             "a message was read that is not the one sent");
    end.post(came);
    if (i + kWindow < all_messages(volume.bytes)) party.send_fast({}, i);
  }
  room.report(gigabytes_per_second(volume.bytes, hamlyn_ticks() - start));
}

// Writes to one place, each over when it has landed.
void write_all(Party& party, Room& room, std::uint32_t bytes) {
  const ViShape shape{.bytes = bytes, .sends = kWindow};
  ViEnd end(party.interface(), shape);
  meet(party, end, true);
  end.offer();
  for (std::size_t i = 0; i != kWindow; ++i) end.describe_remote(i, vi::kRdmaWrite);
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i != all_messages(bytes) + kWindow; ++i) {
    if (i >= kWindow) end.await_sent();
    if (i == warm_up_messages(bytes) + kWindow) start = hamlyn_ticks();
    if (i >= all_messages(bytes)) continue;
    vi::Descriptor* const write = end.send_of(i % kWindow);
    write->length = bytes;
    end.post_send(write);
  }
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
}
void be_written(Party& party, std::uint32_t bytes) {
  ViEnd end(party.interface(), {.bytes = bytes});
  meet(party, end, false);
  end.offer();
  end.await_end();
}

}  // namespace

Meter vi_rate() {
  const auto round = [](Cores cores, int) { return run_parties(cores, 1, {}, stream, {}, count); };
  return {.name = "shm.vi.send.16.rate", .round = round};
}

Meter vi_bandwidth(std::uint32_t bytes, bool touched) {
  const Volume volume{bytes, touched};
  const auto round = [volume](Cores cores, int) {
    return run_parties(
        cores, 1, {}, [volume](Party& party, Room&) { send_all(party, volume); }, {},
        [volume](Party& party, Room& room) { receive_all(party, room, volume); });
  };
  const std::string kind = touched ? "touched." : "send.";
  return {.name = "shm.vi." + kind + std::to_string(bytes) + ".bandwidth", .round = round};
}

Meter vi_write_bandwidth(std::uint32_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_parties(
        cores, 1, {}, [bytes](Party& party, Room& room) { write_all(party, room, bytes); }, {},
        [bytes](Party& party, Room&) { be_written(party, bytes); });
  };
  return {.name = "shm.vi.write." + std::to_string(bytes) + ".bandwidth", .round = round};
}

}  // namespace hamlyn::tool::perf
