#pragma once
// A NIC's objects: VIs with their connections, completion queues, and who waits for connections.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/ticket.h"
#include "vi/entries.h"
#include "vi/vi_wire.h"
#include "vi/work.h"

namespace hamlyn::internal_::vi {

inline constexpr std::size_t kMostGrants = 4096;  // that one connection remembers
inline constexpr std::size_t kGrantedUnasked = 64;

// A right at memory of the other side's.
struct Grant {
  Ticket ticket;
  std::uint64_t address = 0;  // of the first byte, as its owner calls it
  std::uint64_t length = 0;
  bool write = false;
  bool read = false;

  bool covers(std::uint64_t from, std::uint64_t bytes) const noexcept {
    return from >= address && from - address <= length && bytes <= length - (from - address);
  }
};

// Rights at memory of the other side's, by its handles. The one that was used last is found at once.
class Grants {
 public:
  std::size_t size() const noexcept { return all_.size(); }
  bool contains(MemoryHandle handle) const noexcept { return all_.contains(handle); }
  // Null: none is known. Until it is erased.
  const Grant* find(MemoryHandle handle) noexcept {
    if (last_ != nullptr && last_handle_ == handle) [[likely]]
      return last_;
    const auto found = all_.find(handle);
    if (found == all_.end()) return nullptr;
    last_handle_ = handle;
    return last_ = &found->second;
  }
  // Throws std::bad_alloc.
  void set(MemoryHandle handle, const Grant& grant) { all_[handle] = grant; }
  void erase(MemoryHandle handle) noexcept {
    last_ = nullptr;
    all_.erase(handle);
  }
  void clear() noexcept {
    last_ = nullptr;
    all_.clear();
  }

 private:
  std::unordered_map<MemoryHandle, Grant> all_;
  MemoryHandle last_handle_ = 0;
  const Grant* last_ = nullptr;  // stays where it is
};

// The other side of a VI, as far as it is known.
template <class Port>
struct Connection {
  using Windows = std::unordered_map<MemoryHandle, std::unique_ptr<typename Port::Window>>;

  std::uint64_t peer = 0;         // its interface; 0: none yet
  std::uint64_t link = 0;         // with it, when the VIs were connected
  std::uint32_t vi = 0;           // its number there
  std::uint64_t own_session = 0;  // that this side has chosen, and that messages to it bear
  std::uint64_t session = 0;      // and the other
  Ticket inbox;                   // where its VI receives
  Ticket door;                    // where its NIC hears
  ViAttributes attributes;        // of its VI
  Grants grants;
  Windows windows;         // by our handles: where it may write or read
  Windows landings;        // by our handles: where what we read lands
  MemoryHandle asked = 0;  // for which no answer has come
  MemoryHandle denied = 0;
  bool forsaken = false;           // its NIC hears nothing any more
  Refusal halted = Refusal::none;  // why a message was turned away before the VI was connected
};

struct QueueObject {
  using Notify = std::function<void(std::uint32_t vi, bool receive)>;

  explicit QueueObject(std::uint32_t most) : entries(most) {}

  std::uint32_t number = 0;
  Entries entries;
  std::uint32_t users = 0;  // VIs' queues
  bool overrun = false;     // and that was told
  Notify notify;            // called once
};

template <class Port>
struct ViObject {
  explicit ViObject(const ViAttributes& of) : attributes(of) {}

  bool reliable() const noexcept { return attributes.reliability != Reliability::unreliable; }

  std::uint32_t number = 0;
  ViAttributes attributes;
  State state = State::idle;
  Reason parted = Reason::done;  // in the state `error`: why
  WorkQueue send, receive;
  QueueObject *send_queue = nullptr, *receive_queue = nullptr;  // completion queues, which it keeps; or null
  std::unique_ptr<typename Port::Inbox> inbox;  // null in the state `error`, and if there was no memory
  std::unique_ptr<typename Port::Outlet> outlet;
  Connection<Port> other;
  std::uint64_t started = 0;  // number of the first send that has not left whole
  bool restless = false;      // work waits for something that nobody tells of
  // While it is connected by a call of its own:
  Result outcome = Result::not_done;
  bool peering = false;
  Address own, asked;
  std::chrono::steady_clock::time_point until;  // of a peer request
};

// Somebody who waits for connections.
struct Waiter {
  Address local;
  std::uint32_t request = 0;  // that has come
};

// A connection that somebody has asked for, until it is accepted or rejected.
struct Request {
  std::uint64_t peer = 0;
  std::uint64_t link = 0;  // with it, when the request came
  Message asks;
  bool gone = false;  // who asked does not any more
};

}  // namespace hamlyn::internal_::vi
