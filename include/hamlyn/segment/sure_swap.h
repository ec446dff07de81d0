#pragma once
// Compare-and-swap of whose outcome nobody is left in doubt: after a link has ended, or a time is over, a
// program imports the segment again and asks (`settle`) whether it has swapped; if not, it never will. It is
// what CAS-II is for (paper 4, section 4.2.3), without its error: there the word keeps the nonce of its last
// swap alone, so whoever is told of a later one takes his own for lost.
//
// Here the word has a value of 32 bits and who has swapped it last, in which swap of his (24 bits). So it is
// never the same twice, and a request that is made again, or comes late, does nothing. And before anybody
// replaces what somebody else has swapped in, he writes down that this was done, in a word of that one's.
//
// Lies in a segment as `bytes(members)` bytes at a multiple of 8. The exporter may put any 32-bit value
// (as a word of 8 bytes) there before others come, and zeros behind it; then it is for `SureSwap` alone. All
// of its users trust each other. An object is of one such word: of one that is exported anew, with zeros,
// there are new ones. Threads: one at a time.
// Owner: who made it. It keeps no import: each call is given one.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "hamlyn/segment/segment.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// (Another place than an import is for tests.)
template <class Place>
class SureSwapIn {
 public:
  // A word has no more users.
  static constexpr std::uint32_t kMostMembers = 255;
  // Bytes of the segment that such a word needs.
  static constexpr std::size_t bytes(std::uint32_t members) noexcept { return kWord * (members + 1); }

  // `who`: 1 to `members`, of its users each another; who comes after one that has died may have his.
  SureSwapIn(std::size_t offset, std::uint32_t members, std::uint32_t who) noexcept
      : offset_(offset), members_(members), who_(who) {}

  // Swaps if the value is `expected`. ok: it has. not_ready: it has not, and `found` is the value.
  // link_ended, timed_out, cancelled, stale: it may have, and `settle` tells; until then it is not to be
  // called again (invalid). Others as Import::fetch: it has not. `timeout` is for each round trip: one, or
  // four and more where others swap.
  Status swap(Place& import, std::uint32_t expected, std::uint32_t desired, std::chrono::nanoseconds timeout,
              std::uint32_t* found = nullptr) noexcept {
    if (open_ || who_ == 0 || who_ > members_ || members_ > kMostMembers) return Status::invalid;
    Status status = begin(import, timeout);
    // The words that were seen of others may be old, and their numbers have come round since.
    if (status == Status::ok && (who_in(seen_) != who_ || value_of(seen_) != expected))
      status = look(import, timeout);
    while (status == Status::ok) {
      if (value_of(seen_) != expected) return told(Status::not_ready, found);
      status = write_down(import, seen_, timeout);
      if (status != Status::ok) return status;
      from_ = seen_;
      to_ = word_of(desired, who_, next(number_));
      open_ = true;
      status = attempt(import, false, timeout);
      if (status != Status::not_ready) return told(status, found);
      status = Status::ok;  // the value may be the same, and its swapper another
    }
    return status;
  }

  // How the last swap has ended, of which that was not known; through an import whose link is good. ok,
  // not_ready: as `swap`, and for good; not_ready also if none was begun. Others: still not known.
  Status settle(Place& import, std::chrono::nanoseconds timeout, std::uint32_t* found = nullptr) noexcept {
    if (open_) return told(attempt(import, true, timeout), found);
    const Status status = look(import, timeout);
    return told(status == Status::ok ? Status::not_ready : status, found);
  }
  // False: it is not known how the last swap has ended.
  bool settled() const noexcept { return !open_; }

  // The value now. As Import::fetch.
  Status load(Place& import, std::uint32_t& value, std::chrono::nanoseconds timeout) noexcept {
    return told(look(import, timeout), &value);
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  static constexpr std::uint32_t kNumbers = (1u << 24) - 1;  // a mask: they come again
  static constexpr std::uint32_t kFar = 1u << 23;            // what is further on was before
  static constexpr std::uint32_t kOften = (1u << 20) - 1;

  static std::uint64_t word_of(std::uint32_t value, std::uint32_t who, std::uint32_t number) noexcept {
    return value | std::uint64_t{number} << 32 | std::uint64_t{who} << 56;
  }
  static std::uint32_t value_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
  static std::uint32_t number_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32) & kNumbers;
  }
  static std::uint32_t who_in(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 56); }
  static std::uint32_t next(std::uint32_t number) noexcept { return (number + 1) & kNumbers; }
  static bool reached(std::uint64_t written, std::uint32_t number) noexcept {
    return ((static_cast<std::uint32_t>(written) - number) & kNumbers) < kFar;
  }
  std::size_t place_of(std::uint32_t who) const noexcept { return offset_ + kWord * who; }

  Status told(Status status, std::uint32_t* found) const noexcept {
    if (found != nullptr && (status == Status::ok || status == Status::not_ready)) *found = value_of(seen_);
    return status;
  }

  Status look(Place& import, std::chrono::nanoseconds timeout) noexcept {
    const Outcome outcome = import.fetch(offset_, {}, timeout);
    if (outcome.status == Status::ok) seen_ = outcome.value;
    return outcome.status;
  }

  // Writes down that the swap that has made this word was done.
  Status write_down(Place& import, std::uint64_t word, std::chrono::nanoseconds timeout) noexcept {
    const std::uint32_t who = who_in(word), number = number_of(word);
    // One's own is known to oneself; now and then it is written down, so that it stays near what is there.
    if (who == 0 || (who == who_ && (number & kOften) != 0)) return Status::ok;
    if (who > members_) return Status::invalid;  // no user of this word has put that there
    // Never back to an older one: whatever comes late finds another number than it expects.
    for (Outcome written = import.fetch(place_of(who), {}, timeout);;) {
      if (written.status != Status::ok) return written.status;
      if (reached(written.value, number)) return Status::ok;
      const std::uint64_t before = written.value;
      written = import.compare_and_swap(place_of(who), before, number, timeout);
      if (written.status == Status::ok && written.value == before) return Status::ok;
    }
  }

  // An earlier user of the number `who` may have begun one more than is known: that number is not used again.
  Status begin(Place& import, std::chrono::nanoseconds timeout) noexcept {
    if (begun_) return Status::ok;
    const Status status = look(import, timeout);
    if (status != Status::ok) return status;
    for (Outcome written = import.fetch(place_of(who_), {}, timeout);;) {
      if (written.status != Status::ok) return written.status;
      number_ = static_cast<std::uint32_t>(written.value) & kNumbers;
      if (who_in(seen_) == who_ && !reached(number_, number_of(seen_))) number_ = number_of(seen_);
      number_ = next(number_);
      const std::uint64_t before = written.value;
      written = import.compare_and_swap(place_of(who_), before, number_, timeout);
      begun_ = written.status == Status::ok && written.value == before;
      if (begun_) return Status::ok;
    }
  }

  // For the first time or again.
  Status attempt(Place& import, bool again, std::chrono::nanoseconds timeout) noexcept {
    const Outcome outcome = import.compare_and_swap(offset_, from_, to_, timeout);
    // (stale: in mapped memory it was perhaps done before that was left.)
    const bool known = outcome.status != Status::link_ended && outcome.status != Status::timed_out &&
                       outcome.status != Status::cancelled && outcome.status != Status::stale;
    if (outcome.status != Status::ok) {
      open_ = again || !known;
      return outcome.status;
    }
    seen_ = outcome.value;
    bool done = seen_ == from_ || seen_ == to_;
    if (!done && again) {  // it has not, or somebody has replaced it since
      const Outcome written = import.fetch(place_of(who_), {}, timeout);
      if (written.status != Status::ok) return written.status;
      done = reached(written.value, number_of(to_));
    }
    open_ = false;
    if (!done) return Status::not_ready;
    number_ = number_of(to_);
    if (seen_ == from_) seen_ = to_;
    return Status::ok;
  }

  const std::size_t offset_;
  const std::uint32_t members_, who_;
  bool begun_ = false;
  std::uint32_t number_ = 0;  // of the last of one's own swaps that was done
  std::uint64_t seen_ = 0;    // the word as it was last seen
  bool open_ = false;         // nobody knows yet whether it is done:
  std::uint64_t from_ = 0, to_ = 0;
};

// The one to use.
using SureSwap = SureSwapIn<Import>;

}  // namespace hamlyn
