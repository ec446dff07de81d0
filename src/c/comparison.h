#pragma once
// Waits for a word until it compares with a value as hamlyn/c/segment.h says.
#include <cstdint>

#include "c/status.h"
#include "hamlyn/c/segment.h"

namespace hamlyn::c {

inline bool compares(std::uint32_t comparison, std::uint64_t word, std::uint64_t value) noexcept {
  switch (comparison) {
    case HAMLYN_EQUAL:
      return word == value;
    case HAMLYN_NOT_EQUAL:
      return word != value;
    case HAMLYN_LESS:
      return word < value;
    case HAMLYN_AT_MOST:
      return word <= value;
    case HAMLYN_GREATER:
      return word > value;
    default:
      return word >= value;
  }
}

// `wait` is given the function that says whether a word will do. `word` may be null.
template <class Wait>
hamlyn_status wait_for_word(const char* function, const void* object, std::uint32_t comparison,
                            std::uint64_t value, std::uint64_t* word, Wait wait) {
  if (object == nullptr) return invalid_argument(function, "a NULL argument");
  if (comparison < HAMLYN_EQUAL || comparison > HAMLYN_AT_LEAST)
    return invalid_argument(function, "no such comparison");
  std::uint64_t seen = 0;
  const Status status = wait([&](std::uint64_t now) {
    seen = now;
    return compares(comparison, now, value);
  });
  if (status == Status::ok && word != nullptr) *word = seen;
  return number(status);
}

}  // namespace hamlyn::c
