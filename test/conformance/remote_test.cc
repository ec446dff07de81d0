// Fetch-and-op and remote get: what they do, on every fabric, and what is refused.
#include <atomic>
#include <thread>

#include "test/conformance/remotes.h"

namespace hamlyn::test {
namespace {

using interface::kOutstanding;
using interface::kReplyPayload;
using interface::Operation;
using interface::Requests;
using interface::Terminus;

class Remote : public Remotes {};

struct FetchCase {
  FetchOp op;
  std::uint64_t before, operand, compare, after;
};

constexpr std::uint64_t kMinus = ~std::uint64_t{0};  // -1

TEST_P(Remote, every_operation_in_both_sizes) {
  const FetchCase cases[] = {
      {FetchOp::add, 40, 2, 0, 42},
      {FetchOp::add, kMinus, 2, 0, 1},
      {FetchOp::bit_and, 0b1100, 0b1010, 0, 0b1000},
      {FetchOp::bit_or, 0b1100, 0b1010, 0, 0b1110},
      {FetchOp::bit_xor, 0b1100, 0b1010, 0, 0b0110},
      {FetchOp::swap, 5, 6, 0, 6},
      {FetchOp::min_signed, 5, kMinus, 0, kMinus},
      {FetchOp::min_signed, kMinus, 5, 0, kMinus},
      {FetchOp::max_signed, 5, kMinus, 0, 5},
      {FetchOp::max_signed, kMinus, 5, 0, 5},
      {FetchOp::min_unsigned, 5, kMinus, 0, 5},
      {FetchOp::min_unsigned, kMinus, 5, 0, 5},
      {FetchOp::max_unsigned, 5, kMinus, 0, kMinus},
      {FetchOp::max_unsigned, kMinus, 5, 0, kMinus},
      {FetchOp::compare_and_swap, 7, 8, 7, 8},
      {FetchOp::compare_and_swap, 7, 8, 6, 7},
  };
  for (const FetchCase& each : cases) {
    for (const std::uint32_t bytes : {4u, 8u}) {
      for (const bool answered : {true, false}) {
        const std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : 0xFFFFFFFFu;
        const std::uint64_t beside = bytes == 8 ? 0 : 0xABCDEF0000000000u;
        set_word(64, (each.before & mask) | beside);
        const Outcome outcome = fetch(slot.ticket(), {each.op, bytes, each.operand, each.compare},
                                      {.offset = 64, .answered = answered});
        rest();
        EXPECT_EQ(outcome.status, Status::ok);
        if (answered) {
          EXPECT_EQ(outcome.value, each.before & mask) << static_cast<int>(each.op);
        }
        EXPECT_EQ(word_at(64), (each.after & mask) | beside) << static_cast<int>(each.op) << " " << bytes;
      }
    }
  }
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

TEST_P(Remote, many_are_under_way_and_each_is_done_once) {
  constexpr std::uint64_t kRounds = 20;
  std::set<std::uint64_t> seen;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::vector<RemoteHandle> handles(kOutstanding);
    for (RemoteHandle& handle : handles)
      ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handle), Status::pending);
    RemoteHandle none;
    EXPECT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &none), Status::queue_full);
    EXPECT_EQ(asks.outcome(none).status, Status::invalid);
    for (const RemoteHandle handle : handles) {
      const Outcome outcome = end_of(handle);
      EXPECT_EQ(outcome.status, Status::ok);
      EXPECT_TRUE(seen.insert(outcome.value).second) << "two saw the same count";
    }
  }
  EXPECT_EQ(word_at(0), kRounds * kOutstanding);
  EXPECT_EQ(*seen.rbegin(), kRounds * kOutstanding - 1);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Remote, they_are_atomic_against_the_owners_threads) {
  constexpr std::uint64_t kLocal = 20000, kAsked = 2000;
  const auto count = [&] {
    for (std::uint64_t i = 0; i < kLocal; ++i) {
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(area.data())).fetch_add(1);
      std::atomic_ref<std::uint32_t> narrow(*reinterpret_cast<std::uint32_t*>(area.data() + 64));
      std::uint32_t now = narrow.load();
      while (!narrow.compare_exchange_weak(now, now + 1)) {
      }
    }
  };
  std::thread one(count), other(count);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    const Outcome outcome = fetch(slot.ticket(), {.operand = 1});
    EXPECT_TRUE(i == 0 || outcome.value > last);
    last = outcome.value;
    EXPECT_EQ(fetch(slot.ticket(), {.bytes = 4, .operand = 1}, {.offset = 64}).status, Status::ok);
    if (i % 64 == 0) {
      EXPECT_EQ(get(slot.ticket(), 72).status, Status::ok);
    }
  }
  one.join();
  other.join();
  EXPECT_EQ(word_at(0), 2 * kLocal + kAsked);
  EXPECT_EQ(word_at(64, 4), 2 * kLocal + kAsked);
}

TEST_P(Remote, a_get_brings_what_stands_there_and_nothing_beside_it) {
  const std::vector<std::byte> bytes = pattern(area.size(), 7);
  std::copy(bytes.begin(), bytes.end(), area.data());
  for (const std::size_t length : {1u, 7u, 8u, 15u, 16u, 17u, 64u, 255u, 256u, 257u, 1000u, 5000u, 65536u}) {
    for (const std::uint64_t offset : {0u, 1u, 3u, 4u, 24u, 65536u}) {
      std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
      const std::uint64_t at = length % 3 + 5;
      ASSERT_EQ(get(slot.ticket(), length, offset, at).status, Status::ok) << length << " at " << offset;
      EXPECT_TRUE(same(own.bytes().subspan(at, length), std::span(bytes).subspan(offset, length)));
      EXPECT_EQ(own.data()[at - 1], std::byte{0xEE});
      EXPECT_EQ(own.data()[at + length], std::byte{0xEE});
    }
  }
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

TEST_P(Remote, gets_of_all_sizes_at_once) {
  const std::vector<std::byte> bytes = pattern(area.size(), 8);
  std::copy(bytes.begin(), bytes.end(), area.data());
  std::vector<RemoteHandle> handles(kOutstanding);
  for (std::uint32_t i = 0; i < kOutstanding; ++i) {
    const std::uint64_t length = 1 + i * 500;
    ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), i * 8192u, length}, {.offset = i * 100u}, nullptr,
                       &handles[i]),
              Status::pending);
  }
  for (const RemoteHandle handle : handles) EXPECT_EQ(end_of(handle).status, Status::ok);
  for (std::uint32_t i = 0; i < kOutstanding; ++i)
    EXPECT_TRUE(
        same(own.bytes().subspan(i * 8192, 1 + i * 500), std::span(bytes).subspan(i * 100, 1 + i * 500)));
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

// Nothing that arrives waits for something that leaves: what cannot be answered yet stays in its work entry.
TEST_P(Remote, a_requester_that_takes_no_replies_holds_up_nobody) {
  for (std::uint32_t i = 0; i < kOutstanding; ++i) {
    const Status status = i % 2 == 0
                              ? asks.get(slot.ticket(), {landing.index(), 0, 4096}, {}, nullptr, nullptr)
                              : asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, nullptr, nullptr);
    ASSERT_EQ(status, Status::pending);
  }
  rest_of(bob);
  EXPECT_FALSE(bob.core.something_to_do()) << "it would never sleep";
  EXPECT_EQ(word_at(8), kOutstanding / 2) << "all are done, though not all are answered";
  // Alice's further messages arrive, and carol is answered.
  Terminus from_carol(carol.core, 63);
  for (std::uint64_t i = 0; i < 20; ++i)
    ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 16, .answered = false}, nullptr, nullptr),
              Status::ok);
  RemoteHandle handle;
  ASSERT_EQ(from_carol.requests().fetch(slot.ticket(), {.operand = 5}, {.offset = 24}, nullptr, &handle),
            Status::pending);
  for (int i = 0; i < 100; ++i) {
    fabric->pass();
    bob.core.run();
    carol.core.run();
  }
  EXPECT_EQ(from_carol.requests().outcome(handle).status, Status::ok);
  EXPECT_EQ(word_at(16), 20u);
  rest();
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
}

TEST_P(Remote, more_requests_than_there_are_work_entries_are_refused) {
  for (const auto operation :
       {interface::Operation::get, interface::Operation::fetch, interface::Operation::fence}) {
    SCOPED_TRACE(static_cast<int>(operation));
    // Between hosts so many short answers leave at once.
    if (operation != interface::Operation::get && std::string_view(GetParam().name) == "ofi") break;
    const bool fetches = operation == interface::Operation::fetch;
    const std::uint64_t refused = bob.refused_in_all(), answered = unasked();
    interface::Packet packet = hand_made(slot.ticket(), 0);
    set_lead(packet, operation, fetches ? interface::kInlineData : 0, 0);
    packet.delta = fetches ? static_cast<std::uint32_t>(FetchOp::add) | 8u << 8 : kReplyPayload;
    int sent = 0;
    for (; sent < 40; ++sent) {  // as many as the narrowest link takes without an answer
      if (alice.core.find_link(bob.id)->put(packet, packet.data, nullptr) != Status::ok) break;
    }
    rest_of(bob);
    EXPECT_GT(bob.refused_in_all(), refused);
    EXPECT_EQ(bob.refused_in_all(), bob.refused(Refusal::over_budget));
    const std::uint64_t taken = static_cast<std::uint64_t>(sent) - (bob.refused_in_all() - refused);
    EXPECT_LE(taken, kOutstanding + 12);
    rest();
    EXPECT_EQ(unasked() - answered, taken) << "and each answer is one that nobody has asked for";
    EXPECT_EQ(fetch(slot.ticket(), {.operand = 1}).status, Status::ok) << "the link goes on";
  }
}

TEST_P(Remote, a_fetch_without_an_answer_counts_for_no_limit) {
  for (std::uint32_t i = 0; i < 10 * kOutstanding; ++i)
    ASSERT_TRUE(until([&] {
      return asks.fetch(slot.ticket(), {.operand = 3}, {.answered = false}, nullptr, nullptr) == Status::ok;
    }));
  rest();
  EXPECT_EQ(word_at(0), 30 * kOutstanding);
  Ticket wrong = slot.ticket();
  wrong.key ^= 1;
  EXPECT_EQ(asks.fetch(wrong, {.operand = 3}, {.answered = false}, nullptr, nullptr), Status::ok);
  rest();
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  EXPECT_EQ(word_at(0), 30 * kOutstanding);
}

TEST_P(Remote, each_refusal_has_its_cause_at_both_sides) {
  TestSlot small(bob, area, queue, {.base = 4096, .bound = 100, .entries = 1, .fetches = true, .gets = 64});
  TestSlot plain(bob, area, queue, {.base = 8192, .bound = 100});
  TestSlot gone(bob, area, queue, {.fetches = true, .gets = 64});
  const Ticket stale = gone.ticket();
  gone.drop();
  const std::vector<std::byte> before(area.bytes().begin(), area.bytes().end());
  struct Case {
    Ticket ticket;
    std::uint64_t offset;
    std::size_t length;  // of a get; 0: a fetch
    Refusal cause;
  };
  std::vector<Case> cases;
  const auto add = [&](Ticket ticket, std::uint64_t offset, std::size_t length, Refusal cause) {
    ticket.base = 0;
    ticket.bound = ~std::uint64_t{0} / 2;  // a ticket that lies: only the owner's checks count
    cases.push_back({ticket, offset, length, cause});
  };
  for (const std::size_t length : {0u, 64u}) {
    Ticket wrong = small.ticket();
    wrong.slot += 1u << 20;
    add(wrong, 0, length, Refusal::bad_slot);
    add(stale, 0, length, Refusal::stale_generation);
    for (int bit = 0; bit < 64; bit += 7) {
      wrong = small.ticket();
      wrong.key ^= std::uint64_t{1} << bit;
      add(wrong, 0, length, Refusal::bad_key);
    }
    add(plain.ticket(), 0, length, Refusal::mode_forbids);
    for (const std::uint64_t offset :
         {std::uint64_t{96}, std::uint64_t{100}, std::uint64_t{1} << 32, std::uint64_t{1} << 62})
      add(small.ticket(), offset, length, Refusal::out_of_bounds);
  }
  add(small.ticket(), 37, 64, Refusal::out_of_bounds);
  add(small.ticket(), 0, 101, Refusal::out_of_bounds);
  add(small.ticket(), 0, 65, Refusal::too_long);
  for (std::uint64_t offset = 1; offset < 8; ++offset) add(small.ticket(), offset, 0, Refusal::misaligned);
  for (const Case& each : cases) {
    const std::uint64_t counted = bob.refused(each.cause);
    const Outcome outcome = each.length == 0 ? fetch(each.ticket, {.operand = 1}, {.offset = each.offset})
                                             : get(each.ticket, each.length, each.offset);
    EXPECT_EQ(outcome.status, Status::refused) << name(each.cause);
    EXPECT_EQ(outcome.cause, each.cause) << each.offset << " " << each.length;
    EXPECT_EQ(bob.refused(each.cause), counted + 1);
    while (take(bob, queue)) {
    }
  }
  EXPECT_EQ(bob.refused_in_all(), cases.size());
  EXPECT_TRUE(same(area.bytes(), before)) << "something was done though it was refused";
  EXPECT_EQ(landed(), 0u);
  // The neighbours of the refused values.
  EXPECT_EQ(fetch(small.ticket(), {.operand = 1}, {.offset = 88}).status, Status::ok);
  EXPECT_EQ(fetch(small.ticket(0), {.bytes = 4, .operand = 1}, {.offset = 96}).status, Status::ok);
  EXPECT_EQ(get(small.ticket(), 64, 36).status, Status::ok);
  EXPECT_EQ(alice.refused_in_all(), 0u);
}

// A word of 4 bytes may lie where one of 8 may not; one that is cut by a cache line lies nowhere.
TEST_P(Remote, misaligned_words_are_never_worked_on) {
  Area crooked(512);
  TestSlot odd(bob, crooked, queue, {.base = 3, .bound = 256, .fetches = true});
  const auto base = reinterpret_cast<std::uintptr_t>(crooked.data()) + 3;
  for (const std::uint32_t bytes : {4u, 8u}) {
    for (std::uint64_t offset = 0; offset <= 128; ++offset) {
      const Outcome outcome = fetch(odd.ticket(), {.bytes = bytes, .operand = 1}, {.offset = offset});
      const bool fits = (base + offset) % bytes == 0;
      EXPECT_EQ(outcome.status, fits ? Status::ok : Status::refused) << offset;
      EXPECT_EQ(outcome.cause, fits ? Refusal::none : Refusal::misaligned) << offset;
    }
  }
}

TEST_P(Remote, requests_that_make_no_sense_are_malformed) {
  interface::Packet packet = hand_made(slot.ticket(), 16);
  set_lead(packet, interface::Operation::fetch, 16, 0);
  const auto delta = [](std::uint32_t op, std::uint32_t bytes) { return op | bytes << 8; };
  std::uint64_t wrong = 0;
  for (const std::uint32_t each :
       {delta(0, 8), delta(11, 8), delta(255, 8), delta(1, 0), delta(1, 1), delta(1, 2), delta(1, 5),
        delta(1, 16), delta(1, 255), delta(1, 8) | 1u << 17, delta(1, 8) | 1u << 31}) {
    packet.delta = each;
    inject(packet);
    ++wrong;
  }
  set_lead(packet, interface::Operation::get, 0, 0);
  packet.delta = 0;
  inject(packet);
  rest();
  EXPECT_EQ(bob.refused(Refusal::malformed), wrong + 1);
  EXPECT_EQ(word_at(0), 0u);
}

TEST_P(Remote, what_makes_no_sense_does_not_leave) {
  RemoteHandle handle;
  EXPECT_EQ(asks.fetch(slot.ticket(), {.bytes = 2}, {}, nullptr, &handle), Status::invalid);
  EXPECT_EQ(asks.fetch(slot.ticket(), {.op = static_cast<FetchOp>(0)}, {}, nullptr, &handle),
            Status::invalid);
  EXPECT_EQ(asks.fetch(slot.ticket(), {.op = static_cast<FetchOp>(11)}, {}, nullptr, &handle),
            Status::invalid);
  EXPECT_EQ(asks.fetch(slot.ticket(), {}, {.offset = area.size() - 7}, nullptr, &handle),
            Status::out_of_bounds);
  EXPECT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 0}, {}, nullptr, &handle), Status::invalid);
  EXPECT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 65537}, {}, nullptr, &handle), Status::too_long);
  EXPECT_EQ(asks.get(slot.ticket(), {landing.index(), own.size() - 15, 16}, {}, nullptr, &handle),
            Status::invalid);
  EXPECT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 16}, {.offset = area.size()}, nullptr, &handle),
            Status::out_of_bounds);
  Ticket wrong = slot.ticket();
  wrong.version = 9;
  EXPECT_EQ(asks.fetch(wrong, {}, {}, nullptr, &handle), Status::invalid);
  wrong = slot.ticket();
  wrong.interface = 999;
  EXPECT_EQ(asks.fetch(wrong, {}, {}, nullptr, &handle), Status::connecting);
  EXPECT_TRUE(alice.wanted.count(999));
  EXPECT_EQ(asks.outcome(handle).status, Status::invalid);
  EXPECT_TRUE(alice.core.find_link(bob.id)->remote.asks_nothing());
}

TEST_P(Remote, in_paranoid_slots_key_and_bounds_are_the_entrys) {
  for (const Mode mode : {Mode::paranoid, Mode::paranoid_one_shot}) {
    Area theirs(4096);
    TestSlot paranoid(bob, theirs, queue, {.mode = mode, .entries = 2, .fetches = true, .gets = 512});
    ASSERT_EQ(paranoid.arm(0, {1024, 512}), Status::ok);
    ASSERT_EQ(paranoid.arm(1, {2048, 512}), Status::ok);
    Ticket ticket = paranoid.ticket(0);
    if (mode == Mode::paranoid_one_shot) {
      EXPECT_EQ(fetch(ticket, {.operand = 1}).cause, Refusal::mode_forbids);
      EXPECT_EQ(get(ticket, 8).cause, Refusal::mode_forbids);
      continue;
    }
    EXPECT_EQ(fetch(ticket, {.operand = 9}, {.offset = 8}).status, Status::ok);
    EXPECT_EQ(theirs.data()[1032], std::byte{9});
    EXPECT_EQ(get(ticket, 512).status, Status::ok);
    EXPECT_EQ(own.data()[8], std::byte{9});
    Ticket wide = ticket;
    wide.base = 0;
    wide.bound = 4096;
    for (const std::uint64_t offset : {0u, 1016u, 1532u, 1536u, 2048u})
      EXPECT_EQ(fetch(wide, {.operand = 1}, {.offset = offset}).cause,
                offset == 1532u ? Refusal::out_of_bounds : Refusal::out_of_bounds)
          << offset;
    EXPECT_EQ(get(wide, 512, 1025).cause, Refusal::out_of_bounds);
    wide.key = paranoid.record().key;
    EXPECT_EQ(get(wide, 16, 1024).cause, Refusal::bad_key) << "the slot's own key opens no entry";
    wide.key = paranoid.ticket(1).key;
    EXPECT_EQ(get(wide, 16, 1024).cause, Refusal::bad_key);
    wide.entry = 2;
    EXPECT_EQ(get(wide, 16, 1024).cause, Refusal::bad_entry);
    ASSERT_EQ(paranoid.disarm(0), Status::ok);
    EXPECT_EQ(get(ticket, 16).cause, Refusal::stale_message);
    ticket.incarnation = paranoid.ticket(0).incarnation;
    EXPECT_EQ(get(ticket, 16).cause, Refusal::entry_not_armed);
    ASSERT_EQ(paranoid.arm(0, {1024, 512}), Status::ok);
    EXPECT_EQ(get(ticket, 16).cause, Refusal::bad_key) << "each arming has a key of its own";
    EXPECT_EQ(get(paranoid.ticket(0), 16).status, Status::ok);
  }
}

// --- being told

TEST_P(Remote, a_queue_is_told) {
  ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 32, 16}, {.word = 71}, alices, nullptr),
            Status::pending);
  Notification n = next(alice, alices);
  EXPECT_EQ(n.kind, Notification::Kind::remote_done);
  EXPECT_EQ(n.slot, landing.number());
  EXPECT_EQ(n.offset, 32u);
  EXPECT_EQ(n.length, 16u);
  EXPECT_EQ(n.word, 71u);
  EXPECT_EQ(n.peer, bob.id);
  ASSERT_EQ(asks.fetch(slot.ticket(), {}, {.offset = 1, .word = 72}, alices, nullptr), Status::pending);
  n = next(alice, alices);
  EXPECT_EQ(n.kind, Notification::Kind::remote_failed);
  EXPECT_EQ(n.cause, Refusal::misaligned);
  EXPECT_EQ(n.word, 72u);
}

// A queue of 16 places keeps two for others: 14 may be under way, whoever reads, and each is told.
TEST_P(Remote, each_notification_has_its_place_from_the_start) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t asked = 0;
    while (true) {
      const Status status = asks.fetch(slot.ticket(), {.operand = 1}, {.word = asked}, alices, nullptr);
      if (status == Status::no_place) break;
      ASSERT_EQ(status, Status::pending);
      ++asked;
    }
    EXPECT_EQ(asked, 14u);
    rest();
    for (std::uint64_t i = 0; i < asked; ++i)
      EXPECT_EQ(next(alice, alices).kind, Notification::Kind::remote_done);
    EXPECT_TRUE(alices->empty());
  }
  interface::Queue* short_lived = alice.core.make_queue(16);
  ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, short_lived, nullptr), Status::pending);
  EXPECT_TRUE(alice.core.drop_queue(short_lived));
  rest();
  EXPECT_EQ(word_at(0), 141u);
}

TEST_P(Remote, outcomes_are_kept_for_a_while) {
  Terminus small(alice.core, 4);
  Requests& few = small.requests();
  std::vector<RemoteHandle> handles(8);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    ASSERT_EQ(few.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handles[i]), Status::pending);
    ASSERT_TRUE(until([&] { return few.outcome(handles[i]).status == Status::ok; }));
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(few.outcome(handles[i]).status, Status::invalid);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(few.outcome(handles[i]).value, i);
  EXPECT_EQ(few.outcome(RemoteHandle{}).status, Status::invalid);
  EXPECT_EQ(few.outcome(RemoteHandle{~std::uint64_t{0}}).status, Status::invalid);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(few.fetch(slot.ticket(), {}, {}, nullptr, nullptr), Status::pending);
  EXPECT_EQ(few.fetch(slot.ticket(), {}, {}, nullptr, nullptr), Status::queue_full) << "four entries";
}

// A try that has found no room is no later operation.
TEST_P(Remote, outcomes_are_kept_however_often_others_find_no_room) {
  RemoteHandle handle;
  set_word(8, 77);
  ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, nullptr, &handle), Status::pending);
  ASSERT_EQ(end_of(handle).value, 77u);
  interface::Link& link = *alice.core.find_link(bob.id);
  Ticket wrong = slot.ticket();
  wrong.key ^= 1;
  while (link.put(hand_made(wrong, interface::kInlineData), junk, nullptr) == Status::ok) {
  }
  interface::Queue* const full = alice.core.make_queue(1);
  ASSERT_EQ(full->reserve(1), 1u);
  for (int i = 0; i != 200; ++i) {
    ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, nullptr, nullptr), Status::queue_full);
    ASSERT_NE(asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, full, nullptr), Status::pending);
  }
  EXPECT_EQ(asks.outcome(handle).status, Status::ok);
  EXPECT_EQ(asks.outcome(handle).value, 77u);
  rest();
  for (int i = 0; i != 200; ++i)
    ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {.offset = 8}, full, nullptr), Status::no_place);
  EXPECT_EQ(asks.outcome(handle).value, 77u);
}

TEST_P(Remote, they_leave_behind_earlier_messages_of_their_terminus) {
  Area large(1u << 20);
  TestSlot bulk(bob, large, queue, {.entries = 1});
  SendHandle sent;
  ASSERT_EQ(terminus.send(bulk.ticket(0), large.bytes(), {}, &sent), Status::pending);
  EXPECT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, nullptr), Status::queue_full);
  ASSERT_TRUE(until([&] { return terminus.status(sent) == Status::ok; }));
  EXPECT_EQ(fetch(slot.ticket(), {.operand = 1}).status, Status::ok);
}

// --- the end of a link

TEST_P(Remote, the_end_of_a_link_ends_what_was_asked_over_it) {
  RemoteHandle handles[3], to_carol;
  Area carols(64);
  TestSlot at_carol(carol, carols, carol.core.make_queue(16), {.fetches = true});
  ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handles[0]), Status::pending);
  ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 60000}, {.word = 5}, alices, &handles[1]),
            Status::pending);
  ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handles[2]), Status::pending);
  ASSERT_EQ(asks.fetch(at_carol.ticket(), {.operand = 1}, {}, nullptr, &to_carol), Status::pending);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  for (const RemoteHandle handle : handles) EXPECT_EQ(asks.outcome(handle).status, Status::link_ended);
  Notification n = next(alice, alices);
  EXPECT_EQ(n.kind, Notification::Kind::remote_failed);
  EXPECT_EQ(n.cause, Refusal::none);
  EXPECT_EQ(n.word, 5u);
  EXPECT_EQ(end_of(to_carol).status, Status::ok);
  EXPECT_EQ(asks.fetch(slot.ticket(), {}, {}, nullptr, nullptr), Status::connecting);
}

TEST_P(Remote, a_requester_that_goes_leaves_no_work_behind) {
  for (std::uint32_t i = 0; i < kOutstanding; ++i)
    ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 60000}, {}, nullptr, nullptr), Status::pending);
  rest_of(bob);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  EXPECT_FALSE(bob.core.something_to_do());
  fabric->join(alice, bob);
  EXPECT_EQ(fetch(slot.ticket(), {.operand = 1}).status, Status::ok);
}

INSTANTIATE_TEST_SUITE_P(fabric, Remote, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
