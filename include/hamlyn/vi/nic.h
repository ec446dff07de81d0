#pragma once
// A NIC of the VI Architecture (docs/vi.md): protection tags, registered memory, VIs, completion queues and
// connections. VIPL's calls (vipl.h) are these, with handles in the place of numbers.
//
// VIs, completion queues, connection requests and memory have numbers, which mean nothing once the object has
// gone: a call with such a number answers invalid_parameter. hamlyn/vi/objects.h has objects that own one.
//
// Threads: any. Descriptors and memory belong to the NIC from the post until the descriptor is back. Owner:
// who made it; the interface is there for longer. Handlers run in a thread of the NIC's own; they may make
// any call, but not destroy the NIC.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/vi/values.h"

namespace hamlyn {

namespace vi {

// A request for a connection that has come. A value.
struct Incoming {
  std::uint32_t number = 0;  // for accept or reject
  Address from;              // what the other side calls itself
  ViAttributes attributes;   // of its VI; without a tag
};

// A NIC.
class Nic {
 public:
  using Time = std::chrono::nanoseconds;  // Time::max(): for ever

  // `opened`: who else than this user may ask for connections at the addresses where it waits. Throws Error:
  // out_of_memory, forked.
  explicit Nic(Interface& interface, Rights opened = {});
  // Ends calls that wait, with invalid_state, and all connections. What was posted is the caller's again.
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  Interface& interface() noexcept;
  // The host part of addresses here.
  std::uint64_t host() const noexcept;

  // --- memory. error_resource: as many as there may be, or no memory

  // Makes a tag. success.
  Result create_tag(Tag& out) noexcept;
  // error_resource: memory or a VI has it.
  Result destroy_tag(Tag tag) noexcept;
  // Any memory. It stays the caller's, and must stay until it is deregistered. For RDMA it must be writable.
  // invalid_ptag; error_resource.
  Result register_memory(std::span<std::byte> memory, const MemoryAttributes& attributes,
                         MemoryHandle& out) noexcept;
  // Ends what is under way there with a protection error, and breaks the connections of that.
  Result deregister_memory(const void* address, MemoryHandle handle) noexcept;
  // Says how memory was registered. success, invalid_parameter.
  Result query_memory(const void* address, MemoryHandle handle, MemoryAttributes& out) noexcept;
  // Rights that other sides had end at once, and are given anew where both agree.
  Result set_memory(const void* address, MemoryHandle handle, const MemoryAttributes& attributes) noexcept;

  // --- VIs

  // `send` and `receive`: completion queues, or 0. invalid_reliability_level, invalid_mtu, invalid_ptag,
  // error_resource.
  Result create_vi(const ViAttributes& attributes, std::uint32_t send, std::uint32_t receive,
                   std::uint32_t& out) noexcept;
  // invalid_state: it is not idle; error_resource: descriptors were not taken.
  Result destroy_vi(std::uint32_t vi) noexcept;
  // How a VI is now. A value.
  struct ViStatus {
    State state = State::idle;  // as it is
    ViAttributes attributes;    // as they were set
    bool send_empty = true;     // no descriptor was posted that was not taken
    bool receive_empty = true;  // the same of receives
  };
  // Hears what has come, and says how the VI is. success, invalid_parameter.
  Result query_vi(std::uint32_t vi, ViStatus& out) noexcept;
  // While it is idle.
  Result set_vi(std::uint32_t vi, const ViAttributes& attributes) noexcept;

  // --- work

  // Says what is wrong with a descriptor in its status, when it is back. success; invalid_state: nothing can
  // be sent before it is connected; error_resource: kMostDescriptors are posted, or no memory.
  Result post_send(std::uint32_t vi, Descriptor* descriptor, MemoryHandle handle) noexcept;
  // As post_send; in any state.
  Result post_receive(std::uint32_t vi, Descriptor* descriptor, MemoryHandle handle) noexcept;
  // The oldest that is over. success; descriptor_error: its status has an error, or, with null, nothing is
  // posted; not_done.
  Completed send_done(std::uint32_t vi) noexcept;
  // The oldest receive that is over. As send_done.
  Completed receive_done(std::uint32_t vi) noexcept;
  // Also timeout.
  Completed send_wait(std::uint32_t vi, Time timeout) noexcept;
  // As send_wait.
  Completed receive_wait(std::uint32_t vi, Time timeout) noexcept;
  // Hears of a descriptor that is over.
  using Handler = std::function<void(std::uint32_t vi, Descriptor*)>;
  // Calls `handler` once, with the next send that is over, which is taken then. error_resource: there is
  // one already.
  Result send_notify(std::uint32_t vi, Handler handler) noexcept;
  // As send_notify, of receives.
  Result receive_notify(std::uint32_t vi, Handler handler) noexcept;

  // --- completion queues

  // Makes a queue of so many entries. invalid_parameter: 0, or more than kMostQueueEntries; error_resource.
  Result create_queue(std::uint32_t entries, std::uint32_t& out) noexcept;
  // error_resource: a VI has it.
  Result destroy_queue(std::uint32_t queue) noexcept;
  // error_resource: more entries stand there.
  Result resize_queue(std::uint32_t queue, std::uint32_t entries) noexcept;
  // Takes the oldest entry. success, not_done.
  Completion queue_done(std::uint32_t queue) noexcept;
  // Waits for an entry and takes it. success, timeout.
  Completion queue_wait(std::uint32_t queue, Time timeout) noexcept;
  // Hears of an entry.
  using QueueHandler = std::function<void(std::uint32_t vi, bool receive)>;
  // Calls `handler` once, with the next entry, which is taken then. error_resource: there is one already.
  Result queue_notify(std::uint32_t queue, QueueHandler handler) noexcept;
  // queue_done, and send_done or receive_done of what it found.
  Taken queue_take(std::uint32_t queue) noexcept;

  // --- connections

  // Waits for somebody to ask for a connection with `local`, whose host counts for nothing. success, timeout;
  // error_resource: another NIC waits there, or the quota of names is used up; error_nameservice.
  Result connect_wait(const Address& local, Time timeout, Incoming& out) noexcept;
  // invalid_reliability_level, invalid_mtu, invalid_qos: the two VIs differ, and the request stays; timeout:
  // who asked does not any more; invalid_state: the VI is not idle.
  Result accept(std::uint32_t request, std::uint32_t vi) noexcept;
  // Says no. success, invalid_parameter.
  Result reject(std::uint32_t request) noexcept;
  // success, timeout, reject, no_match, not_reachable, invalid_state; error_resource, also if no more links
  // may be made; invalid_parameter, also of a time of 0.
  Result request(std::uint32_t vi, const Address& own, const Address& asked, Time timeout,
                 ViAttributes* other = nullptr) noexcept;
  // For two that ask for each other. Never waits for the other: peer_done and peer_wait say how it ends.
  Result peer_request(std::uint32_t vi, const Address& own, const Address& asked, Time timeout) noexcept;
  Result peer_done(std::uint32_t vi, ViAttributes* other = nullptr) noexcept;
  Result peer_wait(std::uint32_t vi, ViAttributes* other = nullptr) noexcept;
  // Everything that is posted comes back, and the VI is idle.
  Result disconnect(std::uint32_t vi) noexcept;

  // --- errors that no call answers

  // Has `handler` hear of them from now on. Null: nobody does. error_resource: there is no thread for it.
  Result on_error(std::function<void(const ErrorEvent&)> handler) noexcept;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace vi

}  // namespace hamlyn
