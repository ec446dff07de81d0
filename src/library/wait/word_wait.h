#pragma once
// Waits for words of a slot: what lands there by the interface wakes its threads in any case, and what others
// store into mapped memory does while somebody waits (interface/remote/call_word.h).
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/core/slot.h"

namespace hamlyn::internal_::library {

// For as long as it lives, whoever stores into the slot calls.
class WordWait {
 public:
  explicit WordWait(Slot& slot) noexcept;
  ~WordWait();
  WordWait(const WordWait&) = delete;
  WordWait& operator=(const WordWait&) = delete;

 private:
  Interface& interface_;
  std::uint32_t slot_;
  std::uint32_t generation_ = 0;
};

// Has threads and peers look who wait for a word of it: behind a store of this process.
void words_changed(Slot& slot) noexcept;

}  // namespace hamlyn::internal_::library
