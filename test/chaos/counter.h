#pragma once
// Letters that are counted in a word of the receiver's and never read: each account has a word, whose upper
// half is the account's serial and whose lower half says how many have come. The first letter of an account
// sets it.
#include <atomic>
#include <cstdint>

#include "test/chaos/stage.h"

namespace hamlyn::chaos {

inline std::uint64_t counter(std::uint32_t serial, std::uint32_t count) {
  return std::uint64_t{serial} << 32 | count;
}

// The owner's look at all of its words: `word(account)` is one of them.
template <class Word>
void count_letters(Stage& stage, Word word) {
  const std::uint32_t life = stage.ledger().seats[stage.seat()].life;
  for (std::uint32_t i = 0; i < kAccounts; ++i) {
    Account& account = stage.ledger().accounts[i];
    if (!account.open || account.to != stage.seat() || account.to_life != life) continue;
    const std::uint64_t now = word(i);
    if (now >> 32 == account.serial) stage.ledger().receive_up_to(account, static_cast<std::uint32_t>(now));
  }
}

}  // namespace hamlyn::chaos
