#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "hamlyn/protocols/stream.h"
#include "library/with_memory.h"
#include "protocols/library_port.h"
#include "protocols/seeds.h"
#include "protocols/stream_sink.h"

namespace hamlyn {

using protocols::Dispatcher;
using protocols::throw_forked;

struct StreamReceiver::Inside final : protocols::Due {
  Inside(StreamReceiver& owner, const protocols::StreamLimits& limits)
      : dispatcher(owner.manager().inside()), port(dispatcher, owner), sink(port, limits) {
    dispatcher.expect_due();
  }
  ~Inside() override { dispatcher.remove(*this); }
  bool settle() noexcept override { return sink.settle(); }
  void see_to_dues() noexcept {
    if (!sink.settle()) dispatcher.add(*this);
  }

  Dispatcher& dispatcher;
  protocols::LibraryPort port;
  protocols::StreamSink<protocols::LibraryPort> sink;
};

namespace {

protocols::StreamLimits checked(const StreamOptions& options) {
  const bool sizes = options.first >= protocols::kStreamUnit && options.first <= options.most &&
                     options.most <= protocols::kMostRing && options.first % protocols::kStreamUnit == 0 &&
                     options.most % protocols::kStreamUnit == 0;
  const bool parcels = options.parcels >= 4 && options.parcels <= protocols::kMostParcels &&
                       std::has_single_bit(options.parcels);
  if (!sizes)
    throw Error(ErrorCode::invalid_argument, "a stream's buffer: `first` and `most` are multiples of " +
                                                 std::to_string(protocols::kStreamUnit) + " from " +
                                                 std::to_string(protocols::kStreamUnit) + " to " +
                                                 std::to_string(protocols::kMostRing) +
                                                 ", `first` no more than `most`");
  if (!parcels)
    throw Error(ErrorCode::invalid_argument, "a stream's `parcels` are a power of two from 4 to " +
                                                 std::to_string(protocols::kMostParcels));
  return {options.first, options.most, options.parcels};
}

}  // namespace

StreamReceiver::StreamReceiver(Manager& manager, const Options& options) try : Receiver(manager) {
  const protocols::StreamLimits limits = checked(options);
  const Dispatcher::Guard guard(manager.inside());
  if (!guard) throw_forked();
  inside_ = std::make_unique<Inside>(*this, limits);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a receiver of streams");
}

StreamReceiver::~StreamReceiver() {
  retire();
  const Dispatcher::Guard guard(manager().inside());
  if (!guard) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  Ticket ticket;
  std::uint64_t word = 0;
  if (inside_->sink.farewell(ticket, word)) manager().inside().farewell(ticket, word);
  inside_.reset();
}

Seed StreamReceiver::make_seed() {
  const Dispatcher::Guard guard(manager().inside());
  if (!guard) throw_forked();
  Ticket ticket;
  if (inside_->sink.offer(ticket) != Status::ok)
    throw Error(ErrorCode::invalid_argument, "this stream has a sender, or records that were not received");
  current_ = {};
  position_ = 0;
  return protocols::make_seed(ticket, SeedKind::stream);
}

void StreamReceiver::process_arrival(const Notification& arrival) {
  inside_->sink.arrived(arrival, [&](std::uint64_t sender) { return admit(sender); });
  inside_->see_to_dues();
}

bool StreamReceiver::admit(std::uint64_t) noexcept { return true; }

std::uint64_t StreamReceiver::sender() const noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  return guard ? inside_->sink.sender() : 0;
}

Status StreamReceiver::take(Record& out) noexcept {
  protocols::StreamRecord record;
  if (inside_->sink.next(record)) {
    out = {record.bytes, record.number};
    return Status::ok;
  }
  const Status end = inside_->sink.end();
  return end == Status::ok ? Status::pending : end;
}

Status StreamReceiver::receive(Record& out, std::chrono::nanoseconds timeout) noexcept {
  return inside_->dispatcher.receive(
      *this, [&] { return take(out); }, timeout);
}

Status StreamReceiver::release(const Record& record) noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  if (!guard) return Status::forked;
  const Status status = inside_->sink.release(record.number());
  inside_->see_to_dues();
  return status;
}

Status StreamReceiver::read(std::span<std::byte> into, std::size_t& count,
                            std::chrono::nanoseconds timeout) noexcept {
  count = 0;
  while (count < into.size()) {
    if (position_ == current_.bytes().size()) {
      if (current_.number() != 0) static_cast<void>(release(current_));  // `receive` tells a forked child
      current_ = {};
      position_ = 0;
      const Status status = receive(current_, count == 0 ? timeout : std::chrono::nanoseconds{0});
      if (status != Status::ok) return count == 0 ? status : Status::ok;
      continue;
    }
    const std::size_t part = std::min(into.size() - count, current_.bytes().size() - position_);
    std::memcpy(into.data() + count, current_.bytes().data() + position_, part);
    count += part;
    position_ += part;
  }
  return Status::ok;
}

Status StreamReceiver::close(std::chrono::nanoseconds timeout) noexcept {
  {
    const Dispatcher::Guard guard(inside_->dispatcher);
    if (!guard) return Status::forked;
    inside_->sink.stop();
    inside_->see_to_dues();
  }
  const auto ready = [&] { return inside_->sink.over() ? Status::ok : Status::pending; };
  return inside_->dispatcher.wait(*this, ready, library::deadline_in(timeout));
}

void StreamReceiver::Iterator::advance() {
  const Status status = receiver_->receive(record_);
  switch (status) {
    case Status::ok:
      return;
    case Status::closed:
      over_ = true;
      return;
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while waiting for the stream's next record");
    case Status::forked:
      throw_forked();
    default:
      throw Error(ErrorCode::peer_died,
                  std::string("the stream has ended before its sender closed it: ") + name(status));
  }
}

}  // namespace hamlyn
