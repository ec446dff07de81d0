#pragma once
// The two descriptors of an exported segment (paper 4, section 4.2.5). They are ends of socket pairs that
// keep records apart, so that everything that works on descriptors works on them, and what stands in them
// outlives the exporter. A thread moves what comes; while a reader is slow, records stay in the notification
// queue, whose places bound them, and writes that wait stay where they wait.
//
// The thread has the ends that are written to in a descriptor table of its own: so no forked child inherits
// them, and heirs of the others find an end where the exporter has died. What it may not do there is to run
// the interface, which would look for descriptors of other queues.
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "hamlyn/segment.h"

namespace hamlyn::segment {

class Descriptors {
 public:
  // Throws Error.
  Descriptors(Segment& segment, NotificationQueue& queue);
  ~Descriptors();
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  int control() const noexcept { return control_.read.get(); }
  int data() const noexcept { return data_.read.get(); }

 private:
  struct Pair {
    base::FileDescriptor read;  // by users
    int write = -1;             // in the thread's table
  };

  void run() noexcept;
  std::optional<SegmentRecord> next() noexcept;
  bool move_record(const SegmentRecord& record) noexcept;
  bool move_held() noexcept;
  bool send(const Pair& to, std::span<const std::byte> bytes) noexcept;
  bool wait(int descriptor, short events) noexcept;

  Segment& segment_;
  NotificationQueue& queue_;
  const int arrivals_;
  Pair control_;
  Pair data_;
  base::FileDescriptor stop_;
  std::vector<std::byte> held_;
  std::thread thread_;
};

}  // namespace hamlyn::segment
