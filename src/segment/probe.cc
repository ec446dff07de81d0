#include "segment/probe.h"

#include <algorithm>

namespace hamlyn::internal_::segment {
namespace {

constexpr std::uint32_t kMostTorn = 8;

}  // namespace

Probe::Probe(const RegistryKey& key, const RegistryShape& shape, std::string_view name, std::uint32_t most)
    : key_(key),
      shape_(shape),
      name_(name),
      most_(std::min(most, shape.buckets)),
      bucket_(home_bucket(key, name, shape.buckets)) {}

Probe::Says Probe::take(std::span<const std::byte, kBucketBytes> bytes) {
  ++reads_;
  switch (read_bucket(bytes, key_, shape_, bucket_, name_, record_)) {
    case BucketSays::found:
      return Says::found;
    case BucketSays::absent:
      return Says::absent;
    case BucketSays::changing:
      return ++torn_ < kMostTorn ? Says::more : Says::unknown;
    case BucketSays::further:
      torn_ = 0;
      bucket_ = (bucket_ + 1) & (shape_.buckets - 1);
      return reads_ < most_ ? Says::more : Says::unknown;
    case BucketSays::wrong:
      break;
  }
  return Says::wrong;
}

}  // namespace hamlyn::internal_::segment
