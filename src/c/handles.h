#pragma once
// Objects behind the handles. Each keeps those that it was made from in use, so that they are not freed
// before it.
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "c/status.h"
#include "hamlyn/c/protocols.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/posted_slot.h"
#include "hamlyn/core/send_buffer_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"

namespace hamlyn::c {

// How many were made from a handle and not freed: Use to free_handle.
using Uses = std::atomic<std::uint32_t>;

class Use {
 public:
  explicit Use(Uses& uses) noexcept : uses_(uses) { uses_.fetch_add(1, std::memory_order_relaxed); }
  ~Use() { uses_.fetch_sub(1, std::memory_order_release); }  // pairs with the look in free_handle
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Uses& uses_;
};

// Behind a handle that nothing is made from.
struct Unused {
  std::uint32_t load(std::memory_order) const noexcept { return 0; }
};

// A class of the library and what it was made from. The Use goes last.
template <class Class, class Counter = Unused>
struct Handle {
  template <class... Arguments>
  explicit Handle(Uses& parent, Arguments&&... arguments)
      : use(parent), it(std::forward<Arguments>(arguments)...) {}

  [[no_unique_address]] Counter uses{};
  Use use;
  Class it;
};

template <class Made, class... Arguments>
hamlyn_status make(const char* call, Made** made, Arguments&&... arguments) {
  return guarded(call, [&] {
    *made = new Made(std::forward<Arguments>(arguments)...);
    return HAMLYN_OK;
  });
}

template <class Made>
hamlyn_status free_handle(const char* call, Made* handle) noexcept {
  if (handle == nullptr) return HAMLYN_OK;
  // Pairs with ~Use: what was made from it is gone altogether.
  if (handle->uses.load(std::memory_order_acquire) != 0)
    return invalid_argument(call, "something that was made from it is not freed yet");
  delete handle;
  return HAMLYN_OK;
}

// Asks the caller whether a sender is wanted.
class AdmittingReceiver final : public StreamReceiver {
 public:
  using Admit = int (*)(void* context, std::uint64_t sender);
  AdmittingReceiver(Manager& manager, const StreamOptions& options, Admit asks, void* context)
      : StreamReceiver(manager, options), admit_(asks), context_(context) {}
  ~AdmittingReceiver() override { retire(); }

 private:
  bool admit(std::uint64_t sender) noexcept override {
    return admit_ == nullptr || admit_(context_, sender) != 0;
  }

  Admit admit_;
  void* context_;
};

}  // namespace hamlyn::c

struct hamlyn_interface {
  explicit hamlyn_interface(const hamlyn::Interface::Options& options) : own(options), it(*own) {}
  explicit hamlyn_interface(hamlyn::Manager& manager) : it(manager.interface()) {}

  hamlyn::c::Uses uses{0};
  std::optional<hamlyn::Interface> own;  // unless it is a manager's
  hamlyn::Interface& it;
};

struct hamlyn_manager {
  explicit hamlyn_manager(const hamlyn::Manager::Options& options) : it(options), interface(it) {}

  hamlyn::c::Uses uses{0};
  hamlyn::Manager it;
  hamlyn_interface interface;
};

struct hamlyn_area : hamlyn::c::Handle<hamlyn::MessageArea, hamlyn::c::Uses> {
  using Handle::Handle;
};
struct hamlyn_send_area : hamlyn::c::Handle<hamlyn::SendBufferArea> {
  using Handle::Handle;
};
struct hamlyn_mapped_slot : hamlyn::c::Handle<hamlyn::MappedSlot> {
  using Handle::Handle;
};
struct hamlyn_queue : hamlyn::c::Handle<hamlyn::NotificationQueue, hamlyn::c::Uses> {
  using Handle::Handle;
};
struct hamlyn_slot {
  hamlyn_slot(hamlyn_area& area, hamlyn_queue& queue, const hamlyn::Slot::Options& options)
      : area_use(area.uses), queue_use(queue.uses), it(area.it, queue.it, options) {}

  hamlyn::c::Unused uses;
  hamlyn::c::Use area_use;
  hamlyn::c::Use queue_use;
  hamlyn::Slot it;
};
struct hamlyn_posted_slot : hamlyn::c::Handle<hamlyn::PostedSlot> {
  using Handle::Handle;
};
struct hamlyn_terminus : hamlyn::c::Handle<hamlyn::Terminus> {
  using Handle::Handle;
};
struct hamlyn_datagram_receiver : hamlyn::c::Handle<hamlyn::DatagramReceiver> {
  using Handle::Handle;
};
struct hamlyn_datagram_sender : hamlyn::c::Handle<hamlyn::DatagramSender> {
  using Handle::Handle;
};
struct hamlyn_stream_receiver : hamlyn::c::Handle<hamlyn::c::AdmittingReceiver> {
  using Handle::Handle;
};
struct hamlyn_stream_sender : hamlyn::c::Handle<hamlyn::StreamSender> {
  using Handle::Handle;
};
struct hamlyn_tagged_receiver : hamlyn::c::Handle<hamlyn::TaggedReceiver> {
  using Handle::Handle;
};
struct hamlyn_tagged_sender : hamlyn::c::Handle<hamlyn::TaggedSender> {
  using Handle::Handle;
};
