#include "hamlyn/core/send_buffer_area.h"

#include "library/control/control.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {
constexpr std::size_t kMost = std::size_t{1} << 40;
}  // namespace

SendBufferArea::SendBufferArea(Interface& interface, std::size_t bytes) try
    : interface_(interface), size_((bytes + 4095) / 4096 * 4096) {
  if (bytes == 0 || bytes > kMost)
    throw Error(ErrorCode::invalid_argument, "a send buffer area has 1 to 2^40 bytes");
  library::Engine& engine = interface.engine();
  if (engine.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  shm::Mapping mapping;
  engine.control().take_area_bytes(size_);
  try {
    engine.control().have_done([&] { mapping = engine.control().make_area(size_, number_); });
  } catch (...) {
    engine.control().give_back_area_bytes(size_);
    throw;
  }
  data_ = static_cast<std::byte*>(mapping.release());
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a send buffer area");
}

SendBufferArea::~SendBufferArea() {
  library::Engine& engine = interface_.engine();
  if (engine.lock().forked()) return;  // a forked child has neither the mapping nor the control thread
  engine.control().have_done([&] { engine.control().drop_area(number_); });
  engine.control().give_back_area_bytes(size_);
  const shm::Mapping mapping(data_, size_);
}

}  // namespace hamlyn
