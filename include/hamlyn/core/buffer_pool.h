#pragma once
// Message buffers out of an area, by sizes (docs/large-data.md). A message area of the kind guarded is never
// shown to anybody; a send buffer area is, whole, to whoever is sent a long piece of it.
//
// Threads: any may take and give back; of one Buffer one at a time.
// Owner: who made it. The area outlives its pool, and a pool its buffers.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/send_buffer_area.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

class BufferPool;

// Part of an area that is its owner's alone. Given back when this goes, which is before its pool does.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        bytes_(std::exchange(other.bytes_, {})),
        offset_(std::exchange(other.offset_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    pool_ = std::exchange(other.pool_, nullptr);
    bytes_ = std::exchange(other.bytes_, {});
    offset_ = std::exchange(other.offset_, 0);
    return *this;
  }
  ~Buffer() { give_back(); }

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  // As many as were asked for, whatever they held before.
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  std::size_t offset() const noexcept { return offset_; }  // in the area
  // As if it went now.
  void give_back() noexcept;
  // Its address; the buffer is the caller's until BufferPool::give_back. Null if there was none.
  [[nodiscard]] std::byte* release() noexcept;

 private:
  friend class BufferPool;
  void forget() noexcept {
    pool_ = nullptr;
    bytes_ = {};
    offset_ = 0;
  }

  BufferPool* pool_ = nullptr;
  std::span<std::byte> bytes_;
  std::size_t offset_ = 0;
};

// So many buffers of one size.
struct BufferClass {
  std::size_t bytes = 0;    // of each buffer
  std::uint32_t count = 0;  // of such buffers
};

// An area, cut into buffers.
class BufferPool {
 public:
  // One to eight classes of at least one buffer and one byte each. They lie in the area from its beginning
  // on, each buffer on whole lines of 64 bytes. The area stays the caller's and outlives the pool. Throws
  // Error: invalid_argument, out_of_memory, forked.
  BufferPool(MessageArea& area, const std::vector<BufferClass>& classes)
      : BufferPool(area.interface(), area.bytes(), classes) {}
  BufferPool(SendBufferArea& area, const std::vector<BufferClass>& classes)
      : BufferPool(area.interface(), area.bytes(), classes) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Gives the smallest free buffer that has `bytes` or more; `out` gives up what it had. ok; no_buffer: all
  // such are taken; too_long: no class has so large ones; invalid: no bytes; forked.
  Status take(std::size_t bytes, Buffer& out) noexcept;
  // Takes back a released buffer. ok; invalid: no buffer of this pool, or not released; forked.
  Status give_back(const std::byte* buffer) noexcept;

  std::uint32_t free_buffers() const noexcept;  // of all classes

 private:
  friend class Buffer;
  struct Inside;
  enum class Whose : std::uint8_t { pools, buffers, callers };
  // Passes a buffer from one owner to the other. ok, invalid, forked, as give_back.
  Status pass(const std::byte* buffer, Whose from, Whose to) noexcept;
  BufferPool(Interface& interface, std::span<std::byte> area, const std::vector<BufferClass>& classes);

  std::unique_ptr<Inside> inside_;
};

}  // namespace hamlyn
