#include "tool/sender.h"

#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "tool/failure.h"
#include "tool/node_view.h"
#include "tool/transfer_link.h"

namespace hamlyn::tool {
namespace {

constexpr std::chrono::milliseconds kLook{
    250};  // how often to see whether a receiver that does not answer is gone
constexpr std::chrono::milliseconds kAgain{20};  // before the name of one that has gone is looked up again
constexpr std::chrono::milliseconds kRefused{2000};  // for which a receiver that gets no link is tried
constexpr std::chrono::hours kSlice{1};

Failure receiver_gone() {
  return {"the receiver ended before it confirmed that it has everything", name(Status::link_ended),
          "see what it says, then send again"};
}

Failure no_receiver(const std::string& name) {
  return {fmt::format("no receiver took '{}' in the time given", name), hamlyn::name(Status::timed_out),
          fmt::format("start 'hamlyn receive {}', or give more time with --timeout", name), kTimedOut};
}

Failure bad_verdict(Outcome outcome) {
  switch (outcome) {
    case Outcome::output_failed:
      return {"the receiver could not write what it received", "output_failed", "see what the receiver says"};
    case Outcome::interrupted:
      return {"the receiver was interrupted", "interrupted", "start it again, then send again"};
    case Outcome::whole:
    case Outcome::broken:
      break;
  }
  return {"the receiver has something else than was sent", "checksum", "send again"};
}

// A name leads to whatever its owner registered.
void check_door(const Ticket& door) {
  const char* why = invalid(door);
  if (!why && !door.fast()) why = "its ticket is not for fast mode";
  if (!why && door.bound < kDoorStride * kDoorPlaces) why = "its ticket has too little room";
  if (why) throw breach("receiver", why);
}

// A name is whoever's that registered it first, so it says nothing of who will read what is sent there.
std::optional<std::uint32_t> wanted_user(const std::string& to) {
  if (to.empty()) return ::geteuid();
  if (to == kAnyone) return std::nullopt;
  if (const passwd* user = ::getpwnam(to.c_str())) return user->pw_uid;
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(to.data(), to.data() + to.size(), number);
  if (wrong == std::errc{} && end == to.data() + to.size()) return number;
  throw Failure{fmt::format("there is no user '{}'", to), "usage", "give --to a user's name or number",
                kUsage};
}

Failure not_wanted(const std::string& name, std::uint32_t uid) {
  const std::string user = user_name(uid);
  return {fmt::format("the receiver '{}' is of user {}", name, user), hamlyn::name(ErrorCode::not_permitted),
          fmt::format("if that is who you mean, say --to {}", user)};
}

}  // namespace

Sender::Sender(const SendOptions& options, Input& input, Stop& stop)
    : options_(options),
      wanted_(wanted_user(options.to)),
      input_(input),
      deadline_(Deadline::in(options.timeout)),
      interface_({.node = options.node, .stall = std::chrono::milliseconds{0}}),
      cancels_(stop, interface_),
      mailbox_area_(interface_, kMailboxBytes),
      queue_(interface_, 256),
      mailbox_(mailbox_area_, queue_, {}),
      area_(interface_, kPlaces * kChunkBytes),
      terminus_(interface_) {
  for (std::size_t place = 0; place != kPlaces; ++place) buffers_[place].offset = place * kChunkBytes;
  terminus_.bind(0, area_);
}

Report Sender::run() {
  find_receiver();
  Progress progress(options_.quiet, input_.size());
  send_everything(progress);
  send_end();
  await_verdict();
  return {checksum_.bytes(), progress.seconds(), checksum_.value(), receiver_};
}

void Sender::find_receiver() {
  for (;;) {
    const Ticket door = lookup_door();
    check_door(door);
    if (wanted_ && receiver_.uid != wanted_) throw not_wanted(options_.name, *receiver_.uid);
    gone_ = false;
    if (greet(door) && await_answer(door)) return;
    // That receiver has ended, or taken another sender. Either side may start first: wait for the next.
    ::poll(nullptr, 0, static_cast<int>(kAgain.count()));
  }
}

Ticket Sender::lookup_door() {
  for (;;) {
    check_stop("waiting for a receiver");
    try {
      Registrant owner;
      const Ticket door = interface_.lookup(options_.name, deadline_.slice(kSlice), &owner);
      if (door.interface != owner.interface)
        throw breach("receiver", "it has registered somebody else's ticket");
      receiver_ = {.interface = owner.interface, .uid = owner.uid, .pid = owner.pid};
      return door;
    } catch (const Error& error) {
      const bool nobody = error.code() == ErrorCode::timed_out || error.code() == ErrorCode::name_unknown;
      if (!nobody && error.code() != ErrorCode::cancelled) throw;
      if (deadline_.passed()) throw no_receiver(options_.name);
    }
  }
}

bool Sender::greet(const Ticket& door) {
  Status status = connect(terminus_, door, deadline_);
  if (status == Status::ok) status = say_hello(door);
  if (status == Status::timed_out) throw no_receiver(options_.name);
  if (status != Status::refused) refused_by_ = 0;
  if (status == Status::refused) note_refusal(door.interface);
  if (status == Status::link_ended || status == Status::refused) return false;
  if (status != Status::ok) throw failure("cannot reach the receiver", status);
  return true;
}

// Most often that receiver has ended, and so will its name. But it may go on: then there is no link to be
// had.
void Sender::note_refusal(std::uint64_t receiver) {
  if (std::exchange(refused_by_, receiver) != receiver) refused_ = Deadline::in(kRefused);
  if (!refused_.passed()) return;
  throw Failure{fmt::format("no link with the receiver '{}' is to be had", options_.name),
                hamlyn::name(Status::refused),
                "see whether a quota is used up (hamlyn node), and, if it is on another host, what 'hamlyn "
                "doctor' says on both"};
}

Status Sender::say_hello(const Ticket& door) {
  const Hello hello{.expected = input_.size().value_or(kUnknownSize), .mailbox = mailbox_.ticket()};
  return send_small(terminus_, door, bytes_of(hello), door_offset(interface_.id()), deadline_);
}

// A receiver answers the sender it takes, then gives up its name. So whoever sees the name gone and has no
// answer was not taken.
bool Sender::await_answer(const Ticket& door) {
  for (;;) {
    Notification notification;
    if (wait_notification(queue_, notification, Deadline::in(deadline_.slice(kLook)))) {
      handle(notification);
    } else if (deadline_.passed()) {
      throw no_receiver(options_.name);
    } else if (!still_registered(door)) {
      drain();
      return book_.has_value();
    } else {
      say_hello(door);  // another sender may have written over the first
    }
    if (book_) return true;
    if (gone_) return false;
  }
}

bool Sender::still_registered(const Ticket& door) {
  try {
    return interface_.lookup(options_.name) == door;
  } catch (const Error& error) {
    // While the daemon is away nothing can be said.
    return error.code() != ErrorCode::name_unknown && error.code() != ErrorCode::timed_out;
  }
}

void Sender::send_everything(Progress& progress) {
  while (!input_.ended()) {
    drain();
    if (gone_) throw why_gone();
    Buffer& buffer = free_buffer();
    const auto bytes = area_.bytes(buffer.offset, kChunkBytes);
    const std::size_t length = input_.read_available(bytes);
    if (length > 0) {
      checksum_.add(bytes.first(length));
      send_chunk(buffer, length, {.length = length});
      progress.at(checksum_.bytes());
    } else if (!input_.ended()) {
      check_stop("waiting for input");
      input_.wait(queue_.descriptor());
    }
  }
}

// The buffer of the place that is next, once that place has come back and its bytes have left.
Sender::Buffer& Sender::free_buffer() {
  while (!book_->has_free_place()) wait_for_news();
  Buffer& buffer = buffers_[book_->next_place()];
  while (buffer.handle.sequence != 0 && terminus_.status(buffer.handle) == Status::pending) {
    check_stop("sending");
    terminus_.wait(buffer.handle, kSlice);
  }
  return buffer;
}

void Sender::send_chunk(Buffer& buffer, std::size_t length, const ChunkNote& note) {
  const auto departure = book_->take();
  ChunkNote numbered = note;
  numbered.sequence = departure->sequence;
  const Piece piece{0, buffer.offset, length};
  const Status status = terminus_.send_gathered(departure->ticket, {&piece, 1},
                                                {.metadata = bytes_of(numbered)}, &buffer.handle);
  if (status == Status::link_ended) throw why_gone();
  if (status != Status::ok && status != Status::pending) throw failure("cannot send to the receiver", status);
}

void Sender::send_end() {
  Buffer& buffer = free_buffer();
  send_chunk(buffer, 0, {.total = checksum_.bytes(), .checksum = checksum_.value(), .end = 1});
}

void Sender::await_verdict() {
  while (!verdict_) wait_for_news();
  const bool same = verdict_->total == checksum_.bytes() && verdict_->checksum == checksum_.value();
  if (verdict_->outcome != Outcome::whole || !same) throw bad_verdict(verdict_->outcome);
}

void Sender::handle(const Notification& notification) {
  if (notification.peer != receiver_.interface) return;  // a receiver that is over, or a stranger
  switch (notification.kind) {
    case Notification::Kind::message:
      // Own bounds and not the notification's, in one place; then a copy, since the receiver may write again.
      if (notification.offset > kMailboxBytes || notification.length > kMailboxBytes - notification.offset)
        return;
      return read_message(mailbox_.bytes().subspan(notification.offset, notification.length));
    case Notification::Kind::protocol_error:
      throw breach("receiver", hamlyn::name(notification.cause));
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

void Sender::read_message(std::span<const std::byte> bytes) {
  const char* why = "it is no message that a receiver sends";
  Answer answer;
  Returned returned;
  Verdict verdict;
  switch (kind_of(bytes)) {
    case Kind::answer:
      why = book_ ? "it answers twice" : "its answer has a wrong length";
      if (!book_ && copy_message(bytes, answer) && !(why = invalid(answer, receiver_.interface)))
        book_.emplace(answer);
      break;
    case Kind::returned:
      why = "a returned place has a wrong length";
      if (copy_message(bytes, returned)) why = invalid(returned, receiver_.interface);
      if (!why) why = book_ ? book_->returned(returned) : "a place comes back before the answer";
      break;
    case Kind::verdict:
      why = "its verdict has a wrong length";
      if (copy_message(bytes, verdict) && !(why = invalid(verdict))) verdict_ = verdict;
      break;
    default:
      break;
  }
  if (why) throw breach("receiver", why);
}

void Sender::drain() {
  while (const auto notification = queue_.poll()) handle(*notification);
}

// What had arrived before the link ended is not lost: the receiver may have said why.
Failure Sender::why_gone() {
  drain();
  return verdict_ ? bad_verdict(verdict_->outcome) : receiver_gone();
}

void Sender::wait_for_news() {
  if (gone_ || (verdict_ && verdict_->outcome != Outcome::whole)) throw why_gone();
  Notification notification;
  if (wait_notification(queue_, notification, Deadline::never())) handle(notification);
}

}  // namespace hamlyn::tool
