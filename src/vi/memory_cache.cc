#include "hamlyn/vi/memory_cache.h"

#include <iterator>

namespace hamlyn {

namespace vi {

// Looks at one registration: of those that begin nearest before the bytes, the newest, which is the longest.
Result MemoryCache::find_other(std::span<std::byte> bytes, MemoryHandle& out) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  auto found = all_.upper_bound(at);
  if (found == all_.begin() || !covers(std::prev(found)->second.bytes(), bytes)) {
    MemoryHandle handle = 0;
    if (const Result result = nic_.register_memory(bytes, attributes_, handle); result != Result::success)
      return result;
    Memory made(nic_, bytes, handle);  // deregisters, if there is no memory for its place
    try {
      found = std::next(all_.emplace(at, std::move(made)));
    } catch (const std::exception&) {
      return Result::error_resource;
    }
  }
  const Memory& memory = std::prev(found)->second;
  last_ = memory.bytes();
  last_handle_ = out = memory.handle();
  return Result::success;
}

void MemoryCache::forget(std::span<const std::byte> bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data());
  last_ = {};
  std::erase_if(all_, [&](const auto& each) {
    return each.first < first + bytes.size() && first < each.first + each.second.bytes().size();
  });
}

}  // namespace vi

}  // namespace hamlyn
