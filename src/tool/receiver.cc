#include "tool/receiver.h"

#include <fmt/core.h>

#include "hamlyn/protocols/datagram.h"
#include "tool/failure.h"
#include "tool/node_view.h"

namespace hamlyn::tool {
namespace {

constexpr std::chrono::milliseconds kFarewellTime{500};
constexpr std::chrono::seconds kLookAtDaemon{1};  // while no sender has come

Outcome outcome_of(const Failure& failure) {
  if (failure.exit() == kInterrupted) return Outcome::interrupted;
  if (failure.name() == hamlyn::name(ErrorCode::version_mismatch)) return Outcome::other_version;
  return failure.name() == "system" ? Outcome::output_failed : Outcome::broken;
}

}  // namespace

Receiver::Receiver(const ReceiveOptions& options, Output& output, Stop& stop)
    : options_(options),
      output_(output),
      manager_({.interface = {.node = options.node,
                              .start_node = options.node.empty(),
                              .timeout = for_daemon(options.timeout),
                              .stall = std::chrono::milliseconds{0}}}),
      cancels_(stop, manager_),
      stream_(manager_, {.first = kWindowBytes, .most = kWindowBytes}) {}

Report Receiver::run() {
  try {
    await_sender();
    withdraw();
    const Peer sender = find_peer(stream_.sender(), options_.node);
    const bool known = greeting_.expected != kUnknownSize;
    Progress progress(options_.quiet, known ? std::optional(greeting_.expected) : std::nullopt);
    receive_everything(progress);
    output_.finish();
    tell(Outcome::whole);
    return {checksum_.bytes(), progress.seconds(), checksum_.value(), sender};
  } catch (const Failure& failure) {
    tell(outcome_of(failure));
    throw;
  }
}

// One that goes before it has said what it brings is no reason to end: another may still come.
void Receiver::await_sender() {
  const Deadline deadline = Deadline::in(options_.timeout);
  do {
    manager_.publish(options_.name, stream_.make_seed(), options_.rights);
  } while (!greeted(deadline));
}

bool Receiver::greeted(const Deadline& deadline) {
  Record record;
  Status status;
  while ((status = stream_.receive(record, deadline.slice(kLookAtDaemon))) == Status::cancelled ||
         status == Status::timed_out) {
    check_stop("waiting for the other side");
    check_attached(deadline);
    if (!deadline.passed()) continue;
    const WhyNoLink lack = manager_.interface().why(0);
    if (lack.reason != LinkReason::none)
      throw Failure(fmt::format("no link with a sender of '{}' was to be had: {}", options_.name, text(lack)),
                    name(lack.reason), advice(lack), kTimedOut);
    throw Failure(
        fmt::format("no sender came to '{}' in the time given{}", options_.name, where_asked(options_.node)),
        "timed_out", fmt::format("start 'hamlyn send {}', or give more time with --timeout", options_.name),
        kTimedOut);
  }
  if (status != Status::ok) return false;
  const char* why = parse(record.bytes(), stream_.sender(), greeting_);
  static_cast<void>(stream_.release(record));  // cannot fail: it was just received
  if (why == kOtherVersion) throw other_version("sender");
  if (why) throw breach("sender", why);
  return true;
}

// A process that is cut off from its daemon has no name, so no sender comes. Ends at once if the daemon does
// not want it, and when the time is over if there is none, which may be started again.
void Receiver::check_attached(const Deadline& deadline) {
  const Attachment daemon = manager_.interface().attachment();
  const bool none = daemon.reason == ErrorCode::node_unreachable || daemon.reason == ErrorCode::timed_out;
  if (daemon.attached || (none && !deadline.passed())) return;
  throw Failure(fmt::format("no sender can come to '{}': this process is cut off from its node daemon: {}",
                            options_.name, daemon.text),
                hamlyn::name(daemon.reason),
                none ? "start hamlynd again" : "start this command again, as a new process of the daemon's",
                none ? kTimedOut : kFailed);
}

// So that the next sender waits for the next receiver. If the daemon is away, the name ends with this
// process.
void Receiver::withdraw() {
  try {
    manager_.withdraw(options_.name);
  } catch (const Error&) {
  }
}

void Receiver::receive_everything(Progress& progress) {
  while (next_ != Next::nothing) {
    Record record;
    switch (stream_.receive(record)) {
      case Status::ok:
        take(record.bytes());
        static_cast<void>(stream_.release(record));
        progress.at(checksum_.bytes());
        break;
      case Status::cancelled:
        check_stop("waiting for the other side");
        break;
      default:
        throw Failure(
            fmt::format("the sender ended after {} bytes, before the end of its data", checksum_.bytes()),
            hamlyn::name(Status::link_ended), "see what it says, then start both again");
    }
  }
  check_end();
}

void Receiver::take(std::span<const std::byte> bytes) {
  switch (next_) {
    case Next::data:
      if (bytes.empty()) {
        next_ = Next::trailer;
        return;
      }
      checksum_.add(bytes);
      return output_.write(bytes);
    case Next::trailer:
      if (const char* why = parse(bytes, trailer_)) throw breach("sender", why);
      next_ = Next::nothing;
      return;
    case Next::nothing:
      return;
  }
}

void Receiver::check_end() {
  if (trailer_.total == checksum_.bytes() && trailer_.checksum == checksum_.value()) return;
  throw Failure(
      fmt::format("what arrived ({} bytes, xxh3 {:016x}) is not what was sent ({} bytes, xxh3 {:016x})",
                  checksum_.bytes(), checksum_.value(), trailer_.total, trailer_.checksum),
      "checksum", "start both again");
}

// A courtesy: a sender that is not told sees the stream end.
void Receiver::tell(Outcome outcome) noexcept {
  if (greeting_.verdict.kind() == SeedKind::none) return;  // nobody has greeted
  try {
    DatagramSender sender(manager_, greeting_.verdict);
    const Verdict verdict =
        travelling(Verdict{.outcome = outcome, .total = checksum_.bytes(), .checksum = checksum_.value()});
    const Deadline deadline = Deadline::in(kFarewellTime);
    // Ctrl-C goes on ending waits. One that has landed for all that is refused the second time.
    while (sender.deliver(bytes_of(verdict), deadline.slice(kFarewellTime)) == Status::cancelled &&
           !deadline.passed()) {
    }
  } catch (const Error&) {
  }
}

}  // namespace hamlyn::tool
