#include "base/assert.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace hamlyn::internal_::base {

void assertion_failed(const char* condition, const char* file, int line, const char* reason) noexcept {
  char text[512];
  const int length =
      std::snprintf(text, sizeof text, "%s:%d: assertion failed: %s (%s)\n", file, line, condition, reason);
  const auto bytes =
      static_cast<std::size_t>(length) < sizeof text ? static_cast<std::size_t>(length) : sizeof text - 1;
  const ssize_t written = ::write(STDERR_FILENO, text, bytes);
  static_cast<void>(written);  // the process ends, whether standard error takes the text or not
  std::abort();
}

}  // namespace hamlyn::internal_::base
