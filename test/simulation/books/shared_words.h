#pragma once
// What may stand in a word that others do fetch-and-ops on, as those know who asked for them: by their
// answers, and by what they asked for and were never told of. Each kind of word takes the operations of which
// any order leaves something that can be told from what must not be.
//
// A word of 4 bytes is the low half of these numbers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "hamlyn/values/remote.h"
#include "test/simulation/books/violation.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

// bit_and, bit_or, bit_xor. Each process has bits of its own there, and asks for one thing at a time: what it
// finds in them is what it has left there.
class BitWord {
 public:
  explicit BitWord(std::uint32_t bytes) : bits_(bytes) {}

  // The bits of process `number`: eight processes, and as many bits for each as the word has bytes.
  std::uint64_t own(std::uint64_t number) const noexcept {
    return ((std::uint64_t{1} << bits_) - 1) << bits_ * (number - 1);
  }
  Fetch choose(std::uint64_t number, sim::Generator& chance) const {
    const std::uint64_t mask = chance.next() & own(number);
    const auto op = static_cast<FetchOp>(static_cast<std::uint64_t>(FetchOp::bit_and) + chance.below(3));
    return {op, bits_, op == FetchOp::bit_and ? ~own(number) | mask : mask, 0};
  }
  void done(std::uint64_t number, const Fetch& fetch, std::uint64_t before) {
    demand(may_be_[number].count(before & own(number)) != 0,
           "bits are not what their process has left there");
    may_be_[number] = {after(fetch, before & own(number))};
  }
  // Nobody knows whether it was done.
  void unsure(std::uint64_t number, const Fetch& fetch) {
    std::set<std::uint64_t>& now = may_be_[number];
    for (const std::uint64_t each : std::set(now)) now.insert(after(fetch, each) & own(number));
  }
  void check(std::uint64_t value) const {
    for (std::uint64_t number = 1; number <= kMostProcesses; ++number)
      demand(may_be_[number].count(value & own(number)) != 0, "bits do not stand as they were left");
  }

 private:
  static std::uint64_t after(const Fetch& fetch, std::uint64_t before) noexcept {
    switch (fetch.op) {
      case FetchOp::bit_and:
        return before & fetch.operand;
      case FetchOp::bit_or:
        return before | fetch.operand;
      default:
        return before ^ fetch.operand;
    }
  }

  std::uint32_t bits_;
  std::array<std::set<std::uint64_t>, kMostProcesses + 1> may_be_ = [] {
    std::array<std::set<std::uint64_t>, kMostProcesses + 1> zeros;
    zeros.fill({0});
    return zeros;
  }();
};

// swap and compare_and_swap of values that nobody uses twice: each is put there once at most, and replaced
// once at most.
class SwapWord {
 public:
  explicit SwapWord(std::uint32_t bytes) : bytes_(bytes) {}

  std::uint64_t now() const noexcept { return clock_; }
  // `standing`: what stands there now.
  Fetch choose(std::uint64_t standing, sim::Generator& chance) {
    const std::uint64_t value = nth(++last_);
    values_[value];
    const bool compares = chance.one_in(2);
    const std::uint64_t compare = chance.one_in(3) ? nth(chance.below(last_)) : low(standing);
    // Of 4 bytes the low half counts.
    const std::uint64_t high = bytes_ == 4 ? chance.next() << 32 : 0;
    return {compares ? FetchOp::compare_and_swap : FetchOp::swap, bytes_, value | high, compare | high};
  }
  // What was chosen and not asked for.
  void forget(const Fetch& fetch) { values_.erase(low(fetch.operand)); }
  // `began`: now() when it was asked for.
  void done(const Fetch& fetch, std::uint64_t before, std::uint64_t began) {
    const auto found = values_.find(before);
    demand(found != values_.end() && !found->second.never, "a value was found that nobody has put there");
    Value& old = found->second;
    demand(!old.replaced || old.replaced_at >= began, "a value was found that had been replaced");
    old.seen = true;
    Value& value = values_[low(fetch.operand)];
    if (fetch.op == FetchOp::compare_and_swap && before != low(fetch.compare)) {
      demand(!value.seen, "a value stands there of which it was said that it does not");
      value.never = true;
      return;
    }
    demand(!old.replaced, "two have replaced the same value");
    old.replaced = true;
    old.replaced_at = ++clock_;
    value.sure = true;
  }
  void unsure() noexcept { ++unsure_; }
  void check(std::uint64_t standing) const {
    const auto last = values_.find(standing);
    demand(last != values_.end() && !last->second.never && !last->second.replaced,
           "a value stands that nobody has put there, or that was replaced");
    std::uint64_t lost = 0;  // was put there, does not stand there, and nobody says that he has replaced it
    for (const auto& [number, value] : values_) lost += value.sure && !value.replaced && number != standing;
    demand(lost <= unsure_, "a value that was put there has gone");
  }

 private:
  struct Value {
    bool sure = false;   // it was put there
    bool never = false;  // it was not
    bool seen = false;
    bool replaced = false;
    std::uint64_t replaced_at = 0;  // when that was known
  };
  std::uint64_t low(std::uint64_t word) const noexcept { return bytes_ == 4 ? word & 0xFFFFFFFFu : word; }
  std::uint64_t nth(std::uint64_t number) const noexcept { return low(number * 0x9E3779B97F4A7C15u); }  // odd

  std::uint32_t bytes_;
  std::uint64_t last_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t unsure_ = 0;
  std::map<std::uint64_t, Value> values_{{0, {.sure = true}}};
};

// min_signed, max_signed, min_unsigned, max_unsigned, one of them: it goes one way only, across the border at
// which signed and unsigned numbers part. Told by rank: the lower, the more of it is done.
class ExtremeWord {
 public:
  ExtremeWord(FetchOp op, std::uint32_t bytes) : op_(op), bytes_(bytes), known_{value_of(kBegin)} {}

  std::uint64_t begin() const noexcept { return value_of(kBegin); }
  std::uint64_t sure() const noexcept { return sure_; }
  Fetch choose(std::uint64_t standing, sim::Generator& chance) {
    const std::uint64_t value = value_of(rank_of(standing) + 9 - chance.below(20));
    known_.insert(value);
    return {op_, bytes_, value, 0};
  }
  // `least`: sure() when it was asked for.
  void done(const Fetch& fetch, std::uint64_t before, std::uint64_t least) {
    demand(known_.count(before) != 0, "an extreme was found that nobody has put there");
    demand(rank_of(before) <= least, "an extreme was found that had been surpassed");
    done(fetch);
  }
  void done(const Fetch& fetch) noexcept { sure_ = std::min(sure_, rank_of(fetch.operand)); }
  void check(std::uint64_t standing) const {
    demand(known_.count(standing) != 0, "an extreme stands that nobody has put there");
    demand(rank_of(standing) <= sure_, "a more extreme value was put there, and has gone");
  }

 private:
  static constexpr std::uint64_t kBorder = std::uint64_t{1} << 31;
  // It goes there soon.
  static constexpr std::uint64_t kBegin = kBorder + 20;

  // Ranks of words of 8 bytes are those of the 32 bits that decide.
  std::uint64_t rank_of(std::uint64_t value) const noexcept {
    std::uint64_t rank = bytes_ == 8 ? value >> 32 : value & 0xFFFFFFFFu;
    if (op_ == FetchOp::min_signed || op_ == FetchOp::max_signed) rank ^= kBorder;
    return op_ == FetchOp::max_signed || op_ == FetchOp::max_unsigned ? 0xFFFFFFFFu - rank : rank;
  }
  std::uint64_t value_of(std::uint64_t rank) const noexcept {
    if (op_ == FetchOp::max_signed || op_ == FetchOp::max_unsigned) rank = 0xFFFFFFFFu - rank;
    if (op_ == FetchOp::min_signed || op_ == FetchOp::max_signed) rank ^= kBorder;
    return bytes_ == 8 ? rank << 32 | 0x5A5A5A5Au : rank;
  }

  FetchOp op_;
  std::uint32_t bytes_;
  std::set<std::uint64_t> known_;  // values that may stand there
  std::uint64_t sure_ = kBegin;    // the rank that it has reached
};

}  // namespace hamlyn::simulation
