#include <algorithm>
#include <utility>

#include "segment/lossy_swap.h"

namespace hamlyn::internal_::segment {

namespace {

constexpr int kTurn = 64;

Status status_of(SwapResult result) noexcept {
  switch (result) {
    case SwapResult::done:
      return Status::ok;
    case SwapResult::out_of_bounds:
      return Status::out_of_bounds;
    case SwapResult::misaligned:
      return Status::misaligned;
    default:
      return Status::invalid;
  }
}

}  // namespace

SwapRequester::SwapRequester(fabric::DatagramPort& port, Peer target, const Options& options, Chance chance)
    : port_(port), target_(target), options_(options), chance_(std::move(chance)), arrival_(port.limit()) {
  start_over(0);
}

Status SwapRequester::begin(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired,
                            std::uint64_t now, std::uint64_t& number) noexcept {
  Operation& place = operations_[next_ % kSwapWindow];
  if (place.answer.status == Status::pending) return Status::queue_full;
  number = next_++;
  place = {.number = number,
           .offset = offset,
           .expected = expected,
           .desired = desired,
           .answer = {Status::pending, 0},
           .due = now};
  if (state_ == State::open) send_request(place, now);
  return Status::ok;
}

SwapRequester::Answer SwapRequester::answer(std::uint64_t number) const noexcept {
  const Operation& place = operations_[number % kSwapWindow];
  return number != 0 && place.number == number ? place.answer : Answer{};
}

void SwapRequester::give_up(std::uint64_t number) noexcept {
  Operation& place = operations_[number % kSwapWindow];
  if (place.number == number && place.answer.status == Status::pending) place.answer = {Status::cancelled, 0};
}

void SwapRequester::run(std::uint64_t now) noexcept {
  for (int left = kTurn; left != 0; --left) {
    const auto arrival = port_.receive(arrival_);
    if (!arrival) break;
    const auto packet = swap_packet(std::span(arrival_).first(arrival->length));
    if (packet && arrival->from == target_) take(*packet, now);
  }
  if (state_ != State::open) {
    if (now >= due_ && any_pending()) send_greeting(now);
    return;
  }
  for (Operation& each : operations_) {
    if (each.answer.status == Status::pending && now >= each.due) send_request(each, now);
  }
}

// A packet that does not fit how things stand is late, or repeated.
void SwapRequester::take(const SwapPacket& packet, std::uint64_t now) noexcept {
  switch (packet.kind) {
    case SwapKind::welcome:
      if (state_ != State::hello || packet.incarnation != incarnation_) return;
      session_ = packet.session;
      return enter(State::confirm, now);
    case SwapKind::confirmed:
      if (state_ == State::confirm && packet.session == session_) enter(State::open, now);
      return;
    case SwapKind::swapped:
      if (state_ == State::open && packet.session == session_) answered(packet);
      return;
    case SwapKind::refused:
      if (packet.result == SwapResult::full) {
        if (state_ == State::hello && packet.incarnation == incarnation_)
          end_all(Status::refused, Status::refused);
        return;
      }
      if (state_ == State::hello || packet.session != session_) return;
      // A session that was never confirmed has done nothing: another one is asked for.
      if (state_ == State::confirm) return enter(State::hello, now);
      end_all(Status::link_ended, Status::pending);
      return start_over(now);
    default:
      return;  // what only requesters say
  }
}

void SwapRequester::enter(State state, std::uint64_t now) noexcept {
  state_ = state;
  tries_ = 0;
  due_ = now;
}

void SwapRequester::start_over(std::uint64_t now) {
  session_ = 0;
  do incarnation_ = chance_();
  while (incarnation_ == 0);
  enter(State::hello, now);
}

void SwapRequester::answered(const SwapPacket& packet) noexcept {
  Operation& place = operations_[packet.number % kSwapWindow];
  if (place.number != packet.number || place.answer.status != Status::pending) return;
  place.answer = {status_of(packet.result), packet.expected};
}

void SwapRequester::end_all(Status of_sent, Status of_unsent) noexcept {
  for (Operation& each : operations_) {
    if (each.answer.status == Status::pending) each.answer = {each.sent ? of_sent : of_unsent, 0};
  }
}

void SwapRequester::send_greeting(std::uint64_t now) noexcept {
  due_ = now + wait(tries_++);
  if (state_ == State::hello) {
    send({.kind = SwapKind::hello, .incarnation = incarnation_});
  } else {
    send({.kind = SwapKind::confirm, .session = session_});
  }
}

void SwapRequester::send_request(Operation& operation, std::uint64_t now) noexcept {
  operation.sent = true;
  operation.due = now + wait(operation.tries++);
  send({.kind = SwapKind::swap,
        .session = session_,
        .number = operation.number,
        .floor = floor(),
        .offset = operation.offset,
        .expected = operation.expected,
        .desired = operation.desired});
}

void SwapRequester::send(const SwapPacket& packet) noexcept {
  static_cast<void>(port_.send(target_, bytes_of(packet)));
}

// Up to half of it more by chance: requesters that collide once need not do so again.
std::uint64_t SwapRequester::wait(unsigned tries) const {
  constexpr unsigned kMostTimes = 20;
  const std::uint64_t time = std::min(options_.first_wait << std::min(tries, kMostTimes), options_.most_wait);
  return time + chance_() % (time / 2 + 1);
}

std::uint64_t SwapRequester::floor() const noexcept {
  std::uint64_t lowest = next_;
  for (const Operation& each : operations_) {
    if (each.answer.status == Status::pending) lowest = std::min(lowest, each.number);
  }
  return lowest;
}

bool SwapRequester::any_pending() const noexcept {
  return std::ranges::any_of(operations_,
                             [](const Operation& each) { return each.answer.status == Status::pending; });
}

}  // namespace hamlyn::internal_::segment
