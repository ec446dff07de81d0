// Names, which are with the daemon, and what goes on when it has gone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <vector>

#include "test/process/library.h"
#include "test/support/forbid.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Library, NamesAreFoundTakenAndWithdrawn) {
  in_child([&] {
    ReceivingEnd to(options());
    Interface other(options());
    to.interface.publish("here", to.slot.ticket());
    EXPECT_EQ(other.lookup("here"), to.slot.ticket());
    try {
      other.publish("here", to.slot.ticket());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::name_taken);
    }
    to.interface.withdraw("here");
    EXPECT_THROW(static_cast<void>(other.lookup("here")), Error);
  });
}

// The claim that was made first is of a name that is kept for who may come back; the answer to the second
// comes before that. (A round in which the test was held up for two seconds shows nothing.)
TEST_F(Library, WhoLeavesInGoodOrderLeavesItsNamesFree) {
  in_child([&] {
    const auto name = [](const char* what, int round) { return what + std::to_string(round); };
    bool at_once = false;
    for (int round = 0; !at_once && round != 5; ++round) {
      auto left = std::make_unique<Interface>(options());
      auto broken = std::make_unique<node::Client>(node::Client::attach(at(folder_.file("node"))));
      node::Client claims = node::Client::attach(at(folder_.file("node")));
      const Ticket ticket{.interface = left->id()};
      left->publish(name("free", round), ticket);
      ASSERT_TRUE(broken->publish(1, name("kept", round), {}, ticket));
      ASSERT_EQ(next_event(*broken).kind, node::Event::Kind::published);
      broken.reset();
      left.reset();
      ASSERT_TRUE(claims.publish(1, name("kept", round), {}, ticket));
      ASSERT_TRUE(claims.publish(2, name("free", round), {}, ticket));
      const node::Event first = next_event(claims);
      EXPECT_EQ(first.kind, node::Event::Kind::published) << first.text;
      at_once = first.request == 2;
    }
    EXPECT_TRUE(at_once);
  });
}

TEST_F(Library, LinksAndNamesOutliveTheDaemon) {
  Actor from = sender([&](Line& line, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; line.take<char>(); ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
      if (i == 1) return interface.lookup("here", kPatience) == ticket ? 0 : 2;
    }
    return 3;
  });
  Actor to([&](Line& line) {
    ReceivingEnd receiver(options());
    receiver.interface.publish("here", receiver.slot.ticket());
    line.put(receiver.slot.ticket());
    for (std::uint64_t i = 0; i < 2; ++i) {
      Notification arrival;
      if (receiver.queue.receive(arrival, kPatience) != Status::ok || arrival.word != i) return 1;
      line.put('.');
    }
    return line.take<char>() ? 0 : 2;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  from.line().put(*ticket);
  from.line().put('.');
  ASSERT_TRUE(to.line().take<char>());
  daemon_.kill();
  const Daemon next{folder_.file("node")};
  from.line().put('.');
  EXPECT_TRUE(to.line().take<char>()) << "the link goes on";
  EXPECT_EQ(from.wait(), 0) << "the name comes back";
  to.line().put('.');
  EXPECT_EQ(to.wait(), 0);
}

// Nobody could make another link then, nor say that there will be none.
TEST_F(Library, WaitsForAPlaceEndWithTheLinkAlsoWithoutADaemon) {
  const auto waiting = [&](bool before) {
    return sender([before](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
      Status status = Status::ok;
      while (status == Status::ok || status == Status::queue_full) status = terminus.send_fast(ticket, {});
      if (status != Status::no_place) return 1;
      line.put('f');
      if (before && !line.take<char>()) return 2;
      while (before && status == Status::no_place) status = terminus.send_fast(ticket, {});
      status = terminus.wait_for_place(ticket, kPatience);
      if (status != Status::link_ended) return 10 + static_cast<int>(status);
      return terminus.wait_for_place(ticket, 1ms) == Status::timed_out ? 0 : 3;  // it is said once
    });
  };
  Actor late = waiting(true), early = waiting(false);
  Actor to([&](Line& line) {
    ReceivingEnd receiver(options(), 4096, {.places = 1});
    line.put(receiver.slot.ticket());
    line.take<char>();
    return 0;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  for (Actor* const each : {&late, &early}) {
    each->line().put(*ticket);
    ASSERT_TRUE(each->line().take<char>());
  }
  daemon_.kill();
  to.signal(SIGKILL);
  EXPECT_EQ(to.wait(), 128 + SIGKILL);
  late.line().put('.');
  EXPECT_EQ(late.wait(), 0);
  EXPECT_EQ(early.wait(), 0);
}

// The kernel has no memory to watch the next one.
TEST_F(Library, ADaemonThatCannotBeWatchedEndsNobody) {
  Actor attached([&](Line& line) {
    Interface interface(options());
    forbid(SYS_epoll_ctl, ENOMEM);
    line.put('a');
    if (!line.take<char>()) return 1;
    try {
      static_cast<void>(interface.lookup("nobody", 700ms));  // a daemon is looked for every 200 ms
      return 2;
    } catch (const Error& error) {
      return error.code() == ErrorCode::node_unreachable ? 0 : 3;
    }
  });
  ASSERT_TRUE(attached.line().take<char>());
  daemon_.kill();
  const Daemon next{folder_.file("node")};
  attached.line().put('.');
  EXPECT_EQ(attached.wait(), 0);
}

// It stood still when it was asked for the bytes of a longer ring, and for a name.
TEST_F(Library, ALinkGrowsThoughTheDaemonTakesTheRequestAlong) {
  Actor from = sender([&](Line& line, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    const std::vector<std::byte> data(4096);
    if (!send_word(terminus, ticket, 0) || !line.take<char>()) return 1;  // the daemon stands still
    if (terminus.send_fast(ticket, data) != Status::queue_full) return 2;
    try {
      static_cast<void>(interface.lookup("nobody", 100ms));  // by the thread that asks for the ring, too
      return 3;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timed_out) return 6;
      line.put('.');
    }
    if (!line.take<char>()) return 4;  // it has gone
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (terminus.send_fast(ticket, data, 1) != Status::ok) {
      if (std::chrono::steady_clock::now() > until) return 5;
      interface.run();
    }
    line.take<char>();
    return 0;
  });
  Actor to([&](Line& line) {
    ReceivingEnd receiver(options());
    line.put(receiver.slot.ticket());
    Notification arrival;
    for (std::uint64_t i = 0; i < 2; ++i) {
      if (receiver.queue.receive(arrival, kPatience) != Status::ok || arrival.word != i) return 1;
      line.put('.');
    }
    return arrival.length == 4096 ? 0 : 2;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  from.line().put(*ticket);
  ASSERT_TRUE(to.line().take<char>());
  daemon_.command().signal(SIGSTOP);
  from.line().put('.');
  ASSERT_TRUE(from.line().take<char>());
  daemon_.kill();
  from.line().put('.');
  EXPECT_EQ(to.wait(), 0);
  from.line().put('.');
  EXPECT_EQ(from.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
