// Areas between real processes. The test's own process never has an interface: each part is forked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

class Areas : public testing::Test {
 protected:
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
};

struct Receiver {
  Receiver(const Interface::Options& options, std::size_t bytes, Slot::Options of)
      : interface(options), area(interface, bytes), slot(area, queue, of) {}
  Interface interface;
  MessageArea area;
  NotificationQueue queue{interface};
  Slot slot;
};

// How many mappings of just so many bytes of shared memory this process has.
int mappings_of(std::size_t bytes) {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &from, &to) != 2) continue;
    if (to - from == bytes && line.find("memfd:hamlyn") != std::string::npos) ++found;
  }
  return found;
}

std::byte content(std::size_t at, std::uint64_t round) {
  return static_cast<std::byte>(at * 31 + (at >> 11) + round * 7);
}

TEST_F(Areas, ArriveWholeOutOfAShownAreaWhichGoesWithItsOwner) {
  constexpr std::size_t kBytes = 3 << 20;  // a size that no ring has
  constexpr std::uint64_t kRounds = 8;
  Actor to([&](Line& line) {
    Receiver receiver(options(), 4 << 20, {.entries = 1});
    line.put(receiver.slot.ticket(0));
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Notification arrival;
      if (receiver.queue.receive(arrival, kPatience) != Status::ok) return 1;
      if (arrival.kind != Notification::Kind::message || arrival.length != 1000003 + 9) return 2;
      const auto bytes = receiver.slot.bytes(arrival);
      for (std::size_t i = 0; i < 1000003; ++i) {
        if (bytes[i] != content(i + 5, round)) return 3;
      }
      for (std::size_t i = 0; i < 9; ++i) {
        if (bytes[1000003 + i] != content(i, round)) return 4;
      }
      if (receiver.slot.arm(0) != Status::ok) return 5;
      line.put('.');
    }
    // By now it is shown; when its owner has dropped it, it is unmapped here, though the link lives.
    line.put(eventually([&] { return mappings_of(kBytes) == 1; }) ? 1 : 0);
    if (!line.take<char>()) return 6;
    return eventually([&] { return mappings_of(kBytes) == 0; }) ? 0 : 7;
  });
  Actor from([&](Line& line) {
    const auto ticket = line.take<Ticket>();
    if (!ticket) return 1;
    Interface interface(options());
    Terminus terminus(interface);
    {
      SendBufferArea area(interface, kBytes - 100);
      if (area.bytes().size() != kBytes || terminus.bind(3, area) != Status::ok) return 2;
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < 1000016; ++i) area.bytes()[i] = content(i, round);
        const Piece pieces[] = {{3, 5, 1000003}, {3, 0, 9}};
        SendHandle handle;
        const Status status = terminus.send_gathered(*ticket, pieces, {}, &handle);
        if (status != Status::pending && status != Status::ok) return 3;
        if (terminus.wait(handle, kPatience) != Status::ok) return 4;
        // The buffer is free when the handle says so: what is written now is never seen.
        std::memset(area.bytes().data(), 0xEE, 1000016);
        if (!line.take<char>()) return 5;
      }
      if (!line.take<char>()) return 5;
    }
    const Piece gone{3, 0, 1};
    if (terminus.send_gathered(*ticket, {&gone, 1}) != Status::invalid) return 6;
    line.put('.');
    return line.take<char>() ? 0 : 7;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  from.line().put(*ticket);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(to.line().take<char>()) << round;
    from.line().put('.');
  }
  EXPECT_EQ(to.line().take<int>(), 1) << "the area was shown";
  from.line().put('.');
  EXPECT_TRUE(from.line().take<char>());
  to.line().put('.');
  EXPECT_EQ(to.wait(), 0);
  from.line().put('.');
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Areas, OfNothingOrOfAnotherInterfaceAreRefused) {
  Actor one([&](Line&) {
    Interface interface(options()), other(options());
    Terminus terminus(interface);
    SendBufferArea area(other, 1);
    if (area.bytes().size() != 4096) return 1;
    if (terminus.bind(0, area) != Status::invalid) return 2;
    SendBufferArea own(interface, 4097);
    if (own.bytes().size() != 8192 || terminus.bind(8, own) != Status::invalid) return 3;
    if (terminus.bind(7, own) != Status::ok) return 4;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 41}) {
      try {
        SendBufferArea wrong(interface, bytes);
        return 5;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) return 6;
      }
    }
    return 0;
  });
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
