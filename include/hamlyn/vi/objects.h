#pragma once
// A NIC's objects, owned: each goes with its object. For those who write C++ (docs/vi.md).
//
// Threads: as Nic. Owner: who made it; the NIC is there for longer, and completion queues for longer than
// their VIs.
#include <cstdint>
#include <span>
#include <utility>

#include "hamlyn/vi/nic.h"

namespace hamlyn {

namespace vi {

// A number that is given back by `Give` when its owner goes.
template <Result (Nic::*Give)(std::uint32_t) noexcept>
class Owned {
 public:
  Owned() = default;  // owns nothing
  // Owns that object of the NIC's.
  Owned(Nic& nic, std::uint32_t number) noexcept : nic_(&nic), number_(number) {}
  ~Owned() { give(); }
  Owned(Owned&& other) noexcept
      : nic_(std::exchange(other.nic_, nullptr)), number_(std::exchange(other.number_, 0)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    give();
    nic_ = std::exchange(other.nic_, nullptr);
    number_ = std::exchange(other.number_, 0);
    return *this;
  }
  // By which calls name it; 0: nothing.
  std::uint32_t number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ != 0; }

 protected:
  Nic* nic() const noexcept { return nic_; }  // null: nothing is owned

 private:
  void give() noexcept {
    if (number_ != 0) static_cast<void>((nic_->*Give)(number_));
  }

  Nic* nic_ = nullptr;
  std::uint32_t number_ = 0;
};

// A tag.
using ProtectionTag = Owned<&Nic::destroy_tag>;

// A completion queue.
class CompletionQueue : public Owned<&Nic::destroy_queue> {
 public:
  using Owned::Owned;  // as its base

  // As Nic::queue_done.
  Completion done() noexcept { return nic()->queue_done(number()); }
  // As Nic::queue_wait.
  Completion wait(Nic::Time timeout) noexcept { return nic()->queue_wait(number(), timeout); }
  // As Nic::queue_take.
  Taken take() noexcept { return nic()->queue_take(number()); }
  // As Nic::resize_queue.
  Result resize(std::uint32_t entries) noexcept { return nic()->resize_queue(number(), entries); }
};

// A VI. It must be idle, and its descriptors taken, before it goes.
class Vi : public Owned<&Nic::destroy_vi> {
 public:
  using Owned::Owned;  // as its base

  // As Nic::post_send.
  Result post_send(Descriptor* descriptor, MemoryHandle handle) noexcept {
    return nic()->post_send(number(), descriptor, handle);
  }
  // As Nic::post_receive.
  Result post_receive(Descriptor* descriptor, MemoryHandle handle) noexcept {
    return nic()->post_receive(number(), descriptor, handle);
  }
  // As Nic::send_done.
  Completed send_done() noexcept { return nic()->send_done(number()); }
  // As Nic::receive_done.
  Completed receive_done() noexcept { return nic()->receive_done(number()); }
  // As Nic::send_wait.
  Completed send_wait(Nic::Time timeout) noexcept { return nic()->send_wait(number(), timeout); }
  // As Nic::receive_wait.
  Completed receive_wait(Nic::Time timeout) noexcept { return nic()->receive_wait(number(), timeout); }
  // As Nic::accept.
  Result accept(const Incoming& request) noexcept { return nic()->accept(request.number, number()); }
  // As Nic::request.
  Result request(const Address& own, const Address& asked, Nic::Time timeout) noexcept {
    return nic()->request(number(), own, asked, timeout);
  }
  // As Nic::disconnect.
  Result disconnect() noexcept { return nic()->disconnect(number()); }
};

// Registered memory.
class Memory {
 public:
  Memory() = default;  // owns nothing
  // Owns what was registered under that handle.
  Memory(Nic& nic, std::span<std::byte> bytes, MemoryHandle handle) noexcept
      : nic_(&nic), bytes_(bytes), handle_(handle) {}
  ~Memory() { give(); }
  Memory(Memory&& other) noexcept
      : nic_(std::exchange(other.nic_, nullptr)),
        bytes_(std::exchange(other.bytes_, {})),
        handle_(std::exchange(other.handle_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    if (this == &other) return *this;
    give();
    nic_ = std::exchange(other.nic_, nullptr);
    bytes_ = std::exchange(other.bytes_, {});
    handle_ = std::exchange(other.handle_, 0);
    return *this;
  }
  MemoryHandle handle() const noexcept { return handle_; }        // 0: nothing
  std::span<std::byte> bytes() const noexcept { return bytes_; }  // as it was registered

 private:
  void give() noexcept {
    if (handle_ != 0) static_cast<void>(nic_->deregister_memory(bytes_.data(), handle_));
  }

  Nic* nic_ = nullptr;
  std::span<std::byte> bytes_;
  MemoryHandle handle_ = 0;
};

}  // namespace vi

}  // namespace hamlyn
