// Ring, watch and doorbell under every order of loads and stores, and what happens without their fences.
#include <gtest/gtest.h>

#include "fabric/shm/bell.h"
#include "fabric/shm/ring.h"
#include "test/unit/explorer.h"
#include "test/unit/ring_support.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using shm::Bell;
using shm::RingReader;
using shm::RingWriter;
using shm::Sleeper;

std::string nothing_wrong(const std::vector<std::vector<std::uint64_t>>&) { return {}; }

// The classic: two tasks each store one word and look at the other's.
struct Pair {
  std::uint32_t x = 0, y = 0;
};
template <bool WithFence>
std::string store_then_look() {
  Pair pair;
  Explorer explorer(std::as_writable_bytes(std::span(&pair, 1)), Buffers::tso);
  using Memory = Explored<WithFence>;
  explorer.add([&] {
    Memory::store_relaxed(pair.x, 1u);
    Memory::fence();
    Explorer::report(Memory::load_relaxed(pair.y));
  });
  explorer.add([&] {
    Memory::store_relaxed(pair.y, 1u);
    Memory::fence();
    Explorer::report(Memory::load_relaxed(pair.x));
  });
  return explorer.explore([](const auto& reports) -> std::string {
    return reports[0][0] == 0 && reports[1][0] == 0 ? "neither has seen the other" : "";
  });
}

TEST(Explorer, sees_what_a_store_buffer_does_and_what_a_fence_does_about_it) {
  EXPECT_EQ(store_then_look<true>(), "");
  EXPECT_EQ(store_then_look<false>(), "neither has seen the other");
}

TEST(Explorer, lets_stores_overtake_one_another_only_in_relaxed_buffers_and_never_a_release) {
  const auto run = [](Buffers buffers, bool release) {
    Pair pair;
    Explorer explorer(std::as_writable_bytes(std::span(&pair, 1)), buffers);
    explorer.add([&] {
      Explorer::store(&pair.x, 1, sizeof pair.x, false);
      Explorer::store(&pair.y, 1, sizeof pair.y, release);
    });
    explorer.add([&] {
      Explorer::report(Explorer::load(&pair.y, sizeof pair.y));
      Explorer::report(Explorer::load(&pair.x, sizeof pair.x));
    });
    return explorer.explore([](const auto& reports) -> std::string {
      return reports[1][0] == 1 && reports[1][1] == 0 ? "out of order" : "";
    });
  };
  EXPECT_EQ(run(Buffers::tso, false), "");
  EXPECT_EQ(run(Buffers::relaxed, false), "out of order");
  EXPECT_EQ(run(Buffers::relaxed, true), "");
}

// --- the ring

struct Cells {
  Packet cell[4] = {};
};

Packet made_of(std::uint64_t seed, std::size_t length) {
  Packet packet{};
  set_lead(packet, Operation::write, length, 0);
  packet.slot = static_cast<std::uint32_t>(seed);
  packet.generation = static_cast<std::uint32_t>(seed + 1);
  packet.key = seed + 2;
  packet.offset = seed + 3;
  packet.entry = static_cast<std::uint32_t>(seed + 4);
  packet.delta = static_cast<std::uint32_t>(seed + 5);
  packet.word = seed + 6;
  return packet;
}
bool is_whole(const Packet& packet, std::uint64_t seed, const std::byte* data) {
  const Packet expected = made_of(seed, 16);
  return std::memcmp(&packet.slot, &expected.slot, 40) == 0 && std::memcmp(packet.data, data, 16) == 0;
}

enum class How { put, fast, words };
template <class Memory>
void put(RingWriter<Memory>& writer, const Packet& packet, const std::byte* data, How how) {
  if (how == How::put) return writer.put(packet, data, nullptr);
  interface::Words words;
  std::memcpy(words.word, &packet, sizeof words);
  std::memcpy(&words.word[interface::kDataWord], data, interface::kInlineData);
  if (how == How::words) return writer.put_words(words);
  interface::FastTarget target {};
  target.slot_word = words.word[interface::kSlotWord];
  target.key = words.word[interface::kKeyWord];
  target.entry_word = words.word[interface::kEntryWord];
  writer.put_fast(target, packet.offset, packet.word, data, interface::kInlineData);
}

// The writer puts `packets` short packets; the reader looks `looks` times and reports each packet that it
// takes.
template <class Memory>
std::string ring_run(Buffers buffers, int packets, int looks, std::size_t* states = nullptr,
                     How how = How::put) {
  static constexpr std::byte kData[16] = {std::byte{1}, std::byte{2}, std::byte{3}};
  static Cells cells;
  cells = Cells{};
  RingWriter<Memory> writer;
  RingReader<Memory> reader;
  writer.reset(cells.cell, 4, 0);
  reader.reset(cells.cell, 4);
  Explorer explorer(std::as_writable_bytes(std::span(&cells, 1)), buffers);
  explorer.add([&] {
    RingWriter<Memory> mine = writer;
    for (int i = 0; i < packets; ++i)
      put(mine, made_of(100 * static_cast<std::uint64_t>(i + 1), 16), kData, how);
  });
  explorer.add([&] {
    RingReader<Memory> mine = reader;
    std::uint64_t taken = 0;
    for (int i = 0; i < looks; ++i) {
      Packet packet;
      if (!look(mine, packet)) continue;
      Explorer::report(is_whole(packet, 100 * ++taken, kData));
      mine.skip(1);
    }
  });
  const std::string wrong = explorer.explore([](const auto& reports) -> std::string {
    for (const std::uint64_t whole : reports[1]) {
      if (whole == 0) return "a packet was not whole";
    }
    return {};
  });
  if (states != nullptr) *states = explorer.states();
  return wrong;
}

TEST(RingExplored, a_packet_that_is_seen_is_whole) {
  std::size_t states = 0;
  EXPECT_EQ(ring_run<Explored<>>(Buffers::tso, 2, 3, &states), "");
  EXPECT_GT(states, 100u);
  EXPECT_EQ(ring_run<Explored<>>(Buffers::relaxed, 1, 2, &states), "");
  EXPECT_GT(states, 300u);
}

TEST(RingExplored, a_packet_that_left_the_short_way_is_whole_too) {
  for (const How how : {How::fast, How::words}) {
    EXPECT_EQ(ring_run<Explored<>>(Buffers::tso, 2, 3, nullptr, how), "");
    EXPECT_EQ(ring_run<Explored<>>(Buffers::relaxed, 1, 2, nullptr, how), "");
    EXPECT_EQ((ring_run<Explored<true, false>>(Buffers::relaxed, 1, 2, nullptr, how)),
              "a packet was not whole");
  }
}

TEST(RingExplored, without_the_release_a_packet_is_seen_before_it_is_whole) {
  using Memory = Explored<true, false>;
  EXPECT_EQ(ring_run<Memory>(Buffers::tso, 1, 2), "") << "x86-64 keeps stores in order";
  EXPECT_EQ(ring_run<Memory>(Buffers::relaxed, 1, 2), "a packet was not whole");
}

// Data of the lap before looks like a packet of this lap: the cell behind a packet is cleared before it is
// shown.
TEST(RingExplored, data_of_the_lap_before_is_never_taken_for_a_packet) {
  using Memory = Explored<>;
  for (const Buffers buffers : {Buffers::tso, Buffers::relaxed}) {
    static Cells cells;
    cells = Cells{};
    RingWriter<Memory> writer;
    RingReader<Memory> reader;
    writer.reset(cells.cell, 4, 0);
    reader.reset(cells.cell, 4);
    // Lap 1: head and two data cells whose first words look like the turn of lap 2; then a short packet.
    std::uint64_t data[16] = {};
    data[0] = data[8] = 2;
    writer.put(made_of(1, sizeof data), reinterpret_cast<const std::byte*>(data), nullptr);
    reader.skip(3);
    ASSERT_TRUE(writer.credit(3));
    writer.put(made_of(2, 16), reinterpret_cast<const std::byte*>(data), nullptr);
    reader.skip(1);
    ASSERT_TRUE(writer.credit(4));
    Explorer explorer(std::as_writable_bytes(std::span(&cells, 1)), buffers);
    explorer.add([&] {
      RingWriter<Memory> mine = writer;
      mine.put(made_of(100, 16), reinterpret_cast<const std::byte*>(data), nullptr);
    });
    explorer.add([&] {
      RingReader<Memory> mine = reader;
      for (int i = 0; i < 3; ++i) {
        Packet packet;
        if (!look(mine, packet)) continue;
        Explorer::report(packet.key);
        mine.skip(1);
      }
    });
    EXPECT_EQ(explorer.explore([](const auto& reports) -> std::string {
      if (reports[1].size() > 1) return "data was taken for a packet";
      return !reports[1].empty() && reports[1][0] != 102 ? "another packet" : "";
    }),
              "");
  }
}

// --- watch and doorbell

struct Shared {
  Packet cell[4] = {};
  std::uint32_t watch = 0, doorbell = 0, padding[14] = {};
};

// The sender publishes `packets` packets and rings; the receiver sleeps whenever it finds nothing.
template <class SenderMemory, class SleeperMemory>
std::string wake_run(int packets) {
  static constexpr std::byte kData[16] = {};
  static Shared shared;
  shared = Shared{};
  RingWriter<SenderMemory> writer;
  RingReader<SleeperMemory> reader;
  Bell<SenderMemory> bell;
  writer.reset(shared.cell, 4, 0);
  reader.reset(shared.cell, 4);
  bell.reset(&shared.watch, &shared.doorbell);
  Explorer explorer(std::as_writable_bytes(std::span(&shared, 1)), Buffers::tso);
  explorer.add([&] {
    RingWriter<SenderMemory> mine = writer;
    Bell<SenderMemory> my_bell = bell;
    for (int i = 0; i < packets; ++i) {
      mine.put(made_of(static_cast<std::uint64_t>(i), 16), kData, nullptr);
      if (my_bell.must_ring()) Explorer::wake(shared.doorbell);
    }
  });
  explorer.add([&] {
    RingReader<SleeperMemory> mine = reader;
    std::uint32_t epoch = 0;
    int taken = 0;
    while (true) {
      while (mine.something_there()) {
        mine.skip(1);
        ++taken;
      }
      if (taken == packets) break;
      epoch += 2;
      const std::uint32_t value = Sleeper<SleeperMemory>::arm(shared.doorbell, shared.watch, epoch);
      SleeperMemory::fence();
      if (!mine.something_there()) Explorer::sleep_while(shared.doorbell, value);
      Sleeper<SleeperMemory>::disarm(shared.watch);
    }
    Explorer::report(epoch);
  });
  return explorer.explore(nothing_wrong);
}

TEST(BellExplored, a_sleeper_is_woken_for_every_packet_that_it_would_miss) {
  EXPECT_EQ((wake_run<Explored<>, Explored<>>(1)), "");
  EXPECT_EQ((wake_run<Explored<>, Explored<>>(2)), "");
}

TEST(BellExplored, without_the_senders_fence_a_wake_up_is_lost) {
  EXPECT_EQ((wake_run<Explored<false>, Explored<>>(1)), "task 1 sleeps for ever");
}

TEST(BellExplored, without_the_sleepers_fence_a_wake_up_is_lost) {
  EXPECT_EQ((wake_run<Explored<>, Explored<false>>(1)), "task 1 sleeps for ever");
}

// A sender that waits for room: the receiver says what it has taken and rings, if the watch asks for that.
struct Room {
  std::uint64_t taken = 0;
  std::uint32_t watch = 0, doorbell = 0;
};
template <class SenderMemory, class ReceiverMemory>
std::string room_run(std::uint32_t wants_room) {
  static Room room;
  room = Room{};
  Bell<ReceiverMemory> bell;
  bell.reset(&room.watch, &room.doorbell);
  Explorer explorer(std::as_writable_bytes(std::span(&room, 1)), Buffers::tso);
  explorer.add([&] {
    Bell<ReceiverMemory> mine = bell;
    for (std::uint64_t taken = 1; taken <= 2; ++taken) {
      ReceiverMemory::store_release(room.taken, taken);
      if (mine.must_ring(true)) Explorer::wake(room.doorbell);
    }
  });
  explorer.add([&] {
    std::uint32_t epoch = 0;
    while (SenderMemory::load_acquire(room.taken) < 2) {
      epoch += 2;
      const std::uint32_t value = Sleeper<SenderMemory>::arm(room.doorbell, room.watch, epoch | wants_room);
      SenderMemory::fence();
      if (SenderMemory::load_acquire(room.taken) < 2) Explorer::sleep_while(room.doorbell, value);
      Sleeper<SenderMemory>::disarm(room.watch);
    }
  });
  return explorer.explore(nothing_wrong);
}

TEST(BellExplored, a_sender_that_waits_for_room_is_woken_if_it_says_so) {
  EXPECT_EQ((room_run<Explored<>, Explored<>>(shm::kWantsRoom)), "");
  EXPECT_EQ((room_run<Explored<>, Explored<>>(0)), "task 1 sleeps for ever");
  EXPECT_EQ((room_run<Explored<false>, Explored<>>(shm::kWantsRoom)), "task 1 sleeps for ever");
  EXPECT_EQ((room_run<Explored<>, Explored<false>>(shm::kWantsRoom)), "task 1 sleeps for ever");
}

// --- announcements of the rings that are rarely looked at

// Whoever looks by the announcement (ShmLink::cold_look) reads it first and then the ring: what it does not
// find there moves the announcement later. Looking first loses what comes in between.
struct Announced {
  Packet cell[4] = {};
  std::uint32_t announced = 0, padding[15] = {};
};
std::string announce_run(bool announcement_first) {
  using Memory = Explored<>;
  static constexpr std::byte kData[16] = {};
  static Announced shared;
  shared = Announced{};
  RingWriter<Memory> writer;
  RingReader<Memory> reader;
  writer.reset(shared.cell, 4, 0);
  reader.reset(shared.cell, 4);
  Explorer explorer(std::as_writable_bytes(std::span(&shared, 1)), Buffers::relaxed);
  explorer.add([&] {
    RingWriter<Memory> mine = writer;
    mine.put(made_of(1, 16), kData, nullptr);
    Memory::store_release(shared.announced, 1u);
  });
  explorer.add([&] {
    std::uint32_t announced = announcement_first ? Memory::load_acquire(shared.announced) : 0;
    const bool there = reader.something_there();
    if (!announcement_first) announced = Memory::load_acquire(shared.announced);
    Explorer::report(there ? 0 : announced);
  });
  return explorer.explore([](const auto& reports) -> std::string {
    return reports[1][0] != 0 ? "announced, and never looked for" : "";
  });
}

TEST(AnnouncementExplored, nothing_is_announced_before_it_can_be_found) {
  EXPECT_EQ(announce_run(true), "");
  EXPECT_EQ(announce_run(false), "announced, and never looked for");
}

// --- loans: words of two processes, in the order in which loan_pool.cc and loan_receiver.cc touch them

struct LoanWords {
  std::uint32_t number = 1, wanted = 0, returned = 0, data = 0;
};

// The pool takes the buffer back by force and uses it anew; the receiver reads, and then asks whether it was
// still its loan.
template <class PoolMemory>
std::string force_run() {
  static LoanWords words;
  words = LoanWords{};
  Explorer explorer(std::as_writable_bytes(std::span(&words, 1)), Buffers::relaxed);
  explorer.add([&] {
    PoolMemory::store_release(words.number, 2u);
    PoolMemory::fence();
    PoolMemory::store_relaxed(words.data, 7u);
  });
  explorer.add([&] {
    using Memory = Explored<>;
    const std::uint32_t data = Memory::load_relaxed(words.data);
    Memory::fence();
    Explorer::report(Memory::load_acquire(words.number) == 1 ? data : 0);
  });
  return explorer.explore([](const auto& reports) -> std::string {
    return reports[1][0] != 0 ? "what came after was taken for the loan" : "";
  });
}

TEST(LoanExplored, a_loan_that_was_taken_by_force_is_not_current_any_more) {
  EXPECT_EQ(force_run<Explored<>>(), "");
  EXPECT_EQ(force_run<Explored<false>>(), "what came after was taken for the loan");
}

// The receiver gives back and looks whether that is waited for; the pool says that it waits and looks.
template <class PoolMemory, class ReceiverMemory>
std::string return_run() {
  static LoanWords words;
  words = LoanWords{};
  Explorer explorer(std::as_writable_bytes(std::span(&words, 1)), Buffers::tso);
  explorer.add([&] {
    ReceiverMemory::store_release(words.returned, 1u);
    ReceiverMemory::fence();
    Explorer::report(ReceiverMemory::load_relaxed(words.wanted));
  });
  explorer.add([&] {
    PoolMemory::store_release(words.wanted, 1u);
    PoolMemory::fence();
    Explorer::report(PoolMemory::load_acquire(words.returned));
  });
  return explorer.explore([](const auto& reports) -> std::string {
    return reports[0][0] == 0 && reports[1][0] == 0 ? "given back, and nobody knows" : "";
  });
}

TEST(LoanExplored, what_is_given_back_is_found_or_told) {
  EXPECT_EQ((return_run<Explored<>, Explored<>>()), "");
  EXPECT_EQ((return_run<Explored<false>, Explored<>>()), "given back, and nobody knows");
  EXPECT_EQ((return_run<Explored<>, Explored<false>>()), "given back, and nobody knows");
}

}  // namespace
}  // namespace hamlyn::test
