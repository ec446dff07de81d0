#include "hamlyn/message_area.h"

#include <sys/mman.h>

#include "library/engine.h"

namespace hamlyn {

namespace {
std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
}  // namespace

MessageArea::MessageArea(Interface& interface, std::size_t bytes) : interface_(interface), size_(bytes) {
  if (bytes == 0 || bytes > (std::size_t{1} << 47))
    throw Error(ErrorCode::invalid_argument, "an area has at least one byte");
  void* data = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw Error(ErrorCode::out_of_memory,
                "no memory for a message area of " + std::to_string(bytes) + " bytes");
  data_ = static_cast<std::byte*>(data);
  wired_ = mlock(data, whole_pages(bytes)) == 0;
  const base::RunLockGuard guard(interface.engine().lock());
  if (guard) interface.engine().core().counters().areas_bytes += bytes;
}

MessageArea::~MessageArea() {
  {
    const base::RunLockGuard guard(interface_.engine().lock());
    if (guard) interface_.engine().core().counters().areas_bytes -= size_;
  }
  munmap(data_, whole_pages(size_));
}

}  // namespace hamlyn
