#pragma once
// A durable area's own thread: it writes to the file what has landed and is to be acknowledged. Each area has
// one, so that a slow disk holds up what is to be acknowledged by it, neither the interface, which never
// touches the file, nor another area's disk.
//
// The file is written and not mapped: a store into a mapped file may wait for the disk, or end the process by
// a signal when somebody has cut the file short.
#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <span>
#include <vector>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "hamlyn/values/status.h"
#include "interface/durable/store.h"
#include "library/engine.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

class DurableArea final : public interface::Store {
 public:
  DurableArea(Engine& engine, std::span<std::byte> memory, base::FileDescriptor file);
  // When what has landed is in the file, or that has failed. There is nothing of the kind in a forked child.
  ~DurableArea();
  DurableArea(const DurableArea&) = delete;
  DurableArea& operator=(const DurableArea&) = delete;

  // Under the run lock, from the data path.
  void wake() noexcept;
  // Waits until those bytes, as they are now, are in the file: ok, not_durable, timed_out, cancelled.
  Status sync(interface::StoredRange range, Deadline deadline);

 private:
  void take(int file) noexcept;
  void main() noexcept;
  bool round() noexcept;

  Engine& engine_;
  const std::span<std::byte> memory_;
  base::FileDescriptor file_;                   // of the thread's own table: the program closes none of it
  std::binary_semaphore taken_{0};              // the thread has it, or could not take it
  std::vector<interface::StoredRange> ranges_;  // of this round: of messages
  std::vector<interface::StoredRange> own_ranges_;  // and by sync
  std::atomic<std::uint32_t> word_{0};              // moves when the thread should look: wake to main
  std::atomic<bool> stop_{false};                   // the destructor to main, before it moves word_

  // Under the run lock, as `failed` is.
  std::vector<interface::StoredRange> asked_;  // by sync
  std::uint64_t last_asked_ = 0;               // calls of sync are numbered from 1 on
  std::uint64_t last_over_ = 0;

  std::unique_ptr<Task> task_;
};

}  // namespace hamlyn::internal_::library
