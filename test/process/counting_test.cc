// Groups, deadlines, abandoned messages and the node's rule on refused packets, between real processes.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "hamlyn/hamlyn.h"
#include "node/client/list.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Senders are forked first, before there are threads; each waits for its ticket or share on its line.
class Counting : public testing::Test {
 protected:
  template <class Given>
  Actor sender(const std::function<int(Line&, Interface&, Terminus&, const Given&)>& part) {
    return Actor([this, part](Line& line) {
      const auto given = line.take<Given>();
      if (!given) return 91;
      Interface interface(options());
      Terminus terminus(interface);
      return part(line, interface, terminus, *given);
    });
  }
  void receive(const std::function<void()>& work) {
    Actor receiver([&](Line&) {
      work();
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(receiver.wait(), 0);
  }
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }

  Folder folder_;
};

struct Receiver {
  Receiver(const Interface::Options& options, const Slot::Options& of)
      : interface(options), area(interface, 1 << 20), slot(area, queue, of) {}
  Interface interface;
  MessageArea area;
  NotificationQueue queue{interface};
  Slot slot;
};

int send_share(Terminus& terminus, const Share& share, char fill) {
  const std::vector<std::byte> data(share.ticket.bound, static_cast<std::byte>(fill));
  SendHandle handle;
  const Status status = terminus.send(share, data, {}, &handle);
  if (status != Status::ok && status != Status::pending) return 1;
  return terminus.wait(handle, kPatience) == Status::ok ? 0 : 2;
}

TEST_F(Counting, AGroupOfProcessesIsToldOfOnce) {
  const Daemon daemon{folder_.file("node")};
  // The second has a helper, to whom the share goes as a message would carry it.
  Actor helper = sender<Share>([](Line& line, Interface&, Terminus& terminus, const Share& share) {
    const int sent = send_share(terminus, share, 'h');
    line.take<char>();
    return sent;
  });
  Actor one = sender<Share>([](Line& line, Interface&, Terminus& terminus, const Share& share) {
    const int sent = send_share(terminus, share, '1');
    line.take<char>();
    return sent;
  });
  Actor two = sender<Share>([&](Line& line, Interface&, Terminus& terminus, Share share) {
    Share part;
    if (share.split(50000, part) != Status::ok) return 3;
    helper.line().put(part);
    const int sent = send_share(terminus, share, '2');
    line.take<char>();
    return sent;
  });
  receive([&] {
    Receiver to(options(), {.mode = Mode::paranoid_one_shot, .entries = 1});
    GroupShares shares;
    ASSERT_EQ(to.slot.arm_group(0, 2, shares, {0, 300000}), Status::ok);
    ASSERT_EQ(to.slot.fail_after(0, kPatience), Status::ok);
    Share share;
    ASSERT_EQ(shares.next(share, {0, 100000}), Status::ok);
    one.line().put(share);
    ASSERT_EQ(shares.next(share, {100000, 200000}), Status::ok);
    two.line().put(share);
    Notification arrival;
    ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
    EXPECT_EQ(arrival.kind, Notification::Kind::message) << name(arrival.failure());
    EXPECT_EQ(arrival.length, 300000u);
    const auto bytes = to.slot.bytes(arrival);
    EXPECT_EQ(bytes[0], std::byte{'1'});
    EXPECT_EQ(bytes[100000], std::byte{'h'});
    EXPECT_EQ(bytes[299999], std::byte{'2'});
    EXPECT_FALSE(to.queue.poll());
    for (Actor* each : {&helper, &one, &two}) each->line().put('.');
  });
  for (Actor* each : {&helper, &one, &two}) EXPECT_EQ(each->wait(), 0);
}

// Asleep in receive, polling, with a descriptor: whoever serves the interface, the time comes.
TEST_F(Counting, AnEntryFailsInItsTimeWhoeverRunsTheInterface) {
  const Daemon daemon{folder_.file("node")};
  receive([&] {
    Receiver to(options(), {.entries = 3});
    const auto fails = [&](std::uint32_t entry, const Notification& n) {
      EXPECT_EQ(n.failure(), Failure::timed_out);
      EXPECT_EQ(n.entry, entry);
    };
    Notification n;
    ASSERT_EQ(to.slot.fail_after(0, 20ms), Status::ok);
    ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
    fails(0, n);
    ASSERT_EQ(to.slot.fail_after(1, 3ms), Status::ok);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::optional<Notification> polled;
    while (!(polled = to.queue.poll()) && std::chrono::steady_clock::now() < until) {
    }
    ASSERT_TRUE(polled);
    fails(1, *polled);
    // Another thread sleeps deeply when the time is set.
    std::thread sleeper([&] { EXPECT_EQ(to.queue.receive(n, kPatience), Status::ok); });
    while (to.slot.fail_after(2, 10ms) != Status::ok) {
    }
    sleeper.join();
    fails(2, n);
    EXPECT_EQ(to.slot.fail_after(2, 1ms), Status::invalid);
    // Another time is set before the first one comes. A machine that is slow tries again.
    for (;;) {
      ASSERT_EQ(to.slot.arm(2), Status::ok);
      ASSERT_EQ(to.slot.fail_after(2, 10ms), Status::ok);
      if (to.slot.fail_after(2, std::chrono::nanoseconds::max()) == Status::ok) break;
      ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
    }
    EXPECT_EQ(to.queue.receive(n, 20ms), Status::timed_out);
  });
}

struct Again {
  bool abandoned;
  Ticket ticket;
};

// By cancelling it, and by the end of its terminus. Should all of it have left before that, it is tried
// again.
TEST_F(Counting, AMessageThatLosesItsRestFailsItsEntry) {
  const Daemon daemon{folder_.file("node")};
  Actor from = sender<Ticket>([&](Line& line, Interface& interface, Terminus&, Ticket ticket) {
    const std::vector<std::byte> data(1 << 20);
    for (int i = 0; i < 2; ++i) {
      while (true) {
        auto terminus = std::make_unique<Terminus>(interface, TerminusOptions{.entries = 1});
        if (terminus->connect(ticket, kPatience) != Status::ok) return 1;
        SendHandle handle;
        const Status sent = terminus->send(ticket, data, {}, &handle);
        if (sent != Status::pending && sent != Status::ok) return 2;
        if (i == 0) {
          EXPECT_EQ(terminus->cancel(handle), Status::ok);
        }
        terminus.reset();
        const auto again = line.take<Again>();
        if (!again) return 3;
        ticket = again->ticket;
        if (again->abandoned) break;
      }
    }
    return 0;
  });
  receive([&] {
    Receiver to(options(), {.entries = 1});
    from.line().put(to.slot.ticket(0));
    for (int failed = 0; failed < 2;) {
      Notification n;
      ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
      if (n.kind != Notification::Kind::message && n.kind != Notification::Kind::failed) continue;
      const bool abandoned = n.failure() == Failure::abandoned;
      ASSERT_TRUE(abandoned || n.kind == Notification::Kind::message) << name(n.failure());
      failed += abandoned ? 1 : 0;
      ASSERT_EQ(to.slot.arm(0), Status::ok);
      from.line().put(Again{abandoned, to.slot.ticket(0)});
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

// A rule of the node: whoever's packets are refused so often is cut off, and nobody else is.
TEST_F(Counting, TheNodeCutsOffWhoseRefusalsAreReported) {
  std::ofstream(folder_.file("node.toml")) << "[errors]\ncut_after = 20\n";
  const Daemon daemon{folder_.file("node"), {"--config", folder_.file("node.toml")}};
  Actor rogue = sender<Ticket>([](Line& line, Interface&, Terminus& terminus, Ticket ticket) {
    ticket.key ^= 1;
    if (terminus.connect(ticket, kPatience) != Status::ok) return 1;
    for (int i = 0; i < 100; ++i) {
      SendHandle handle;
      if (terminus.send(ticket, {}, {}, &handle) == Status::pending)
        static_cast<void>(terminus.wait(handle, kPatience));
    }
    // Until the link is gone: then there is a message that waits for the next one, or it is refused at once.
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (terminus.connect(ticket, kPatience) == Status::ok) {
      if (std::chrono::steady_clock::now() > until) return 4;
      std::this_thread::yield();
    }
    // The next link is refused to it.
    if (terminus.connect(ticket, kPatience) != Status::refused) return 2;
    line.put('!');
    return line.take<char>() ? 0 : 3;
  });
  Actor honest = sender<Ticket>([](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    if (terminus.connect(ticket, kPatience) != Status::ok) return 1;
    line.put('!');
    if (!line.take<char>()) return 2;
    return terminus.send(ticket, {}, {}, nullptr) == Status::ok && line.take<char>() ? 0 : 3;
  });
  receive([&] {
    Receiver to(options(), {.entries = 2});
    honest.line().put(to.slot.ticket(0));
    ASSERT_TRUE(honest.line().take<char>());
    rogue.line().put(to.slot.ticket(1));
    Notification n;
    std::uint64_t refused = 0;
    do {
      ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
      if (n.kind == Notification::Kind::protocol_error) refused += n.word;
    } while (n.kind != Notification::Kind::link_ended);
    EXPECT_GE(refused, 20u);
    ASSERT_TRUE(rogue.line().take<char>()) << "it was let in again";
    honest.line().put('.');
    do {
      ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
    } while (n.kind == Notification::Kind::protocol_error);
    EXPECT_EQ(n.kind, Notification::Kind::message) << "the honest one was cut off, too";
    const node::NodeList list = node::list(at(folder_.file("node")));
    EXPECT_EQ(list.cut, 1u);
    EXPECT_EQ(list.attached.size(), 3u);
    honest.line().put('.');
    rogue.line().put('.');
  });
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_EQ(honest.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
