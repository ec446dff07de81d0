#include "hamlyn/core/message_area.h"

#include <sys/mman.h>

#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/engine.h"
#include "library/memory/area_file.h"
#include "library/memory/area_range.h"
#include "library/memory/durable_area.h"
#include "library/memory/huge_pages.h"
#include "library/memory/wiring.h"
#include "library/with_memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace hamlyn {

namespace {

constexpr std::size_t kPage = 4096;
using library::kHugePage;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Address space for `size` bytes; what is long begins where a huge page may.
shm::Mapping reserve(std::size_t size) {
  const std::size_t more = size >= kHugePage ? kHugePage - kPage : 0;
  void* const all = mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(all);
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(first)) % (more != 0 ? kHugePage : kPage);
  if (before != 0) munmap(first, before);
  if (more != before) munmap(first + before + size, more - before);
  return {first + before, size};
}

// Populated now: an error here instead of a signal, or a wait for the kernel, when something arrives. In huge
// pages where the system has them for who asks; nobody else ever maps this memory.
shm::Mapping private_memory(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  shm::Mapping memory = reserve(size);
  if (memory && size >= kHugePage) madvise(memory.data(), size, MADV_HUGEPAGE);
  if (!memory || madvise(memory.data(), size, MADV_POPULATE_WRITE) != 0)
    throw Error(ErrorCode::out_of_memory,
                "no memory for a message area of " + std::to_string(bytes) + " bytes");
  return memory;
}

void check(Interface& interface, std::size_t bytes) {
  if (bytes == 0 || bytes > (std::size_t{1} << 47))
    throw Error(ErrorCode::invalid_argument, "an area has 1 to 2^47 bytes");
  if (interface.engine().lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
}

void check(Sharing sharing) {
  if (sharing > Sharing::mapped_read_write)
    throw Error(ErrorCode::invalid_argument,
                "an area is of one of the kinds of sharing that hamlyn/core/message_area.h names");
}

void count(Interface& interface, std::uint64_t bytes) noexcept {
  const base::RunLockGuard guard(interface.engine().lock());
  if (guard) interface.engine().core().counters().areas_bytes += bytes;
}

}  // namespace

MessageArea::MessageArea(Interface& interface, std::size_t bytes, Sharing sharing) try
    : interface_(interface), size_(bytes), sharing_(sharing) {
  check(interface, bytes);
  check(sharing);
  if (sharing != Sharing::guarded) {
    size_ = whole_pages(bytes);
    make_mapped();
  } else {
    shm::Mapping memory = private_memory(bytes);
    data_ = static_cast<std::byte*>(memory.data());
    range_ = std::make_unique<library::AreaRange>(this->bytes(), false);
    memory.release();
  }
  wire();
  count(interface, size_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a message area");
}

MessageArea::MessageArea(Interface& interface, std::span<std::byte> memory, Sharing sharing) try
    : interface_(interface), data_(memory.data()), size_(memory.size()), callers_(true), sharing_(sharing) {
  check(sharing);
  if (size_ == 0 || size_ % kPage != 0 || reinterpret_cast<std::uintptr_t>(data_) % kPage != 0)
    throw Error(ErrorCode::invalid_argument, "an area over existing memory has whole pages of 4096 bytes");
  if (size_ > ~reinterpret_cast<std::uintptr_t>(data_))
    throw Error(ErrorCode::invalid_argument,
                "an area over existing memory ends before the last page there can be");
  check(interface, size_);
  range_ = std::make_unique<library::AreaRange>(memory, sharing != Sharing::guarded);
  if (sharing == Sharing::guarded) {
    // An error now instead of a signal when something arrives.
    if (madvise(data_, size_, MADV_POPULATE_WRITE) != 0)
      throw Error(ErrorCode::invalid_argument, "an area over existing memory must be mapped, and writable");
  } else {
    library::check_private(memory);
    make_mapped();
  }
  wire();
  count(interface, size_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a message area");
}

// Fresh memory, or, if it is the caller's, fresh pages where that is.
void MessageArea::make_mapped() {
  const shm::Writers writers =
      sharing_ == Sharing::mapped_read_only ? shm::Writers::owner : shm::Writers::everybody;
  library::HostServices& control = interface_.engine().control();
  control.take_area_bytes(size_);
  try {
    control.have_done([&] { data_ = control.make_mapped_area(data_, size_, writers, &words_); });
  } catch (...) {
    control.give_back_area_bytes(size_);
    throw;
  }
}

MessageArea::MessageArea(Interface& interface, const AreaFile& file, std::size_t bytes) try
    : interface_(interface), size_(bytes) {
  const base::Uncancelled guard;  // files are opened, read and waited for
  check(interface, bytes);
  shm::Mapping memory = private_memory(bytes);  // first: the file is not touched if there is none
  base::FileDescriptor opened = library::open_area_file(file, bytes);
  const std::span content(static_cast<std::byte*>(memory.data()), bytes);
  library::read_area_file(opened, content);
  range_ = std::make_unique<library::AreaRange>(content, false);
  durable_ = std::make_unique<library::DurableArea>(interface.engine(), content, std::move(opened));
  data_ = static_cast<std::byte*>(memory.release());
  wire();
  count(interface, size_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a durable area");
}

void MessageArea::wire() {
  wiring_ = std::make_unique<library::Wiring>();
  wiring_->lock(bytes());
}

bool MessageArea::wired() const noexcept { return wiring_->holds({data_, size_}); }

MessageArea::~MessageArea() {
  wiring_.reset();  // before its pages can be others'
  count(interface_, 0 - std::uint64_t{size_});
  library::Engine& engine = interface_.engine();
  if (engine.lock().forked()) {
    (void)durable_.release();  // its thread is the parent's
  } else {
    durable_.reset();
  }
  if (sharing_ != Sharing::guarded) {
    if (engine.lock().forked()) return;
    engine.control().have_done([&] { engine.control().drop_mapped_area(data_, callers_); });
    engine.control().give_back_area_bytes(size_);
  } else if (!callers_) {
    munmap(data_, whole_pages(size_));
  }
}

Status MessageArea::sync(std::size_t offset, std::size_t length, std::chrono::nanoseconds timeout) {
  if (durable_ == nullptr) return Status::invalid;
  if (interface_.engine().lock().forked()) return Status::forked;
  if (offset > size_ || length > size_ - offset) return Status::out_of_bounds;
  return durable_->sync({offset, length}, library::deadline_in(timeout));
}

std::size_t MessageArea::huge_bytes() const {
  const bool own = sharing_ == Sharing::guarded && !callers_;
  return own && size_ >= kHugePage ? library::huge_bytes_of({data_, size_}) : 0;
}

void MessageArea::revoke() {
  if (sharing_ == Sharing::guarded)
    throw Error(ErrorCode::invalid_argument, "a guarded area is mapped by nobody: change its slots' keys");
  library::Engine& engine = interface_.engine();
  if (engine.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const bool was_wired = wired();
  wiring_->unlock(bytes());
  engine.control().have_done([&] { engine.control().renew_mapped_area(data_); });
  if (was_wired) wiring_->lock(bytes());
}

}  // namespace hamlyn
