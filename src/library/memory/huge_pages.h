#pragma once
// Private memory in huge pages, where the system has them: asked for when it is reserved, and what was got of
// them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// How many bytes lie in huge pages, as the kernel says (/proc/self/smaps); 0 if it says nothing. It counts
// per mapping: memory right behind this, which asked for the same, may stand for what is missing here.
std::size_t huge_bytes_of(std::span<const std::byte> memory);

}  // namespace hamlyn::internal_::library
