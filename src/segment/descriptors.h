#pragma once
// The two descriptors of an exported segment (paper 4, section 4.2.5). They are ends of socket pairs that
// keep records apart, so that everything that works on descriptors works on them, and what stands in them
// outlives the exporter. A thread moves what comes; while a reader is slow, records stay in the notification
// queue, whose places bound them, and writes that wait stay where they wait.
//
// A forked child has the ends that are read, and not those that are written to: so heirs find the end of the
// file where the exporter has died.
#include <atomic>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"
#include "hamlyn/segment.h"
#include "library/setting.h"

namespace hamlyn::segment {

// A descriptor that forked children do not have.
class NotInherited {
 public:
  explicit NotInherited(base::FileDescriptor descriptor);
  ~NotInherited();
  NotInherited(const NotInherited&) = delete;
  NotInherited& operator=(const NotInherited&) = delete;
  int get() const noexcept { return descriptor_.get(); }

 private:
  base::FileDescriptor descriptor_;
};

class Descriptors {
 public:
  // Throws Error.
  Descriptors(Segment& segment, NotificationQueue& queue);
  ~Descriptors();
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  int control() const noexcept { return control_.read.get(); }
  // From here on, writes that wait come by it.
  int data() noexcept;

 private:
  struct Pair {
    base::FileDescriptor read;  // by users
    NotInherited write;
  };

  static Pair make();
  void run() noexcept;
  void move_held() noexcept;
  bool send(const Pair& to, std::span<const std::byte> bytes) noexcept;
  bool wait(int descriptor, short events) noexcept;
  bool await_memory(int error) noexcept;

  Segment& segment_;
  const int arrivals_;
  const Pair control_;
  const Pair data_;
  base::FileDescriptor stop_;
  std::atomic<bool> data_wanted_{false};  // data() to move_held, by the eventfd of arrivals
  std::vector<std::byte> held_;
  std::size_t held_bytes_ = 0;  // of one that was taken, and found no room yet
  std::unique_ptr<library::Task> task_;
};

}  // namespace hamlyn::segment
