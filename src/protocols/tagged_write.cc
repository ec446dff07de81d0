#include "hamlyn/protocols/tagged_write.h"

#include <algorithm>
#include <string>

#include "library/no_link.h"
#include "library/with_memory.h"
#include "protocols/dispatcher.h"
#include "protocols/port.h"
#include "protocols/seeds.h"

namespace hamlyn {

using protocols::Dispatcher;
using protocols::throw_forked;

TaggedReceiver::TaggedReceiver(Manager& manager, std::size_t bytes, const Options& options) try
    : area_(manager.interface(), bytes),
      queue_(manager.interface(), options.capacity),
      slot_(area_, queue_, {.places = options.places}),
      most_aside_(options.aside) {
  if (options.places == 0)
    throw Error(ErrorCode::invalid_argument,
                "a receiver of tagged writes has at least one place for a sender");
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a receiver of tagged writes");
}

TaggedReceiver::~TaggedReceiver() { queue_.interface().waiting().close_and_drain(queue_.calls()); }

Seed TaggedReceiver::make_seed() const { return protocols::make_seed(slot_.ticket(), SeedKind::tagged); }

bool TaggedReceiver::take_aside(Tagged& out, const std::uint64_t* tag) noexcept {
  if (aside_count_.load(std::memory_order_relaxed) == 0) return false;
  // In a forked child the calls are the parent's, and so may be the mutex.
  if (queue_.interface().waiting().forked()) return false;
  const std::lock_guard guard(mutex_);
  const auto found = tag == nullptr ? aside_.begin() : std::ranges::find(aside_, *tag, &Tagged::tag);
  if (found == aside_.end()) return false;
  out = *found;
  aside_.erase(found);
  aside_count_.store(aside_.size(), std::memory_order_relaxed);
  return true;
}

// There may be news of refused packets without end: as much is passed over as may have stood there.
std::optional<Tagged> TaggedReceiver::take_tag_behind_news() noexcept {
  Notification next;
  for (std::size_t left = queue_.capacity(); left != 0 && queue_.poll({&next, 1}) != 0; --left) {
    if (next.kind == Notification::Kind::message)
      return Tagged{next.word, next.offset, next.length, next.peer};
  }
  return std::nullopt;
}

std::optional<Tagged> TaggedReceiver::get_tag_aside() noexcept {
  Tagged out;
  if (take_aside(out, nullptr)) return out;
  return take_tag();
}

Status TaggedReceiver::get_tag(Tagged& out, std::chrono::nanoseconds timeout) noexcept {
  return wait_for(out, nullptr, timeout);
}

Status TaggedReceiver::get_specific_tag(std::uint64_t tag, Tagged& out,
                                        std::chrono::nanoseconds timeout) noexcept {
  return wait_for(out, &tag, timeout);
}

// Waits for the next tag; `tag`: for this one.
Status TaggedReceiver::wait_for(Tagged& out, const std::uint64_t* tag,
                                std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(queue_.interface().waiting(), queue_.calls());
  const auto ready = [&](const library::Locked& locked) {
    if (take_aside(out, tag)) return Status::ok;
    Notification next;
    while (tag == nullptr || aside_count_.load(std::memory_order_relaxed) < most_aside_) {
      const Status status = queue_.take(locked, next);
      if (status != Status::ok) return status;
      out = {next.word, next.offset, next.length, next.peer};
      if (next.kind == Notification::Kind::link_ended) return Status::link_ended;
      if (next.kind != Notification::Kind::message) continue;  // news of refused packets
      if (tag == nullptr || next.word == *tag) return Status::ok;
      if (!put_aside(out)) break;
      queue_.interface().waiting().changed(locked);  // others may wait for it
    }
    return Status::queue_full;
  };
  return queue_.wait(call, ready, timeout);
}

bool TaggedReceiver::put_aside(const Tagged& tagged) noexcept {
  try {
    const std::lock_guard guard(mutex_);
    aside_.push_back(tagged);
    aside_count_.store(aside_.size(), std::memory_order_relaxed);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Goes on with the help of whoever runs the manager.
struct TaggedSender::Opening final : protocols::Due {
  Opening(Dispatcher& of, const Ticket& to, Terminus& by) : dispatcher(of), ticket(to), terminus(by) {
    dispatcher.expect_due();
  }
  ~Opening() override { dispatcher.remove(*this); }

  // Under the manager's lock. pending: not yet; otherwise how it has ended.
  Status look() noexcept {
    if (status == Status::pending) status = terminus.try_connect(ticket);
    if (protocols::for_now(status)) status = Status::pending;
    return status;
  }
  bool settle() noexcept override { return look() != Status::pending; }

  Dispatcher& dispatcher;
  const Ticket ticket;
  Terminus& terminus;
  Status status = Status::pending;
  base::PendingCalls calls;
};

TaggedSender::TaggedSender(Manager& manager, const Seed& seed, Begin) try
    : ticket_(seed.ticket), terminus_(manager.interface(), {.entries = 1}) {
  protocols::check_seed(seed, SeedKind::tagged);
  Dispatcher& dispatcher = manager.inside();
  const Dispatcher::Guard guard(dispatcher);
  if (!guard) throw_forked();
  opening_ = std::make_unique<Opening>(dispatcher, ticket_, terminus_);
  if (!opening_->settle()) dispatcher.add(*opening_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of tagged writes");
}

TaggedSender::~TaggedSender() {
  Dispatcher& dispatcher = opening_->dispatcher;
  if (!dispatcher.close_and_drain(opening_->calls)) {
    (void)opening_.release();  // all of it is the parent's
    return;
  }
  const Dispatcher::Guard guard(dispatcher);
  opening_.reset();
}

Status TaggedSender::opened(std::chrono::nanoseconds timeout) noexcept {
  Dispatcher& dispatcher = opening_->dispatcher;
  return dispatcher.receive(
      opening_->calls, [&] { return opening_->look(); }, timeout);
}

void TaggedSender::open(std::chrono::nanoseconds timeout) try {
  const Status status = opened(timeout);
  if (status == Status::ok) return;
  if (status == Status::invalid) protocols::throw_nested("a sender of tagged writes");
  library::throw_if_no_link("no tagged writes can be sent there", terminus_.interface(), ticket_.interface);
  switch (status) {
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the receiver's host did not answer in time");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while the link was made");
    case Status::forked:
      throw_forked();
    case Status::link_ended:
      throw Error(ErrorCode::peer_died, "the receiver's process has ended, or its link has");
    default:
      throw Error(ErrorCode::seed_stale,
                  std::string("the receiver has gone, or grants nothing for this seed: ") + name(status));
  }
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of tagged writes");
}

Status TaggedSender::send(std::span<const std::byte> data, std::uint64_t offset, std::uint64_t tag,
                          std::chrono::nanoseconds timeout) noexcept {
  // A send that needs no wait pays for no look at the clock.
  Status status = send(data, offset, tag);
  if (!protocols::for_now(status)) [[likely]]
    return status;
  return terminus_.send_fast_waiting(ticket_, data, tag, offset, timeout);
}

}  // namespace hamlyn
