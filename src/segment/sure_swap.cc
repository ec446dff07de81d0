#include "hamlyn/segment/sure_swap.h"

#include "library/with_memory.h"
#include "segment/swapped_word.h"

namespace hamlyn {

using segment::SwappedWord;

namespace {

auto words_of(Import& import, std::chrono::nanoseconds timeout) noexcept {
  return [&import, timeout](const SwappedWord::Operation& asked) {
    return asked.swaps ? import.compare_and_swap(asked.offset, asked.expected, asked.desired, timeout)
                       : import.fetch(asked.offset, {}, timeout);
  };
}

}  // namespace

static_assert(SureSwap::kMostMembers == SwappedWord::kMostMembers);

SureSwap::SureSwap(std::size_t offset, std::uint32_t members, std::uint32_t who)
    : word_(library::with_memory("a word to swap",
                                 [&] { return std::make_unique<SwappedWord>(offset, members, who); })) {}
SureSwap::~SureSwap() = default;
SureSwap::SureSwap(SureSwap&&) noexcept = default;
SureSwap& SureSwap::operator=(SureSwap&&) noexcept = default;

Status SureSwap::swap(Import& import, std::uint32_t expected, std::uint32_t desired,
                      std::chrono::nanoseconds timeout, std::uint32_t* found) noexcept {
  return word_->swap(words_of(import, timeout), expected, desired, found);
}

Status SureSwap::settle(Import& import, std::chrono::nanoseconds timeout, std::uint32_t* found) noexcept {
  return word_->settle(words_of(import, timeout), found);
}

bool SureSwap::settled() const noexcept { return word_->settled(); }

Status SureSwap::load(Import& import, std::uint32_t& value, std::chrono::nanoseconds timeout) noexcept {
  return word_->load(words_of(import, timeout), value);
}

}  // namespace hamlyn
