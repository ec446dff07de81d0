#pragma once
// The registry of names of one node (paper 4, section 7.3.2): an open-addressed hash table in plain memory,
// which the clerks of other nodes read without this node's help (docs/names.md, docs/wire.md).
//
// A place is a bucket of five records, so that one read finds nearly every name. A bucket is read in pieces
// of different moments, so it carries a keyed checksum over all of it: what is not a bucket as it was at one
// moment is seen from its bytes alone. A name is kept in the first bucket from its home on that had room; a
// bucket counts the records that found it full, so that a reader knows when to stop, and nothing is moved
// when a name goes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "node/mind/clerk.h"

namespace hamlyn::internal_::segment {

inline constexpr std::uint32_t kRegistryMagic = 0x524C4D48;  // "HMLR"
inline constexpr std::uint32_t kRegistryVersion = 1;
inline constexpr std::size_t kRegistryHeader = 64;
inline constexpr std::size_t kBucketBytes = 1024;
inline constexpr std::size_t kBucketHeader = 64;
inline constexpr std::size_t kRecordBytes = 192;
inline constexpr std::size_t kRecordName = 64;
inline constexpr std::uint32_t kRecords = 5;  // of a bucket
inline constexpr std::uint32_t kFewestBuckets = 16;
inline constexpr std::uint32_t kMostBuckets = 1u << 17;  // 128 MiB
static_assert(kMostBuckets * kRecords / 2 == node::kMostNames);
static_assert(kBucketHeader + kRecords * kRecordBytes == kBucketBytes && kRecordBytes % 64 == 0);

// All nodes of a cluster have the same key, and nobody else knows it. It says where a name stands, and makes
// the checksum. Nobody who chooses names can choose where they collide.
using RegistryKey = std::array<std::byte, 32>;

struct NameRecord : node::RegisteredName {
  std::string name;  // 1 to 64 characters
};

// A table as others must know it to read it.
struct RegistryShape {
  std::uint64_t generation = 0;  // of the table; each has another
  std::uint32_t buckets = 0;     // a power of two
};

constexpr std::size_t registry_bytes(std::uint32_t buckets) noexcept {
  return kRegistryHeader + std::size_t{buckets} * kBucketBytes;
}
constexpr std::size_t bucket_offset(std::uint32_t bucket) noexcept { return registry_bytes(bucket); }
// Names that a table takes: half of its places, so that at most a few of a hundred have left their home.
constexpr std::uint32_t most_names(std::uint32_t buckets) noexcept { return buckets * kRecords / 2; }
constexpr bool valid_buckets(std::uint32_t buckets) noexcept {
  return buckets >= kFewestBuckets && buckets <= kMostBuckets && (buckets & (buckets - 1)) == 0;
}
// Where a name is looked for first.
std::uint32_t home_bucket(const RegistryKey& key, std::string_view name, std::uint32_t buckets) noexcept;

// For its owner, who alone writes the memory, while anybody reads it. Threads: one.
class Registry {
 public:
  // `memory`: zeroed, aligned to words, of registry_bytes(shape.buckets).
  Registry(std::span<std::byte> memory, const RegistryKey& key, RegistryShape shape) noexcept;

  // Registers the name, in the place of what it stood for before. False: the table is full.
  bool put(const NameRecord& record) noexcept;
  // Marks it removed; false: it is not there.
  bool remove(std::string_view name) noexcept;
  // Makes the memory unreadable, for good: every bucket changes for ever.
  void close() noexcept;

  std::uint32_t size() const noexcept { return names_; }
  const RegistryShape& shape() const noexcept { return shape_; }

 private:
  using Bucket = std::array<std::byte, kBucketBytes>;
  struct Place {
    std::uint32_t bucket = 0;
    std::uint32_t record = 0;
    bool found = false;
  };

  std::uint32_t after(std::uint32_t bucket) const noexcept { return (bucket + 1) & (shape_.buckets - 1); }
  Bucket load(std::uint32_t index) const noexcept;
  void store(std::uint32_t index, Bucket& bucket) noexcept;
  void seal(std::uint32_t index, Bucket& bucket) const noexcept;
  Place find(std::string_view name) const noexcept;
  void add_passed(std::uint32_t from, std::uint32_t to, std::uint32_t change) noexcept;
  void changed() noexcept;

  std::span<std::byte> memory_;
  RegistryKey key_;
  RegistryShape shape_;
  std::uint32_t names_ = 0;
  std::uint64_t changes_ = 0;
};

// Verdict of a reader on one bucket's bytes.
enum class BucketSays : std::uint8_t {
  found,
  absent,    // the name is not registered
  further,   // not here; maybe in the next bucket
  changing,  // no bucket as it was at one moment: read again
  wrong,     // whole, and not what an owner of a registry writes
};

// Total: any bytes will do. `record` is set if it is found.
BucketSays read_bucket(std::span<const std::byte, kBucketBytes> bytes, const RegistryKey& key,
                       const RegistryShape& shape, std::uint32_t index, std::string_view name,
                       NameRecord& record);

// Reads from a registry's header how often the table has changed. False: it is not the header of that table.
// A reader that finds the number that it found before knows that what it has read since is still so.
bool read_changes(std::span<const std::byte, kRegistryHeader> bytes, const RegistryShape& shape,
                  std::uint64_t& changes) noexcept;

}  // namespace hamlyn::internal_::segment
