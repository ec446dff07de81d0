// The short ways in for a request and for its answer (shm::Request, ShmLink::take_answer) against the long
// one: whatever is asked, and whatever is answered, both do the same.
#include <algorithm>

#include "test/conformance/short_ways.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Requests;
using interface::Terminus;

constexpr std::size_t kBytes = 512;  // of an area

// The same request to bob, who serves it by the long way and whose answer is taken by it, and to carol by the
// short ones. What comes out of it, and what either side counts, is the same.
struct Asked {
  bool fetch;
  Fetch what;
  std::uint64_t offset, length;
  std::uint64_t key_flip;
  std::uint32_t generation_more;
  bool answered;
  bool in_memory = false;  // of the caller's, not in a slot
};

class ShmShortRemote : public ShortWays {
 protected:
  Asked any_request() {
    constexpr FetchOp kOps[] = {FetchOp::add, FetchOp::swap, FetchOp::compare_and_swap};
    constexpr std::uint64_t kLengths[] = {1, 8, 15, 16, 40, 47, 48, 49, 64, 128, 129};
    constexpr std::uint64_t kOffsets[] = {0,           8,          12,         13,    kBytes - 48,
                                          kBytes - 16, kBytes - 8, kBytes - 1, kBytes};
    Asked a{};
    if (!random.one_in(4)) a = last;  // mostly like the one before
    a.what.operand = random.below(5);
    a.what.compare = random.below(5);
    a.offset = kOffsets[random.below(random.one_in(2) ? 2 : std::size(kOffsets))];
    if (a.length == 0 || random.one_in(6)) {
      a.fetch = random.one_in(2);
      a.what.op = kOps[random.below(std::size(kOps))];
      a.what.bytes = random.one_in(4) ? 4 : 8;
      a.length = kLengths[random.below(std::size(kLengths))];
    }
    a.key_flip = random.one_in(12) ? std::uint64_t{1} << random.below(64) : 0;
    a.generation_more = random.one_in(20) ? 1 : 0;
    a.answered = !random.one_in(10);
    a.in_memory = random.one_in(2);
    return last = a;
  }
  RemoteHandle ask(Requests& asks, Ticket ticket, const Asked& a, TestSlot& landing, Area& own) {
    RemoteHandle handle;
    ticket.key ^= a.key_flip;
    ticket.generation += a.generation_more;
    ticket.bound = 2 * kBytes;  // the other side sees to it
    const RemoteOptions options{.offset = a.offset, .answered = a.answered || !a.fetch};
    const interface::Landing into {
      landing.index(), 0, a.length, a.in_memory ? own.bytes().data() : nullptr
    };
    const Status status = a.fetch ? asks.fetch(ticket, a.what, options, nullptr, &handle)
                                  : asks.get(ticket, into, options, nullptr, &handle);
    EXPECT_EQ(status, options.answered ? Status::pending : Status::ok);
    return handle;
  }
  shm::ShmLink& way_to(const Party& party) { return *alice.core.find_link(party.id)->local(); }
  std::uint64_t unasked() const { return alice.refused(Refusal::unasked_reply); }

  Asked last{};
};

// One after the other, each served by the short way; more of them than the ring of replies has cells.
TEST_P(ShmShortRemote, serves_requests_as_the_long_way_does) {
  Area area(kBytes), own(kBytes);
  TestSlot slot(bob, area, queue, {.access = Access::read_write, .fetches = true, .gets = 128});
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  Terminus terminus{alice.core, 63};
  Requests& asks = terminus.requests();
  const std::vector<std::byte> data = pattern(64, 1);
  std::copy(data.begin(), data.end(), area.bytes().begin() + 64);
  const auto served = [&](RemoteHandle handle) {
    EXPECT_TRUE(take_request(bob, link_of(bob)));
    EXPECT_TRUE(until([&] { return asks.outcome(handle).status != Status::pending; }));
    return asks.outcome(handle);
  };
  for (std::uint64_t i = 0; i < 200; ++i) {
    RemoteHandle handle;
    ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 3}, {}, nullptr, &handle), Status::pending);
    EXPECT_EQ(served(handle).value, 3 * i);
    ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 64, 64}, {.offset = 64}, nullptr, &handle),
              Status::pending);
    EXPECT_EQ(served(handle).status, Status::ok);
    EXPECT_TRUE(same(own.bytes().subspan(64, 64), data));
  }
  Ticket wrong = slot.ticket();
  wrong.key ^= 1;
  RemoteHandle handle;
  ASSERT_EQ(asks.fetch(wrong, {.operand = 3}, {}, nullptr, &handle), Status::pending);
  const Outcome outcome = served(handle);
  EXPECT_EQ(outcome.status, Status::refused);
  EXPECT_EQ(outcome.cause, Refusal::bad_key);
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  Ticket longer = slot.ticket();
  longer.bound += 8;
  ASSERT_EQ(asks.fetch(longer, {.operand = 1}, {.offset = kBytes}, nullptr, &handle), Status::pending);
  EXPECT_EQ(served(handle).cause, Refusal::out_of_bounds);
  inject(hand_made(slot.ticket(), 16));
  EXPECT_FALSE(take_request(bob, link_of(bob))) << "a message is no request";
}

TEST_P(ShmShortRemote, serves_and_answers_as_the_long_way_does) {
  const Slot::Options options{.access = Access::read_write, .fetches = true, .gets = 128};
  Area bobs(kBytes), carols(kBytes), from_bob(kBytes), from_carol(kBytes);
  TestSlot long_way(bob, bobs, queue, options);
  TestSlot short_way(carol, carols, carol.core.make_queue(64), options);
  interface::Queue* const own = alice.core.make_queue(16);
  TestSlot into_long(alice, from_bob, own, {}), into_short(alice, from_carol, own, {});
  const std::vector<std::byte> data = pattern(kBytes, 1);
  for (Area* area : {&bobs, &carols}) std::copy(data.begin(), data.end(), area->bytes().begin());
  Terminus terminus{alice.core, 63};
  Requests& asks = terminus.requests();
  int like_before = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    random = sim::Generator(seed);
    if (random.one_in(50)) long_way.change_key(), short_way.change_key();
    const Asked a = any_request();
    const RemoteHandle second = ask(asks, short_way.ticket(), a, into_short, from_carol);
    shm::ShmLink& at = link_of(carol);
    like_before += at.cached.request.key == short_way.ticket().key ? 1 : 0;
    ASSERT_TRUE(take_request(carol, at));
    if (a.answered || !a.fetch) {
      while (asks.outcome(second).status == Status::pending)
        ASSERT_TRUE(way_to(carol).take_answer(alice.core)) << "seed " << seed;
      EXPECT_FALSE(way_to(carol).take_answer(alice.core));
    }
    const RemoteHandle first = ask(asks, long_way.ticket(), a, into_long, from_bob);
    bob.core.run();
    alice.core.run();
    const Outcome one = asks.outcome(first), two = asks.outcome(second);
    EXPECT_EQ(one.status, two.status);
    EXPECT_EQ(one.cause, two.cause);
    EXPECT_EQ(one.value, two.value);
    EXPECT_TRUE(same(bobs.bytes(), carols.bytes()));
    EXPECT_TRUE(same(from_bob.bytes(), from_carol.bytes()));
    for (std::size_t i = 0; i < static_cast<std::size_t>(Refusal::count); ++i)
      EXPECT_EQ(bob.counters().refused[i], carol.counters().refused[i]) << name(static_cast<Refusal>(i));
    EXPECT_EQ(link_of(bob).counters->packets_in, link_of(carol).counters->packets_in);
    EXPECT_EQ(link_of(bob).counters->bytes_in, link_of(carol).counters->bytes_in);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << (a.fetch ? " fetch" : " get") << " at " << a.offset;
  }
  EXPECT_GT(like_before, 500) << "the short way was hardly taken";
  EXPECT_EQ(unasked(), 0u);
}

// What the owner changes holds for the next request, though the one before was like it.
TEST_P(ShmShortRemote, remembers_nothing_that_has_changed) {
  Area area(kBytes), own(kBytes);
  TestSlot slot(bob, area, queue, {.access = Access::read_write, .fetches = true, .gets = 128, .puts = true});
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  Terminus terminus{alice.core, 63};
  Requests& asks = terminus.requests();
  const Ticket ticket = slot.ticket();
  const auto served = [&](const Asked& a) {
    const RemoteHandle handle = ask(asks, ticket, a, landing, own);
    EXPECT_TRUE(take_request(bob, link_of(bob)));
    rest();
    return asks.outcome(handle);
  };
  const Asked get{.fetch = false,
                  .what = {},
                  .offset = 0,
                  .length = 16,
                  .key_flip = 0,
                  .generation_more = 0,
                  .answered = true};
  Asked fetch = get;
  fetch.fetch = true;
  for (const Asked& a : {get, fetch}) {
    EXPECT_EQ(served(a).status, Status::ok);
    EXPECT_EQ(served(a).status, Status::ok);
    bob.core.pin_puts(slot.index(), 0, kBytes, false);
    EXPECT_EQ(served(a).cause, Refusal::not_pinned);
    bob.core.pin_puts(slot.index(), 0, kBytes, true);
    EXPECT_EQ(served(a).status, Status::ok);
    bob.core.inhibit_puts(slot.index());
    EXPECT_EQ(served(a).cause, a.fetch ? Refusal::inhibited : Refusal::none);
    bob.core.release_puts(slot.index());
    EXPECT_EQ(served(a).status, Status::ok);
    bob.core.set_guests(slot.index(),
                        std::make_unique<interface::Guests>(Protection{.mode = 0}, interface::User{7, 70}));
    EXPECT_EQ(served(a).cause, Refusal::not_permitted);
    bob.core.set_guests(slot.index(), nullptr);
    EXPECT_EQ(served(a).status, Status::ok);
  }
  slot.drop();
  EXPECT_EQ(served(get).cause, Refusal::stale_generation);
}

// Answers that nobody has asked for, by either way: refused, counted, and nothing else.
TEST_P(ShmShortRemote, takes_no_answer_that_was_not_asked_for) {
  Area area(kBytes), own(kBytes);
  TestSlot slot(carol, area, carol.core.make_queue(64), {.fetches = true, .gets = 128});
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  Terminus terminus{alice.core, 63};
  Requests& asks = terminus.requests();
  interface::Link* const link = carol.core.find_link(alice.id);
  std::uint64_t refused = 0;
  for (const bool fetch : {true, false}) {
    Asked a{.fetch = fetch,
            .what = {},
            .offset = 0,
            .length = 16,
            .key_flip = 0,
            .generation_more = 0,
            .answered = true};
    const RemoteHandle handle = ask(asks, slot.ticket(), a, landing, own);
    std::uint32_t id = 0;
    for (const interface::Asked& each : way_to(carol).remote.asked) id = each.busy ? each.id : id;
    const auto forge = [&](Operation operation, std::uint64_t named) {
      Packet reply{};
      set_lead(reply, operation, operation == Operation::got ? 16 : 8, 0);
      reply.word = named;
      if (operation == Operation::got) set_word(reply, interface::kSlotWord, named);
      ASSERT_EQ(link->put_reply(reply, reply.data), Status::ok);
      ASSERT_TRUE(way_to(carol).take_answer(alice.core));
      EXPECT_EQ(unasked(), ++refused);
      EXPECT_EQ(asks.outcome(handle).status, Status::pending);
    };
    const Operation other = fetch ? Operation::got : Operation::fetched;
    const Operation right = fetch ? Operation::fetched : Operation::got;
    forge(other, id);
    forge(right, id + 1);
    forge(right, id + interface::kRequestPlaces);
    forge(right, id | std::uint64_t{1} << 32);
    ASSERT_TRUE(take_request(carol, link_of(carol)));
    ASSERT_TRUE(way_to(carol).take_answer(alice.core));
    EXPECT_EQ(asks.outcome(handle).status, Status::ok);
    Packet again{};
    set_lead(again, right, fetch ? 8 : 16, 0);
    again.word = id;
    if (!fetch) set_word(again, interface::kSlotWord, id);
    ASSERT_EQ(link->put_reply(again, again.data), Status::ok);
    ASSERT_TRUE(way_to(carol).take_answer(alice.core));
    EXPECT_EQ(unasked(), ++refused);
  }
  EXPECT_FALSE(way_to(carol).broken);
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmShortRemote, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
