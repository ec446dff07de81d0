// The ring, byte by byte: what the writer leaves in the cells, and what the reader makes of cells that no
// honest writer would leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric/sim/generator.h"
#include "test/unit/ring_support.h"

namespace hamlyn::test {
namespace {

using interface::kCell;
using interface::Operation;
using interface::Packet;
using shm::RingReader;
using shm::RingWriter;

constexpr std::uint32_t kCells = 8;

class Ring : public testing::Test {
 protected:
  Ring() {
    writer.reset(cells, kCells, 0);
    reader.reset(cells, kCells);
  }

  static Packet packet_with(std::size_t length, std::size_t metadata, std::uint64_t word = 0) {
    Packet packet{};
    set_lead(packet, Operation::write, length, metadata);
    packet.word = word;
    return packet;
  }
  static std::vector<std::byte> bytes(std::size_t count, std::uint64_t seed) {
    sim::Generator generator(seed);
    std::vector<std::byte> made(count);
    for (std::byte& each : made) each = static_cast<std::byte>(generator.next());
    return made;
  }
  std::uint32_t turn_of(std::uint32_t cell) const {
    std::uint32_t turn;
    std::memcpy(&turn, cells + cell, sizeof turn);
    return turn;
  }
  void put(std::size_t length, std::size_t metadata, std::uint64_t seed) {
    const std::vector<std::byte> data = bytes(length, seed), meta = bytes(metadata, seed + 1);
    writer.put(packet_with(length, metadata, seed), data.data(), meta.data());
  }
  // Takes the next packet and compares it with what `put` made of `seed`.
  void take(std::size_t length, std::size_t metadata, std::uint64_t seed) {
    Packet packet;
    ASSERT_TRUE(look(reader, packet));
    EXPECT_EQ(packet.lead.length, length);
    EXPECT_EQ(packet.lead.metadata_length, metadata);
    EXPECT_EQ(packet.word, seed);
    const std::vector<std::byte> data = bytes(length, seed), meta = bytes(metadata, seed + 1);
    const interface::Payload payload = reader.payload(packet.lead);
    std::vector<std::byte> found(length);
    if (length <= interface::kInlineData) {
      std::copy_n(packet.data, length, found.begin());
    } else {
      std::memcpy(found.data(), payload.first, payload.first_length);
      std::memcpy(found.data() + payload.first_length, payload.second, length - payload.first_length);
    }
    EXPECT_EQ(found, data);
    if (metadata != 0) {
      EXPECT_EQ(std::memcmp(payload.metadata, meta.data(), metadata), 0);
    }
    reader.skip(cells_of(packet.lead));
  }

  alignas(64) Packet cells[kCells] = {};
  RingWriter<> writer;
  RingReader<> reader;
};

TEST_F(Ring, a_short_packet_is_one_cell_with_its_turn_first) {
  std::vector<std::byte> data = bytes(16, 1);
  Packet packet = packet_with(16, 0, 0x1122334455667788u);
  packet.slot = 5;
  packet.key = 6;
  writer.put(packet, data.data(), nullptr);
  EXPECT_EQ(writer.written(), 1u);
  EXPECT_EQ(turn_of(0), 1u);
  EXPECT_EQ(cells[0].lead.length, 16u);
  EXPECT_EQ(cells[0].lead.operation, Operation::write);
  EXPECT_EQ(cells[0].slot, 5u);
  EXPECT_EQ(cells[0].key, 6u);
  EXPECT_EQ(cells[0].word, 0x1122334455667788u);
  EXPECT_EQ(std::memcmp(cells[0].data, data.data(), 16), 0);
  const std::vector<std::byte> zero(kCell);
  EXPECT_EQ(std::memcmp(cells + 1, zero.data(), kCell), 0) << "nothing else was touched";
}

TEST_F(Ring, a_block_is_what_a_packet_with_its_words_is) {
  alignas(64) Packet others[kCells] = {};
  RingWriter<> other;
  other.reset(others, kCells, 0);
  sim::Generator random(7);
  int blocks = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::size_t length = random.below(5 * kCell + 1);
    const std::vector<std::byte> data = bytes(length, seed);
    Packet packet = packet_with(length, 0, seed);
    packet.slot = 1, packet.generation = 2, packet.key = seed + 3, packet.offset = seed + 4;
    set_entry(packet, Ticket::kFast, 5);
    const std::uint32_t cells_wanted = cells_of(packet.lead);
    while (!other.has_room(cells_wanted)) {
      Packet seen;
      ASSERT_TRUE(look(reader, seen)) << "all of the ring is full, and nothing can be seen in it";
      reader.skip(cells_of(seen.lead));
      ASSERT_TRUE(writer.credit(reader.taken()) && other.credit(reader.taken()));
    }
    other.put(packet, data.data(), nullptr);
    if (length > interface::kInlineData && writer.cached_room(cells_wanted)) {
      interface::FastTarget target {};
      target.slot_word = word_at(packet, interface::kSlotWord);
      target.key = packet.key;
      target.entry_word = word_at(packet, interface::kEntryWord);
      writer.publish(shm::FastBlock{{target, packet.offset, packet.word}, data.data(), length});
      ++blocks;
    } else {
      writer.put(packet, data.data(), nullptr);
    }
    ASSERT_EQ(writer.written(), other.written());
    ASSERT_EQ(writer.cached_room(), other.cached_room());
    ASSERT_EQ(std::memcmp(cells, others, sizeof cells), 0)
        << "packet " << seed << " of " << length << " bytes";
  }
  EXPECT_GT(blocks, 500);
}

TEST_F(Ring, its_first_lap_may_begin_at_any_cell) {
  for (std::uint32_t first = 0; first < kCells; ++first) {
    std::fill(std::begin(cells), std::end(cells), Packet{});
    writer = {};
    reader = {};
    writer.reset(cells, kCells, 0, 1, first);
    reader.reset(cells, kCells, 1, first);
    sim::Generator random(first);
    std::uint64_t put_so_far = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const std::size_t length = random.below(4 * kCell), metadata = random.below(2) * 8;
      const std::uint32_t wanted = cells_of(packet_with(length, metadata).lead);
      EXPECT_EQ(writer.has_room(wanted), put_so_far + wanted < reader.taken() + kCells);
      EXPECT_FALSE(reader.something_there());
      put(length, metadata, seed);
      EXPECT_EQ(writer.written(), put_so_far += wanted);
      take(length, metadata, seed);
      EXPECT_EQ(reader.taken(), put_so_far);
      ASSERT_TRUE(writer.credit(reader.taken()));
      ASSERT_FALSE(HasFailure()) << "from cell " << first << ", packet " << seed;
    }
  }
}

TEST_F(Ring, nothing_of_the_senders_memory_beyond_its_data_is_shown) {
  for (std::byte* each = reinterpret_cast<std::byte*>(cells); each != reinterpret_cast<std::byte*>(cells + 1);
       ++each)
    *each = std::byte{0xEE};
  const std::byte data[16] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  writer.put(packet_with(3, 0), data, nullptr);
  const std::byte expected[16] = {std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_EQ(std::memcmp(cells[0].data, expected, 16), 0) << "what is inline behind the data is zero";
}

TEST_F(Ring, packets_of_every_length_come_back_wherever_the_ring_wraps) {
  std::uint64_t seed = 1;
  for (std::uint32_t start = 0; start < kCells; ++start) {
    for (const std::size_t metadata : {0u, 1u, 60u}) {
      for (const std::size_t length : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 63u, 64u, 65u, 128u, 129u, 300u}) {
        SCOPED_TRACE(length);
        seed += 2;
        const std::uint32_t needed = cells_of(packet_with(length, metadata).lead);
        ASSERT_TRUE(writer.has_room(needed));
        put(length, metadata, seed);
        take(length, metadata, seed);
        Packet packet;
        EXPECT_FALSE(look(reader, packet)) << "something that was not written yet";
        ASSERT_TRUE(writer.credit(reader.taken()));
      }
    }
    put(0, 0, ++seed);  // so that all lengths meet all places
    take(0, 0, seed);
    ASSERT_TRUE(writer.credit(reader.taken()));
  }
}

// Whatever stands in a cell of the lap before, data that looks like any turn, is not taken for a packet.
TEST_F(Ring, data_that_looks_like_a_turn_is_never_taken_for_one) {
  sim::Generator generator(7);
  std::vector<std::uint64_t> data(48);
  for (int i = 0; i < 20000; ++i) {
    // Every word of the data is the turn of this lap, of the next, or of the one after.
    const std::uint64_t turn = writer.written() / kCells + 1;
    for (std::uint64_t& word : data) word = turn + generator.below(3);
    const std::size_t length = generator.below(337);
    const std::size_t metadata = generator.one_in(2) ? 0 : generator.below(61);
    const Packet packet = packet_with(length, metadata, static_cast<std::uint64_t>(i));
    if (!writer.has_room(cells_of(packet.lead))) continue;
    writer.put(packet, reinterpret_cast<const std::byte*>(data.data()),
               reinterpret_cast<const std::byte*>(data.data()));
    Packet found;
    ASSERT_TRUE(look(reader, found));
    ASSERT_EQ(found.word, static_cast<std::uint64_t>(i));
    reader.skip(cells_of(found.lead));
    ASSERT_FALSE(look(reader, found)) << "data of the lap before was taken for a packet";
    ASSERT_TRUE(writer.credit(reader.taken()));
  }
  EXPECT_GT(writer.written(), 50000u);
}

// Short rings, which never grow, come there within hours. The turn of one lap is 0, which is not what stands
// in a cell that was cleared.
TEST_F(Ring, goes_on_when_its_turns_begin_anew) {
  constexpr std::uint32_t kLate = 0xFFFFFFFEu;
  writer.reset(cells, kCells, 0, kLate);
  reader.reset(cells, kCells, kLate);
  sim::Generator generator(11);
  int blocks = 0;
  for (std::uint64_t seed = 0; writer.written() < 6 * kCells; ++seed) {
    const std::size_t length = generator.below(3 * kCell);
    const std::uint32_t needed = cells_of(packet_with(length, 0).lead);
    if (length > interface::kInlineData && writer.cached_room(needed)) {
      interface::FastTarget target {};
      writer.publish(shm::FastBlock{{target, 0, seed}, bytes(length, seed).data(), length});
      ++blocks;
    } else {
      put(length, 0, seed);
    }
    take(length, 0, seed);
    Packet packet;
    ASSERT_FALSE(look(reader, packet)) << "a cleared cell was taken for a packet, in turn " << reader.turn();
    ASSERT_TRUE(writer.credit(reader.taken()));
  }
  EXPECT_EQ(reader.turn(), 4u);
  EXPECT_GT(blocks, 3);
}

TEST_F(Ring, a_half_written_packet_is_not_there) {
  put(300, 20, 1);
  Packet whole[kCells];
  std::memcpy(whole, cells, sizeof cells);
  const std::uint32_t needed = cells_of(whole[0].lead);
  // A writer that dies before its last store leaves everything but the turn.
  whole[0].lead.turn = 0;
  for (std::size_t bytes_there = 0; bytes_there <= needed * kCell; bytes_there += 8) {
    std::memset(cells, 0, sizeof cells);
    std::memcpy(reinterpret_cast<std::byte*>(cells) + 8, reinterpret_cast<const std::byte*>(whole) + 8,
                bytes_there < 8 ? 0 : bytes_there - 8);
    Packet packet;
    EXPECT_FALSE(look(reader, packet));
    EXPECT_FALSE(reader.something_there());
  }
}

TEST_F(Ring, a_turn_that_is_not_the_next_one_is_no_packet) {
  Packet packet;
  for (const std::uint32_t turn : {0u, 2u, 3u, 0x80000001u, 0xFFFFFFFFu}) {
    cells[0].lead.turn = turn;
    EXPECT_FALSE(look(reader, packet)) << turn;
  }
  cells[0].lead.turn = 1;
  EXPECT_TRUE(look(reader, packet));
}

TEST_F(Ring, what_stands_ahead_is_seen_across_the_end_of_the_ring) {
  for (std::uint32_t begin = 0; begin < 3 * kCells; ++begin) {
    constexpr std::uint32_t kThere = kCells - 2;
    for (std::uint32_t i = 0; i < kThere; ++i) put(16, 0, i);
    for (std::uint32_t ahead = 0; ahead < kCells; ++ahead)
      EXPECT_EQ(reader.something_there(ahead), ahead < kThere) << begin << ' ' << ahead;
    for (std::uint32_t i = 0; i < kThere; ++i) take(16, 0, i);
    ASSERT_TRUE(writer.credit(reader.taken()));
    put(16, 0, 0);  // one more, so that each row begins elsewhere
    take(16, 0, 0);
    ASSERT_TRUE(writer.credit(reader.taken()));
  }
}

TEST_F(Ring, room_is_kept_for_the_word_that_is_cleared) {
  EXPECT_TRUE(writer.has_room(kCells - 1));
  EXPECT_FALSE(writer.has_room(kCells));
  for (std::uint32_t i = 0; i + 1 < kCells; ++i) put(16, 0, i);
  EXPECT_FALSE(writer.has_room(1));
  take(16, 0, 0);
  ASSERT_TRUE(writer.credit(reader.taken()));
  EXPECT_TRUE(writer.has_room(1));
  EXPECT_FALSE(writer.has_room(2));
}

TEST_F(Ring, credit_that_cannot_be_is_a_broken_protocol) {
  for (int i = 0; i < 5; ++i) put(16, 0, 1);
  EXPECT_FALSE(writer.credit(6)) << "more than was written";
  EXPECT_FALSE(writer.credit(~std::uint64_t{0}));
  EXPECT_TRUE(writer.credit(3));
  EXPECT_TRUE(writer.credit(3)) << "the same again";
  EXPECT_FALSE(writer.credit(2)) << "what was given cannot be taken back";
  EXPECT_TRUE(writer.credit(5));
  EXPECT_TRUE(writer.has_room(kCells - 1));
}

// In a longer ring the counts go on; credit for the former ring gives no room in the new one.
TEST_F(Ring, counts_go_on_in_the_next_ring) {
  for (int i = 0; i < 5; ++i) put(16, 0, 1);
  Packet longer[16] = {};
  writer.reset(longer, 16, writer.written());
  EXPECT_TRUE(writer.has_room(15));
  EXPECT_FALSE(writer.has_room(16));
  put(16, 0, 9);
  EXPECT_EQ(writer.written(), 6u);
  EXPECT_TRUE(writer.credit(4));
  EXPECT_TRUE(writer.has_room(14));
  EXPECT_FALSE(writer.has_room(15));
  EXPECT_TRUE(writer.credit(6));
  EXPECT_TRUE(writer.has_room(15));
}

}  // namespace
}  // namespace hamlyn::test
