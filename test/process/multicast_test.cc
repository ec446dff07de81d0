// Multicast and its members, between real processes and between interfaces of one.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Multicasts : public OnNodes {
 protected:
  // A process that takes messages in one entry, arms it again, and says so.
  Actor member() {
    return Actor([this](Line& line) {
      Interface interface(other_options());
      MessageArea area(interface, 65536);
      NotificationQueue queue(interface);
      Slot slot(area, queue, {.entries = 1});
      if (!line.put(slot.ticket(0))) return 1;
      Notification arrival;
      while (queue.receive(arrival, kPatience) == Status::ok) {
        if (arrival.kind == Notification::Kind::link_ended) return 0;
        if (arrival.kind != Notification::Kind::message || slot.arm(0) != Status::ok) return 2;
        line.put(arrival.length);
      }
      return 3;
    });
  }
};

// By what the kernel shows, for it is no child of whoever asks.
bool stands_still(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") T") == 0;
}

// A member in the test's own process.
struct Member {
  explicit Member(const Interface::Options& options) : interface(options) {}
  Interface interface;
  MessageArea area{interface, 65536};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.entries = 1}};
};

TEST_F(Multicasts, reach_each_recipient_once_and_count_them) {
  in_child([&] {
    std::vector<std::unique_ptr<Member>> members;
    std::vector<Ticket> tickets;
    for (int i = 0; i < 5; ++i) {
      members.push_back(std::make_unique<Member>(other_options()));
      tickets.push_back(members.back()->slot.ticket(0));
    }
    Interface interface(options());
    Multicast multicast(interface, 5);
    for (const std::size_t bytes : {0u, 16u, 40000u}) {
      const std::vector<std::byte> data(bytes, std::byte{0x5C});
      ASSERT_EQ(multicast.send(tickets, data), Status::ok);
      ASSERT_EQ(multicast.wait(kPatience), Status::ok);
      EXPECT_EQ(multicast.count().delivered, 5u);
      EXPECT_EQ(multicast.count().failed + multicast.count().waiting, 0u);
      for (const auto& member : members) {
        // It has landed: its notification is there without any more waiting.
        const std::optional<Notification> arrival = member->queue.poll();
        ASSERT_TRUE(arrival);
        EXPECT_TRUE(std::ranges::equal(member->slot.bytes(*arrival), data));
        ASSERT_EQ(member->slot.arm(0), Status::ok);
      }
    }
    EXPECT_EQ(multicast.send({}, {}), Status::ok) << "to nobody";
    EXPECT_EQ(multicast.wait(0ns), Status::ok);
    EXPECT_EQ(multicast.status(0), Status::invalid);
  });
}

TEST_F(Multicasts, refuse_a_list_as_a_whole) {
  in_child([&] {
    Member member(other_options());
    Interface interface(options());
    Multicast multicast(interface, 2);
    const Ticket good = member.slot.ticket(0), fast = member.slot.ticket();
    Ticket wrong = good;
    wrong.version = 9;
    const std::vector<std::byte> data(65537);
    EXPECT_EQ(multicast.send(std::vector{good, good, good}, {}), Status::too_long);
    EXPECT_EQ(multicast.send(std::vector{good, fast}, {}), Status::invalid);
    EXPECT_EQ(multicast.send(std::vector{good, wrong}, {}), Status::invalid);
    EXPECT_EQ(multicast.send(std::vector{good}, data), Status::out_of_bounds);
    EXPECT_EQ(multicast.send(std::vector{good}, {}, {.offset = 65537}), Status::out_of_bounds);
    EXPECT_EQ(multicast.send(std::vector{good}, {}, {.metadata = std::span(data).first(61)}),
              Status::too_long);
    const std::span eight = std::span(data).first(8);
    EXPECT_EQ(multicast.send(std::vector{good}, eight, {.element = 3}), Status::invalid);
    EXPECT_EQ(multicast.send(std::vector{good}, eight.first(6), {.element = 4}), Status::misaligned);
    EXPECT_EQ(multicast.send(std::vector{good}, eight, {.offset = 2, .element = 4}), Status::misaligned);
    EXPECT_EQ(multicast.count().delivered, 0u);
    EXPECT_FALSE(member.queue.poll()) << "nothing of them has left";
    EXPECT_THROW(Multicast(interface, 0), Error);
    EXPECT_THROW(Multicast(interface, 4097), Error);
  });
}

TEST_F(Multicasts, tell_of_a_ticket_that_was_revoked) {
  in_child([&] {
    Member revoked(other_options()), good(options());
    const std::vector<Ticket> tickets{revoked.slot.ticket(0), good.slot.ticket(0)};
    revoked.slot.change_key();
    Interface interface(options());
    Multicast multicast(interface);
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    EXPECT_EQ(multicast.status(0), Status::refused);
    EXPECT_EQ(multicast.status(1), Status::ok);
  });
}

TEST_F(Multicasts, tell_of_a_member_that_dies_and_do_not_wait_for_it) {
  Actor dying = member(), living = member();
  const auto first = dying.line().take<Ticket>(), second = living.line().take<Ticket>();
  ASSERT_TRUE(first && second);
  in_child([&] {
    Interface interface(options());
    Multicast multicast(interface);
    const std::vector<Ticket> tickets{*first, *second};
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    ASSERT_EQ(multicast.count().delivered, 2u);
    // Both have armed their entry again.
    ASSERT_TRUE(dying.line().take<std::uint64_t>() && living.line().take<std::uint64_t>());
    dying.signal(SIGKILL);
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    EXPECT_EQ(multicast.status(1), Status::ok);
    // It may have died before the message left, while it was under way, or after it had answered.
    const Status status = multicast.status(0);
    EXPECT_TRUE(status == Status::link_ended || status == Status::refused || status == Status::ok);
    ASSERT_TRUE(living.line().take<std::uint64_t>());
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    EXPECT_EQ(multicast.count().failed, 1u);
    EXPECT_EQ(multicast.count().delivered, 1u);
  });
  EXPECT_EQ(living.wait(), 0);
}

TEST_F(Multicasts, count_those_that_have_got_it_in_time) {
  Actor stopped = member(), going = member();
  const auto first = stopped.line().take<Ticket>(), second = going.line().take<Ticket>();
  ASSERT_TRUE(first && second);
  in_child([&] {
    Interface interface(options());
    Multicast multicast(interface);
    const std::vector<Ticket> tickets{*first, *second};
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    ASSERT_TRUE(stopped.line().take<std::uint64_t>() && going.line().take<std::uint64_t>());
    stopped.signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return stands_still(stopped.pid()); }));
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_TRUE(eventually([&] { return interface.run(), multicast.count().delivered == 1; }));
    EXPECT_EQ(multicast.wait(1ms), Status::timed_out);
    EXPECT_EQ(multicast.status(0), Status::pending);
    EXPECT_EQ(multicast.send(tickets, {}), Status::pending) << "the list is still waited for";
    multicast.stop();
    EXPECT_EQ(multicast.status(0), Status::cancelled);
    EXPECT_EQ(multicast.status(1), Status::ok);
    stopped.signal(SIGCONT);
    // What it answers now is of no message that is waited for.
    ASSERT_TRUE(stopped.line().take<std::uint64_t>() && going.line().take<std::uint64_t>());
    ASSERT_EQ(multicast.send(tickets, {}), Status::ok);
    ASSERT_EQ(multicast.wait(kPatience), Status::ok);
    EXPECT_EQ(multicast.count().delivered, 2u);
  });
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_EQ(going.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
