#pragma once
// Parts of services that keep their state in segments (paper 4, sections 7.2.1 and 7.2.3): records and
// tokens.
// A reader takes a record whole or not at all, while anybody writes it, from this host or another. Clerks and
// servers trust each other: a record that was made to deceive deceives.
//
// Threads: any; a record has one writer at a time.
// Owner: its maker; the segment or the import outlives it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hamlyn/segment/segment.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::segment {
// Copy a record word by word, in any order: to memory that others read meanwhile, and from memory that
// somebody writes. Both addresses and the length are multiples of 8.
void write_record(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
void read_record(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
// Check of a record: XXH3 of 64 bits over its value, with its version as the seed. Against accidents.
std::uint64_t check_of(std::uint64_t version, const void* value, std::size_t bytes) noexcept;
}  // namespace internal_::segment

// A value in a segment, between its version and a check over both: whichever words of it a reader has of
// which moment, it knows. `Value` is Plain, its size a multiple of 8.
template <Plain Value>
struct Versioned {
  static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);

  std::uint64_t version = 0;  // 0: never written
  Value value{};
  std::uint64_t check = 0;

  static Versioned of(const Value& value, std::uint64_t version) noexcept {
    Versioned made{version, value, 0};
    made.check = made.sum();
    return made;
  }
  // False: it is being written, or never was.
  bool whole() const noexcept { return version != 0 && check == sum(); }

 private:
  std::uint64_t sum() const noexcept { return internal_::segment::check_of(version, &value, sizeof value); }
};

// One record of a segment of one's own, which lies at `offset`, a multiple of 8.
template <Plain Value>
class OwnVersioned {
 public:
  // Goes on from the version that stands there. Throws Error(invalid_argument): no such place.
  OwnVersioned(Segment& segment, std::size_t offset) {
    version_ =
        segment.at<std::uint64_t>(offset).load(std::memory_order_relaxed);  // it may go on from another
    segment.at<std::uint64_t>(offset + sizeof(Versioned<Value>) - sizeof(std::uint64_t));
    at_ = segment.bytes().data() + offset;
  }
  // Its stores pair with the loads of `read`, here or far away, which the checksum tells whether all were of
  // one write: who finds it whole finds what its writer did before.
  void write(const Value& value) {
    const auto record = Versioned<Value>::of(value, ++version_);
    internal_::segment::write_record(at_, reinterpret_cast<const std::byte*>(&record), sizeof record);
  }
  // Reads the value, whoever wrote it. ok; not_ready: a writer is at it, or it never was written.
  Status read(Value& out, std::uint64_t* version = nullptr) const {
    Versioned<Value> record;
    internal_::segment::read_record(reinterpret_cast<std::byte*>(&record), at_, sizeof record);
    if (!record.whole()) return Status::not_ready;
    out = record.value;
    if (version != nullptr) *version = record.version;
    return Status::ok;
  }

 private:
  std::byte* at_ = nullptr;
  std::uint64_t version_ = 0;
};

// Reads and writes a record in a segment of another process.
template <Plain Value>
class FarVersioned {
 public:
  // The record at `offset`, a multiple of 8. Looks at nothing yet.
  FarVersioned(Import& import, std::size_t offset) noexcept : import_(import), offset_(offset) {}

  // Reads it, again and again while it is being written. ok; not_ready: it never was; or as Import::read.
  Status read(Value& out, std::chrono::nanoseconds timeout, std::uint64_t* version = nullptr) noexcept {
    Versioned<Value> record;
    const Status status =
        import_.read_until(offset_, std::as_writable_bytes(std::span(&record, 1)), enough, timeout);
    if (status != Status::ok) return status;
    if (!record.whole()) return Status::not_ready;
    out = record.value;
    if (version != nullptr) *version = record.version;
    return Status::ok;
  }
  // Pushes a value there (paper 4, section 7.2.1: eagerly), as its one writer. The first one reads which
  // version there is, and goes on from it (from 0 where the import is for writing alone). A further one waits
  // until the one before has landed: it hears what has become of that. As Import::write and flush; with
  // `notify` the other side is told.
  Status write(const Value& value, std::chrono::nanoseconds timeout, bool notify = false) noexcept {
    if (!begun_) {
      const Status status = import_.load(offset_, version_, timeout);
      if (status != Status::ok && status != Status::refused) return status;
      begun_ = true;
    }
    if (on_its_way_) {
      const Status status = import_.flush(timeout);
      if (status != Status::ok) return status;
    }
    const auto record = Versioned<Value>::of(value, version_ + 1);
    const Status status =
        import_.write(offset_, std::as_bytes(std::span(&record, 1)), timeout, {.notify = notify});
    if (status == Status::ok) ++version_;
    on_its_way_ = true;
    return status;
  }

 private:
  static bool enough(std::span<const std::byte> data) noexcept {
    const auto& record = *reinterpret_cast<const Versioned<Value>*>(data.data());
    return record.whole() || (record.version == 0 && record.check == 0);
  }

  Import& import_;
  const std::size_t offset_;
  bool begun_ = false, on_its_way_ = false;
  std::uint64_t version_ = 0;
};

// A token that one of many holds, by compare-and-swap on a word (paper 4, section 7.2.3). It is not taken
// back from a holder that dies: who suspects that (FailureDetector) swaps it out of its hand with `pass`.
class Token {
 public:
  // `holder`: who we are, not 0. The word, at a multiple of 8, is 0 at first.
  Token(Import& import, std::size_t offset, std::uint64_t holder) noexcept
      : import_(import), offset_(offset), holder_(holder) {}

  // ok; not_ready: somebody else has it, `whose` says who; or as Import::fetch. After link_ended it may be
  // ours: to take it again, by another import, tells, for then it is not_ready, and `whose` is our own. After
  // timed_out and cancelled it may also become ours later, until the link ends.
  Status take(std::chrono::nanoseconds timeout, std::uint64_t* whose = nullptr) noexcept {
    return pass(0, holder_, timeout, whose);
  }
  // invalid: it was not ours.
  Status give_back(std::chrono::nanoseconds timeout) noexcept {
    const Status status = pass(holder_, 0, timeout, nullptr);
    return status == Status::not_ready ? Status::invalid : status;
  }
  // From one hand to another, 0 for nobody's. As `take`.
  Status pass(std::uint64_t from, std::uint64_t to, std::chrono::nanoseconds timeout,
              std::uint64_t* whose) noexcept {
    const Outcome outcome = import_.compare_and_swap(offset_, from, to, timeout);
    if (outcome.status != Status::ok) return outcome.status;
    if (whose != nullptr) *whose = outcome.value == from ? to : outcome.value;
    return outcome.value == from ? Status::ok : Status::not_ready;
  }

 private:
  Import& import_;
  const std::size_t offset_;
  const std::uint64_t holder_;
};

}  // namespace hamlyn
