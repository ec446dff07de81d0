#pragma once
// Buffers that the owner of a slot has posted (paper 2, section 3.1): each is a metadata entry that no sender
// can name, and a list of pieces of memory. Private memory, made with the slot: nothing that arrives
// allocates.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/values/notification.h"

namespace hamlyn::internal_::interface {

inline constexpr std::size_t kPostedPieces = 16;

// Memory that one message lands in, piece by piece.
struct alignas(64) PostedBuffer {  // what most messages need is in one line
  std::uint32_t count = 0;         // of the pieces
  std::uint32_t length = 0;        // of all
  std::uint32_t total = 0;         // of the message that fills it
  std::uint64_t word = 0;          // its sender's
  std::array<std::span<std::byte>, kPostedPieces> pieces;

  // Copies bytes of the message that begin `at` bytes behind its first. They fit: check_posted() has asked.
  void land(std::uint64_t at, const std::byte* data, std::size_t bytes) const noexcept {
    for (std::size_t piece = 0; bytes != 0; ++piece) {
      HAMLYN_ASSERT(piece < count, "the message fits the buffer");
      const std::span<std::byte> to = pieces[piece];
      if (at >= to.size()) {
        at -= to.size();
        continue;
      }
      const std::size_t here = std::min<std::size_t>(bytes, to.size() - at);
      std::memcpy(to.data() + at, data, here);
      data += here;
      bytes -= here;
      at = 0;
    }
  }
};

class Posted {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  Posted(std::uint32_t buffers, bool halts) : buffers_(buffers), waiting_(buffers), halts_(halts) {
    filling_.reserve(buffers);
  }

  PostedBuffer& buffer(std::uint32_t entry) noexcept { return buffers_[entry]; }

  // Entries whose buffers no message has taken, oldest first.
  std::uint32_t waiting() const noexcept { return waiting_count_; }
  std::uint32_t oldest() const noexcept { return waiting_[first_]; }
  void append(std::uint32_t entry) noexcept {
    HAMLYN_ASSERT(waiting_count_ < waiting_.size(), "an entry waits once");
    waiting_[place_of(waiting_count_++)] = entry;
  }
  std::uint32_t take_oldest() noexcept {
    HAMLYN_ASSERT(waiting_count_ != 0, "whoever takes has seen that one waits");
    const std::uint32_t entry = waiting_[first_];
    first_ = place_of(1);
    --waiting_count_;
    return entry;
  }

  // Entries whose buffers are being filled by messages of several packets.
  const std::vector<std::uint32_t>& filling() const noexcept { return filling_; }
  void begin(std::uint32_t entry) noexcept {
    HAMLYN_ASSERT(filling_.size() < filling_.capacity(), "there is room for each entry");
    filling_.push_back(entry);
  }
  void end(std::uint32_t entry) noexcept { std::erase(filling_, entry); }

  // Entries that wait, or are being filled. (Those whose notification is not read are the slot's `unread`.)
  std::uint32_t in_use() const noexcept {
    return waiting_count_ + static_cast<std::uint32_t>(filling_.size());
  }
  // Where the search for a free entry begins: behind the one that was found last.
  std::uint32_t next_free = 0;

  // A slot that halts takes no message to come from the first one on that it had no buffer for.
  void halt(Refusal why) noexcept {
    HAMLYN_ASSERT(halts_, "others go on");
    halted_ = why;
  }
  void resume() noexcept { halted_ = Refusal::none; }
  Refusal halted() const noexcept { return halted_; }
  bool halts() const noexcept { return halts_; }
  bool halt_told = false;  // a notification of it stands in the queue

 private:
  std::uint32_t place_of(std::uint32_t behind) const noexcept {
    const std::uint64_t place = std::uint64_t{first_} + behind;
    return static_cast<std::uint32_t>(place < waiting_.size() ? place : place - waiting_.size());
  }

  std::vector<PostedBuffer> buffers_;   // by entry
  std::vector<std::uint32_t> waiting_;  // a circle
  std::uint32_t first_ = 0, waiting_count_ = 0;
  std::vector<std::uint32_t> filling_;
  bool halts_;
  Refusal halted_ = Refusal::none;
};

}  // namespace hamlyn::internal_::interface
