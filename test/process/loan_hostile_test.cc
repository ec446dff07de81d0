// Loans against either side that says and writes what it likes, by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "protocols/loan_wire.h"
#include "test/process/loans.h"

namespace hamlyn::test {
namespace {

using protocols::LoanAnswer;
using protocols::LoanOpen;
using protocols::LoanWord;

std::span<const std::byte> of(const LoanOpen& open) { return std::as_bytes(std::span{&open, 1}); }

constexpr auto kAnswer = static_cast<std::uint64_t>(LoanWord::answer);
constexpr auto kRefuse = static_cast<std::uint64_t>(LoanWord::refuse);
constexpr auto kGone = static_cast<std::uint64_t>(LoanWord::gone);

// Says by hand what a LoanSender says.
struct HostileSender {
  explicit HostileSender(Manager& manager, std::size_t bytes = 65536)
      : interface(manager.interface()),
        area(interface, bytes, Sharing::mapped_read_only),
        queue(interface),
        area_slot(area, queue, {.access = Access::read_only}),
        desk_area(interface, 64),
        desk(desk_area, queue, {.places = 8}),
        terminus(interface) {
    open.desk = desk.ticket();
    open.area = area_slot.ticket();
    open.cuts[0] = {100, 4};
  }
  // The word of the answer; 0: there was none.
  std::uint64_t knock(LoanReceiver& receiver) { return knock(receiver, receiver.make_seed()); }
  std::uint64_t knock(LoanReceiver& receiver, const Seed& seed) {
    SendHandle handle;
    static_cast<void>(terminus.send(seed.ticket, of(open), {.acknowledged = true}, &handle));
    if (terminus.wait(handle, kPatience) != Status::ok) return 0;
    Borrowed none;
    Notification arrival;
    for (int i = 0; i < 20; ++i) {
      static_cast<void>(receiver.receive(none, 1ms));
      if (queue.receive(arrival, 1ms) != Status::ok || arrival.kind != Notification::Kind::message) continue;
      if (arrival.word == kGone) continue;  // of the opening before
      if (arrival.length == sizeof answer) std::memcpy(&answer, desk.bytes(arrival).data(), sizeof answer);
      if (arrival.length == sizeof answer) static_cast<void>(terminus.connect(landing(seed), kPatience));
      return arrival.word;
    }
    return 0;
  }
  Ticket landing(const Seed& seed) const { return answer.landing(seed.ticket.interface); }

  Interface& interface;
  MessageArea area;
  NotificationQueue queue;
  Slot area_slot;
  MessageArea desk_area;
  Slot desk;
  Terminus terminus;
  LoanOpen open;
  LoanAnswer answer;
};

TEST_F(Loans, that_are_out_of_bounds_end_their_sender) {
  with_both([](Managers& both) {
    HostileSender hostile{both.sender};
    LoanReceiver receiver{both.receiver};
    struct Lie {
      std::uint64_t index;
      protocols::LoanMessage message;
    };
    for (const auto& [index, message] :
         {Lie{4, {1, 1}}, Lie{1023, {1, 0}}, Lie{0, {1, 101}}, Lie{3, {1, 0xFFFFFFFF}}, Lie{0, {0, 1}}}) {
      const Seed seed = receiver.make_seed();
      ASSERT_EQ(hostile.knock(receiver, seed), kAnswer);
      const Ticket landing = hostile.landing(seed);
      Borrowed borrowed, none;
      ASSERT_EQ(hostile.terminus.send_fast(landing, {}, protocols::word_of({1, 100}), 3), Status::ok);
      ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
      EXPECT_EQ(borrowed.bytes().size(), 100u);
      ASSERT_EQ(hostile.terminus.send_fast(landing, {}, protocols::word_of(message), index), Status::ok);
      EXPECT_EQ(receiver.receive(none, kPatience), Status::broken);
      EXPECT_EQ(receiver.receive(none, 0ns), Status::broken);
      EXPECT_FALSE(none);
      EXPECT_EQ(borrowed.bytes()[99], std::byte{0}) << "what was good stays readable";
    }
  });
}

// One look goes through all that stands there, also where somebody has seen the ticket and sends nonsense.
TEST_F(Loans, are_found_by_one_look_behind_what_strangers_have_sent) {
  with_both([](Managers& both) {
    HostileSender lender{both.sender};
    LoanReceiver receiver{both.receiver, {.places = 128}};
    const Seed seed = receiver.make_seed();
    ASSERT_EQ(lender.knock(receiver, seed), kAnswer);
    const Ticket landing = lender.landing(seed);
    Interface third{both.sender_options};
    Terminus stranger{third};
    ASSERT_EQ(stranger.wait_for_place(landing, kPatience), Status::ok);
    const auto lands = [&] {  // what was sent so far, and nobody has looked at it
      for (int i = 0; i < 100; ++i) both.receiver.interface().run();
    };
    for (int i = 0; i < 80; ++i) {
      while (stranger.send_fast(landing, {}, 7) != Status::ok) lands();
    }
    lands();
    ASSERT_EQ(lender.terminus.send_fast(landing, {}, protocols::word_of({1, 100}), 3), Status::ok);
    lands();
    Borrowed borrowed;
    EXPECT_EQ(receiver.receive(borrowed, 0ns), Status::ok);
    EXPECT_EQ(receiver.receive(borrowed, 0ns), Status::timed_out);
  });
}

TEST_F(Loans, are_not_taken_from_who_shows_less_than_it_says) {
  NEEDS_TWO("one of them shows what is of the other");
  with_both([](Managers& both) {
    HostileSender hostile{both.sender};
    LoanReceiver receiver{both.receiver};
    const LoanOpen good = hostile.open;
    const Seed seed = receiver.make_seed();
    hostile.open.cuts[0] = {65536, 1};  // reaches beyond the area
    EXPECT_EQ(hostile.knock(receiver, seed), kRefuse);
    hostile.open.cuts[0] = {std::uint64_t{1} << 63, 2};
    EXPECT_EQ(hostile.knock(receiver, seed), 0u) << "no sender says that: it is not answered";
    hostile.open = good;
    hostile.open.area.key ^= 1;  // shows nothing
    EXPECT_EQ(hostile.knock(receiver, seed), kRefuse);
    hostile.open = good;
    hostile.open.area.interface = both.receiver.interface().id();  // shows somebody else's
    EXPECT_EQ(hostile.knock(receiver, seed), 0u);
    hostile.open = good;
    hostile.open.desk.interface = both.receiver.interface().id();
    EXPECT_EQ(hostile.knock(receiver, seed), 0u);
    hostile.open = good;
    EXPECT_EQ(hostile.knock(receiver, seed), kAnswer) << "the seed stayed good";
  });
}

TEST_F(Loans, are_not_taken_from_who_lets_others_write_them) {
  with_both([](Managers& both) {
    HostileSender hostile{both.sender};
    MessageArea writable{both.sender.interface(), 65536, Sharing::mapped_read_write};
    Slot slot{writable, hostile.queue, {}};
    hostile.open.area = slot.ticket();
    LoanReceiver receiver{both.receiver};
    EXPECT_EQ(hostile.knock(receiver), kRefuse);
  });
}

// Says by hand what a LoanReceiver says, and writes whatever it likes where that writes what it gives back.
struct HostileReceiver {
  explicit HostileReceiver(Manager& manager)
      : interface(manager.interface()),
        page(interface, 4096, Sharing::mapped_read_only),
        queue(interface),
        page_slot(page, queue, {.access = Access::read_only}),
        area(interface, 1024),
        door(area, queue, {.mode = Mode::paranoid_one_shot, .entries = 1, .fast = false}),
        landing(area, queue, {.entries = 1, .places = 64}),
        terminus(interface) {
    static_cast<void>(door.arm(0));
  }
  Seed seed() const {
    Seed seed{door.ticket(0)};
    seed.ticket.purpose = static_cast<std::uint32_t>(SeedKind::loan);
    return seed;
  }
  bool answer_opening() {
    Notification arrival;
    if (queue.receive(arrival, kPatience) != Status::ok || arrival.length != sizeof open) return false;
    std::memcpy(&open, door.bytes(arrival).data(), sizeof open);
    LoanAnswer answer;
    answer.landing_key = landing.ticket().key;
    answer.landing_slot = landing.ticket().slot;
    answer.landing_generation = landing.ticket().generation;
    answer.returns_key = page_slot.ticket().key;
    answer.returns_slot = page_slot.ticket().slot;
    answer.returns_generation = page_slot.ticket().generation;
    return terminus.connect(open.desk, kPatience) == Status::ok &&
           terminus.send_fast(open.desk, std::as_bytes(std::span{&answer, 1}), kAnswer) == Status::ok;
  }
  std::span<std::uint32_t> numbers() {
    return {reinterpret_cast<std::uint32_t*>(page.bytes().data()), protocols::kLoanBuffers};
  }

  Interface& interface;
  MessageArea page;
  NotificationQueue queue;
  Slot page_slot;
  MessageArea area;
  Slot door;
  Slot landing;
  Terminus terminus;
  LoanOpen open;
};

TEST_F(Loans, of_others_do_not_come_back_by_what_a_receiver_writes) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 8}}};
    HostileReceiver hostile{both.receiver};
    LoanReceiver honest{both.receiver};
    const auto to_honest = opened(pool, honest);
    std::thread answers([&] { EXPECT_TRUE(hostile.answer_opening()); });
    LoanSender to_hostile{pool, hostile.seed(), {.timeout = kPatience}};
    answers.join();
    Loan shared, own, kept;
    ASSERT_EQ(pool.take(1, shared), Status::ok);
    ASSERT_EQ(pool.take(1, own), Status::ok);
    ASSERT_EQ(pool.take(1, kept), Status::ok);
    ASSERT_EQ(to_honest->send(shared), Status::ok);
    ASSERT_EQ(to_hostile.send(shared), Status::ok);
    ASSERT_EQ(to_honest->send(own), Status::ok);
    const auto write = [&](std::uint32_t number) {
      for (std::uint32_t& each : hostile.numbers()) std::atomic_ref(each).store(number);
    };
    for (const std::uint32_t number : {0u, 2u, 0xFFFFFFFFu}) {
      write(number);
      EXPECT_EQ(shared.holders(), 2u);
      EXPECT_EQ(pool.free_buffers(), 5u);
    }
    write(1);  // of everything, lent to it or not: the first loan of each
    EXPECT_EQ(shared.holders(), 1u) << "its own part, and that once";
    EXPECT_EQ(own.holders(), 1u);
    EXPECT_EQ(pool.free_buffers(), 5u);
    EXPECT_EQ(to_hostile.held(), 0u);
    EXPECT_EQ(to_honest->held(), 2u);
    kept.let_go();
    EXPECT_EQ(pool.free_buffers(), 6u);
  });
}

TEST_F(Loans, of_a_receiver_that_talks_nonsense_come_back) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 8}}};
    const auto nonsense = [&](const auto& say) {
      HostileReceiver hostile{both.receiver};
      std::thread answers([&] { EXPECT_TRUE(hostile.answer_opening()); });
      LoanSender to{pool, hostile.seed(), {.timeout = kPatience}};
      answers.join();
      Loan loan;
      EXPECT_EQ(pool.take(1, loan), Status::ok);
      EXPECT_EQ(to.send(loan), Status::ok);
      say(hostile);
      EXPECT_TRUE(comes_true([&] {
        both.receiver.interface().run();
        both.sender.poll();
        return to.end() == Status::broken;
      }));
      EXPECT_EQ(to.send(loan), Status::broken);
      EXPECT_EQ(loan.holders(), 0u);
    };
    nonsense([](HostileReceiver& hostile) {
      static_cast<void>(hostile.terminus.send_fast(hostile.open.desk, {}, 77));
    });
    nonsense([](HostileReceiver& hostile) {  // a message, where only the end of the link is told
      Ticket entry = hostile.open.desk;
      entry.entry = 0;
      entry.incarnation = 1;
      static_cast<void>(hostile.terminus.send(entry, bytes_of("x")));
    });
    EXPECT_EQ(pool.free_buffers(), 8u);
  });
}

TEST_F(Loans, are_not_lent_to_who_answers_falsely) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    HostileReceiver hostile{both.receiver};
    std::thread answers([&] {
      Notification arrival;
      if (hostile.queue.receive(arrival, kPatience) != Status::ok) return;
      LoanOpen open;
      std::memcpy(&open, hostile.door.bytes(arrival).data(), sizeof open);
      EXPECT_EQ(hostile.terminus.connect(open.desk, kPatience), Status::ok);
      static_cast<void>(hostile.terminus.send_fast(open.desk, bytes_of("no answer at all"), kAnswer));
    });
    EXPECT_EQ(thrown_by([&] { LoanSender(pool, hostile.seed(), {.timeout = kPatience}); }),
              ErrorCode::peer_refused);
    answers.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
