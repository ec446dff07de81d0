#include "base/throw_system.h"

#include <cerrno>
#include <system_error>

#include "hamlyn/values/error.h"

namespace hamlyn::internal_::base {

void throw_system(const char* what) {
  const int code = errno;
  const bool used_up = code == EMFILE || code == ENFILE || code == ENOMEM;
  throw SystemError(used_up ? ErrorCode::out_of_memory : ErrorCode::system,
                    std::string(what) + ": " + std::generic_category().message(code) + " (errno " +
                        std::to_string(code) + ")",
                    code);
}

LinkReason reason_of(const Error& error) noexcept {
  const auto* const system = dynamic_cast<const SystemError*>(&error);
  if (system != nullptr && (system->number() == EMFILE || system->number() == ENFILE))
    return LinkReason::no_descriptors;
  return error.code() == ErrorCode::system ? LinkReason::call_forbidden : LinkReason::no_memory;
}

}  // namespace hamlyn::internal_::base
