#include "tool/sender.h"

#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "tool/failure.h"
#include "tool/node_view.h"

namespace hamlyn::tool {
namespace {

constexpr std::chrono::milliseconds kAgain{20};  // before the name of one that has gone is looked up again
constexpr std::chrono::milliseconds kRefused{2000};  // for which a receiver that gets no link is tried

// For the verdict of a receiver that has ended the stream. What a dead one has said is here.
std::chrono::milliseconds patience(Status end) {
  return std::chrono::milliseconds{end == Status::link_ended ? 0 : 500};
}

Failure receiver_gone() {
  return {"the receiver ended before it confirmed that it has everything", name(Status::link_ended),
          "see what it says, then send again"};
}

Failure no_receiver(const SendOptions& options) {
  return {fmt::format("no receiver took '{}' in the time given{}", options.name, where_asked(options.node)),
          hamlyn::name(Status::timed_out),
          fmt::format("start 'hamlyn receive {}', or give more time with --timeout", options.name),
          kTimedOut};
}

Failure stalled(const std::string& name) {
  return {fmt::format("'{}' took nothing more in the time given", name), hamlyn::name(Status::timed_out),
          "see whether that receiver is stopped, or give more time with --timeout", kTimedOut};
}

Failure no_verdict(const std::string& name) {
  return {fmt::format("'{}' took everything and did not confirm it in the time given", name),
          hamlyn::name(Status::timed_out),
          "see whether it is a 'hamlyn receive', or give more time with --timeout", kTimedOut};
}

// There is a receiver, and something in the way.
Failure no_link(const std::string& name, WhyNoLink why, ExitCode exit) {
  if (why.reason == LinkReason::none)
    return {fmt::format("the receiver '{}' takes nothing from this process", name),
            hamlyn::name(Status::refused), "see what the receiver says", exit};
  return {fmt::format("no link with the receiver '{}' is to be had: {}", name, text(why)),
          hamlyn::name(why.reason), advice(why), exit};
}

Failure bad_verdict(Outcome outcome) {
  switch (outcome) {
    case Outcome::output_failed:
      return {"the receiver could not write what it received", "output_failed", "see what the receiver says"};
    case Outcome::interrupted:
      return {"the receiver was interrupted", "interrupted", "start it again, then send again"};
    case Outcome::other_version:
      return other_version("receiver");
    case Outcome::whole:
    case Outcome::broken:
      break;
  }
  return {"the receiver has something else than was sent", "checksum", "send again"};
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
      manager_({.interface = {.node = options.node,
                              .start_node = options.node.empty(),
                              .timeout = for_daemon(options.timeout),
                              .stall = std::chrono::milliseconds{0}}}),
      cancels_(stop, manager_),
      verdicts_(manager_, sizeof(Verdict)),
      area_(manager_.interface(), kPieces * kPieceBytes) {}

Report Sender::run() {
  find_receiver();
  Progress progress(options_.quiet, input_.size());
  send_everything(progress);
  say_end();
  await_verdict();
  const bool same = verdict_->total == checksum_.bytes() && verdict_->checksum == checksum_.value();
  if (verdict_->outcome != Outcome::whole || !same) throw bad_verdict(verdict_->outcome);
  return {checksum_.bytes(), progress.seconds(), checksum_.value(), receiver_};
}

void Sender::find_receiver() {
  // A receiver that was found may have ended, or taken another sender. Either side may start first: wait for
  // the next.
  while (!open(lookup_receiver())) ::poll(nullptr, 0, static_cast<int>(kAgain.count()));
  const Greeting greeting{.expected = input_.size().value_or(kUnknownSize), .verdict = verdicts_.make_seed()};
  const Greeting sent = travelling(greeting);
  send(bytes_of(sent));
  insist([&](auto time) { return stream_->flush(time); });
  static_cast<void>(stream_->bind(0, area_));  // the first piece says if it could not be
}

Seed Sender::lookup_receiver() {
  for (;;) {
    check_stop("waiting for a receiver");
    try {
      Registrant owner;
      const Seed seed{manager_.interface().lookup(options_.name, deadline_.slice(kSlice), &owner)};
      if (seed.kind() == SeedKind::none) throw other_version("receiver");
      if (const char* why = invalid(seed)) throw breach("receiver", why);
      if (seed.ticket.interface != owner.interface)
        throw breach("receiver", "it has registered somebody else's seed");
      if (receiver_.interface != owner.interface) why_ = {};
      receiver_ = {.interface = owner.interface, .uid = owner.uid, .pid = owner.pid};
      if (wanted_ && owner.uid != wanted_) throw not_wanted(options_.name, owner.uid);
      return seed;
    } catch (const Error& error) {
      const bool nobody = error.code() == ErrorCode::timed_out || error.code() == ErrorCode::name_unknown;
      if (!nobody && error.code() != ErrorCode::cancelled) throw;
      if (deadline_.passed()) throw no_receiver(options_);
    }
  }
}

bool Sender::open(const Seed& seed) {
  try {
    stream_ = std::make_unique<StreamSender>(manager_, seed,
                                             StreamSender::Options{.timeout = deadline_.slice(kSlice)});
    return true;
  } catch (const Error& error) {
    const WhyNoLink why = manager_.interface().why(seed.ticket.interface);
    if (why.reason != LinkReason::none) why_ = why;
    note_refusal(error.code() == ErrorCode::peer_refused ? seed.ticket.interface : 0);
    switch (error.code()) {
      case ErrorCode::seed_used:
      case ErrorCode::seed_stale:
      case ErrorCode::seed_forged:
      case ErrorCode::peer_refused:
      case ErrorCode::peer_died:
      case ErrorCode::timed_out:
      case ErrorCode::cancelled:
        check_stop("waiting for a receiver");
        if (deadline_.passed()) throw not_taken(error);
        return false;
      default:
        throw;
    }
  }
}

// Most often that receiver has ended, and so will its name. But it may go on: then there is no link to be
// had.
void Sender::note_refusal(std::uint64_t receiver) {
  if (std::exchange(refused_by_, receiver) != receiver) refused_ = Deadline::in(kRefused);
  if (receiver == 0 || !refused_.passed()) return;
  throw no_link(options_.name, why_, kFailed);
}

// The time is over. A receiver that is there, and has not ended, is not to be started.
Failure Sender::not_taken(const Error& last) const {
  const bool there = why_.reason != LinkReason::none && last.code() != ErrorCode::peer_died;
  return there ? no_link(options_.name, why_, kTimedOut) : no_receiver(options_);
}

void Sender::send_everything(Progress& progress) {
  for (std::size_t turn = 0; !input_.ended();) {
    SendHandle& handle = pieces_[turn];
    insist([&](auto time) { return stream_->wait(handle, time); });
    const std::size_t offset = turn * kPieceBytes;
    const std::span<std::byte> bytes = area_.bytes(offset, kPieceBytes);
    const std::size_t length = input_.read_available(bytes);
    if (length > 0) {
      checksum_.add(bytes.first(length));
      insist([&](auto time) { return stream_->send({0, offset, length}, handle, time); });
      progress.at(checksum_.bytes());
      turn = (turn + 1) % kPieces;
    } else if (!input_.ended()) {
      await_input();
    }
  }
}

// The receiver may end meanwhile, which the manager's descriptor tells.
void Sender::await_input() {
  while (manager_.poll()) {
  }
  if (const Status ended = stream_->end(); ended != Status::ok) throw why_ended(ended);
  check_stop("waiting for input");
  input_.wait(manager_.descriptor());
}

void Sender::send(std::span<const std::byte> record) {
  insist([&](auto time) { return stream_->send(record, time); });
}

// The stream may be a program's that does not look: each wait for the other side has the time given.
template <class Step>
void Sender::insist(Step step) {
  const Deadline deadline = Deadline::in(options_.timeout);
  for (;;) {
    const Status status = step(deadline.slice(kSlice));
    if (status == Status::ok) return;
    if (status == Status::timed_out && deadline.passed()) throw stalled(options_.name);
    if (status != Status::cancelled && status != Status::timed_out) throw why_ended(status);
    check_stop("sending");
    if (stream_->end() != Status::ok) throw why_ended(stream_->end());
  }
}

void Sender::say_end() {
  const Trailer trailer = travelling(Trailer{.total = checksum_.bytes(), .checksum = checksum_.value()});
  send({});
  send(bytes_of(trailer));
  const Deadline deadline = Deadline::in(options_.timeout);
  for (Status status; (status = stream_->flush(deadline.slice(kSlice))) != Status::ok;) {
    if (status != Status::cancelled && status != Status::timed_out) return;  // the verdict says why
    if (status == Status::timed_out && deadline.passed()) throw stalled(options_.name);
    check_stop("sending");
  }
}

// The stream stays open: it tells if the receiver goes before it has said anything.
void Sender::await_verdict() {
  // The receiver has taken everything, and only has to say so: a program that took it for a stream of its own
  // never will.
  const Deadline deadline = Deadline::in(options_.timeout);
  for (;;) {
    const std::uint64_t known = manager_.happened();
    if (look_for_verdict(Deadline::in(std::chrono::milliseconds{0}))) return;
    if (const Status ended = stream_->end(); ended != Status::ok) {
      if (look_for_verdict(Deadline::in(patience(ended)))) return;
      throw receiver_gone();
    }
    if (deadline.passed()) throw no_verdict(options_.name);
    static_cast<void>(manager_.wait_beyond(known, deadline.slice(kSlice)));
  }
}

// Looks for the receiver's verdict. Nobody else's counts.
bool Sender::look_for_verdict(const Deadline& deadline) {
  while (!verdict_) {
    Datagram datagram;
    const Status status = verdicts_.receive(datagram, deadline.slice(kSlice));
    if (status == Status::ok && datagram.sender == receiver_.interface) {
      Verdict verdict;
      const char* why = parse(datagram.bytes, verdict);
      if (why == kOtherVersion) throw other_version("receiver");
      if (why) throw breach("receiver", why);
      verdict_ = verdict;
    } else if (status == Status::timed_out || status == Status::cancelled) {
      check_stop("waiting for the other side");
      if (deadline.passed()) return false;
    } else {
      static_cast<void>(verdicts_.make_ready());
    }
  }
  return true;
}

// A receiver that ends the stream says why, if it can.
Failure Sender::why_ended(Status status) {
  look_for_verdict(Deadline::in(patience(status)));
  return verdict_ ? bad_verdict(verdict_->outcome) : receiver_gone();
}

}  // namespace hamlyn::tool
