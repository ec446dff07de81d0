#include "tool/failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hamlyn::tool {
namespace {

const char* advice_for(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::node_unreachable:
      return "start hamlynd, or give the path of its socket with --node";
    case ErrorCode::node_not_trusted:
      return "see who owns that socket; only root's and your own are trusted";
    case ErrorCode::version_mismatch:
      return "use the same version of hamlyn on both sides and restart hamlynd";
    case ErrorCode::quota_interfaces:
    case ErrorCode::quota_links:
    case ErrorCode::quota_bytes:
    case ErrorCode::quota_names:
      return "end some of your programs, or raise the quota in hamlynd's configuration";
    case ErrorCode::node_full:
      return "try again later, or have the totals in hamlynd's configuration raised";
    case ErrorCode::name_taken:
      return "choose another name, or end the process that holds it";
    case ErrorCode::name_unknown:
      return "start the receiver first, or check the name and that it lets you in";
    case ErrorCode::name_invalid:
      return "use 1 to 64 characters out of A-Z a-z 0-9 . _ -";
    case ErrorCode::not_permitted:
      return "have the receiver started with --group or --everyone, or the node's rights changed: see who "
             "refused";
    case ErrorCode::timed_out:
      // The daemon's: a partner that does not come is said by who waits for it.
      return "see whether hamlynd is stopped or overloaded, and start it again if it does not go on";
    case ErrorCode::cancelled:
      return "run it again";
    case ErrorCode::invalid_argument:
      return "see --help";
    case ErrorCode::out_of_memory:
      return "free what the message says has run out, or raise its limit (ulimit -a)";
    case ErrorCode::disk_full:
      return "free space on that disk, or raise the quota or the limit that the message names";
    case ErrorCode::seed_invalid:
    case ErrorCode::seed_wrong_kind:
    case ErrorCode::seed_used:
    case ErrorCode::seed_stale:
    case ErrorCode::seed_forged:
      return "check that both sides mean the same name, and start the receiver again";
    case ErrorCode::peer_refused:
    case ErrorCode::peer_died:
    case ErrorCode::system:
    case ErrorCode::forked:
      break;
  }
  return "see what the message says, and try again";
}

ExitCode exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::name_invalid:
      return kUsage;
    case ErrorCode::timed_out:
      return kTimedOut;
    case ErrorCode::cancelled:
      return kInterrupted;
    default:
      return kFailed;
  }
}

const char* advice_for_errno(int errnum) noexcept {
  switch (errnum) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions, or choose another file";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose another file";
    case EPIPE:
      return "keep the program that reads from this pipe running";
    case EISDIR:
      return "give the path of a file";
    default:
      return "check the file and try again";
  }
}

}  // namespace

Failure failure(const Error& error) {
  return {error.what(), hamlyn::name(error.code()), advice_for(error.code()), exit_code(error.code())};
}

Failure failure(const std::string& what, Status status) {
  const ExitCode exit = status == Status::timed_out   ? kTimedOut
                        : status == Status::cancelled ? kInterrupted
                                                      : kFailed;
  return {what, hamlyn::name(status), hamlyn::advice(status), exit};
}

Failure system_failure(const std::string& what, int errnum) {
  return {fmt::format("{}: {}", what, std::strerror(errnum)), "system", advice_for_errno(errnum)};
}

Failure breach(const char* who, const char* why) {
  return {fmt::format("the {} does not keep to the protocol: {}", who, why), "protocol_error",
          "use the same version of hamlyn on both sides"};
}

Failure other_version(const char* who) {
  return {fmt::format("the {} is of a version that sends and receives in another way", who),
          name(ErrorCode::version_mismatch), "use the same version of hamlyn on both sides"};
}

Failure interrupted(const std::string& what) { return {what, "interrupted", "run it again", kInterrupted}; }

std::string line(const std::string& who, const Failure& failure) {
  std::string text = fmt::format("{}: {} ({}): {}", who, failure.what(), failure.name(), failure.advice());
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      ' ');
  return text;
}

}  // namespace hamlyn::tool
