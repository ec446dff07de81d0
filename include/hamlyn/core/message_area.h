#pragma once
// Memory of this process that messages may land in (paper 0, section 2.2). Of the kind `guarded` it is
// private: no peer maps it. The other kinds are for mapped slots (docs/large-data.md): the holder of a ticket
// of a slot on the area may map the whole of it.
// Threads: any; `revoke` while nobody writes there. Owner: who made it; the interface outlives it, and it
// outlives its slots. Memory of the caller's stays the caller's.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::interface {
struct MappedWords;
}
namespace internal_::library {
class AreaRange;
class DurableArea;
class Wiring;
}  // namespace internal_::library

// Ways to the memory that go past its owner's interface.
enum class Sharing : std::uint8_t {
  guarded,            // private: every byte comes through the interface
  mapped_read_only,   // any holder of a ticket may map and read it
  mapped_read_write,  // holders of a ticket who run as this process's user may map, read and write it
};

// Names the regular file that a durable area is kept in.
// - By path: made if it is not there, for this user alone. One area at a time has it.
// - By a descriptor of the caller's, open for reading and writing.
struct AreaFile {
  std::string path = {};
  int descriptor = -1;
};

// Where messages land, through the slots on it.
class MessageArea {
 public:
  // `bytes` (at least 1) of zeroed, page-aligned memory; wired when the system allows it. Of the mapped kinds
  // the size is rounded up to whole pages, and counts in this user's quota of bytes. Throws Error:
  // invalid_argument, out_of_memory, quota_bytes, forked.
  MessageArea(Interface& interface, std::size_t bytes, Sharing sharing = Sharing::guarded);
  // Memory that is there already and stays the caller's: whole pages of 4096, page-aligned, writable, until
  // this object is gone. For the mapped kinds its bytes move to pages that can be shared, at the same
  // address, and back when the area goes: nobody may touch it during the two calls. That can be done with a
  // process's private memory (malloc, anonymous mmap) on which no other area lies; a forked child has it no
  // more. Throws Error: invalid_argument, out_of_memory, quota_bytes; then the memory is as it was.
  MessageArea(Interface& interface, std::span<std::byte> memory, Sharing sharing = Sharing::guarded);
  // A durable area (paper 1, section 3.5.1; docs/large-data.md): memory that starts with what the file has,
  // and acknowledgements of messages to it that are given only when their data is in the file and safe from a
  // crash of the host. Nobody maps it. Its space on the disk is taken here. Throws Error: disk_full,
  // not_permitted (another area has the file), invalid_argument, out_of_memory, system.
  MessageArea(Interface& interface, const AreaFile& file, std::size_t bytes);
  ~MessageArea();  // its slots must be gone. A durable area waits for its disk
  MessageArea(const MessageArea&) = delete;
  MessageArea& operator=(const MessageArea&) = delete;

  // Mapped kinds: moves the area, at the same address, to fresh memory with the same bytes. Who had it mapped
  // keeps the old pages and sees nothing that is written from now on; it must ask again, with a ticket that
  // is still good. Nobody, this process's own threads included, may write the area meanwhile. Throws
  // Error: invalid_argument (of the guarded kind), out_of_memory.
  void revoke();

  // Durable areas: puts `length` bytes from `offset` on, as they are now, into the file, and waits until they
  // are safe. For what this process has written itself, and for messages that nobody asked to have
  // acknowledged. ok; not_durable: the file could not be written, now or ever before; timed_out, cancelled;
  // out_of_bounds; invalid: the area is not durable; forked. Throws std::bad_alloc.
  Status sync(std::size_t offset, std::size_t length, std::chrono::nanoseconds timeout);

  // All of it, or a part that is in it. Valid until the area goes.
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<std::byte> bytes(std::size_t offset, std::size_t length) noexcept {
    return bytes().subspan(offset, length);
  }
  // Whether all of it is locked in memory: populated it is in any case.
  bool wired() const noexcept;
  // How much of it lies in huge pages now, as far as the kernel says: of memory of its own that nobody maps,
  // from 2 MiB on; otherwise 0. Reads /proc: for a look, not for a loop. Throws std::bad_alloc.
  std::size_t huge_bytes() const;
  // As it was made.
  Sharing sharing() const noexcept { return sharing_; }
  // Whether it is kept in a file.
  bool durable() const noexcept { return durable_ != nullptr; }
  Interface& interface() noexcept { return interface_; }

 private:
  friend class Segment;
  friend class Slot;

  void make_mapped();
  void wire();

  Interface& interface_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool callers_ = false;  // the memory is the caller's
  Sharing sharing_ = Sharing::guarded;
  internal_::interface::MappedWords* words_ = nullptr;  // of a mapped kind
  std::unique_ptr<internal_::library::DurableArea> durable_;
  std::unique_ptr<internal_::library::AreaRange> range_;
  std::unique_ptr<internal_::library::Wiring> wiring_;  // never null when the area is made
};

}  // namespace hamlyn
