#include "base/disposal.h"

#include <sys/mman.h>

#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace hamlyn::internal_::base {

struct Disposal::Shared {
  std::function<void(const Item&)> free;
  std::mutex mutex;
  std::deque<Item> items;
  bool working = false;  // there is a thread, which looks once more before it ends

  void work() {
    for (;;) {
      Item item;
      {
        const std::lock_guard lock(mutex);
        working = !items.empty();
        if (!working) return;
        item = items.front();
        items.pop_front();
      }
      free(item);
    }
  }
};

Disposal::Disposal(std::function<void(const Item&)> free) : shared_(std::make_shared<Shared>()) {
  shared_->free = std::move(free);
}

Disposal::~Disposal() { retry(); }

void Disposal::free_item(const Item& item) {
  if (item.fd >= 0) ::close(item.fd);
  if (item.at != nullptr) ::munmap(item.at, item.size);
}

void Disposal::close(FileDescriptor memory, std::uint64_t bytes) {
  if (memory) dispose({.fd = memory.release()}, bytes);
}

void Disposal::unmap(void* at, std::size_t size) {
  if (at != nullptr) dispose({.at = at, .size = size}, size);
}

void Disposal::dispose(const Item& item, std::uint64_t bytes) {
  if (bytes <= kSmall) return shared_->free(item);
  ++handed_;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->items.push_back(item);
  }
  retry();
}

void Disposal::retry() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->working || shared_->items.empty()) return;
  try {
    std::thread([shared = shared_] { shared->work(); }).detach();
    shared_->working = true;
  } catch (const std::system_error&) {
    // No thread now: the next time.
  }
}

}  // namespace hamlyn::internal_::base
