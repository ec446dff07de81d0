#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "tool/perf/limit_window.h"
#include "tool/perf/limits.h"
#include "tool/perf/touch.h"

namespace hamlyn::tool::perf {

Meter copy_limit(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    const std::shared_ptr<std::byte[]> landing{new std::byte[bytes]{}};
    // One source that does not change, as in the peers' own tools, so both caches may keep it.
    const auto send = [](std::byte*, std::uint64_t) {};
    const auto receive = [=](const std::byte* message, std::uint64_t i) {
      std::memcpy(landing.get(), message - i % kWindow * bytes, bytes);
    };
    return run_window(cores, bytes, send, receive);
  };
  return {.name = "limit.copy." + std::to_string(bytes) + ".bandwidth", .round = round};
}

Meter place_limit(std::size_t bytes, bool read_only) {
  const auto round = [bytes, read_only](Cores cores, int) {
    const auto send = [bytes](std::byte* message, std::uint64_t i) { hamlyn_fill(message, bytes, i); };
    const auto receive = [bytes, read_only](std::byte* message, std::uint64_t i) {
      if (read_only && i == 0 && mprotect(message, kWindow * bytes, PROT_READ) != 0)
        throw std::runtime_error("memory cannot be made read-only");
      if (hamlyn_read_all(message, bytes) != hamlyn_filled_sum(bytes, i)) {
        throw std::runtime_error("a message was read that is not the one written");
      }
    };
    return run_window(cores, bytes, send, receive);
  };
  return {.name = std::string(read_only ? "limit.place.shown." : "limit.place.touched.") +
                  std::to_string(bytes) + ".bandwidth",
          .round = round};
}

}  // namespace hamlyn::tool::perf
