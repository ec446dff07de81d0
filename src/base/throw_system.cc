#include "base/throw_system.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "hamlyn/values/error.h"

namespace hamlyn::internal_::base {
namespace {

// The one table of what a process can run out of: the reason for which it has no link then, and what to
// raise.
struct Lack {
  int number;
  LinkReason reason;
  const char* remedy;
};

constexpr std::array kLacks = {
    Lack{EMFILE, LinkReason::no_descriptors,
         ": this process has as many descriptors as it may, close some or raise RLIMIT_NOFILE (ulimit -n)"},
    Lack{ENFILE, LinkReason::no_descriptors,
         ": this host has as many open files as it may, end some programs or raise fs.file-max"},
    Lack{ENOMEM, LinkReason::no_memory,
         ": free some memory, or raise the limit of it (ulimit -v, ulimit -l, the control group)"},
};

const Lack* lack_of(int number) noexcept {
  const auto* const found = std::ranges::find(kLacks, number, &Lack::number);
  return found == kLacks.end() ? nullptr : found;
}

}  // namespace

void throw_system(const char* what) {
  const int number = errno;
  const Lack* const lack = lack_of(number);
  throw SystemError(lack != nullptr ? ErrorCode::out_of_memory : ErrorCode::system,
                    std::string(what) + ": " + std::generic_category().message(number) + " (errno " +
                        std::to_string(number) + ")" + (lack != nullptr ? lack->remedy : ""),
                    number);
}

LinkReason reason_of(const Error& error) noexcept {
  const auto* const system = dynamic_cast<const SystemError*>(&error);
  if (const Lack* const lack = system != nullptr ? lack_of(system->number()) : nullptr) return lack->reason;
  return error.code() == ErrorCode::system ? LinkReason::call_forbidden : LinkReason::no_memory;
}

}  // namespace hamlyn::internal_::base
