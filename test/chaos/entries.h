#pragma once
// The metadata entries of who receives counted messages, and the names under which they are found.
#include <cstdint>
#include <string>

#include "test/chaos/stage.h"

namespace hamlyn::chaos {

inline constexpr std::uint32_t kEntries = 4;

inline std::string entry_name(std::uint32_t seat, std::uint64_t entry) {
  return Stage::name_of(seat) + "." + std::to_string(entry);
}

}  // namespace hamlyn::chaos
