// Areas between real processes. The test's own process never has an interface: each part is forked.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

using namespace std::chrono_literals;

namespace hamlyn::test {
namespace {

class Areas : public OnNodes {};

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

// It is stopped with a message in its ring whose bytes stand in the sender's area. The sender gives it up,
// and writes something else there.
TEST_F(Areas, AStoppedReceiverTakesNothingThatIsWrittenWhenItsLinkHasEnded) {
  Actor to([&](Line& line) {
    Receiver receiver(options(), 1 << 20, {.entries = 2});
    line.put(receiver.slot.ticket(0));
    line.put(receiver.slot.ticket(1));
    Notification n;
    while (!line.take<char>(0ms)) {
      if (receiver.queue.receive(n, 10ms) == Status::ok && n.kind == Notification::Kind::message &&
          receiver.slot.arm(n.entry) != Status::ok)
        return 1;
    }
    ::raise(SIGSTOP);
    do {
      if (receiver.queue.receive(n, kPatience) != Status::ok) return 2;
      if (n.kind == Notification::Kind::message && n.entry == 1) return 3;
    } while (n.kind != Notification::Kind::link_ended);
    return 0;
  });
  Actor from([&](Line& line) {
    const auto warm = line.take<Ticket>(), ticket = line.take<Ticket>();
    if (!warm || !ticket) return 1;
    Interface::Options mine = options();
    mine.stall = 300ms;
    Interface interface(mine);
    Terminus terminus(interface);
    SendBufferArea area(interface, 1 << 16);
    if (terminus.bind(0, area) != Status::ok || terminus.connect(*warm, kPatience) != Status::ok) return 2;
    SendHandle handle;
    // What goes through the ring is over at once.
    const bool shown = eventually([&] {
      const Piece piece{0, 0, 5000};
      return terminus.send_gathered(*warm, {&piece, 1}, {}, &handle) == Status::pending;
    });
    if (!shown || terminus.wait(handle, kPatience) != Status::ok) return 3;
    line.put('.');
    if (!line.take<char>()) return 4;
    const Piece piece{0, 0, 50000};
    if (terminus.send_gathered(*ticket, {&piece, 1}, {}, &handle) != Status::pending) return 5;
    if (terminus.wait(handle, kPatience) != Status::link_ended) return 6;
    std::memset(area.bytes().data(), 0xEE, area.bytes().size());
    line.put('.');
    return line.take<char>() ? 0 : 7;
  });
  for (int i = 0; i < 2; ++i) {
    const auto ticket = to.line().take<Ticket>();
    ASSERT_TRUE(ticket);
    from.line().put(*ticket);
  }
  ASSERT_TRUE(from.line().take<char>());
  to.line().put('.');
  ASSERT_TRUE(eventually([&] { return to.stopped(); }));
  from.line().put('.');
  ASSERT_TRUE(from.line().take<char>());
  to.signal(SIGCONT);
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

// Of whatever kind: the interface is the parent's.
TEST_F(Areas, AreNotMadeInAForkedChild) {
  in_child([&] {
    Interface interface(options());
    alignas(4096) static std::byte memory[8192];
    const pid_t child = ::fork();
    if (child == 0) {
      const auto forked = [](const auto& make) {
        try {
          make();
          return false;
        } catch (const Error& error) {
          return error.code() == ErrorCode::forked;
        }
      };
      int wrong = 0;
      for (const Sharing sharing :
           {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
        wrong += !forked([&] { MessageArea(interface, 4096, sharing); });
        wrong += !forked([&] { MessageArea(interface, std::span(memory), sharing); });
      }
      ::_exit(wrong);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(MessageArea(interface, std::span(memory))) << "the parent may";
  });
}

TEST_F(Areas, SlotsWhoseAccessContradictsItselfAreRefused) {
  Actor one([&](Line&) {
    Interface interface(options());
    NotificationQueue queue(interface);
    MessageArea guarded(interface, 4096);
    MessageArea shown(interface, 4096, Sharing::mapped_read_only);
    MessageArea open(interface, 4096, Sharing::mapped_read_write);
    const auto refused = [&](MessageArea& area, const Slot::Options& of) {
      try {
        const Slot slot(area, queue, of);
        return false;
      } catch (const Error& error) {
        return error.code() == ErrorCode::invalid_argument;
      }
    };
    if (!refused(guarded, {.access = Access::read_only, .fetches = true})) return 1;
    if (!refused(guarded, {.access = Access::write_only, .fetches = true})) return 2;
    if (!refused(guarded, {.access = Access::write_only, .gets = 64})) return 3;
    if (!refused(open, {.access = Access::read_only})) return 4;
    for (MessageArea* area : {&shown, &open}) {
      if (!refused(*area, {.access = Access::write_only})) return 5;
    }
    // What is left to do at this one is to map it, for reading.
    const Slot slot(shown, queue, {.access = Access::read_only});
    return slot.ticket().key != 0 ? 0 : 6;
  });
  EXPECT_EQ(one.wait(), 0);
}

TEST_F(Areas, ArePopulatedWhetherTheyMayBeLockedOrNot) {
  Actor one([&](Line&) {
    Interface interface(options());
    const rlimit nothing{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &nothing) != 0) return 1;
    if (::geteuid() == 0 && ::seteuid(41001) != 0) return 2;  // root may lock what it likes
    constexpr std::size_t kPages = 16;
    MessageArea own(interface, kPages * 4096);
    MessageArea shown(interface, kPages * 4096, Sharing::mapped_read_only);
    for (MessageArea* area : {&own, &shown}) {
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose mlock does nothing, and says it did
      if (area->wired()) return 3;
#endif
      unsigned char there[kPages];
      if (::mincore(area->bytes().data(), kPages * 4096, there) != 0) return 4;
      for (const unsigned char page : there) {
        if ((page & 1) == 0) return 5;
      }
    }
    return 0;
  });
  EXPECT_EQ(one.wait(), 0);
}

// Whether the kernel was asked for huge pages there (proc(5), VmFlags).
bool asked_for_huge_pages(const std::byte* data) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(data);
      here = from <= at && at < to;
    }
    if (here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST_F(Areas, OfSomeLengthAskForHugePagesWhereNobodyElseSeesThem) {
  Actor one([&](Line&) {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    Interface interface(options());
    for (const std::size_t bytes : {kHuge, kHuge + 1, 3 * kHuge - 1}) {
      MessageArea area(interface, bytes);
      if (reinterpret_cast<std::uintptr_t>(area.bytes().data()) % kHuge != 0) return 1;
      area.bytes().front() = area.bytes().back() = std::byte{1};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      if (!asked_for_huge_pages(area.bytes().data())) return 2;
#endif
    }
    MessageArea small(interface, kHuge / 2);
    MessageArea shown(interface, kHuge, Sharing::mapped_read_only);
    for (MessageArea* area : {&small, &shown}) {
      if (asked_for_huge_pages(area->bytes().data())) return 3;
    }
    return 0;
  });
  EXPECT_EQ(one.wait(), 0);
}

class AreaQuota : public testing::Test {
 protected:
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }
  std::vector<std::string> words() const { return {"--config", config_}; }

  Folder folder_;
  const std::string config_ = [this] {
    const std::string path = folder_.file("config");
    write_file(path, "[quotas]\nbytes = 200000\n");
    return path;
  }();
  std::optional<Daemon> daemon_{std::in_place, folder_.file("node"), words()};
};

// Whether one more area of so many bytes is too many.
bool too_many(Interface& interface, std::size_t bytes, std::optional<Sharing> sharing = {}) {
  try {
    if (sharing) {
      const MessageArea area(interface, bytes, *sharing);
    } else {
      const SendBufferArea area(interface, bytes);
    }
    return false;
  } catch (const Error& error) {
    return error.code() == ErrorCode::quota_bytes;
  }
}

// What a user has so many of: interfaces, links and names. One more is an error with a name; one of them
// given back, and it goes on.
TEST(UserQuotas, AreErrorsWithANameAndWhatIsGivenBackCanBeHadAgain) {
  const Folder folder;
  write_file(folder.file("config"), "[quotas]\ninterfaces = 3\nlinks = 2\nnames = 2\n");
  const Daemon daemon(folder.file("node"), {"--config", folder.file("config")});
  Actor user([&](Line&) {
    const Interface::Options options{.node = folder.file("node"), .start_node = false};
    const auto code_of = [](auto work) {
      try {
        work();
      } catch (const Error& error) {
        return error.code();
      }
      return ErrorCode{};
    };
    auto two = std::make_unique<Receiver>(options, 64, Slot::Options{});
    Receiver three(options, 64, Slot::Options{});
    Interface one(options);
    const auto attach = [&] { const Interface more(options); };
    const auto publish = [&](const char* name) { three.interface.publish(name, three.slot.ticket()); };
    EXPECT_EQ(code_of(attach), ErrorCode::quota_interfaces);
    two->interface.publish("a", two->slot.ticket());
    publish("b");
    EXPECT_EQ(code_of([&] { publish("c"); }), ErrorCode::quota_names);
    three.interface.withdraw("b");
    EXPECT_EQ(code_of([&] { publish("c"); }), ErrorCode{});
    Terminus terminus(one);
    EXPECT_EQ(terminus.connect(two->slot.ticket(), kPatience), Status::ok);
    EXPECT_EQ(terminus.connect(three.slot.ticket(), kPatience), Status::refused) << "a link has two ends";
    EXPECT_EQ(terminus.send_fast(two->slot.ticket(), {}), Status::ok);
    two.reset();
    EXPECT_TRUE(eventually([&] { return terminus.connect(three.slot.ticket(), kPatience) == Status::ok; }));
    EXPECT_TRUE(eventually([&] { return code_of(attach) == ErrorCode{}; }));
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(user.wait(), 0);
}

TEST_F(AreaQuota, CountsWhatOthersMayBeShownAndNothingElse) {
  Actor one([&](Line&) {
    Interface interface(options());
    if (too_many(interface, 1 << 20, Sharing::guarded)) return 1;
    const MessageArea mapped(interface, 65536, Sharing::mapped_read_write);
    {
      const SendBufferArea area(interface, 65536);
      if (!too_many(interface, 131072) || !too_many(interface, 131072, Sharing::mapped_read_only)) return 2;
      if (too_many(interface, 65536, Sharing::mapped_read_only)) return 3;
    }
    if (too_many(interface, 131072)) return 4;  // what was given back, also by what was refused
    return too_many(interface, 131072, Sharing::mapped_read_only) ? 5 : 0;
  });
  EXPECT_EQ(one.wait(), 0);
}

TEST_F(AreaQuota, IsKeptByTheNextDaemonToo) {
  Actor one([&](Line& line) {
    Interface interface(options());
    const SendBufferArea area(interface, 131072);
    line.put('.');
    if (!line.take<char>()) return 1;
    return eventually([&] { return too_many(interface, 131072); }) ? 0 : 2;
  });
  ASSERT_TRUE(one.line().take<char>());
  daemon_->kill();
  daemon_.emplace(folder_.file("node"), words());
  one.line().put('.');
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
