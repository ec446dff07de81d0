#pragma once
// A machine's way to the interface. What is made here goes before the queue.
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/namespaces.h"
#include "base/random.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/posted_slot.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "library/no_link.h"
#include "library/slot_number.h"
#include "library/with_memory.h"
#include "vi/table.h"

namespace hamlyn::internal_::vi {

inline constexpr std::size_t kPage = 4096;

class Port {
 public:
  static constexpr std::size_t kMostPieces = PostedSlot::kMostPieces;

  Port(Interface& interface, NotificationQueue& queue)
      : interface_(interface),
        queue_(queue),
        terminus_(std::in_place, interface, TerminusOptions{.entries = 4096}) {}
  // Nothing that was said is read any more, and nothing can be said.
  void close() noexcept { terminus_.reset(); }

  using Inbox = PostedSlot;

  // The pages that registered memory lies in.
  class Area {
   public:
    Area(Interface& interface, std::span<std::byte> memory)
        : first_(memory.data() - reinterpret_cast<std::uintptr_t>(memory.data()) % kPage),
          area_(interface, {first_, pages(memory)}) {}
    MessageArea& area() noexcept { return area_; }
    std::size_t offset(const std::byte* at) const noexcept { return static_cast<std::size_t>(at - first_); }

   private:
    std::size_t pages(std::span<std::byte> memory) const noexcept {
      const std::size_t end = offset(memory.data()) + memory.size();
      return (end + kPage - 1) / kPage * kPage;
    }

    std::byte* const first_;
    MessageArea area_;
  };

  // A slot on registered memory: for what one other side may do there, or where what we read lands.
  class Window {
   public:
    Window(Area& area, NotificationQueue& queue, std::span<std::byte> memory, bool write, bool read)
        : slot_(
              area.area(), queue,
              {.base = area.offset(memory.data()),
               .bound = memory.size(),
               .access = write && read ? Access::read_write : (read ? Access::read_only : Access::write_only),
               .fast = false,
               .places = 0,  // nobody is told of what lands: the queue's places are for others
               .gets = read ? 65536u : 0u,
               .puts = write,
               .hold = 0}),
          remote_(write || read) {}
    Ticket ticket() const { return remote_ ? slot_.ticket() : Ticket{}; }
    Slot& slot() noexcept { return slot_; }

   private:
    Slot slot_;
    const bool remote_;
  };

  // A VI's way out.
  class Outlet {
   public:
    Outlet(Interface& interface, NotificationQueue& queue)
        : queue_(queue), terminus_(interface, {.entries = 128}) {}

    Status send(const Ticket& to, std::span<const std::byte> data, std::uint64_t word, bool acknowledged,
                std::uint64_t token, SendHandle& handle) noexcept {
      return terminus_.send_posted(to, data, word,
                                   {.acknowledged = acknowledged, .queue = &queue_, .word = token}, &handle);
    }
    // False: nothing was sent.
    bool send_at_once(const Ticket& to, std::span<const std::byte> data, std::uint64_t word) noexcept {
      return terminus_.send_posted_at_once(to, data, word);
    }
    // Puts `data` to `offset` of `at`, and takes a buffer of `to` for it, or does neither. `at` of no
    // interface: there is no right, and it is turned away there.
    Status tell(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                std::uint64_t offset, bool acknowledged, std::uint64_t token, SendHandle& handle) noexcept {
      return terminus_.put_telling(to, word, at, data, offset,
                                   {.acknowledged = acknowledged, .queue = &queue_, .word = token}, &handle);
    }
    // False: nothing was sent.
    bool tell_at_once(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                      std::uint64_t offset) noexcept {
      return terminus_.put_telling_at_once(to, word, at, data, offset);
    }
    Status put(const Ticket& to, std::span<const std::byte> data, std::uint64_t offset,
               SendHandle& handle) noexcept {
      return terminus_.put(to, data, {.offset = offset}, &handle);
    }
    Status fence(const Ticket& to, std::uint64_t token) noexcept {
      RemoteHandle handle;
      return terminus_.fence(to, {.queue = &queue_, .word = token}, &handle);
    }
    Status get(const Ticket& from, std::uint64_t offset, Window& into, std::uint64_t at, std::size_t length,
               std::uint64_t token) noexcept {
      RemoteHandle handle;
      return terminus_.get(from, into.slot(), at, length, {.offset = offset, .queue = &queue_, .word = token},
                           &handle);
    }
    // Cannot fail: no part of what is sent lies in an area that others read.
    void cancel(SendHandle handle) noexcept { static_cast<void>(terminus_.cancel(handle)); }

   private:
    NotificationQueue& queue_;
    Terminus terminus_;
  };

  // Throws Error.
  std::unique_ptr<Inbox> make_inbox(std::uint32_t buffers, bool halts) {
    return std::make_unique<Inbox>(queue_, Inbox::Options{.buffers = buffers, .halts = halts});
  }
  // Throws Error.
  std::unique_ptr<Outlet> make_outlet() { return std::make_unique<Outlet>(interface_, queue_); }
  // Null: the memory is not there, or not to be written, or there is none for it.
  std::unique_ptr<Area> make_area(std::span<std::byte> memory) noexcept {
    return library::or_null([&] { return std::make_unique<Area>(interface_, memory); });
  }
  // Null: there is no memory.
  std::unique_ptr<Window> make_window(Area& area, std::span<std::byte> memory, bool write,
                                      bool read) noexcept {
    return library::or_null([&] { return std::make_unique<Window>(area, queue_, memory, write, read); });
  }
  // A message to the door of another NIC.
  Status say(const Ticket& to, std::span<const std::byte> data, std::uint64_t token) noexcept {
    return terminus_->send_posted(to, data, 0, {.acknowledged = true, .queue = &queue_, .word = token});
  }
  // The link with that interface, by a number that is never used again; 0: there is none.
  std::uint64_t link_with(std::uint64_t peer) noexcept { return library::link_now(interface_, peer).serial; }
  // Whether there is no link with that interface because something is used up of what it takes: here, there
  // or at the node.
  bool used_up(std::uint64_t peer) const noexcept {
    switch (interface_.why(peer).reason) {
      case LinkReason::quota:
      case LinkReason::peer_quota:
      case LinkReason::node_full:
      case LinkReason::node_busy:
      case LinkReason::too_many_links:
      case LinkReason::no_descriptors:
      case LinkReason::no_memory:
      case LinkReason::memory_left_behind:
      case LinkReason::unread:
        return true;
      default:
        return false;
    }
  }
  // Never 0.
  static std::uint64_t random() { return base::random_key() | 1; }
  static std::uint32_t index_of(std::uint32_t number) noexcept { return library::slot_index(number); }

 private:
  Interface& interface_;
  NotificationQueue& queue_;
  std::optional<Terminus> terminus_;
};

}  // namespace hamlyn::internal_::vi
