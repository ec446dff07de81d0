#include "base/throw_system.h"

#include <cerrno>
#include <system_error>

#include "hamlyn/error.h"

namespace hamlyn::base {

void throw_system(const char* what) {
  const int code = errno;
  const bool used_up = code == EMFILE || code == ENFILE || code == ENOMEM;
  throw Error(used_up ? ErrorCode::out_of_memory : ErrorCode::system,
              std::string(what) + ": " + std::generic_category().message(code) + " (errno " +
                  std::to_string(code) + ")");
}

}  // namespace hamlyn::base
