#include "segment/registry.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "base/byte_order.h"
#include "segment/registry_words.h"

namespace hamlyn::internal_::segment {
namespace {

using base::load_little;
using base::store_little;
using Words = RegistryWords<>;

// Places in the header.
constexpr std::size_t kChangesAt = 32;

// Places in a bucket. The checksum is over everything behind it.
constexpr std::size_t kChecksumAt = 0;
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kGenerationAt = 16;
constexpr std::size_t kIndexAt = 24;
constexpr std::size_t kPassedAt = 28;
constexpr std::size_t kBucketRest = 32;

// Places in a record.
constexpr std::size_t kTicketAt = 64;
constexpr std::size_t kRecordGenerationAt = 128;
constexpr std::size_t kInterfaceAt = 136;
constexpr std::size_t kUidAt = 144;
constexpr std::size_t kGidAt = 148;
constexpr std::size_t kPidAt = 152;
constexpr std::size_t kStateAt = 156;
constexpr std::size_t kLengthAt = 157;
constexpr std::size_t kRightsAt = 158;
constexpr std::size_t kRecordRest = 159;

enum : std::uint8_t { kFree = 0, kRegistered = 1, kRemoved = 2 };
enum : std::uint8_t { kGroup = 1, kEveryone = 2 };

constexpr std::size_t kShortKey = 16;  // one half places names, the other one seals buckets
static_assert(kShortKey == crypto_shorthash_KEYBYTES && crypto_shorthash_BYTES == sizeof(std::uint64_t));

std::uint64_t short_hash(const std::byte* key, const void* what, std::size_t bytes) noexcept {
  std::byte out[crypto_shorthash_BYTES];
  ::crypto_shorthash(reinterpret_cast<unsigned char*>(out), static_cast<const unsigned char*>(what), bytes,
                     reinterpret_cast<const unsigned char*>(key));
  return load_little<std::uint64_t>(out);
}

std::uint64_t checksum(const RegistryKey& key, std::span<const std::byte, kBucketBytes> bucket) noexcept {
  return short_hash(key.data() + kShortKey, bucket.data() + kVersionAt, kBucketBytes - kVersionAt);
}

constexpr std::size_t record_offset(std::size_t record) noexcept {
  return kBucketHeader + record * kRecordBytes;
}

std::uint8_t state(const std::byte* record) noexcept {
  return std::to_integer<std::uint8_t>(record[kStateAt]);
}

// The name in a record, whose length may be any byte.
std::string_view name_in(const std::byte* record) noexcept {
  const auto length = std::to_integer<std::size_t>(record[kLengthAt]);
  return {reinterpret_cast<const char*>(record), std::min(length, kRecordName)};
}

bool zeros(const std::byte* from, const std::byte* to) noexcept {
  return std::all_of(from, to, [](std::byte each) { return each == std::byte{0}; });
}

bool valid_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

void put_ticket(std::byte* at, const Ticket& ticket) noexcept {
  store_little(at + 0, ticket.host);
  store_little(at + 8, ticket.interface);
  store_little(at + 16, ticket.slot);
  store_little(at + 20, ticket.generation);
  store_little(at + 24, ticket.key);
  store_little(at + 32, ticket.entry);
  store_little(at + 36, ticket.incarnation);
  store_little(at + 40, ticket.base);
  store_little(at + 48, ticket.bound);
  store_little(at + 56, ticket.version);
  store_little(at + 60, ticket.purpose);
}

Ticket take_ticket(const std::byte* at) noexcept {
  Ticket out;
  out.host = load_little<std::uint64_t>(at + 0);
  out.interface = load_little<std::uint64_t>(at + 8);
  out.slot = load_little<std::uint32_t>(at + 16);
  out.generation = load_little<std::uint32_t>(at + 20);
  out.key = load_little<std::uint64_t>(at + 24);
  out.entry = load_little<std::uint32_t>(at + 32);
  out.incarnation = load_little<std::uint32_t>(at + 36);
  out.base = load_little<std::uint64_t>(at + 40);
  out.bound = load_little<std::uint64_t>(at + 48);
  out.version = load_little<std::uint32_t>(at + 56);
  out.purpose = load_little<std::uint32_t>(at + 60);
  return out;
}

void put_record(std::byte* at, const NameRecord& record) noexcept {
  std::memset(at, 0, kRecordBytes);
  std::memcpy(at, record.name.data(), record.name.size());
  put_ticket(at + kTicketAt, record.ticket);
  store_little(at + kRecordGenerationAt, record.generation);
  store_little(at + kInterfaceAt, record.interface);
  store_little(at + kUidAt, record.uid);
  store_little(at + kGidAt, record.gid);
  store_little(at + kPidAt, record.pid);
  at[kStateAt] = std::byte{kRegistered};
  at[kLengthAt] = static_cast<std::byte>(record.name.size());
  at[kRightsAt] =
      static_cast<std::byte>((record.rights.group ? kGroup : 0) | (record.rights.everyone ? kEveryone : 0));
}

NameRecord take_record(const std::byte* at) {
  NameRecord out;
  out.name = name_in(at);
  out.ticket = take_ticket(at + kTicketAt);
  out.generation = load_little<std::uint64_t>(at + kRecordGenerationAt);
  out.interface = load_little<std::uint64_t>(at + kInterfaceAt);
  out.uid = load_little<std::uint32_t>(at + kUidAt);
  out.gid = load_little<std::uint32_t>(at + kGidAt);
  out.pid = load_little<std::uint32_t>(at + kPidAt);
  const auto rights = std::to_integer<std::uint8_t>(at[kRightsAt]);
  out.rights = {(rights & kGroup) != 0, (rights & kEveryone) != 0};
  return out;
}

// Whether a record is one that put_record writes, or a removed one, or free.
bool sound(const std::byte* at) noexcept {
  if (state(at) == kFree) return zeros(at, at + kRecordBytes);
  const auto length = std::to_integer<std::size_t>(at[kLengthAt]);
  if (length == 0 || length > kRecordName || !zeros(at + length, at + kRecordName) ||
      !std::ranges::all_of(name_in(at), valid_character) || !zeros(at + kRecordRest, at + kRecordBytes)) {
    return false;
  }
  if (state(at) == kRemoved) return zeros(at + kTicketAt, at + kRecordGenerationAt);
  return state(at) == kRegistered && hamlyn::invalid(take_ticket(at + kTicketAt)) == nullptr &&
         (std::to_integer<unsigned>(at[kRightsAt]) & ~unsigned{kGroup | kEveryone}) == 0;
}

}  // namespace

std::uint32_t home_bucket(const RegistryKey& key, std::string_view name, std::uint32_t buckets) noexcept {
  return static_cast<std::uint32_t>(short_hash(key.data(), name.data(), name.size())) & (buckets - 1);
}

Registry::Registry(std::span<std::byte> memory, const RegistryKey& key, RegistryShape shape) noexcept
    : memory_(memory), key_(key), shape_(shape) {
  std::array<std::byte, kRegistryHeader> header{};
  store_little(header.data(), kRegistryMagic);
  store_little(header.data() + 4, kRegistryVersion);
  store_little(header.data() + 8, shape.generation);
  store_little(header.data() + 16, shape.buckets);
  store_little(header.data() + 20, static_cast<std::uint32_t>(kBucketBytes));
  store_little(header.data() + 24, static_cast<std::uint32_t>(kRecordBytes));
  Words::store(memory_.data(), header.data(), header.size());
  for (std::uint32_t index = 0; index < shape.buckets; ++index) {
    Bucket bucket{};
    seal(index, bucket);
    Words::store(memory_.data() + bucket_offset(index), bucket.data(), bucket.size());
  }
}

Registry::Bucket Registry::load(std::uint32_t index) const noexcept {
  Bucket out;
  // No honest process but this one writes it. A clerk that was taken over could: names are lost then, and
  // places stay inside the table.
  std::memcpy(out.data(), memory_.data() + bucket_offset(index), out.size());
  return out;
}

void Registry::seal(std::uint32_t index, Bucket& bucket) const noexcept {
  store_little(bucket.data() + kGenerationAt, shape_.generation);
  store_little(bucket.data() + kIndexAt, index);
  store_little(bucket.data() + kChecksumAt, checksum(key_, bucket));
}

// While it changes, its version is odd; the checksum tells who reads across the change without having seen
// that.
void Registry::store(std::uint32_t index, Bucket& bucket) noexcept {
  std::byte* const at = memory_.data() + bucket_offset(index);
  const auto version = load_little<std::uint64_t>(bucket.data() + kVersionAt);
  Words::store(at + kVersionAt, version + 1);
  store_little(bucket.data() + kVersionAt, version + 2);
  seal(index, bucket);
  Words::store(at + kGenerationAt, bucket.data() + kGenerationAt, kBucketBytes - kGenerationAt);
  Words::store(at, bucket.data(), kGenerationAt);
}

// Where it is registered; otherwise the first place from its home on that is free or was. There is one: half
// of all are.
Registry::Place Registry::find(std::string_view name) const noexcept {
  Place out;
  bool free = false;
  std::uint32_t index = home_bucket(key_, name, shape_.buckets);
  for (std::uint32_t looked = 0; looked < shape_.buckets; ++looked, index = after(index)) {
    const std::byte* const bucket = memory_.data() + bucket_offset(index);
    for (std::uint32_t i = 0; i < kRecords; ++i) {
      const std::byte* const record = bucket + record_offset(i);
      if (state(record) == kRegistered && name_in(record) == name) return {index, i, true};
      if (state(record) == kRegistered || free) continue;
      free = true;
      out = {index, i, false};
    }
    if (free && load_little<std::uint32_t>(bucket + kPassedAt) == 0) break;
  }
  return out;
}

// Counts one record more, or less, that found the buckets from its home on full.
void Registry::add_passed(std::uint32_t from, std::uint32_t to, std::uint32_t change) noexcept {
  for (std::uint32_t index = from; index != to; index = after(index)) {
    Bucket bucket = load(index);
    store_little(bucket.data() + kPassedAt, load_little<std::uint32_t>(bucket.data() + kPassedAt) + change);
    store(index, bucket);
  }
}

void Registry::changed() noexcept { Words::count_change(memory_.data() + kChangesAt, ++changes_); }

bool Registry::put(const NameRecord& record) noexcept {
  const Place place = find(record.name);
  if (!place.found) {
    if (names_ >= most_names(shape_.buckets)) return false;
    ++names_;
    add_passed(home_bucket(key_, record.name, shape_.buckets), place.bucket, 1);
  }
  Bucket bucket = load(place.bucket);
  put_record(bucket.data() + record_offset(place.record), record);
  store(place.bucket, bucket);
  changed();
  return true;
}

bool Registry::remove(std::string_view name) noexcept {
  const Place place = find(name);
  if (!place.found) return false;
  --names_;
  Bucket bucket = load(place.bucket);
  std::byte* const record = bucket.data() + record_offset(place.record);
  std::memset(record + kTicketAt, 0, kRecordGenerationAt - kTicketAt);
  record[kStateAt] = std::byte{kRemoved};
  store(place.bucket, bucket);
  add_passed(home_bucket(key_, name, shape_.buckets), place.bucket, ~std::uint32_t{0});
  changed();
  return true;
}

void Registry::close() noexcept {
  for (std::uint32_t index = 0; index < shape_.buckets; ++index) {
    std::byte* const version = memory_.data() + bucket_offset(index) + kVersionAt;
    Words::store(version, load_little<std::uint64_t>(version) + 1);
  }
}

BucketSays read_bucket(std::span<const std::byte, kBucketBytes> bytes, const RegistryKey& key,
                       const RegistryShape& shape, std::uint32_t index, std::string_view name,
                       NameRecord& record) {
  const std::byte* const at = bytes.data();
  if (load_little<std::uint64_t>(at + kChecksumAt) != checksum(key, bytes)) return BucketSays::changing;
  // A holder of the key has written this; a node may be hostile all the same.
  if (load_little<std::uint64_t>(at + kVersionAt) % 2 != 0 ||
      load_little<std::uint64_t>(at + kGenerationAt) != shape.generation ||
      load_little<std::uint32_t>(at + kIndexAt) != index || !zeros(at + kBucketRest, at + kBucketHeader)) {
    return BucketSays::wrong;
  }
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    if (!sound(at + record_offset(i))) return BucketSays::wrong;
  }
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    const std::byte* const each = at + record_offset(i);
    if (state(each) != kRegistered || name_in(each) != name) continue;
    record = take_record(each);
    return BucketSays::found;
  }
  return load_little<std::uint32_t>(at + kPassedAt) == 0 ? BucketSays::absent : BucketSays::further;
}

bool read_changes(std::span<const std::byte, kRegistryHeader> bytes, const RegistryShape& shape,
                  std::uint64_t& changes) noexcept {
  const std::byte* const at = bytes.data();
  changes = load_little<std::uint64_t>(at + kChangesAt);
  return load_little<std::uint32_t>(at) == kRegistryMagic &&
         load_little<std::uint32_t>(at + 4) == kRegistryVersion &&
         load_little<std::uint64_t>(at + 8) == shape.generation &&
         load_little<std::uint32_t>(at + 16) == shape.buckets;
}

}  // namespace hamlyn::internal_::segment
