#pragma once
// The two descriptors of an exported segment (paper 4, section 4.2.5). They are ends of socket pairs that
// keep records apart, so that everything that works on descriptors works on them, and what stands in them
// outlives the exporter. A thread moves what comes; while a reader is slow, records stay in the notification
// queue, whose places bound them, and writes that wait stay where they wait.
//
// The process, and so a forked child, has the ends that are read. Those that are written to are in the
// thread's own table alone: so heirs find the end of the file where the exporter has died, and no program
// closes them.
#include <atomic>
#include <memory>
#include <semaphore>
#include <vector>

#include "base/file_descriptor.h"
#include "base/marked_descriptor.h"
#include "base/namespaces.h"
#include "hamlyn/segment/segment.h"
#include "library/setting.h"
#include "library/wait/wake_event.h"

namespace hamlyn::internal_::segment {

class Descriptors {
 public:
  // Throws Error.
  Descriptors(Segment& segment, NotificationQueue& queue);
  ~Descriptors();
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  int control() const noexcept { return control_read_.get(); }
  // From here on, writes that wait come by it.
  int data() noexcept;

 private:
  void take(int control, int data) noexcept;
  void run() noexcept;
  void move_held() noexcept;
  bool send(const base::FileDescriptor& to, std::span<const std::byte> bytes) noexcept;
  bool wait(int descriptor, short events) noexcept;
  bool await_memory(int error) noexcept;

  Segment& segment_;
  const int arrivals_;
  base::MarkedDescriptor control_read_, data_read_;  // by users
  base::FileDescriptor control_, data_;              // the thread's, to write to
  library::WakeEvent wake_event_;                    // data() and the destructor to the thread
  std::binary_semaphore taken_{0};                   // the thread has its descriptors, or could not take them
  bool has_ends_ = false;                            // by the thread, before taken_
  std::atomic<bool> stop_{false};                    // the destructor to wait, before it rings
  std::atomic<bool> data_wanted_{false};             // data() to move_held, before it rings
  std::vector<std::byte> held_;
  std::size_t held_bytes_ = 0;  // of one that was taken, and found no room yet
  std::unique_ptr<library::Task> task_;
};

}  // namespace hamlyn::internal_::segment
