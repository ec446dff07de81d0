#pragma once
// Set-up (attaching, making areas, slots, queues; names) throws this one type. The data path never does.
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hamlyn {

enum class ErrorCode : std::uint16_t {
  node_unreachable = 1,  // no node daemon answers, and none could be started
  node_not_trusted,      // the daemon's socket belongs to somebody else
  version_mismatch,      // the other side speaks another version of the structures
  quota_interfaces,      // this user has attached as many interfaces as it may
  quota_links,           // this user has as many links as it may
  quota_bytes,           // this user's links and areas hold as many bytes as they may
  quota_names,           // this user has registered as many names as it may
  name_taken,            // another interface holds that name; the text says of which process
  name_unknown,          // nobody has registered that name, or not for you
  name_invalid,          // empty, too long, or with characters outside [A-Za-z0-9._-]
  not_permitted,         // rights do not allow it
  timed_out,             // the time given has passed
  cancelled,             // another thread cancelled it
  invalid_argument,      // a size, mode or combination that cannot be; the text says which
  out_of_memory,         // memory or a limit of the system is used up; the text says which
  system,                // a system call failed; the text says which and how
  forked,                // this process is a forked child: make a new Interface
  disk_full,             // there is no space for a file, or no quota, or its size is limited
  seed_invalid,          // the bytes are no seed
  seed_wrong_kind,       // a seed of another protocol, or a plain ticket
  seed_used,             // somebody has used it: a seed grows one sender
  seed_stale,            // its receiver has gone
  seed_forged,           // its key opens nothing, or nothing any more: the receiver has made another
  peer_refused,          // the receiver does not want this sender, or cannot have it: the text says why
  peer_died,             // the process at the other side has ended, or its link has
  node_full,             // all users together have as much as the node holds for them
};

// The name as written above. Never null.
const char* name(ErrorCode code) noexcept;

// One sentence: what the caller can do about it. Never null.
const char* advice(ErrorCode code) noexcept;

// Set-up throws it: a number to decide by, and a sentence to show (`what`). Threads: a value, as any
// exception. Owner: its catcher.
class Error : public std::runtime_error {
 public:
  // For those who throw it: `what` says which thing, and why.
  Error(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  // By which to decide what to do (docs/error-list.md).
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace hamlyn
