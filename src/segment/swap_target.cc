#include <algorithm>
#include <atomic>
#include <utility>

#include "segment/lossy_swap.h"

namespace hamlyn::internal_::segment {

namespace {

// Datagrams of one run: whoever floods the port does not keep its owner.
constexpr int kBudget = 64;

}  // namespace

SwapTarget::SwapTarget(fabric::DatagramPort& port, std::span<std::byte> memory, std::size_t requesters,
                       Chance chance)
    : port_(port), memory_(memory), most_(requesters), chance_(std::move(chance)), arrival_(port.limit()) {
  records_.reserve(most_);
}

bool SwapTarget::run() noexcept {
  int left = kBudget;
  for (; left != 0; --left) {
    const auto arrival = port_.receive(arrival_);
    if (!arrival) break;
    const auto packet = swap_packet(std::span(arrival_).first(arrival->length));
    if (packet) {
      take(arrival->from, *packet);
    } else {
      ++malformed_;
    }
  }
  return left != kBudget;
}

void SwapTarget::forget(Peer peer) noexcept {
  std::erase_if(records_, [&](const Record& record) { return record.peer == peer; });
}

void SwapTarget::take(Peer from, const SwapPacket& packet) noexcept {
  switch (packet.kind) {
    case SwapKind::hello:
      return greet(from, packet);
    case SwapKind::confirm:
      return confirm(from, packet);
    case SwapKind::swap:
      return serve(from, packet);
    default:
      ++malformed_;  // what only targets say
  }
}

// Nothing changes for the session that there is: the hello may be a late one.
void SwapTarget::greet(Peer from, const SwapPacket& hello) noexcept {
  Record* record = find(from);
  if (record == nullptr) {
    if (records_.size() == most_) {
      return send(from,
                  {.kind = SwapKind::refused, .result = SwapResult::full, .incarnation = hello.incarnation});
    }
    record = &records_.emplace_back();
    record->peer = from;
  }
  const bool known = record->session.incarnation == hello.incarnation;
  if (!known && record->offered.incarnation != hello.incarnation)
    record->offered = new_session(hello.incarnation);
  const Session& session = known ? record->session : record->offered;
  send(from, {.kind = SwapKind::welcome, .session = session.number, .incarnation = session.incarnation});
}

void SwapTarget::confirm(Peer from, const SwapPacket& packet) noexcept {
  Record* const record = find(from);
  if (record != nullptr && record->offered.number == packet.session) {
    record->session = std::exchange(record->offered, {});
    record->floor = 1;
    record->results = {};
  }
  const bool good = record != nullptr && record->session.number == packet.session;
  send(from, {.kind = good ? SwapKind::confirmed : SwapKind::refused,
              .result = good ? SwapResult::done : SwapResult::no_session,
              .session = packet.session});
}

void SwapTarget::serve(Peer from, const SwapPacket& request) noexcept {
  Record* const record = find(from);
  if (record == nullptr || record->session.number != request.session) {
    return send(from,
                {.kind = SwapKind::refused, .result = SwapResult::no_session, .session = request.session});
  }
  record->floor = std::max(record->floor, request.floor);
  if (request.number < record->floor) {  // its answer has come; what it was is not known any more
    ++repeated_;
    return;
  }
  Result ahead{request.number, SwapResult::ahead, 0};
  const bool inside = request.number - record->floor < kSwapWindow;
  Result& result = inside ? record->results[request.number % kSwapWindow] : ahead;
  if (inside && result.number == request.number) {
    ++repeated_;
  } else if (inside) {
    result = execute(request);  // whose place it takes is below the floor
  }
  send(from, {.kind = SwapKind::swapped,
              .result = result.result,
              .session = request.session,
              .number = request.number,
              .expected = result.found});
}

SwapTarget::Result SwapTarget::execute(const SwapPacket& request) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (request.offset > memory_.size() || kWord > memory_.size() - request.offset)
    return {request.number, SwapResult::out_of_bounds, 0};
  if (request.offset % kWord != 0) return {request.number, SwapResult::misaligned, 0};
  ++done_;
  auto* const word = reinterpret_cast<std::uint64_t*>(memory_.data() + request.offset);
  std::uint64_t found = request.expected;
  // Its partners are the owner's threads and whoever has the segment mapped.
  std::atomic_ref<std::uint64_t>(*word).compare_exchange_strong(found, request.desired);
  return {request.number, SwapResult::done, found};
}

SwapTarget::Record* SwapTarget::find(Peer peer) noexcept {
  const auto found = std::ranges::find(records_, peer, &Record::peer);
  return found == records_.end() ? nullptr : &*found;
}

SwapTarget::Session SwapTarget::new_session(std::uint64_t incarnation) {
  std::uint64_t number = 0;
  while (number == 0) number = chance_();
  return {number, incarnation};
}

// A packet that does not leave is lost: the requester asks for it again.
void SwapTarget::send(Peer to, const SwapPacket& packet) noexcept {
  static_cast<void>(port_.send(to, bytes_of(packet)));
}

}  // namespace hamlyn::internal_::segment
