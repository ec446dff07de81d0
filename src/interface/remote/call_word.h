#pragma once
// The call word of memory that others have mapped and store into. A store wakes nobody: while somebody waits
// for one, the word tells whoever stores there to call the owner, by an empty put. The word stands in the
// area's page, which the owner alone writes.
//
//   stores:  store; fence; w = word; if w != 0 and w != last: last = w; send an empty put
//   waits:   word = ++epoch; fence; look at the memory; nothing? sleep; called? the same again
#include <cstdint>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

// The owner's side. Under the run lock.
template <class Memory = base::RealMemory>
class CallWord {
 public:
  explicit CallWord(std::uint64_t& word) noexcept : word_(&word) {}

  // Somebody waits from now on, or waits no more.
  void begin() noexcept {
    ++waits_;
    renew();
  }
  void end() noexcept {
    if (--waits_ == 0) Memory::store_relaxed(*word_, std::uint64_t{0});
  }
  // Somebody has called, or waits anew: the next store is to be called for, too. Before a look at the memory.
  void renew() noexcept {
    Memory::store_relaxed(*word_, ++epoch_);
    Memory::fence();  // pairs with `called_for`: one of the two sees the other
  }

 private:
  std::uint64_t* word_;  // never read here: others see it, and nobody but us writes it
  std::uint64_t epoch_ = 0;
  std::uint32_t waits_ = 0;
};

// By whoever has stored. `last`: the word by which the owner was called before.
template <class Memory = base::RealMemory>
bool called_for(const std::uint64_t& word, std::uint64_t last, std::uint64_t& now) noexcept {
  Memory::fence();  // pairs with CallWord::renew
  now = Memory::load_relaxed(word);
  return now != 0 && now != last;
}

// A mapped area's owner keeps this of the page that it shows.
struct MappedWords {
  std::uint64_t generation = 0;  // what its first word says (base/generation.h)
  CallWord<> call;
};

}  // namespace hamlyn::internal_::interface
