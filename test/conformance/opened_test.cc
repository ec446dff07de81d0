// Messages of 17 to 40 bytes in fast mode: within a host they go in one cell, by an opening; elsewhere with
// their key.
#include "fabric/shm/short_way.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

class Opened : public Conformance {
 protected:
  // One that alice makes up.
  static Packet opened(std::uint32_t name, std::uint32_t serial, std::size_t length, std::uint64_t offset,
                       bool notify = false) {
    Packet packet{};
    interface::set_word(packet, interface::kLeadWord, interface::opened_lead());
    interface::set_word(packet, interface::kSlotWord,
                        interface::put_word(interface::opening_word(name, serial), length, notify, offset));
    for (std::size_t i = interface::kKeyWord; i != interface::kOpenedUserWord; ++i)
      interface::set_word(packet, i, 0x5A5A5A5A5A5A5A5Au);
    interface::set_word(packet, interface::kOpenedUserWord, 99);
    return packet;
  }
  interface::Link& to_bob() {
    return *alice.core.find_link(bob.id);
  }
  bool untouched() {
    return std::ranges::all_of(area.bytes(), [](std::byte each) { return each == std::byte{0xEE}; });
  }

  Area area{4096};
  TestSlot slot{bob, area, queue, {.bound = 2048, .places = 8}};
  Terminus terminus{alice.core, 63};
};

TEST_P(Opened, take_one_cell_within_a_host) {
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  struct Case {
    std::size_t length;
    std::uint64_t cells;
  };
  for (const Case& each : {Case{16, 1}, {17, 1}, {24, 1}, {40, 1}, {41, 2}, {64, 2}}) {
    const std::uint64_t before = to_bob().put_count();
    ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(each.length, 1)), Status::ok);
    EXPECT_EQ(to_bob().put_count() - before, each.cells) << each.length;
    next();
  }
}

TEST_P(Opened, have_places_as_any_other) {
  ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(40, 1)), Status::ok);
  const std::uint32_t granted = to_bob().credits.front()->granted;
  for (std::uint32_t i = 1; i < granted; ++i)
    ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(40, 1)), Status::ok);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(40, 1), 0, 0), Status::no_place);
  rest();
  for (std::uint32_t i = 0; i < granted; ++i) EXPECT_EQ(next().length, 40u);
  rest();
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(40, 1), 0, 0), Status::ok);
  next();
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

// A sender that lies.
TEST_P(Opened, are_refused_by_an_opening_that_is_none_and_outside_of_its_slot) {
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  const std::uint64_t opening = to_bob().credits.front()->opening;
  const interface::PutWord good = interface::put_word_of(opening);
  const struct {
    Packet packet;
    Refusal cause;
  } lies[] = {
      {opened(good.name + 1, good.serial, 40, 0), Refusal::stale_generation},
      {opened(255, good.serial, 40, 0), Refusal::stale_generation},
      {opened(good.name, good.serial + 1, 40, 0), Refusal::stale_generation},
      {opened(good.name, good.serial, 40, 2009), Refusal::out_of_bounds},
      {opened(good.name, good.serial, 1, 2048), Refusal::out_of_bounds},
      {opened(good.name, good.serial, 40, interface::kPutSpan - 1), Refusal::out_of_bounds},
      {opened(good.name, good.serial, 41, 0), Refusal::malformed},
      {opened(good.name, good.serial, 63, 0), Refusal::malformed},
      {opened(good.name, good.serial, 8, 0, true), Refusal::malformed},
  };
  for (const auto& lie : lies) {
    const std::uint64_t before = bob.refused(lie.cause);
    inject(lie.packet);
    rest();
    EXPECT_EQ(bob.refused(lie.cause), before + 1) << name(lie.cause);
  }
  EXPECT_TRUE(untouched());
  EXPECT_EQ(bob.refused_in_all(), std::size(lies));
  inject(opened(good.name, good.serial, 40, 8));
  rest();
  EXPECT_EQ(bob.refused_in_all(), std::size(lies));
  EXPECT_FALSE(untouched());
}

// An opening for puts and reads, with places to be told by, is none for messages.
TEST_P(Opened, are_refused_where_a_slot_takes_puts_alone) {
  TestSlot puts(bob, area, queue, {.bound = 2048, .fast = false, .places = 8, .gets = 64, .puts = true});
  until([&] { return terminus.put(puts.ticket(), pattern(8, 1), {}, nullptr) == Status::ok; });
  rest();
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  const interface::PutWord good = interface::put_word_of(to_bob().credits.front()->opening);
  inject(opened(good.name, good.serial, 40, 0));
  rest();
  EXPECT_EQ(bob.refused(Refusal::mode_forbids), 1u);
  EXPECT_EQ(bob.refused_in_all(), 1u);
  EXPECT_TRUE(untouched());
  EXPECT_TRUE(queue->empty() || next().kind == Notification::Kind::protocol_error);
}

// More than its places: nothing more lands, and what stands stays.
TEST_P(Opened, are_refused_without_a_place) {
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  rest();
  const interface::SendCredit& credit = *to_bob().credits.front();
  const interface::PutWord good = interface::put_word_of(credit.opening);
  for (std::uint32_t i = 0; i < credit.granted + 5; ++i) inject(opened(good.name, good.serial, 40, 0));
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 5u);
  EXPECT_EQ(bob.refused_in_all(), 5u);
}

// Between two cells of one batch, by the long way and by an open run.
TEST_P(Opened, are_refused_from_the_next_cell_on_once_their_slot_has_changed) {
  enum class Change { key, guests, end };
  for (const bool by_run : {false, true}) {
    for (const Change change : {Change::key, Change::guests, Change::end}) {
      interface::Queue* const own = bob.core.make_queue(64);
      auto changed = std::make_unique<TestSlot>(bob, area, own, Slot::Options{.bound = 2048, .places = 8});
      Terminus sender(alice.core, 63);
      ASSERT_EQ(send_fast(sender, changed->ticket(), pattern(40, 1)), Status::ok);
      next(bob, own);
      rest();
      for (int i = 0; i < 3; ++i)
        ASSERT_EQ(sender.send_fast(changed->ticket(), pattern(40, 2), 0, 0), Status::ok);
      shm::ShmLink& link = *bob.core.find_link(alice.id)->local();
      shm::ShortWay way(bob.core);
      if (by_run) {
        Notification first;
        way.open(link, *own, link.until_settled() - 1);
        ASSERT_EQ(way.take_run(*own, {&first, 1}, 0), 1u);
        EXPECT_EQ(first.length, 40u);
      } else {
        ASSERT_EQ(link.arrive(bob.core, 1), 1u);
      }
      std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
      if (change == Change::key) bob.core.change_key(changed->index());
      if (change == Change::guests) bob.core.set_guests(changed->index(), nullptr);
      if (change == Change::end) {
        Notification taken;
        if (!own->empty()) bob.core.take(*own, taken);
        changed.reset();
      }
      const std::uint64_t before = bob.refused(Refusal::stale_generation);
      if (by_run) {
        Notification none;
        EXPECT_EQ(way.take_run(*own, {&none, 1}, 0), 0u) << "the run goes on";
        way.close();
      }
      rest();
      EXPECT_EQ(bob.refused(Refusal::stale_generation), before + 2);
      EXPECT_TRUE(untouched());
    }
  }
}

// Between hosts a message carries its key.
class OpenedFar : public Opened {};

TEST_P(OpenedFar, are_nothing_that_comes_from_another_host) {
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  const interface::PutWord good = interface::put_word_of(to_bob().credits.front()->opening);
  inject(opened(good.name, good.serial, 40, 0));
  rest();
  EXPECT_TRUE(untouched());
  EXPECT_TRUE(bob.core.find_link(alice.id)->broken || bob.refused(Refusal::malformed) == 1);
}

std::vector<FabricKind> these(bool local) {
  std::vector<FabricKind> all = fabrics();
  std::erase_if(all, [&](const FabricKind& each) {
    return each.oneself || (each.name == std::string("shm")) != local;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(fabric, Opened, testing::ValuesIn(these(true)), fabric_name);
INSTANTIATE_TEST_SUITE_P(fabric, OpenedFar, testing::ValuesIn(these(false)), fabric_name);

}  // namespace
}  // namespace hamlyn::test
