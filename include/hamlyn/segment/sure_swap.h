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
#include <memory>

#include "hamlyn/segment/segment.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::segment {
class SwappedWord;
}

class SureSwap {
 public:
  // A word has no more users.
  static constexpr std::uint32_t kMostMembers = 255;
  // Bytes of the segment that such a word needs.
  static constexpr std::size_t bytes(std::uint32_t members) noexcept {
    return sizeof(std::uint64_t) * (members + 1);
  }

  // `who`: 1 to `members`, of its users each another; who comes after one that has died may have his. Throws
  // Error(out_of_memory).
  SureSwap(std::size_t offset, std::uint32_t members, std::uint32_t who);
  ~SureSwap();
  // One that was moved from takes no more calls.
  SureSwap(SureSwap&&) noexcept;
  SureSwap& operator=(SureSwap&&) noexcept;

  // Swaps if the value is `expected`. ok: it has. not_ready: it has not, and `found` is the value.
  // link_ended, timed_out, cancelled, stale: it may have, and `settle` tells; until then it is not to be
  // called again (invalid). Others as Import::fetch: it has not. `timeout` is for each round trip: one, or
  // four and more where others swap.
  Status swap(Import& import, std::uint32_t expected, std::uint32_t desired, std::chrono::nanoseconds timeout,
              std::uint32_t* found = nullptr) noexcept;

  // How the last swap has ended, of which that was not known; through an import whose link is good. ok,
  // not_ready: as `swap`, and for good; not_ready also if none was begun. Others: still not known.
  Status settle(Import& import, std::chrono::nanoseconds timeout, std::uint32_t* found = nullptr) noexcept;
  // False: it is not known how the last swap has ended.
  bool settled() const noexcept;

  // The value now. As Import::fetch.
  Status load(Import& import, std::uint32_t& value, std::chrono::nanoseconds timeout) noexcept;

 private:
  std::unique_ptr<internal_::segment::SwappedWord> word_;
};

}  // namespace hamlyn
