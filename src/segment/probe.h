#pragma once
// Looks one name up in another node's registry, bucket by bucket; whoever runs it brings the buckets.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "segment/registry.h"

namespace hamlyn::internal_::segment {

class Probe {
 public:
  enum class Says : std::uint8_t {
    more,  // read `bucket` next
    found,
    absent,
    unknown,  // it changes too fast, or is too far from its home
    wrong,    // that is no registry
  };

  // `most`: buckets to read at the most.
  Probe(const RegistryKey& key, const RegistryShape& shape, std::string_view name, std::uint32_t most);

  std::uint32_t bucket() const noexcept { return bucket_; }
  Says take(std::span<const std::byte, kBucketBytes> bytes);

  const NameRecord& record() const noexcept { return record_; }
  std::uint32_t reads() const noexcept { return reads_; }

 private:
  RegistryKey key_;
  RegistryShape shape_;
  std::string name_;
  std::uint32_t most_;
  std::uint32_t bucket_;
  std::uint32_t reads_ = 0;
  std::uint32_t torn_ = 0;  // of this bucket, one after the other
  NameRecord record_;
};

}  // namespace hamlyn::internal_::segment
