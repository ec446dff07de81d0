#pragma once
// Registered memory and protection tags: which bytes a handle stands for, and for whom.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/namespaces.h"
#include "hamlyn/vi/values.h"
#include "vi/table.h"

namespace hamlyn::internal_::vi {

using namespace hamlyn::vi;
using hamlyn::vi::Segment;  // and not that of the layer of segments

// Memory of this process, of any address and length. `Area` is the way in for others, which is made when the
// first of them may come.
template <class Area>
struct Region {
  std::byte* address = nullptr;
  std::size_t length = 0;
  MemoryAttributes attributes;
  std::unique_ptr<Area> area;

  // Whether all of [from, from + bytes) is in it.
  bool covers(std::uint64_t from, std::uint64_t bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    return from >= begin && from - begin <= length && bytes <= length - (from - begin);
  }
};

template <class Area>
class Regions {
 public:
  using One = Region<Area>;

  // 0: as many as there may be.
  Tag make_tag() { return tags_.make(); }
  bool has_tag(Tag tag) const noexcept { return tags_.find(tag) != nullptr; }
  // How many regions and VIs have it.
  void use_tag(Tag tag) noexcept { ++*tags_.find(tag); }
  void leave_tag(Tag tag) noexcept { --*tags_.find(tag); }
  Result destroy_tag(Tag tag) noexcept {
    const std::uint32_t* const users = tags_.find(tag);
    if (users == nullptr) return Result::invalid_parameter;
    if (*users != 0) return Result::error_resource;
    tags_.erase(tag);
    return Result::success;
  }

  Result add(std::byte* address, std::size_t length, const MemoryAttributes& attributes, MemoryHandle& out) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (address == nullptr || length == 0 || begin + length < begin) return Result::invalid_parameter;
    if (!has_tag(attributes.tag)) return Result::invalid_ptag;
    out = regions_.make(One{address, length, attributes, nullptr});
    if (out == 0) return Result::error_resource;
    use_tag(attributes.tag);
    return Result::success;
  }
  One* find(MemoryHandle handle) const noexcept { return regions_.find(handle); }
  // As the calls name one: by its address, too.
  One* find(MemoryHandle handle, const void* address) const noexcept {
    One* const region = regions_.find(handle);
    return region != nullptr && region->address == address ? region : nullptr;
  }
  Result set(One& region, const MemoryAttributes& attributes) noexcept {
    if (!has_tag(attributes.tag)) return Result::invalid_ptag;
    use_tag(attributes.tag);
    leave_tag(region.attributes.tag);
    region.attributes = attributes;
    return Result::success;
  }
  void remove(MemoryHandle handle) noexcept {
    leave_tag(regions_.find(handle)->attributes.tag);
    regions_.erase(handle);
  }
  // Null: no such memory, memory of another tag, or not all of it.
  One* covering(const Segment& segment, Tag tag) const noexcept {
    One* const region = regions_.find(segment.handle);
    const bool good =
        region != nullptr && region->attributes.tag == tag && region->covers(segment.address, segment.length);
    return good ? region : nullptr;
  }
  template <class What>
  void each(What what) {
    regions_.each(what);
  }

 private:
  Table<std::uint32_t> tags_{kMostTags};
  Table<One> regions_{kMostRegions};
};

}  // namespace hamlyn::internal_::vi
