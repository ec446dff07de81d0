#include "tool/receiver.h"

#include <fmt/core.h>

#include "tool/failure.h"
#include "tool/transfer_link.h"

namespace hamlyn::tool {
namespace {

// A sender has said hello, so it runs: one that does not let itself be answered in this time is left alone.
constexpr std::chrono::milliseconds kAnswerTime{2000};
constexpr std::chrono::milliseconds kFarewellTime{500};

Outcome outcome_of(const Failure& failure) {
  if (failure.exit() == kInterrupted) return Outcome::interrupted;
  return failure.name() == "system" ? Outcome::output_failed : Outcome::broken;
}

}  // namespace

Receiver::Receiver(const ReceiveOptions& options, Output& output, Stop& stop)
    : options_(options),
      output_(output),
      interface_({.node = options.node, .stall = std::chrono::milliseconds{0}}),
      cancels_(stop, interface_),
      door_area_(interface_, kDoorStride * kDoorPlaces),
      chunk_area_(interface_, kChunkBytes * kPlaces),
      queue_(interface_, 1024),
      door_(door_area_, queue_, {.places = 4}),
      // One-shot: a place that has been filled stays as it is, whatever its sender does, until it is given
      // out again.
      chunks_(chunk_area_, queue_, {.mode = Mode::paranoid_one_shot, .entries = kPlaces, .fast = false}),
      terminus_(interface_) {}

Report Receiver::run() {
  interface_.publish(options_.name, door_.ticket(), options_.rights);
  await_sender();
  withdraw();
  sender_ = find_peer(sender_.interface, options_.node);
  const auto total = expected_ == kUnknownSize ? std::nullopt : std::optional(expected_);
  Progress progress(options_.quiet, total);
  try {
    receive_everything(progress);
    output_.finish();
  } catch (const Failure& failure) {
    tell(outcome_of(failure));
    throw;
  }
  tell(Outcome::whole);
  return {checksum_.bytes(), progress.seconds(), checksum_.value(), sender_};
}

void Receiver::await_sender() {
  const Deadline deadline = Deadline::in(options_.timeout);
  for (;;) {
    Notification notification;
    if (!wait_notification(queue_, notification, deadline)) {
      throw Failure(fmt::format("no sender came to '{}' in the time given", options_.name), "timed_out",
                    fmt::format("start 'hamlyn send {}', or give more time with --timeout", options_.name),
                    kTimedOut);
    }
    if (accept(notification)) return;
  }
}

// A stranger's bytes that are no proper hello are no reason to end: the right sender may still come.
bool Receiver::accept(const Notification& notification) {
  if (notification.kind != Notification::Kind::message || notification.slot != door_.index()) return false;
  if (notification.offset > door_.bytes().size() - sizeof(Hello) || notification.length != sizeof(Hello))
    return false;
  Hello hello;
  if (!copy_message(door_.bytes().subspan(notification.offset, sizeof hello), hello)) return false;
  if (invalid(hello, notification.peer)) return false;
  return answer(hello);
}

bool Receiver::answer(const Hello& hello) {
  const Deadline deadline = Deadline::in(kAnswerTime);
  if (connect(terminus_, hello.mailbox, deadline) != Status::ok) return false;
  Answer answer;
  for (std::uint32_t place = 0; place < kPlaces; ++place) answer.tickets[place] = open_place(place);
  if (send_small(terminus_, hello.mailbox, bytes_of(answer), kAnswerAt, deadline) != Status::ok) return false;
  sender_.interface = hello.mailbox.interface;
  mailbox_ = hello.mailbox;
  expected_ = hello.expected;
  return true;
}

// So that the next sender waits for the next receiver. If the daemon is away, the name ends with this
// process.
void Receiver::withdraw() {
  try {
    interface_.withdraw(options_.name);
  } catch (const Error&) {
  }
}

void Receiver::receive_everything(Progress& progress) {
  while (!whole_) {
    Notification notification;
    if (!next_notification(notification)) {
      throw Failure(
          fmt::format("the sender ended after {} bytes, before the end of its data", checksum_.bytes()),
          hamlyn::name(Status::link_ended), "see what it says, then start both again");
    }
    handle(notification);
    write_arrivals(progress);
  }
}

// What had arrived before the link ended is still worth reading; nothing is worth waiting for.
bool Receiver::next_notification(Notification& out) {
  if (!gone_) return wait_notification(queue_, out, Deadline::never());
  const auto left = queue_.poll();
  if (left) out = *left;
  return left.has_value();
}

void Receiver::handle(const Notification& notification) {
  if (notification.peer != sender_.interface) return;  // a sender that came too late
  switch (notification.kind) {
    case Notification::Kind::message:
      if (notification.slot == chunks_.index()) read_chunk(notification);
      break;
    case Notification::Kind::protocol_error:
      throw breach("sender", hamlyn::name(notification.cause));
    case Notification::Kind::failed:
    case Notification::Kind::link_ended:
      gone_ = true;
      break;
    case Notification::Kind::remote_done:  // the transfer asks for none
    case Notification::Kind::remote_failed:
    case Notification::Kind::put:
    case Notification::Kind::put_held:
    case Notification::Kind::got:
    case Notification::Kind::fetched:
      break;
  }
}

void Receiver::read_chunk(const Notification& notification) {
  ChunkNote note;
  if (notification.entry >= kPlaces) throw breach("sender", "a chunk is in no place");
  if (!copy_message(chunks_.metadata(notification.entry), note))
    throw breach("sender", "a chunk does not say what it is");
  if (const char* why = book_.arrived(notification.entry, note, notification.length))
    throw breach("sender", why);
}

void Receiver::write_arrivals(Progress& progress) {
  while (const auto arrival = book_.next()) {
    if (arrival->note.end == 1) return check_end(arrival->note);
    // The place's own bounds: the book has checked the length against them.
    const auto bytes = chunk_area_.bytes(arrival->place * kChunkBytes, arrival->note.length);
    checksum_.add(bytes);
    output_.write(bytes);
    give_back(*arrival);
    progress.at(checksum_.bytes());
  }
}

void Receiver::give_back(const ArrivalBook::Arrival& arrival) {
  const Returned returned{
      .place = arrival.place, .sequence = arrival.note.sequence, .ticket = open_place(arrival.place)};
  const std::uint64_t corner = kReturnedAt + arrival.place * kReturnedStride;
  const Status status =
      send_small(terminus_, mailbox_, bytes_of(returned), corner, Deadline::never(), Link::made);
  if (status != Status::ok) gone_ = true;
}

void Receiver::check_end(const ChunkNote& note) {
  if (note.total != checksum_.bytes() || note.checksum != checksum_.value()) {
    throw Failure(
        fmt::format("what arrived ({} bytes, xxh3 {:016x}) is not what was sent ({} bytes, xxh3 {:016x})",
                    checksum_.bytes(), checksum_.value(), note.total, note.checksum),
        "checksum", "start both again");
  }
  whole_ = true;
}

Ticket Receiver::open_place(std::uint32_t place) {
  chunks_.disarm(place);  // an earlier sender that was not taken after all may hold a ticket
  const Status status = chunks_.arm(place, {.base = place * kChunkBytes, .bound = kChunkBytes});
  if (status != Status::ok) throw failure("cannot open a place for a chunk", status);
  return chunks_.ticket(place);
}

// A courtesy: a sender that is not told sees the link end.
void Receiver::tell(Outcome outcome) noexcept {
  const Verdict verdict{.outcome = outcome, .total = checksum_.bytes(), .checksum = checksum_.value()};
  const Deadline deadline = Deadline::in(kFarewellTime);
  while (terminus_.send_fast(mailbox_, bytes_of(verdict), 0, kVerdictAt) == Status::no_place &&
         !deadline.passed()) {
    terminus_.wait_for_place(mailbox_, deadline.slice(kFarewellTime));
  }
}

}  // namespace hamlyn::tool
