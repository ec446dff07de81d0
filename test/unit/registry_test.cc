// The registry of names as plain memory: what its owner writes, what readers make of it, and of anything
// else.
#include "segment/registry.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/byte_order.h"
#include "base/copy.h"

namespace hamlyn::internal_::segment {
namespace {

using BucketBytes = std::array<std::byte, kBucketBytes>;

RegistryKey a_key(int seed = 1) {
  RegistryKey out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(seed * 31 + static_cast<int>(i) * 7);
  return out;
}

NameRecord a_record(const std::string& name, std::uint64_t generation = 1) {
  NameRecord out;
  out.name = name;
  out.ticket.interface = 0x0001'0000'0000'0007;
  out.ticket.key = generation * 3;
  out.ticket.bound = 4096;
  out.generation = generation;
  out.interface = 0x0001'0000'0000'0007;
  out.uid = 1000;
  out.gid = 100;
  out.pid = 4711;
  out.rights = {true, false};
  return out;
}

struct Table {
  explicit Table(std::uint32_t buckets, std::uint64_t generation = 9)
      : words(registry_bytes(buckets) / sizeof(std::uint64_t)),
        registry(std::as_writable_bytes(std::span{words}), a_key(), {generation, buckets}) {}

  BucketBytes bucket(std::uint32_t index) const {
    BucketBytes out;
    std::memcpy(out.data(), bytes() + bucket_offset(index), out.size());
    return out;
  }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(words.data()); }
  std::uint64_t changes() const {
    std::array<std::byte, kRegistryHeader> header;
    base::copy_from_shared(header.data(), bytes(), header.size());
    std::uint64_t out = 0;
    EXPECT_TRUE(read_changes(header, registry.shape(), out));
    return out;
  }
  // As a reader looks: how many buckets it took, and what was there.
  BucketSays look(const std::string& name, NameRecord& out, unsigned* reads = nullptr) const {
    std::uint32_t index = home_bucket(a_key(), name, registry.shape().buckets);
    for (unsigned looked = 1; looked <= registry.shape().buckets; ++looked) {
      const BucketSays says = read_bucket(bucket(index), a_key(), registry.shape(), index, name, out);
      if (reads != nullptr) *reads = looked;
      if (says != BucketSays::further) return says;
      index = (index + 1) % registry.shape().buckets;
    }
    return BucketSays::absent;
  }

  std::vector<std::uint64_t> words;
  Registry registry;
};

void seal(BucketBytes& bucket) {
  const auto sum = [&] {
    std::uint64_t out;
    ::crypto_shorthash(reinterpret_cast<unsigned char*>(&out),
                       reinterpret_cast<const unsigned char*>(bucket.data() + 8), kBucketBytes - 8,
                       reinterpret_cast<const unsigned char*>(a_key().data() + 16));
    return out;
  };
  const std::uint64_t out = sum();
  std::memcpy(bucket.data(), &out, sizeof out);
}

TEST(Registry, GivesBackWhatWasPut) {
  Table t{16};
  NameRecord in = a_record("prices", 5);
  in.ticket = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2};
  in.rights = {false, true};
  ASSERT_TRUE(t.registry.put(in));
  NameRecord out;
  ASSERT_EQ(t.look("prices", out), BucketSays::found);
  EXPECT_EQ(out.name, "prices");
  EXPECT_EQ(out.ticket, in.ticket);
  EXPECT_EQ(out.generation, 5u);
  EXPECT_EQ(out.interface, in.interface);
  EXPECT_EQ(out.uid, 1000u);
  EXPECT_EQ(out.gid, 100u);
  EXPECT_EQ(out.pid, 4711u);
  EXPECT_FALSE(out.rights.group);
  EXPECT_TRUE(out.rights.everyone);
  EXPECT_EQ(t.look("price", out), BucketSays::absent);
  EXPECT_EQ(t.look("prices2", out), BucketSays::absent);
}

TEST(Registry, ReplacesAndRemoves) {
  Table t{16};
  NameRecord out;
  ASSERT_TRUE(t.registry.put(a_record("n", 1)));
  ASSERT_TRUE(t.registry.put(a_record("n", 2)));
  EXPECT_EQ(t.registry.size(), 1u);
  ASSERT_EQ(t.look("n", out), BucketSays::found);
  EXPECT_EQ(out.generation, 2u);
  EXPECT_TRUE(t.registry.remove("n"));
  EXPECT_FALSE(t.registry.remove("n"));
  EXPECT_EQ(t.look("n", out), BucketSays::absent);
  ASSERT_TRUE(t.registry.put(a_record("n", 3)));
  ASSERT_EQ(t.look("n", out), BucketSays::found);
  EXPECT_EQ(out.generation, 3u);
}

TEST(Registry, LongestNamesStandWhole) {
  Table t{16};
  const std::string longest(64, 'x');
  NameRecord out;
  ASSERT_TRUE(t.registry.put(a_record(longest)));
  ASSERT_EQ(t.look(longest, out), BucketSays::found);
  EXPECT_EQ(out.name, longest);
  EXPECT_EQ(t.look(std::string(63, 'x'), out), BucketSays::absent);
}

TEST(Registry, CountsEachChange) {
  Table t{16};
  EXPECT_EQ(t.changes(), 0u);
  t.registry.put(a_record("n"));
  EXPECT_EQ(t.changes(), 1u);
  t.registry.put(a_record("n", 2));
  EXPECT_EQ(t.changes(), 2u);
  t.registry.remove("n");
  t.registry.remove("n");
  EXPECT_EQ(t.changes(), 3u);
}

TEST(Registry, ATableThatIsFullSaysSo) {
  Table t{16};
  for (std::uint32_t i = 0; i < most_names(16); ++i)
    ASSERT_TRUE(t.registry.put(a_record("n" + std::to_string(i))));
  EXPECT_FALSE(t.registry.put(a_record("one-more")));
  EXPECT_TRUE(t.registry.put(a_record("n0", 2)));
  EXPECT_TRUE(t.registry.remove("n1"));
  EXPECT_TRUE(t.registry.put(a_record("one-more")));
}

TEST(Registry, AClosedTableSaysNothing) {
  Table t{16};
  t.registry.put(a_record("n"));
  t.registry.close();
  NameRecord out;
  EXPECT_EQ(t.look("n", out), BucketSays::changing);
  EXPECT_EQ(t.look("other", out), BucketSays::changing);
}

// A table that is small for what comes and goes in it: buckets run over, and names stand far from home.
TEST(Registry, AgreesWithAPlainSetWhateverComesAndGoes) {
  Table t{16};
  std::mt19937 random{7};
  std::set<std::string> plain;
  NameRecord out;
  for (int turn = 0; turn < 4000; ++turn) {
    const std::string name = "n" + std::to_string(random() % 60);
    if (random() % 2 != 0) {
      if (t.registry.put(a_record(name))) plain.insert(name);
    } else {
      EXPECT_EQ(t.registry.remove(name), plain.erase(name) == 1);
    }
    ASSERT_EQ(t.registry.size(), plain.size());
    const std::string other = "n" + std::to_string(random() % 60);
    ASSERT_EQ(t.look(other, out), plain.contains(other) ? BucketSays::found : BucketSays::absent) << turn;
  }
  for (const std::string& name : std::set{plain}) t.registry.remove(name);
  unsigned reads = 0;
  for (int i = 0; i < 60; ++i) {  // nothing is left that sends readers further
    EXPECT_EQ(t.look("n" + std::to_string(i), out, &reads), BucketSays::absent);
    EXPECT_EQ(reads, 1u);
  }
}

// Names as services of a large site have them.
std::string name_of(int i) {
  static const char* const kinds[] = {"prices", "orders.eu-west", "worker", "checkpoint_shard", "feed.L2"};
  return std::string(kinds[i % 5]) + "." + std::to_string(i / 5) + (i % 3 == 0 ? ".primary" : "");
}

// How many of so many names are found by the first read, in a table of so many buckets.
int found_first(std::uint32_t buckets, int names) {
  Table t{buckets};
  for (int i = 0; i < names; ++i) EXPECT_TRUE(t.registry.put(a_record(name_of(i))));
  NameRecord out;
  int first = 0;
  for (int i = 0; i < names; ++i) {
    unsigned reads = 0;
    EXPECT_EQ(t.look(name_of(i), out, &reads), BucketSays::found);
    EXPECT_EQ(out.name, name_of(i));
    first += reads == 1 ? 1 : 0;
    EXPECT_LE(reads, 8u);
  }
  testing::Test::RecordProperty("first_of_" + std::to_string(names), first);
  return first;
}

#ifdef __SANITIZE_THREAD__  // a fortieth of the speed, and one thread
constexpr int kManyNames = 5'000;
constexpr int kTornReads = 2'000;
#else
constexpr int kManyNames = 100'000;
constexpr int kTornReads = 20'000;
#endif

TEST(Registry, AHundredThousandNamesAreFoundByOneReadInNineteenCasesOfTwenty) {
  std::uint32_t buckets = kFewestBuckets;
  while (most_names(buckets) < kManyNames) buckets *= 2;
  EXPECT_GE(found_first(buckets, kManyNames), kManyNames * 95 / 100);
}

TEST(Registry, AFullTableIsNotMuchWorse) {
  const auto names = static_cast<int>(most_names(1024));
  EXPECT_GE(found_first(1024, names), names * 95 / 100);
}

// A get brings each word as it was at one moment, and 256 bytes at a time, in any order.
TEST(Registry, AReaderNeverTakesAChangingRecordForAWholeOne) {
  Table t{16};
  const std::string name = "contended";
  ASSERT_TRUE(t.registry.put(a_record(name, 1)));
  const std::uint32_t home = home_bucket(a_key(), name, 16);
  std::atomic<bool> stop{false};
  std::thread writer{[&] {
    for (std::uint64_t generation = 2; !stop; ++generation) {
      if (generation % 5 == 0) t.registry.remove(name);
      t.registry.put(a_record(name, generation));
    }
  }};
  std::mt19937 random{3};
  std::uint64_t last = 0;
  int found = 0;
  for (int turn = 0; turn < kTornReads || found == 0; ++turn) {
    std::array<std::size_t, kBucketBytes / 256> pieces{0, 1, 2, 3};
    std::ranges::shuffle(pieces, random);
    BucketBytes bytes;
    for (const std::size_t piece : pieces) {
      base::copy_from_shared(bytes.data() + piece * 256, t.bytes() + bucket_offset(home) + piece * 256, 256);
    }
    NameRecord out;
    const BucketSays says = read_bucket(bytes, a_key(), t.registry.shape(), home, name, out);
    ASSERT_NE(says, BucketSays::wrong);
    ASSERT_NE(says, BucketSays::further);
    if (says != BucketSays::found) continue;
    ++found;
    ASSERT_EQ(out.ticket.key, out.generation * 3);
    ASSERT_GE(out.generation, last);
    last = out.generation;
  }
  stop = true;
  writer.join();
}

// Pieces of two moments in every mixture, without luck in the timing.
TEST(Registry, PiecesOfTwoMomentsAreSeenForWhatTheyAre) {
  Table t{16};
  const std::string name = "mixed";
  const std::uint32_t home = home_bucket(a_key(), name, 16);
  t.registry.put(a_record(name, 1));
  const BucketBytes before = t.bucket(home);
  t.registry.put(a_record(name, 2));
  const BucketBytes behind = t.bucket(home);
  NameRecord out;
  for (std::size_t word = 0; word < kBucketBytes; word += 8) {
    for (const bool lower : {true, false}) {
      BucketBytes mixed = lower ? before : behind;
      std::memcpy(mixed.data() + word, (lower ? behind : before).data() + word, kBucketBytes - word);
      const bool whole = mixed == before || mixed == behind;
      EXPECT_EQ(read_bucket(mixed, a_key(), t.registry.shape(), home, name, out),
                whole ? BucketSays::found : BucketSays::changing);
    }
  }
}

TEST(Registry, AScribblerIsSeenWhereverItScribbles) {
  Table t{16};
  const std::string name = "n";
  t.registry.put(a_record(name));
  const std::uint32_t home = home_bucket(a_key(), name, 16);
  const BucketBytes good = t.bucket(home);
  NameRecord out;
  for (std::size_t at = 0; at < kBucketBytes; ++at) {
    BucketBytes bad = good;
    bad[at] ^= std::byte{1};
    EXPECT_EQ(read_bucket(bad, a_key(), t.registry.shape(), home, name, out), BucketSays::changing) << at;
  }
  EXPECT_EQ(read_bucket(good, a_key(2), t.registry.shape(), home, name, out), BucketSays::changing);
  EXPECT_EQ(read_bucket(BucketBytes{}, a_key(), t.registry.shape(), home, name, out), BucketSays::changing);
  // A bucket of another place, or of an earlier table.
  EXPECT_EQ(read_bucket(good, a_key(), t.registry.shape(), home ^ 1, name, out), BucketSays::wrong);
  EXPECT_EQ(read_bucket(good, a_key(), {10, 16}, home, name, out), BucketSays::wrong);
}

// Whoever has the cluster's secret can seal what it likes: it never has a name stand for another, and nothing
// but a ticket that looks like one comes out.
TEST(Registry, WhatIsSealedByAHostileNodeIsCheckedFieldByField) {
  Table t{16};
  const std::string name = "victim";
  t.registry.put(a_record(name));
  const std::uint32_t home = home_bucket(a_key(), name, 16);
  const BucketBytes good = t.bucket(home);
  NameRecord out;
  BucketBytes whole = good;
  seal(whole);
  ASSERT_EQ(whole, good) << "this test seals as the registry does";
  const auto says = [&](std::size_t at, std::uint8_t value) {
    BucketBytes bad = good;
    bad[at] = static_cast<std::byte>(value);
    seal(bad);
    return read_bucket(bad, a_key(), t.registry.shape(), home, name, out);
  };
  EXPECT_EQ(says(8, 1), BucketSays::wrong);                     // still changing, it says
  EXPECT_EQ(says(63, 1), BucketSays::wrong);                    // behind the header's fields
  EXPECT_EQ(says(kBucketHeader + 156, 7), BucketSays::wrong);   // neither free nor registered nor removed
  EXPECT_EQ(says(kBucketHeader + 157, 0), BucketSays::wrong);   // no name
  EXPECT_EQ(says(kBucketHeader + 157, 5), BucketSays::wrong);   // a name that goes on behind its end
  EXPECT_EQ(says(kBucketHeader + 157, 65), BucketSays::wrong);  // or beyond its field
  EXPECT_EQ(says(kBucketHeader + 0, 0x1B), BucketSays::wrong);  // no character of a name
  EXPECT_EQ(says(kBucketHeader + 158, 4), BucketSays::wrong);   // rights that there are not
  EXPECT_EQ(says(kBucketHeader + 191, 1), BucketSays::wrong);
  EXPECT_EQ(says(kBucketHeader + 64 + 56, 9), BucketSays::wrong);         // a ticket of no version
  EXPECT_EQ(says(kBucketHeader + kRecordBytes, 'x'), BucketSays::wrong);  // a free place with something in it
  EXPECT_EQ(says(kBucketHeader + 0, 'V'), BucketSays::absent);

  std::mt19937 random{11};
  for (int turn = 0; turn < kTornReads; ++turn) {
    BucketBytes bad = good;
    for (unsigned i = 0; i < 1 + random() % 6; ++i)
      bad[8 + random() % (kBucketBytes - 8)] = static_cast<std::byte>(random());
    if (turn % 10 == 0) std::ranges::generate(bad, [&] { return static_cast<std::byte>(random()); });
    seal(bad);
    if (read_bucket(bad, a_key(), t.registry.shape(), home, name, out) != BucketSays::found) continue;
    ASSERT_EQ(out.name, name);
    ASSERT_EQ(hamlyn::invalid(out.ticket), nullptr);
  }
}

TEST(Registry, AHeaderIsThatOfItsTable) {
  Table t{16};
  std::array<std::byte, kRegistryHeader> header;
  std::memcpy(header.data(), t.bytes(), header.size());
  std::uint64_t changes = 0;
  EXPECT_TRUE(read_changes(header, {9, 16}, changes));
  EXPECT_FALSE(read_changes(header, {8, 16}, changes));
  EXPECT_FALSE(read_changes(header, {9, 32}, changes));
  for (const std::size_t at : {0U, 4U}) {
    auto bad = header;
    bad[at] ^= std::byte{1};
    EXPECT_FALSE(read_changes(bad, {9, 16}, changes));
  }
}

TEST(Registry, StandsAsTheDocumentSays) {
  Table t{16, 0x0807060504030201};
  t.registry.put(a_record("n"));
  const std::byte* const header = t.bytes();
  EXPECT_EQ(base::load_little<std::uint32_t>(header), kRegistryMagic);
  EXPECT_EQ(base::load_little<std::uint64_t>(header + 8), 0x0807060504030201u);
  EXPECT_EQ(base::load_little<std::uint32_t>(header + 16), 16u);
  EXPECT_EQ(base::load_little<std::uint32_t>(header + 20), 1024u);
  EXPECT_EQ(base::load_little<std::uint32_t>(header + 24), 192u);
  EXPECT_EQ(base::load_little<std::uint64_t>(header + 32), 1u);
  const std::uint32_t home = home_bucket(a_key(), "n", 16);
  const BucketBytes bucket = t.bucket(home);
  EXPECT_EQ(base::load_little<std::uint64_t>(bucket.data() + 8), 2u);
  EXPECT_EQ(base::load_little<std::uint64_t>(bucket.data() + 16), 0x0807060504030201u);
  EXPECT_EQ(base::load_little<std::uint32_t>(bucket.data() + 24), home);
  const std::byte* const record = bucket.data() + 64;
  EXPECT_EQ(record[0], std::byte{'n'});
  EXPECT_EQ(base::load_little<std::uint64_t>(record + 64 + 8), 0x0001'0000'0000'0007u);
  EXPECT_EQ(base::load_little<std::uint64_t>(record + 128), 1u);
  EXPECT_EQ(base::load_little<std::uint32_t>(record + 144), 1000u);
  EXPECT_EQ(record[156], std::byte{1});
  EXPECT_EQ(record[157], std::byte{1});
  EXPECT_EQ(record[158], std::byte{1});
}

}  // namespace
}  // namespace hamlyn::internal_::segment
