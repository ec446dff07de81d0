#pragma once
// Where letters of one packet land: of each account some cells that it uses in turn. A sender has fewer
// places than an account has cells, so a letter is read before its cell is written again.
#include <cstddef>
#include <cstdint>

#include "test/chaos/ledger.h"

namespace hamlyn::chaos {

inline constexpr std::size_t kCells = 32;
inline constexpr std::size_t kCellBytes = 256;
inline constexpr std::uint32_t kPlaces = 16;
inline constexpr std::size_t kCellArea = kAccounts * kCells * kCellBytes;

inline std::size_t cell(std::uint32_t account, std::uint32_t number) {
  return (account * kCells + number % kCells) * kCellBytes;
}

}  // namespace hamlyn::chaos
