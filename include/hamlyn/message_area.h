#pragma once
// Memory of this process that messages may land in (paper 0, section 2.2). Private: no peer maps it.
#include <cstddef>
#include <span>

#include "hamlyn/interface.h"

namespace hamlyn {

class MessageArea {
 public:
  // `bytes` (at least 1) of zeroed, page-aligned memory; wired when the system allows it. Throws Error.
  MessageArea(Interface& interface, std::size_t bytes);
  ~MessageArea();  // its slots must be gone
  MessageArea(const MessageArea&) = delete;
  MessageArea& operator=(const MessageArea&) = delete;

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<std::byte> bytes(std::size_t offset, std::size_t length) noexcept {
    return bytes().subspan(offset, length);
  }
  bool wired() const noexcept { return wired_; }
  Interface& interface() noexcept { return interface_; }

 private:
  Interface& interface_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool wired_ = false;
};

}  // namespace hamlyn
