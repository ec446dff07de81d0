#pragma once
// Memory that long messages are sent out of with a single copy (paper 0, section 2.3): the receiving
// interface, when it has checked a packet, copies straight from here.
//
// Who may read it: when a long piece of an area is sent to an interface for the first time, the whole area is
// shown to that process, read-only, until the area or the link has gone. Keep what one peer may not see out
// of areas that you send from to it. Nobody else can read it, and nobody can write it.
// Threads: any; who writes where, and when, is the application's. Owner: who made it; the interface
// outlives it, and it outlives what is sent out of it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/core/interface.h"

namespace hamlyn {

// Belongs to one interface. Terminus::bind and StreamSender::bind name it.
class SendBufferArea {
 public:
  // `bytes`, rounded up to whole pages of 4096, zeroed and populated. At most 64 areas per interface.
  // Throws Error: invalid_argument, quota_bytes, out_of_memory, system, forked.
  SendBufferArea(Interface& interface, std::size_t bytes);
  ~SendBufferArea();  // messages out of it that are under way are cancelled
  SendBufferArea(const SendBufferArea&) = delete;
  SendBufferArea& operator=(const SendBufferArea&) = delete;

  // All of it, or a part that is in it.
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<std::byte> bytes(std::size_t offset, std::size_t length) noexcept {
    return bytes().subspan(offset, length);
  }
  // By which the library knows it.
  std::uint32_t number() const noexcept { return number_; }
  Interface& interface() noexcept { return interface_; }

 private:
  Interface& interface_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace hamlyn
