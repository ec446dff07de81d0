#pragma once
// A server's way to the interface. What is made here goes before the queue.
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "library/call_row.h"
#include "library/no_link.h"
#include "library/slot_number.h"
#include "library/wait/waiting.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

// Greetings that one link may have under way: each takes a place for each word.
inline constexpr std::uint32_t kDoorPlaces = 4 * kGreetingWords;

class ServerPort {
 public:
  ServerPort(Interface& interface, NotificationQueue& queue, std::string_view name)
      : interface_(interface),
        queue_(queue),
        name_(name),
        area_(interface, 64),
        door_(area_, queue, {.access = Access::write_only, .places = kDoorPlaces}),
        terminus_(interface, {.entries = 1024}),
        urgent_(interface, {.priority = Priority::urgent}) {}

  // Memory that one client may write: a flag for each stack, a frame for each, and a long one.
  class Place {
   public:
    Place(Interface& interface, NotificationQueue& queue, const std::string& service, std::uint64_t client,
          std::size_t stacks, std::size_t frame, std::size_t longest)
        : first(first_frame(stacks, stride_of(frame))),
          row(interface, library::CallSide::client, client, service),
          area_(interface, first + stacks * stride_of(frame) + longest),
          memory_(area_.bytes().data()),
          stacks_(area_, queue,
                  {.bound = first + stacks * stride_of(frame),
                   .access = Access::write_only,
                   .places = places_for(stacks),
                   .puts = true,
                   .hold = 0}) {
      // A call that is cancelled is told of. Cannot fail: the slot takes puts.
      static_cast<void>(stacks_.set_control(Control::always));
      if (longest == 0) return;
      long_.emplace(area_, queue,
                    SlotOptions{.base = first + stacks * stride_of(frame),
                                .mode = Mode::paranoid,
                                .access = Access::write_only,
                                .entries = 1,
                                .fast = false});
      static_cast<void>(long_->arm(0, {0, longest}));  // cannot fail: nothing has come there
    }

    std::uint32_t number() const noexcept { return stacks_.number(); }
    std::uint32_t long_number() const noexcept { return long_ ? long_->number() : number(); }
    Ticket ticket() const { return stacks_.ticket(); }
    Ticket long_ticket() const { return long_ ? long_->ticket(0) : Ticket{}; }
    // Where a frame stands, which the interface has found to be inside.
    std::span<std::byte> frame(const Notification& call) noexcept {
      return {memory_ + call.offset, call.length};
    }
    std::span<std::byte> long_bytes(const Notification& call) noexcept { return long_->bytes(call); }
    std::span<const std::byte> metadata() const noexcept {
      return long_ ? long_->metadata(0) : std::span<const std::byte>{};
    }
    // Fails while a message is under way there, or was not read: then another has armed it.
    void arm_long() noexcept {
      if (long_) static_cast<void>(long_->arm(0));
    }
    std::uint64_t flag(std::size_t stack) noexcept {
      auto& word = *reinterpret_cast<std::uint64_t*>(memory_ + stack * kFlag);
      // Relaxed: a put of the client's, which says by itself all that there is to know.
      const std::uint64_t out = std::atomic_ref(word).load(std::memory_order_relaxed);
      return base::load_little<std::uint64_t>(reinterpret_cast<const std::byte*>(&out));
    }
    // Unless the client has put another number there meanwhile.
    void clear_flag(std::size_t stack, std::uint64_t was) noexcept {
      auto& word = *reinterpret_cast<std::uint64_t*>(memory_ + stack * kFlag);
      std::uint64_t there = 0;
      base::store_little(reinterpret_cast<std::byte*>(&there), was);
      std::atomic_ref(word).compare_exchange_strong(there, 0, std::memory_order_relaxed);  // as `flag`
    }

    const std::size_t first;  // byte of the first frame
    library::CallRow row;     // of its calls; under the server's lock

   private:
    MessageArea area_;
    std::byte* const memory_;
    Slot stacks_;
    std::optional<Slot> long_;
  };

  std::unique_ptr<Place> make_place(std::uint64_t client, std::size_t stacks, std::size_t frame,
                                    std::size_t longest) {
    return std::make_unique<Place>(interface_, queue_, name_, client, stacks, frame, longest);
  }
  static std::uint32_t index_of(std::uint32_t number) noexcept { return library::slot_index(number); }
  std::uint32_t door() const noexcept { return door_.number(); }
  Ticket door_ticket() const { return door_.ticket(); }

  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset, bool urgent) noexcept {
    Terminus& terminus = urgent && data.size() <= kUrgentFrame ? urgent_ : terminus_;
    return terminus.send_fast(ticket, data, word, offset);
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle& handle) noexcept {
    return terminus_.send(ticket, data, options, &handle);
  }
  Status status(SendHandle handle) const noexcept { return terminus_.status(handle); }
  // Cannot fail: no part of what is sent lies in an area that others read.
  void cancel(SendHandle handle) noexcept { static_cast<void>(terminus_.cancel(handle)); }
  library::LinkNow link(std::uint64_t peer) noexcept { return library::link_now(interface_, peer); }
  bool long_call(const Place& place, const Notification&, LongCall& out) const noexcept {
    const auto call = protocols::copy_of<LongCall>(place.metadata());
    if (call) out = *call;
    return call.has_value();
  }

 private:
  Interface& interface_;
  NotificationQueue& queue_;
  const std::string name_;
  MessageArea area_;  // of the door, where nothing is kept: what is said there is words
  Slot door_;
  Terminus terminus_;
  Terminus urgent_;
};

}  // namespace hamlyn::internal_::rpc
