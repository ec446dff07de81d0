#pragma once
// Puts at a slot: whom the slot tells, and what must not land now (paper 4, sections 3.4.3 to 3.4.5). Private
// memory, made with the slot: nothing that arrives allocates.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/put.h"
#include "interface/packets/strides.h"
#include "interface/puts/held_puts.h"

namespace hamlyn::internal_::interface {

inline constexpr std::size_t kPutPage = 4096;  // what is pinned and unpinned

// Pages of a slot that take no puts now. At first there are none.
class UnpinnedPages {
 public:
  explicit UnpinnedPages(std::uint64_t bound) : bits_((bound + kPutPage - 1) / kPutPage, false) {}

  bool any() const noexcept { return count_ != 0; }
  // Whether any of [begin, end) is, which is inside the slot.
  bool any_in(std::uint64_t begin, std::uint64_t end) const noexcept {
    for (std::uint64_t page = begin / kPutPage; count_ != 0 && page * kPutPage < end; ++page) {
      if (bits_[page]) return true;
    }
    return false;
  }
  void set(std::uint64_t begin, std::uint64_t end, bool unpinned) noexcept {
    for (std::uint64_t page = begin / kPutPage; page * kPutPage < end; ++page) {
      count_ += static_cast<std::size_t>(unpinned) - static_cast<std::size_t>(bits_[page]);
      bits_[page] = unpinned;
    }
  }

 private:
  std::vector<bool> bits_;
  std::size_t count_ = 0;
};

// A put that was checked: its data, in one run, and where it belongs.
struct PutLanding {
  std::uint64_t begin = 0;  // of all that it touches, from the slot's base
  std::uint64_t end = 0;
  const std::byte* data = nullptr;
  std::uint64_t length = 0;
  Signal signal = Signal::none;
  std::uint64_t of = 0;       // a signal of another slot's puts: how it names their opening
  bool announcement = false;  // of what was done before: a put of several packets, or through a mapping
  bool part = false;          // of what will be announced
  Touched touched = Touched::written;
  bool strided = false;
  Strides strides;
  std::uint64_t first = 0;  // of the whole put
  std::uint64_t at = 0;     // and where in its data this packet begins

  // Calls what(offset, data, bytes) for each run of bytes.
  template <class What>
  void each_run(What what) const noexcept {
    if (!strided) return what(begin, data, length);
    for (std::uint64_t done = 0; done != length;) {
      const std::uint64_t from = at + done;
      const std::uint64_t bytes = std::min(strides.chunk - from % strides.chunk, length - done);
      what(first + place_of(strides, from), data + done, bytes);
      done += bytes;
    }
  }
};

struct Puts {
  Puts(std::uint64_t bound, std::size_t hold) : unpinned(bound), held(hold) {}

  // Whether any put must be looked at before it lands.
  bool careful() const noexcept { return inhibited || unpinned.any() || !held.empty(); }
  // Whether one of [begin, end) must wait. What overlaps one that waits comes behind it.
  bool must_wait(std::uint64_t begin, std::uint64_t end) const noexcept {
    return inhibited || held.overlaps(begin, end) || unpinned.any_in(begin, end);
  }

  // Puts that nobody has asked to be told of, and puts that wait: one notification for all of a kind that
  // came while none of that kind was read.
  struct Told {
    bool standing = false;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t count = 0;
    std::uint64_t peer = 0;  // 0: several
  };
  enum Kind : std::uint8_t { landed, waiting, got, fetched, kKinds };

  Control control = Control::conditional;
  bool inhibited = false;
  UnpinnedPages unpinned;
  HeldPuts held;
  Told told[kKinds];
};

}  // namespace hamlyn::internal_::interface
