// Durable areas on disks that are slow, and of which some fail: what somebody was told to be safe would be
// there if the power failed at that moment.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file_descriptor.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSavedBytes = 1024;
constexpr std::uint32_t kSavedEntries = 4;  // of each sender
constexpr std::uint32_t kSavers = 2;
constexpr std::size_t kFileBytes =
    (kSavers * kSavedEntries + 1) * kSavedBytes;  // the last part is the owner's own
constexpr int kSaves = 12;

// A file, and what its disk has of it.
class Disk {
 public:
  explicit Disk(Hosted& all) : all_(all) {}
  int file() const noexcept { return file_.get(); }
  bool has(std::size_t at, std::span<const std::byte> bytes) {
    const auto safe = all_.host.on_disk(file());
    return safe.size() == kFileBytes && std::ranges::equal(safe.subspan(at, bytes.size()), bytes);
  }
  // What was not safe has gone.
  void lose_power() {
    std::vector<std::byte> left(kFileBytes);
    std::ranges::copy(all_.host.on_disk(file()), left.begin());
    EXPECT_EQ(::pwrite(file(), left.data(), left.size(), 0), static_cast<ssize_t>(left.size()));
  }

 private:
  Hosted& all_;
  const base::FileDescriptor file_{::memfd_create("area", MFD_CLOEXEC)};
};

struct Saved {
  explicit Saved(Hosted& all) : disk(all) {}
  Disk disk;
  bool fails = false;
  std::array<std::optional<Ticket>, kSavers * kSavedEntries> armed;  // that may be sent to
  std::array<std::byte, kSavers * kSavedEntries> safe{};             // of what each sender was told last
  int over = 0;
};

void keep(Hosted& all, Saved& saved) {
  Interface interface;
  MessageArea area(interface, {.descriptor = saved.disk.file()}, kFileBytes);
  NotificationQueue queue(interface);
  Slot slot(area, queue, {.entries = kSavers * kSavedEntries, .fast = false});
  for (std::uint32_t entry = 0; entry < kSavers * kSavedEntries; ++entry) {
    saved.armed[entry] = slot.ticket(entry);
  }
  unsigned number = 0;
  while (saved.over < static_cast<int>(kSavers)) {
    Notification arrival;
    const Status status = queue.receive(arrival, 2ms);
    if (!all.alive()) return;
    if (status == Status::ok && arrival.kind == Notification::Kind::message) {
      all.expect(slot.arm(arrival.entry) == Status::ok, "it cannot be armed");
      saved.armed[arrival.entry] = slot.ticket(arrival.entry);
    }
    if (!all.host.chance().one_in(4)) continue;
    const auto mine = area.bytes(kFileBytes - kSavedBytes, kSavedBytes);
    std::ranges::fill(mine, static_cast<std::byte>(++number % 255 + 1));
    const Status synced = area.sync(kFileBytes - kSavedBytes, kSavedBytes, 1s);
    if (!all.alive()) return;
    if (synced == Status::ok) {
      all.expect(saved.disk.has(kFileBytes - kSavedBytes, mine), "what was synced would be lost");
    } else {
      all.expect(synced == Status::not_durable && saved.fails, "a disk fails that does not");
    }
  }
}

void send_and_look(Hosted& all, Saved& saved, std::uint32_t who) {
  Interface interface;
  Terminus terminus(interface);
  for (int round = 1; round <= kSaves; ++round) {
    for (std::uint32_t entry = who * kSavedEntries; entry < (who + 1) * kSavedEntries; ++entry) {
      while (!saved.armed[entry] && all.alive(1)) all.host.pause(1000);
      if (!all.alive(1)) break;
      const std::byte content{static_cast<unsigned char>(16 * (who + 1) + static_cast<unsigned>(round))};
      const std::vector<std::byte> data(kSavedBytes, content);
      const Ticket ticket = *std::exchange(saved.armed[entry], std::nullopt);
      SendHandle handle;
      Status status = Status::ok;
      while ((status = terminus.send(ticket, data, {.offset = entry * kSavedBytes, .acknowledged = true},
                                     &handle)) == Status::queue_full)
        all.host.pause(1000);
      if (status == Status::pending) status = terminus.wait(handle, 5s);
      if (!all.alive()) return;
      if (status == Status::ok) {
        all.expect(saved.disk.has(entry * kSavedBytes, data), "what was acknowledged would be lost");
        saved.safe[entry] = content;
      } else {
        all.expect(!all.alive(1) || (status == Status::not_durable && saved.fails), "it is not acknowledged");
      }
      if (all.host.chance().one_in(3)) all.host.pause(all.host.chance().below(2 * kMillisecond));
    }
  }
  ++saved.over;
}

// What is left when the owner dies and the power fails: all that anybody was told to be safe.
void come_after(Hosted& all, Saved& saved) {
  while (saved.over < static_cast<int>(kSavers) && all.alive()) all.host.pause(kMillisecond);
  if (all.alive(1) || !all.alive()) return;
  saved.disk.lose_power();
  Interface interface;
  MessageArea area(interface, {.descriptor = saved.disk.file()}, kFileBytes);
  for (std::uint32_t entry = 0; entry < kSavers * kSavedEntries; ++entry) {
    const std::byte safe = saved.safe[entry];
    const auto there = area.bytes(entry * kSavedBytes, kSavedBytes);
    // A later one may have been saved that nobody was told of.
    all.expect(
        safe == std::byte{} || std::ranges::all_of(there, [&](std::byte each) { return each >= safe; }),
        "it was safe, and is lost");
  }
}

TEST(HostedDurable, what_somebody_was_told_to_be_safe_is_there_when_the_power_fails) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    simulation::Host::Rules rules = rough_rules(seed);
    if (seed % 4 == 1) rules.disk.fails_one_in = 8;
    Hosted hosted(rules, seed);
    Saved saved(hosted);
    saved.fails = rules.disk.fails_one_in != 0;
    if (seed % 2 == 0) hosted.kill(1, hosted.host.chance().below(60 * kMillisecond));
    hosted.add([&](Hosted& all) { keep(all, saved); });
    for (std::uint32_t who = 0; who < kSavers; ++who)
      hosted.add([&, who](Hosted& all) { send_and_look(all, saved, who); });
    hosted.add([&](Hosted& all) { come_after(all, saved); });
    hosted.run();
  }
}

}  // namespace
}  // namespace hamlyn::test
