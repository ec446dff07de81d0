// Registries of names as other nodes read them: what their owner writes, what has changed while it was read,
// and what a node that has the key writes on purpose, sealed by it.
//
// Besides not crashing: a sound table says of each name what was registered last, in as many looks as it has
// buckets; one that has changed since is never believed; and what is found bears the name that was asked for,
// and a ticket that is well formed.
#include <gtest/gtest.h>
#include <sodium.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "segment/registry.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::internal_::segment;

Goal goals[] = {{"names that were found", 500},
                {"names behind a full bucket", 50},
                {"buckets that changed", 500},
                {"buckets of a hostile owner that were read", 500}};
Goal &found = goals[0], &further = goals[1], &changing = goals[2], &hostile = goals[3];

constexpr std::uint32_t kBuckets = kFewestBuckets;

class Table {
 public:
  explicit Table(Input& input) : input_(input), words_(registry_bytes(kBuckets) / sizeof(std::uint64_t)) {}

  void live() {
    while (!input_.empty()) {
      switch (input_.pick(4)) {
        case 0:
          put();
          break;
        case 1: {
          const std::string name = some_name();
          const bool there = model_.erase(name) == 1;
          ASSERT_EQ(registry_.remove(name), there);
          changes_ += there ? 1 : 0;
          break;
        }
        case 2:
          look_up(some_name());
          break;
        default:
          spoil();
          break;
      }
      ASSERT_EQ(registry_.size(), model_.size());
      std::uint64_t changes = 0;
      ASSERT_TRUE(read_changes(memory().first<kRegistryHeader>(), shape_, changes));
      ASSERT_EQ(changes, changes_);
    }
    for (const auto& [name, generation] : model_) look_up(name);
  }

 private:
  static RegistryKey some_key() {
    RegistryKey out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
    return out;
  }
  std::span<std::byte> memory() { return std::as_writable_bytes(std::span{words_}); }

  std::string some_name() {
    std::string out(1 + (input_.pick(8) == 0 ? input_.pick(kRecordName) : 0), 'x');
    out[0] = static_cast<char>('a' + input_.pick(26));
    if (out.size() == 1) out += static_cast<char>('a' + input_.pick(3));
    return out;
  }

  void put() {
    NameRecord record;
    record.name = some_name();
    record.ticket.interface = 1 + input_.pick(4);
    record.generation = ++generation_;
    record.interface = record.ticket.interface;
    record.rights.everyone = input_.pick(2) == 0;
    const bool room = model_.contains(record.name) || model_.size() < most_names(kBuckets);
    ASSERT_EQ(registry_.put(record), room);
    if (!room) return;
    model_[record.name] = record.generation;
    ++changes_;
  }

  // As a reader of another node does.
  void look_up(const std::string& name) {
    std::uint32_t index = home_bucket(key_, name, kBuckets);
    for (std::uint32_t looks = 0; looks < kBuckets; ++looks, index = (index + 1) % kBuckets) {
      NameRecord record;
      const BucketSays says = read_bucket(bucket(index), key_, shape_, index, name, record);
      if (says == BucketSays::further) continue;
      further.times += looks != 0 ? 1 : 0;
      const auto known = model_.find(name);
      ASSERT_EQ(says, known == model_.end() ? BucketSays::absent : BucketSays::found);
      if (says == BucketSays::absent) return;
      ++found.times;
      ASSERT_EQ(record.name, name);
      ASSERT_EQ(record.generation, known->second);
      return;
    }
    ASSERT_FALSE(model_.contains(name));
  }

  std::span<const std::byte, kBucketBytes> bucket(std::uint32_t index) {
    return memory().subspan(bucket_offset(index)).first<kBucketBytes>();
  }

  // A copy of a bucket, as its reader has it, with something else in it; also sealed by one who has the key.
  void spoil() {
    const auto index = static_cast<std::uint32_t>(input_.pick(kBuckets));
    std::array<std::byte, kBucketBytes> copy;
    const std::span<const std::byte, kBucketBytes> whole = bucket(index);
    std::copy(whole.begin(), whole.end(), copy.begin());
    for (std::uint64_t i = input_.pick(4); i > 0; --i) edit(copy);
    const bool same = std::equal(copy.begin(), copy.end(), whole.begin());
    const bool sealed = input_.pick(4) != 0;
    if (sealed) seal(copy);
    const std::uint32_t asked = input_.pick(8) == 0 ? static_cast<std::uint32_t>(input_.number()) : index;
    const std::string name = some_name();
    NameRecord record;
    const BucketSays says = read_bucket(copy, key_, shape_, asked, name, record);
    if (!sealed && !same) {
      ++changing.times;
      ASSERT_EQ(says, BucketSays::changing);
    }
    if (asked != index && same) {
      ASSERT_EQ(says, BucketSays::wrong);
    }
    hostile.times += says != BucketSays::changing && says != BucketSays::wrong ? 1 : 0;
    if (says != BucketSays::found) return;
    ASSERT_EQ(record.name, name);
    ASSERT_EQ(hamlyn::invalid(record.ticket), nullptr);

    std::array<std::byte, kRegistryHeader> header;
    const auto from = memory().first<kRegistryHeader>();
    std::copy(from.begin(), from.end(), header.begin());
    input_.spoil(std::span{header});
    std::uint64_t changes = 0;
    read_changes(header, shape_, changes);
  }

  // At the places where something stands: the bucket's header, or a field of a record.
  void edit(std::array<std::byte, kBucketBytes>& copy) {
    constexpr std::size_t kFields[] = {0, 1, 64, 120, 124, 128, 136, 156, 157, 158, 159, 191};
    std::size_t at = input_.pick(kBucketHeader);
    if (input_.pick(2) == 0) {
      at = kBucketHeader + kRecordBytes * input_.pick(kRecords);
      at += input_.pick(2) == 0 ? kFields[input_.pick(std::size(kFields))] : input_.pick(kRecordBytes);
    }
    copy[at] = input_.pick(2) == 0 ? static_cast<std::byte>(input_.pick(3)) : input_.byte();
  }

  void seal(std::array<std::byte, kBucketBytes>& copy) const {
    constexpr std::size_t kFrom = 8;
    unsigned char hash[crypto_shorthash_BYTES];
    ::crypto_shorthash(hash, reinterpret_cast<const unsigned char*>(copy.data() + kFrom), copy.size() - kFrom,
                       reinterpret_cast<const unsigned char*>(key_.data() + crypto_shorthash_KEYBYTES));
    std::copy(std::begin(hash), std::end(hash), reinterpret_cast<unsigned char*>(copy.data()));
  }

  Input& input_;
  std::vector<std::uint64_t> words_;  // the memory
  const RegistryKey key_ = some_key();
  const RegistryShape shape_{.generation = 7, .buckets = kBuckets};
  Registry registry_{memory(), key_, shape_};
  std::map<std::string, std::uint64_t> model_;  // which registration is in force
  std::uint64_t generation_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace

const RandomRuns random_runs{.runs = 200, .bytes = 2000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Table{input}.live();
}

}  // namespace hamlyn::fuzz
