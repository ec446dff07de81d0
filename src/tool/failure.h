#pragma once
// How a command ends when it does not end well: one line that says what, under which name, and what to do
// about it.
#include <stdexcept>
#include <string>

#include "hamlyn/values/error.h"
#include "hamlyn/values/status.h"

namespace hamlyn::tool {

enum ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kTimedOut = 3, kInterrupted = 130 };

class Failure : public std::runtime_error {
 public:
  // `name` is that of an ErrorCode or Status, or a word of the tool's own; `advice` is what the user can do.
  Failure(const std::string& what, std::string name, std::string advice, ExitCode exit = kFailed)
      : std::runtime_error(what), name_(std::move(name)), advice_(std::move(advice)), exit_(exit) {}

  const std::string& name() const noexcept { return name_; }
  const std::string& advice() const noexcept { return advice_; }
  ExitCode exit() const noexcept { return exit_; }

 private:
  std::string name_, advice_;
  ExitCode exit_;
};

Failure failure(const Error& error);
Failure failure(const std::string& what, Status status);
// A system call failed with `errnum`.
Failure system_failure(const std::string& what, int errnum);
Failure interrupted(const std::string& what);
// `who` ("sender", "receiver") does not keep to the protocol.
Failure breach(const char* who, const char* why);
// `who` keeps to that of another version.
Failure other_version(const char* who);

// "<who>: <what> (<name>): <advice>", without a newline and without control characters. `who`: "hamlyn send".
std::string line(const std::string& who, const Failure& failure);
// One JSON object in one line:
// {"error":{"command":...,"name":...,"what":...,"advice":...,"status":...}}.
std::string to_json(const std::string& command, const Failure& failure);

}  // namespace hamlyn::tool
