#pragma once
// Memory of this process that messages may land in (paper 0, section 2.2). Of the kind `guarded` it is
// private: no peer maps it. The other kinds are mapped slots (docs/areas.md): whoever holds a ticket of a
// slot on the area may map the whole of it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/interface.h"

namespace hamlyn {

enum class Sharing : std::uint8_t {
  guarded,            // private: every byte comes through the interface
  mapped_read_only,   // any holder of a ticket may map and read it
  mapped_read_write,  // holders of a ticket who run as this process's user may map, read and write it
};

class MessageArea {
 public:
  // `bytes` (at least 1) of zeroed, page-aligned memory; wired when the system allows it. Of the mapped kinds
  // the size is rounded up to whole pages. Throws Error.
  MessageArea(Interface& interface, std::size_t bytes, Sharing sharing = Sharing::guarded);
  // Memory that is there already and stays the caller's: whole pages of 4096, page-aligned, writable, until
  // this object is gone. Throws Error(invalid_argument).
  MessageArea(Interface& interface, std::span<std::byte> memory);
  ~MessageArea();  // its slots must be gone
  MessageArea(const MessageArea&) = delete;
  MessageArea& operator=(const MessageArea&) = delete;

  // Mapped kinds: moves the area, at the same address, to fresh memory with the same bytes. Who had it mapped
  // keeps the old pages and sees nothing that is written from now on; it must ask again, with a ticket that
  // is still good. Nobody, this process's own threads included, may write the area meanwhile. Throws
  // Error: invalid_argument (of the guarded kind), out_of_memory.
  void revoke();

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<std::byte> bytes(std::size_t offset, std::size_t length) noexcept {
    return bytes().subspan(offset, length);
  }
  // Whether it is locked in memory: populated it is in any case.
  bool wired() const noexcept { return wired_; }
  Sharing sharing() const noexcept { return sharing_; }
  Interface& interface() noexcept { return interface_; }

 private:
  friend class Slot;

  Interface& interface_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool wired_ = false;
  bool callers_ = false;  // the memory is the caller's
  Sharing sharing_ = Sharing::guarded;
  const std::uint64_t* generation_ = nullptr;  // of a mapped kind
};

}  // namespace hamlyn
