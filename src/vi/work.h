#pragma once
// A descriptor's work, as it was when it was posted: what the application writes into it later counts
// for nothing. And a queue of such work, whose descriptors come back in the order in which they were posted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/send.h"
#include "vi/regions.h"

namespace hamlyn::internal_::vi {

struct Work {
  enum class Phase : std::uint8_t {
    posted,     // nothing has left
    written,    // RDMA write: its data has left, and nobody was asked yet whether it has landed
    landing,    // RDMA write: that was asked
    landed,     // RDMA write with immediate: it has landed, and nobody was told yet
    under_way,  // all has left, and something is to come back
    finished,
  };

  Descriptor* descriptor = nullptr;
  MemoryHandle own = 0;  // of the memory that the descriptor lies in
  std::uint16_t control = 0;
  Phase phase = Phase::posted;
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;  // in, and when it is finished out
  std::uint32_t status = 0;  // errors from the beginning on; when it is finished all of it
  Segment remote;            // of RDMA
  std::vector<Segment> segments;
  std::uint32_t parts = 0;        // RDMA read: pieces that have not come
  std::uint32_t asked = 0;        // RDMA read: bytes that were asked for
  SendHandle handle;              // of what is under way
  std::vector<std::byte> buffer;  // several segments in one piece

  std::uint16_t operation() const noexcept { return control & kOperation; }
  bool has_immediate() const noexcept { return (control & kImmediate) != 0; }
};

inline constexpr std::size_t kKeptBuffer = 65536;  // of a place in a queue, from one work to the next

// Name of `operation` in a status.
constexpr std::uint32_t operation_status(std::uint16_t operation) noexcept {
  return operation == kRdmaWrite ? kOfWrite : operation == kRdmaRead ? kOfRead : kOfSend;
}

enum class Side : bool { send, receive };

// Copies the descriptor, which lies in registered memory, and checks it. What is wrong stands in `status`.
// False: the descriptor itself is not where it says, so that there is nowhere to say what is wrong.
template <class Area>
bool read_descriptor(const Regions<Area>& regions, Tag tag, std::uint64_t max_transfer, Side side,
                     Descriptor* descriptor, MemoryHandle handle, Work& work) {
  const auto at = reinterpret_cast<std::uintptr_t>(descriptor);
  constexpr std::uint32_t kHead = offsetof(Descriptor, segments);
  if (at % kDescriptorAlignment != 0) return false;
  const auto* const region = regions.covering({at, handle, kHead}, tag);
  if (region == nullptr) return false;
  Descriptor head;
  std::memcpy(static_cast<void*>(&head), descriptor, kHead);
  work.descriptor = descriptor;
  work.own = handle;
  work.control = head.control;
  work.immediate = head.immediate;
  work.status = 0;
  work.segments.clear();
  const bool rdma = work.operation() != 0;
  const std::uint16_t count = head.segment_count;
  const bool format = (head.control & ~(kOperation | kImmediate | kQueueFence)) == 0 &&
                      work.operation() != kOperation && count <= kMostSegments &&
                      !(rdma && (side == Side::receive || count == 0)) &&
                      !(work.operation() == kRdmaRead && work.has_immediate());
  if (!format) {
    work.status = kFormatError;
    return true;
  }
  if (!region->covers(at, kHead + count * std::uint32_t{sizeof(Segment)})) {
    work.status = kProtectionError;
    return true;
  }
  const std::byte* from = reinterpret_cast<const std::byte*>(descriptor) + kHead;
  std::uint64_t sum = 0;
  for (std::uint16_t i = 0; i != count; ++i, from += sizeof(Segment)) {
    Segment segment;
    std::memcpy(&segment, from, sizeof segment);
    if (rdma && i == 0) {
      work.remote = segment;
      continue;
    }
    if (segment.length == 0) continue;
    sum += segment.length;
    if (regions.covering(segment, tag) == nullptr) work.status |= kProtectionError;
    work.segments.push_back(segment);
  }
  // A receive's descriptor still has the length of what came last.
  if (sum > max_transfer || (side == Side::send && sum != head.length)) work.status |= kLengthError;
  work.length = static_cast<std::uint32_t>(sum);
  return true;
}

inline std::byte* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}
inline std::span<std::byte> bytes_of(const Segment& segment) noexcept {
  return {pointer(segment.address), segment.length};
}

// The work's data in one piece: where it lies, or copied together.
inline std::span<const std::byte> gathered(Work& work) {
  if (work.segments.empty()) return {};
  if (work.segments.size() == 1) return bytes_of(work.segments.front());
  work.buffer.clear();
  for (const Segment& each : work.segments) {
    const auto bytes = bytes_of(each);
    work.buffer.insert(work.buffer.end(), bytes.begin(), bytes.end());
  }
  return work.buffer;
}

// `length` bytes that have landed in the work's own buffer, to where they belong.
inline void scatter(const Work& work, std::size_t length) noexcept {
  const std::byte* from = work.buffer.data();
  for (const Segment& each : work.segments) {
    const std::size_t part = std::min<std::size_t>(length, each.length);
    std::memcpy(pointer(each.address), from, part);
    from += part;
    length -= part;
  }
}

class WorkQueue {
 public:
  using Notify = std::function<void(std::uint32_t vi, Descriptor*)>;

  // Numbers of work: from `completed` to `posted` it goes on; what is older is over.
  std::uint64_t completed() const noexcept { return completed_; }
  std::uint64_t posted() const noexcept { return posted_; }
  bool full() const noexcept { return posted_ - reaped_ == kMostDescriptors; }
  bool empty() const noexcept { return posted_ == reaped_; }
  bool has_completed() const noexcept { return reaped_ != completed_; }
  bool goes_on(std::uint64_t number) const noexcept {
    return number >= completed_ && number < posted_ && at(number).phase != Work::Phase::finished;
  }
  // Whether an RDMA read goes on that was posted before that work.
  bool reads_before(std::uint64_t number) const noexcept {
    for (std::uint64_t earlier = completed_; earlier != number; ++earlier)
      if (at(earlier).operation() == kRdmaRead && at(earlier).phase != Work::Phase::finished) return true;
    return false;
  }
  Work& at(std::uint64_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
  const Work& at(std::uint64_t number) const noexcept { return ring_[number & (ring_.size() - 1)]; }

  // The next place, for work that `post` adds. Throws std::bad_alloc.
  Work& next() {
    if (posted_ - reaped_ == ring_.size()) grow();
    Work& work = at(posted_);
    work.phase = Work::Phase::posted;
    work.parts = work.asked = 0;
    work.handle = {};
    return work;
  }
  std::uint64_t post() noexcept { return posted_++; }
  // Writes the descriptor back. False: the oldest that goes on is not finished.
  bool complete_next() noexcept {
    if (completed_ == posted_ || at(completed_).phase != Work::Phase::finished) return false;
    Work& work = at(completed_);
    if (work.buffer.capacity() > kKeptBuffer) work.buffer = {};
    Descriptor& out = *work.descriptor;
    out.length = work.length;
    if ((work.status & kHasImmediate) != 0) out.immediate = work.immediate;
    out.status = work.status | kDone;
    ++completed_;
    return true;
  }
  Completed take() noexcept {
    if (!has_completed()) return {empty() ? Result::descriptor_error : Result::not_done, nullptr};
    const Work& work = at(reaped_++);
    return {(work.status & kErrors) != 0 ? Result::descriptor_error : Result::success, work.descriptor};
  }

  Notify notify;  // called once, with the next that is completed

 private:
  void grow() {
    std::vector<Work> longer(ring_.size() * 2);
    for (std::uint64_t number = reaped_; number != posted_; ++number)
      longer[number & (longer.size() - 1)] = std::move(at(number));
    ring_ = std::move(longer);
  }

  std::vector<Work> ring_ = std::vector<Work>(16);  // a power of two, up to kMostDescriptors
  std::uint64_t reaped_ = 0;                        // from here to `completed_` it is to be taken
  std::uint64_t completed_ = 0, posted_ = 0;
};

}  // namespace hamlyn::internal_::vi
