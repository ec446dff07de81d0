#pragma once
// Memory that one process writes and another reads (design, section 6; sealed so that nobody can shrink it,
// punch holes into it, or map it writable who does not already. Who does can have the kernel map it again, by
// mremap, and gains nothing by that).
#include <cstddef>
#include <utility>

#include "base/file_descriptor.h"

namespace hamlyn::shm {

// A mapping. Not inherited by a forked child.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  void* data() const noexcept { return data_; }
  void* release() noexcept { return std::exchange(data_, nullptr); }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

struct OwnedMemory {
  Mapping mapping;             // writable, zeroed, populated
  base::FileDescriptor memfd;  // to be shown to the reader, then closed
};

// Says who may write memory: its owner alone; a ring's two ends, of which the reader can spoil nothing but
// what it is to read itself; or whoever it is handed to.
//
// A ring's reader maps it writable for the following reason. Some processors leave a line that is read
// through a read-only mapping shared, and its writer must call it back. Packets from 4 KiB on are up to twice
// as fast without (docs/performance.md).
enum class Writers { owner, both_ends, everybody };

// Throws Error(out_of_memory or system). Of memory that both ends write the reader maps it first and then
// seals it against further mappings and holes; its owner asks sealed_by_reader() before it writes anything
// there.
OwnedMemory make_sealed_memory(std::size_t bytes, Writers writers = Writers::owner);

struct ForeignMemory {
  Mapping mapping;                // populated, read-only if its owner alone writes it; empty if refused
  const char* refusal = nullptr;  // why
  bool no_memory = false;         // refused for want of memory of our own, through no fault of its owner
};

// Checks what a stranger handed over (kind, size, seals) before a byte of it is looked at. Never throws.
ForeignMemory map_foreign_memory(const base::FileDescriptor& memfd, std::size_t bytes,
                                 Writers writers = Writers::owner) noexcept;

// Whether the reader has sealed it as agreed, with all of its pages there: none can go any more.
bool sealed_by_reader(const OwnedMemory& memory) noexcept;

}  // namespace hamlyn::shm
