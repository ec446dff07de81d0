#pragma once
// Frees what strangers have made: their memory is freed by whoever closes or unmaps it last, and that takes
// 180 ms for each GiB. Nobody who serves others may wait for it. So what is large is freed by a thread of its
// own, one for all users: more threads would give a stranger more of the processors, and nobody waits for it.
//
// Threads: the one that serves others calls it; the object's thread ends when nothing is left to free.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

class Disposal {
 public:
  // Freed at once up to this size: some 50 us.
  static constexpr std::uint64_t kSmall = 256 << 10;

  // Either a descriptor or a mapping.
  struct Item {
    int fd = -1;
    void* at = nullptr;
    std::size_t size = 0;
  };

  // `free` stands in for close and munmap in tests.
  explicit Disposal(std::function<void(const Item&)> free = free_item);
  ~Disposal();  // what could not be freed for want of threads stays
  Disposal(const Disposal&) = delete;
  Disposal& operator=(const Disposal&) = delete;

  // Closes a memfd of that many bytes.
  void close(FileDescriptor memory, std::uint64_t bytes);
  void unmap(void* at, std::size_t size);

  // Starts the thread for what has to wait, if there could be none before.
  void retry();

  // Items that were left to the thread, so far.
  std::uint64_t handed() const noexcept { return handed_; }

  static void free_item(const Item& item);

 private:
  struct Shared;

  void dispose(const Item& item, std::uint64_t bytes);

  std::shared_ptr<Shared> shared_;
  std::uint64_t handed_ = 0;
};

}  // namespace hamlyn::internal_::base
