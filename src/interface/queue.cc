#include "interface/queue.h"

#include <algorithm>

#include "base/assert.h"

namespace hamlyn::internal_::interface {

namespace {
constexpr std::size_t kEventRoom = 256;  // protocol errors and ended links that may wait
constexpr std::size_t kEventPlaces =
    kEventRoom + 2;  // and one for the ends of all others, one for the node's

// Tells a notification of a link, or of the node, from one of a message: see push_event.
bool is_event(Notification::Kind kind) noexcept {
  return kind == Notification::Kind::protocol_error || kind == Notification::Kind::resource_exhausted ||
         kind == Notification::Kind::link_ended || kind == Notification::Kind::attachment;
}
}  // namespace

Queue::Queue(std::size_t places)
    : places_(std::make_unique<Place[]>(places)), mask_(places - 1), waiting_(kEventPlaces) {}

void Queue::append(const Notification& notification, std::uint32_t generation) noexcept {
  HAMLYN_ASSERT(standing_ < capacity(), "what stands and what is reserved never exceed the places");
  Place& place = places_[tail_ & mask_];
  copy_notification(place.notification, next_wraps(), notification);
  place.places = kNoPlaces;
  place.generation = generation;
  ++tail_;
  ++standing_;
  ++common_used_;
  count();
}

void Queue::push(const Notification& notification, std::uint32_t generation) noexcept {
  if (waiting_count_ == 0 && common_place_free()) {
    append(notification, generation);
  } else {
    HAMLYN_ASSERT(waiting_count_ < waiting_.size(),
                  "the circle has room for each entry once and for kEventPlaces events");
    waiting_[(waiting_head_ + waiting_count_++) % waiting_.size()] = {notification, generation};
  }
}

bool Queue::merge_event(const Notification& notification) noexcept {
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    Notification& other = waiting_[(waiting_head_ + i) % waiting_.size()].notification;
    if (other.kind == notification.kind && other.cause == notification.cause &&
        other.peer == notification.peer) {
      const bool last = notification.kind == Notification::Kind::attachment;  // the last one holds
      other.word = last ? notification.word : other.word + notification.word;
      other.entry = notification.entry;
      other.message_id = notification.message_id;
      return true;
    }
  }
  return false;
}

bool Queue::push_event(Notification notification) noexcept {
  if (merge_event(notification)) return true;
  if (waiting_count_ == 0 && common_place_free()) {
    append(notification, 0);
    return true;
  }
  if (waiting_events_ >= kEventRoom) {
    // A refusal is told with the next of its link and cause; there is no next end of a link. Of whom it was
    // is not known any more, but that there was one.
    const bool attachment = notification.kind == Notification::Kind::attachment;
    if (notification.kind != Notification::Kind::link_ended && !attachment) return false;
    notification.peer = 0;
    notification.entry = notification.message_id = 0;
    if (!attachment && merge_event(notification)) return true;
  }
  ++waiting_events_;
  push(notification, 0);
  return true;
}

void Queue::refill() noexcept {
  while (waiting_count_ != 0 && common_place_free()) {
    const auto& [next, generation] = waiting_[waiting_head_];
    HAMLYN_ASSERT(!is_event(next.kind) || waiting_events_ != 0, "each event that waits was counted");
    if (is_event(next.kind)) --waiting_events_;
    append(next, generation);
    waiting_head_ = (waiting_head_ + 1) % waiting_.size();
    --waiting_count_;
  }
}

std::uint32_t Queue::reserve(std::uint32_t count) noexcept {
  // An eighth stays for completions and events; what stands in the ring already keeps its place.
  const std::size_t most = capacity() - std::max(capacity() / 8, common_used_);
  const std::size_t granted = reserved_ < most ? std::min<std::size_t>(count, most - reserved_) : 0;
  reserved_ += granted;
  HAMLYN_ASSERT(reserved_ + common_used_ <= capacity(), "a place is promised once");
  return static_cast<std::uint32_t>(granted);
}

void Queue::release(std::uint32_t count) noexcept {
  HAMLYN_ASSERT(count <= reserved_, "only what was reserved is released");
  reserved_ -= count;
  refill();
}

void Queue::expect(std::size_t entries) {
  // Notifications of slots that have gone need their room beside all that may come.
  const std::size_t most = kEventPlaces + expected_ + entries + waiting_count_;
  if (most > waiting_.size()) {
    // Twice as long, so that a thousand slots do not each move what all before them need.
    std::vector<Waiting> longer(std::max(most, 2 * waiting_.size()));
    for (std::size_t i = 0; i < waiting_count_; ++i)
      longer[i] = waiting_[(waiting_head_ + i) % waiting_.size()];
    waiting_ = std::move(longer);
    waiting_head_ = 0;
  }
  expected_ += entries;
}

}  // namespace hamlyn::internal_::interface
