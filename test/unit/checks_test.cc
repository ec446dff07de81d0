// The checks of a packet by themselves (interface/packets/checks.h): each refuses on its own, though another
// may refuse the same packet before or behind it.
#include "interface/packets/checks.h"

#include <gtest/gtest.h>

#include "test/unit/no_link.h"

namespace hamlyn::test {
namespace {

using namespace interface;  // NOLINT: one test of one file of it

constexpr std::uint64_t kBound = 256;
constexpr std::uint32_t kSlotGeneration = 3;

class Checks : public testing::Test {
 protected:
  Checks() {
    SlotRecord& slot = slots[1];
    slot.base = memory;
    slot.bound = kBound;
    slot.key = 77;
    slot.generation = kSlotGeneration;
    slot.live = true;
    slot.puts = std::make_unique<Puts>(kBound, 0);
    ReceiveCredit& places = records[1];
    places.slot = 1;
    places.generation = kSlotGeneration;
    places.serial = 5;
    places.takes_puts = true;
    link.places = {1};
  }
  static Packet packet_of(Operation operation, std::size_t length, std::uint32_t element = 0) {
    Packet packet{};
    set_lead(packet, operation, length, 0, element);
    packet.slot = 1;
    packet.generation = kSlotGeneration;
    packet.key = 77;
    return packet;
  }
  Refusal put(const Packet& packet, bool notify = false) {
    PutLanding landing;
    PutWord word;
    word.notify = notify;
    return check_put(packet, word, slots[1], landing);
  }
  Refusal fence(std::uint32_t delta) {
    Packet packet = packet_of(Operation::fence, 0);
    packet.delta = delta;
    std::uint32_t record;
    return check_fence(slots, records, link, packet, record);
  }

  alignas(8) std::byte memory[kBound]{};
  Slots slots = Slots(4);
  Records records = Records(2);
  NoLink link{9};
};

TEST_F(Checks, of_a_signal_want_a_known_one_and_a_whole_aligned_word) {
  Packet signal = packet_of(Operation::put_block, 8);
  signal.key = 0;
  signal.word = static_cast<std::uint64_t>(Signal::add);
  EXPECT_EQ(put(signal), Refusal::none);
  signal.offset = 4;
  EXPECT_EQ(put(signal), Refusal::misaligned);
  signal.offset = 0;
  signal.word = static_cast<std::uint64_t>(Signal::add) + 1;
  EXPECT_EQ(put(signal), Refusal::malformed);
  for (const std::size_t bytes : {0u, 1u, 2u, 3u, 5u, 7u, 16u}) {
    Packet other = packet_of(Operation::put_block, bytes);
    other.key = 0;
    other.word = static_cast<std::uint64_t>(Signal::add);
    EXPECT_EQ(put(other), Refusal::malformed) << bytes;
  }
  Packet shorter = packet_of(Operation::put_block, 4);
  shorter.key = 0;
  shorter.word = static_cast<std::uint64_t>(Signal::add);
  shorter.offset = 4;
  EXPECT_EQ(put(shorter), Refusal::none);
  shorter.offset = 2;
  EXPECT_EQ(put(shorter), Refusal::misaligned);
  shorter.offset = 0;
  shorter.key = interface::signals_of(5);
  EXPECT_EQ(put(shorter), Refusal::none) << "whether there is such an opening is asked later";
  for (const std::uint64_t named : {std::uint64_t{5}, interface::kSignalsOf << 1, ~std::uint64_t{0}}) {
    shorter.key = named;
    EXPECT_EQ(put(shorter), Refusal::malformed) << named;
  }
}

TEST_F(Checks, of_a_put_want_a_slot_that_takes_puts) {
  EXPECT_EQ(put(packet_of(Operation::put_block, 8)), Refusal::none);
  slots[1].puts.reset();
  EXPECT_EQ(put(packet_of(Operation::put_block, 8)), Refusal::mode_forbids);
}

TEST_F(Checks, of_strided_packets_want_chunks_of_whole_elements) {
  const Strides strides{.chunk = 4, .x_chunks = 2, .y_chunks = 1, .x_stride = 8, .y_stride = 0};
  for (const std::uint32_t element : {0u, 4u, 8u}) {
    Packet packet = packet_of(Operation::put_strided, 8, element);
    set_strides(packet, strides, 0, 0);
    PutLanding landing;
    const PutWord word{.offset = strides.x_stride};
    EXPECT_EQ(check_put(packet, word, slots[1], landing), element == 8 ? Refusal::misaligned : Refusal::none);
    slots[1].gets = 64;
    Packet get = packet_of(Operation::get_strided, kInlineData, element);
    set_gather(get, strides);
    get.delta = 8;
    EXPECT_EQ(check_get(slots, link, get), element == 8 ? Refusal::misaligned : Refusal::none);
  }
}

TEST_F(Checks, of_a_short_message_by_an_opening_want_a_link_of_this_host) {
  slots[1].fast = true;
  EXPECT_EQ(check_opened_write(link, slots[1], {.length = 8}), Refusal::malformed);
}

TEST_F(Checks, of_an_opening_want_the_one_that_lasts) {
  const PutWord word{.name = 0, .serial = 5};
  EXPECT_EQ(find_opening(slots, records, link, word), 1u);
  records[1].over = true;
  EXPECT_EQ(find_opening(slots, records, link, word), kDeadRecord);
  records[1].over = false;
  records[1].slot = kNoEntry;
  EXPECT_EQ(find_opening(slots, records, link, word), kDeadRecord);
  records[1].slot = 1;
  EXPECT_EQ(find_opening(slots, records, link, {.name = 1, .serial = 5}), kDeadRecord);
  EXPECT_EQ(find_opening(slots, records, link, {.name = 0, .serial = 6}), kDeadRecord);
}

TEST_F(Checks, of_a_fence_want_an_opening_of_its_slot_or_none) {
  const auto opening = static_cast<std::uint32_t>(opening_word(0, 5));
  EXPECT_EQ(fence(opening), Refusal::none);
  EXPECT_EQ(fence(kNoOpening), Refusal::none);
  EXPECT_EQ(fence(kLostOpening), Refusal::stale_generation);
  EXPECT_EQ(fence(static_cast<std::uint32_t>(opening_word(0, 6))), Refusal::stale_generation);
  slots[2].generation = kSlotGeneration;
  slots[2].live = true;
  records[1].slot = 2;
  EXPECT_EQ(fence(opening), Refusal::stale_generation) << "it is of another slot";
}

// A link whose opening has the very word that stands for one that has ended.
TEST_F(Checks, of_a_fence_take_a_lost_opening_for_none_that_there_is) {
  const PutWord lost = put_word_of(kLostOpening);
  link.places.assign(lost.name + 1, 1);
  records[1].serial = lost.serial;
  EXPECT_EQ(fence(kLostOpening), Refusal::stale_generation);
}

TEST_F(Checks, of_places_want_those_at_that_slot_as_it_is_now) {
  std::uint32_t record = 0;
  EXPECT_TRUE(find_places(records, link, 0, 1, kSlotGeneration, record));
  EXPECT_FALSE(find_places(records, link, 0, 1, kSlotGeneration + 1, record));
  EXPECT_FALSE(find_places(records, link, 0, 2, kSlotGeneration, record));
  EXPECT_FALSE(find_places(records, link, 1, 1, kSlotGeneration, record));
}

TEST_F(Checks, of_an_entry_refuse_what_is_late_of_a_message_that_was_given_up) {
  MetadataEntry entry{};
  entry.state = EntryState::filling;
  entry.message = 7;
  entry.link = link.serial;
  EXPECT_EQ(check_state(entry, link, 7, 1), Refusal::none);
  ASSERT_TRUE(link.lost_messages.give_up(7, 1));
  EXPECT_EQ(check_state(entry, link, 7, 1), Refusal::stale_message);
  EXPECT_EQ(check_state(entry, link, 7, 0), Refusal::none) << "a message of one packet is whole";
}

TEST_F(Checks, of_an_answer_want_a_question_that_was_asked) {
  link.credits.push_back(std::make_unique<SendCredit>());
  link.questions = 3;
  EXPECT_EQ(check_answered(link, credit_word(0, 3)), Refusal::none);
  EXPECT_EQ(check_answered(link, credit_word(0, 4)), Refusal::malformed);
  EXPECT_EQ(check_answered(link, credit_word(1, 3)), Refusal::malformed) << "there is one credit";
  const std::uint64_t beyond = 3 | std::uint64_t{kQuestions};
  EXPECT_EQ(check_answered(link, beyond << kOutletBits), Refusal::malformed);
}

TEST_F(Checks, of_the_whole_of_a_get_want_one_that_waits_for_it) {
  Asked asked;
  asked.length = asked.until = kPutInline;
  EXPECT_EQ(check_got(asked), Refusal::none);
  asked.landed = 1;
  EXPECT_EQ(check_got(asked), Refusal::unasked_reply);
  asked.landed = 0;
  asked.cause = Refusal::too_long;
  EXPECT_EQ(check_got(asked), Refusal::unasked_reply);
  asked.cause = Refusal::none;
  asked.fetch = true;
  EXPECT_EQ(check_got(asked), Refusal::unasked_reply);
}

TEST_F(Checks, of_a_piece_or_a_refusal_want_a_request_that_waits_for_it) {
  Asked asked;
  asked.length = asked.until = 40;
  Packet piece = packet_of(Operation::get_data, 40);
  EXPECT_EQ(check_piece(asked, piece), Refusal::none);
  asked.fetch = true;
  EXPECT_EQ(check_piece(asked, piece), Refusal::unasked_reply);
  Packet refused = packet_of(Operation::refused_request, 0);
  refused.delta = static_cast<std::uint32_t>(Refusal::bad_key);
  EXPECT_EQ(check_refused(asked, refused), Refusal::none);
  asked.cause = Refusal::bad_key;
  EXPECT_EQ(check_refused(asked, refused), Refusal::unasked_reply) << "it was refused before";
}

TEST_F(Checks, of_a_request_like_the_one_before_want_its_kind) {
  CachedRequest cached;
  cached.kind = write_lead(0) >> 32;
  Words words{};
  words.word[kLeadWord] = write_lead(0);
  EXPECT_TRUE(like(cached, words));
  words.word[kLeadWord] = write_lead(1);
  EXPECT_FALSE(like(cached, words));
}

TEST_F(Checks, of_an_entrys_bounds_want_all_of_them) {
  slots[1].mode = Mode::paranoid;
  MetadataEntry entry{};
  entry.base = 64;
  entry.bound = 32;
  EXPECT_EQ(check_bounds(slots[1], entry, 64, 32), Refusal::none);
  EXPECT_EQ(check_bounds(slots[1], entry, 63, 1), Refusal::out_of_bounds);
  EXPECT_EQ(check_bounds(slots[1], entry, 65, 32), Refusal::out_of_bounds);
  entry.base = kBound;  // beyond its slot, where no entry is
  EXPECT_EQ(check_bounds(slots[1], entry, kBound, 1), Refusal::out_of_bounds);
}

}  // namespace
}  // namespace hamlyn::test
