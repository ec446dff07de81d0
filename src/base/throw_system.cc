#include "base/throw_system.h"

#include <cerrno>
#include <system_error>

#include "hamlyn/error.h"

namespace hamlyn::base {

void throw_system(const char* what) {
  const int code = errno;
  throw Error(ErrorCode::system, std::string(what) + ": " + std::generic_category().message(code) +
                                     " (errno " + std::to_string(code) + ")");
}

}  // namespace hamlyn::base
