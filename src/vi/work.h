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

// Data segments of a work; one, which is what most have, lies here.
class Segments {
 public:
  void clear() noexcept { count_ = 0; }
  // Throws std::bad_alloc.
  void add(const Segment& segment) {
    if (count_ == 0) [[likely]]
      one_ = segment;
    else
      add_more(segment);
    ++count_;
  }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  const Segment* begin() const noexcept { return count_ > 1 ? more_.data() : &one_; }
  const Segment* end() const noexcept { return begin() + count_; }

 private:
  __attribute__((noinline)) void add_more(const Segment& segment) {
    if (count_ == 1) more_.assign(1, one_);
    more_.push_back(segment);
  }

  std::size_t count_ = 0;
  Segment one_;
  std::vector<Segment> more_;  // all of them, if there is more than one
};

struct Work {
  enum class Phase : std::uint8_t {
    posted,     // nothing has left
    written,    // RDMA write: its data has left, and nobody was asked yet whether it has landed
    landing,    // RDMA write: that was asked
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
  Segments segments;
  std::uint32_t parts = 0;        // RDMA read: pieces that have not come
  std::uint32_t asked = 0;        // RDMA read: bytes that were asked for
  SendHandle handle;              // of what is under way
  std::vector<std::byte> buffer;  // several segments in one piece
  bool gathered = false;          // that is a send's, and they are there

  std::uint16_t operation() const noexcept { return control & kOperation; }
  bool has_immediate() const noexcept { return (control & kImmediate) != 0; }
};

inline constexpr std::size_t kKeptBuffer = 65536;  // of a place in a queue, from one work to the next

// Name of `operation` in a status.
constexpr std::uint32_t operation_status(std::uint16_t operation) noexcept {
  static_assert(kOfSend == 0 && kOfWrite == kRdmaWrite << 17 && kOfRead == kRdmaRead << 17);
  return std::uint32_t{operation} << 17;
}

enum class Side : bool { send, receive };

// A field of what the application may be writing to. By itself: a wide load would wait for the narrow stores
// of whoever has just written it.
template <class Type>
Type field(const Descriptor* descriptor, std::size_t offset) noexcept {
  Type out;
  std::memcpy(&out, reinterpret_cast<const std::byte*>(descriptor) + offset, sizeof out);
  return out;
}

// Whether the control word and the number of segments are those of an operation.
constexpr bool well_formed(std::uint16_t control, std::uint16_t count, Side side) noexcept {
  const unsigned operation = control & kOperation;
  return (control & ~(kOperation | kImmediate | kQueueFence)) == 0 && operation != kOperation &&
         count <= kMostSegments && !(operation != 0 && (side == Side::receive || count == 0)) &&
         !(operation == kRdmaRead && (control & kImmediate) != 0);
}

// Copies the descriptor, which lies in registered memory, and checks it. What is wrong stands in `status`.
// False: the descriptor itself is not where it says, so that there is nowhere to say what is wrong.
template <class Area>
__attribute__((always_inline)) inline bool read_descriptor(const Regions<Area>& regions, Tag tag,
                                                           std::uint64_t max_transfer, Side side,
                                                           Descriptor* descriptor, MemoryHandle handle,
                                                           Work& work) {
  const auto at = reinterpret_cast<std::uintptr_t>(descriptor);
  constexpr std::uint32_t kHead = offsetof(Descriptor, segments);
  if (at % kDescriptorAlignment != 0) return false;
  const auto* const region = regions.covering({at, handle, kHead}, tag);
  if (region == nullptr) return false;
  const auto count = field<std::uint16_t>(descriptor, offsetof(Descriptor, segment_count));
  work.descriptor = descriptor;
  work.own = handle;
  work.control = field<std::uint16_t>(descriptor, offsetof(Descriptor, control));
  work.immediate = field<std::uint32_t>(descriptor, offsetof(Descriptor, immediate));
  work.status = 0;
  work.segments.clear();
  if (!well_formed(work.control, count, side)) [[unlikely]] {
    work.status = kFormatError;
    return true;
  }
  if (!region->covers(at, kHead + count * std::uint32_t{sizeof(Segment)})) [[unlikely]] {
    work.status = kProtectionError;
    return true;
  }
  const std::byte* from = reinterpret_cast<const std::byte*>(descriptor) + kHead;
  const std::byte* const end = from + count * sizeof(Segment);
  if (work.operation() != 0) {
    std::memcpy(&work.remote, from, sizeof(Segment));
    from += sizeof(Segment);
  }
  std::uint64_t sum = 0;
  for (; from != end; from += sizeof(Segment)) {
    Segment segment;
    std::memcpy(&segment, from, sizeof segment);
    if (segment.length == 0) continue;
    sum += segment.length;
    // Most have data and descriptors in the same memory.
    const bool covered = segment.handle == handle ? region->covers(segment.address, segment.length)
                                                  : regions.covering(segment, tag) != nullptr;
    if (!covered) [[unlikely]]
      work.status |= kProtectionError;
    work.segments.add(segment);
  }
  // A receive's descriptor still has the length of what came last.
  const bool is_sum =
      side == Side::receive || sum == field<std::uint32_t>(descriptor, offsetof(Descriptor, length));
  if (sum > max_transfer || !is_sum) [[unlikely]]
    work.status |= kLengthError;
  work.length = static_cast<std::uint32_t>(sum);
  return true;
}

inline std::byte* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}
inline std::span<std::byte> bytes_of(const Segment& segment) noexcept {
  return {pointer(segment.address), segment.length};
}

// Reads a descriptor with one segment, which lies in the same memory, of an operation that is no RDMA. False:
// it is another, or something is wrong about it.
template <class Area>
__attribute__((always_inline)) inline bool read_plain(const Regions<Area>& regions, Tag tag,
                                                      std::uint64_t max_transfer,
                                                      const Descriptor* descriptor, MemoryHandle handle,
                                                      std::uint16_t& control, Segment& out) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(descriptor);
  if (at % kDescriptorAlignment != 0) return false;
  const auto* const region =
      regions.covering({at, handle, offsetof(Descriptor, segments) + sizeof(Segment)}, tag);
  if (region == nullptr) return false;
  std::memcpy(&out, &descriptor->segments[0], sizeof out);
  control = field<std::uint16_t>(descriptor, offsetof(Descriptor, control));
  return field<std::uint16_t>(descriptor, offsetof(Descriptor, segment_count)) == 1 &&
         (control & ~kImmediate) == 0 && out.handle == handle && out.length != 0 &&
         out.length <= max_transfer && region->covers(out.address, out.length);
}

// A descriptor of a send, or of an RDMA write with immediate data, with one segment of data in the same
// memory, and nothing wrong about it.
struct PlainSend {
  std::span<const std::byte> data;
  std::uint32_t immediate = 0;
  bool has_immediate = false;
  bool writes = false;
  Segment remote;  // if it writes
};
template <class Area>
__attribute__((always_inline)) inline bool read_plain_send(const Regions<Area>& regions, Tag tag,
                                                           std::uint64_t max_transfer,
                                                           const Descriptor* descriptor, MemoryHandle handle,
                                                           PlainSend& out) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(descriptor);
  if (at % kDescriptorAlignment != 0) return false;
  constexpr std::uint32_t kOne = offsetof(Descriptor, segments) + sizeof(Segment);
  const auto* const region = regions.covering({at, handle, kOne}, tag);
  if (region == nullptr) return false;
  const auto control = field<std::uint16_t>(descriptor, offsetof(Descriptor, control));
  out.writes = control == (kRdmaWrite | kImmediate);
  if (out.writes) {
    if (!region->covers(at, kOne + sizeof(Segment))) return false;
    std::memcpy(&out.remote, &descriptor->segments[0], sizeof out.remote);
  } else if ((control & ~kImmediate) != 0) {
    return false;
  }
  Segment segment;
  std::memcpy(&segment, &descriptor->segments[out.writes ? 1 : 0], sizeof segment);
  out.data = bytes_of(segment);
  out.has_immediate = (control & kImmediate) != 0;
  if (out.has_immediate) out.immediate = field<std::uint32_t>(descriptor, offsetof(Descriptor, immediate));
  return field<std::uint16_t>(descriptor, offsetof(Descriptor, segment_count)) == (out.writes ? 2 : 1) &&
         segment.handle == handle && segment.length != 0 && segment.length <= max_transfer &&
         region->covers(segment.address, segment.length) &&
         segment.length == field<std::uint32_t>(descriptor, offsetof(Descriptor, length));
}

// The work's data in one piece: where it lies, or copied together, once.
inline std::span<const std::byte> gathered(Work& work) {
  if (work.segments.empty()) return {};
  if (work.segments.size() == 1) return bytes_of(*work.segments.begin());
  if (work.gathered) return work.buffer;
  work.buffer.clear();
  for (const Segment& each : work.segments) {
    const auto bytes = bytes_of(each);
    work.buffer.insert(work.buffer.end(), bytes.begin(), bytes.end());
  }
  work.gathered = true;
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
  Work& at(std::uint64_t number) noexcept { return ring_[number & mask_]; }
  const Work& at(std::uint64_t number) const noexcept { return ring_[number & mask_]; }

  // Throws std::bad_alloc.
  void make_room() {
    if (posted_ - reaped_ > mask_) [[unlikely]]
      grow();
  }
  // The next place, for work that `post` adds. Throws std::bad_alloc.
  Work& next() {
    make_room();
    Work& work = at(posted_);
    work.phase = Work::Phase::posted;
    work.parts = work.asked = 0;
    work.gathered = false;
    work.handle = {};
    return work;
  }
  std::uint64_t post() noexcept { return posted_++; }
  // Whether that work is the next to be completed, and the next to be taken then.
  bool is_next(std::uint64_t number) const noexcept {
    return number == completed_ && completed_ == reaped_ && completed_ != posted_ &&
           at(number).phase != Work::Phase::finished;
  }
  // Nothing goes on.
  bool rests() const noexcept { return completed_ == posted_; }
  // Writes the descriptor of a work that `is_next` back, and gives it to the caller.
  Descriptor* complete_and_take(std::uint32_t status, std::uint32_t length,
                                std::uint32_t immediate) noexcept {
    Descriptor& out = *at(completed_).descriptor;
    out.length = length;
    if ((status & kHasImmediate) != 0) out.immediate = immediate;
    out.status = status | kDone;
    reaped_ = ++completed_;
    return &out;
  }
  // While nothing goes on: adds work that is over already, where `make_room` has made it.
  void add_finished(Descriptor* descriptor, std::uint32_t status) noexcept {
    Work& work = at(posted_);
    work.descriptor = descriptor;
    work.status = status;
    work.phase = Work::Phase::finished;
    descriptor->status = status | kDone;
    completed_ = ++posted_;
  }
  // Writes the descriptor back. False: the oldest that goes on is not finished.
  bool complete_next() noexcept {
    if (completed_ == posted_) return false;
    Work& work = at(completed_);
    if (work.phase != Work::Phase::finished) return false;
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
  __attribute__((noinline)) void grow() {
    std::vector<Work> longer(ring_.size() * 2);
    for (std::uint64_t number = reaped_; number != posted_; ++number)
      longer[number & (longer.size() - 1)] = std::move(at(number));
    ring_ = std::move(longer);
    mask_ = ring_.size() - 1;
  }

  std::vector<Work> ring_ = std::vector<Work>(16);  // a power of two, up to kMostDescriptors
  std::uint64_t mask_ = 15;
  std::uint64_t reaped_ = 0;  // from here to `completed_` it is to be taken
  std::uint64_t completed_ = 0, posted_ = 0;
};

}  // namespace hamlyn::internal_::vi
