// The pieces that two processes share, where the other one is an enemy: whatever its words say at each look.
// They write nothing but what is their own, look at each of its words once, so that what is checked is what
// is used, and what they say follows from what they were told. (The ring with its packets:
// test/fuzz/ring.cc.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "base/generation.h"
#include "fabric/shm/announcement.h"
#include "fabric/shm/bell.h"
#include "fabric/shm/credit.h"
#include "fabric/shm/growth.h"
#include "interface/areas/good_areas.h"
#include "protocols/loan_words.h"
#include "segment/registry_words.h"

namespace hamlyn::test {
namespace {

constexpr int kTurns = 20'000;

std::mt19937_64 chance;
// The memory of the other side, and what it has said of each word since it was asked last.
std::span<const std::byte> theirs;
std::map<const void*, std::uint64_t> said;
std::span<const std::byte> ours;

bool inside(std::span<const std::byte> memory, const void* at, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(at);
  return std::less_equal<>()(memory.data(), from) &&
         std::less_equal<>()(from + bytes, memory.data() + memory.size());
}

struct HostileMemory {
  template <class T>
  static T load_relaxed(const T& word) noexcept {
    if (!inside(theirs, &word, sizeof word)) {
      EXPECT_TRUE(inside(ours, &word, sizeof word)) << "a look at what is nobody's";
      return word;
    }
    // Mostly near what it was, and near what has been said elsewhere.
    const std::uint64_t near[] = {0, 1, word, word + 1, word - 1u, chance()};
    const auto value = static_cast<T>(near[chance() % std::size(near)]);
    EXPECT_TRUE(said.emplace(&word, value).second) << "a second look may see something else";
    const_cast<T&>(word) = static_cast<T>(chance() % 4 == 0 ? chance() : value);
    return value;
  }
  template <class T>
  static T load_acquire(const T& word) noexcept {
    return load_relaxed(word);
  }
  template <class T>
  static void store_relaxed(T& word, T value) noexcept {
    EXPECT_TRUE(inside(ours, &word, sizeof word)) << "only what is ours is written";
    word = value;
  }
  template <class T>
  static void store_release(T& word, T value) noexcept {
    store_relaxed(word, value);
  }
  static void fence() noexcept {}
  static void load_fence() noexcept {}
  static void copy_to_peer(void* to, const void* from, std::size_t bytes) noexcept {
    EXPECT_TRUE(inside(ours, to, bytes)) << "only what is ours is written";
    std::memcpy(to, from, bytes);
  }
};

// Words of this side and of the other.
template <class Word>
class Words {
 public:
  Words() {
    chance.seed(1);
    ours = std::as_bytes(std::span(&mine, 1));
    theirs = std::as_bytes(std::span(&their, 1));
    said.clear();
  }
  // What the other side has said; it says something else from now on.
  Word heard() {
    EXPECT_EQ(said.size(), 1u);
    const auto word = said.empty() ? Word{} : static_cast<Word>(said.begin()->second);
    said.clear();
    return word;
  }
  Word mine = 0, their = 0;
};

TEST(HostileWords, make_a_sender_ring_once_for_each_thing_they_say) {
  Words<std::uint32_t> words;
  shm::Bell<HostileMemory> bell;
  bell.reset(&words.their, &words.mine);
  std::uint32_t last = 0;
  int rings = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const bool only_room = chance() % 2 == 0;
    const std::uint32_t before = words.mine;
    const bool rang = bell.must_ring(only_room);
    const std::uint32_t watch = words.heard();
    const bool wanted = watch != 0 && watch != last && (!only_room || (watch & shm::kWantsRoom) != 0);
    ASSERT_EQ(rang, wanted);
    ASSERT_EQ(words.mine, before + (rang ? 1 : 0));
    if (rang) last = watch, ++rings;
  }
  EXPECT_GT(rings, 100);
}

TEST(HostileWords, are_sampled_once_by_who_falls_asleep) {
  Words<std::uint32_t> words;
  for (std::uint32_t epoch = 2; epoch < kTurns; epoch += 2) {
    const std::uint32_t value = shm::Sleeper<HostileMemory>::arm(words.their, words.mine, epoch);
    ASSERT_EQ(value, words.heard());
    ASSERT_EQ(words.mine, epoch);
    shm::Sleeper<HostileMemory>::disarm(words.mine);
    ASSERT_EQ(words.mine, 0u);
  }
}

TEST(HostileWords, give_a_writer_no_room_that_is_not_there) {
  std::vector<interface::Packet> cells(40), longer(256);
  Words<std::uint64_t> words;
  ours = std::as_bytes(std::span(cells));
  shm::RingWriter<HostileMemory> writer;
  writer.reset(cells.data(), 40, 0);
  std::uint64_t before = 0, given = 0, good = 0;
  const std::byte none{};
  for (int turn = 0; turn < kTurns; ++turn) {
    if (turn == kTurns / 2) {  // it goes on in a longer ring
      while (!writer.has_room(1)) writer.credit(given = writer.written());
      shm::continue_in(writer, longer.data(), 256);
      ours = std::as_bytes(std::span(longer));
      before = given = writer.written();
    }
    if (writer.has_room(1)) {
      interface::Packet packet {};
      packet.lead.operation = interface::Operation::write;
      writer.put(packet, &none, &none);
    }
    words.their = writer.written();  // it may well be near the truth
    const std::uint64_t taken = shm::Credit<HostileMemory>::told(words.their);
    ASSERT_EQ(taken, words.heard());
    // What came before this ring was taken from the one before it.
    const bool possible = taken <= writer.written() && std::max(taken, before) >= given;
    ASSERT_EQ(writer.credit(taken), possible);
    if (possible) given = std::max(taken, before), ++good;
    ASSERT_LE(writer.written() - given, turn < kTurns / 2 ? 40u : 256u);
  }
  EXPECT_GT(good, 100u);
}

TEST(HostileWords, are_taken_for_an_announcement_as_they_were_seen_once) {
  struct Ring {
    bool something_there() const noexcept { return there; }
    bool there;
  };
  Words<std::uint32_t> words;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Ring first{chance() % 2 == 0}, second{chance() % 2 == 0};
    std::uint32_t announced = 0;
    ASSERT_EQ(shm::Announcer<HostileMemory>::nothing_there(words.their, announced, first, second),
              !first.there && !second.there);
    ASSERT_EQ(announced, words.heard());
    shm::Announcer<HostileMemory>::announce(words.mine, announced);
    ASSERT_EQ(words.mine, announced);
  }
}

TEST(HostileWords, of_a_ring_are_copied_once_and_that_copy_is_the_packet) {
  std::vector<interface::Packet> cells(40);
  Words<std::uint64_t> words;
  theirs = std::as_bytes(std::span(cells));
  shm::RingReader<HostileMemory> reader;
  reader.reset(cells.data(), 40);
  int packets = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    said.clear();
    interface::Words packet;
    const auto* const first = reinterpret_cast<const std::uint64_t*>(reader.turn_at());
    const_cast<std::uint64_t&>(*first) = reader.turn() | (chance() << 32);
    if (!reader.look(packet)) continue;
    ++packets;
    for (std::size_t i = 0; i < std::size(packet.word); ++i) ASSERT_EQ(packet.word[i], said.at(first + i));
    if (!reader.step()) reader.after_step();
  }
  EXPECT_GT(packets, 100);
}

TEST(HostileWords, of_a_lender_or_a_borrower_are_worth_what_they_say_once) {
  using Loan = protocols::LoanWords<HostileMemory>;
  Words<std::uint32_t> words;
  for (std::uint32_t number = 1; number < kTurns; ++number) {
    Loan::show(words.mine, number, number % 2 == 0);
    ASSERT_EQ(words.mine, number);
    words.their = number;
    const bool current = Loan::current(words.their, number);
    ASSERT_EQ(current, words.heard() == number);
    const std::uint32_t wanted = Loan::give_back(words.mine, number, words.their);
    ASSERT_EQ(wanted, words.heard());
    const std::uint32_t returned = Loan::given_back(words.their);
    ASSERT_EQ(returned, words.heard());
    Loan::want(words.mine);
    ASSERT_EQ(words.mine, number + 1);
  }
}

TEST(HostileWords, of_who_shows_areas_are_worth_what_they_say_once) {
  using Areas = interface::GoodAreas<HostileMemory>;
  Words<std::uint64_t> words;
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    const std::uint32_t number = turn % 64;
    words.their = std::uint64_t{1} << number;
    const bool good = Areas::told(words.their, number);
    ASSERT_EQ(good, (words.heard() >> number & 1) != 0);
    Areas::tell(words.mine, turn);
    ASSERT_EQ(words.mine, turn);
  }
}

TEST(HostileWords, do_not_matter_where_an_owner_only_writes) {
  Words<std::uint64_t> words;
  std::byte bucket[256] = {}, from[256];
  ours = std::as_bytes(std::span(bucket));
  for (int turn = 0; turn < 100; ++turn) {
    for (std::byte& each : from) each = static_cast<std::byte>(chance());
    segment::RegistryWords<HostileMemory>::store(bucket, from, sizeof from);
    ASSERT_EQ(std::memcmp(bucket, from, sizeof from), 0);
    segment::RegistryWords<HostileMemory>::count_change(bucket, 7);
    ASSERT_EQ(base::load_little<std::uint64_t>(bucket), 7u);
  }
  ours = std::as_bytes(std::span(&words.mine, 1));
  std::uint64_t number = 0;
  base::Generation<HostileMemory>::move(words.mine, number);
  EXPECT_EQ(words.mine, 1u);
  EXPECT_TRUE(said.empty());
}

}  // namespace
}  // namespace hamlyn::test
