#pragma once
// Cache areas (paper 4, sections 7.2.1, 7.2.3 and 7.4.1; paper 3, section 5): what a clerk or a server keeps
// of its service's state, laid out in a segment so that the other side finds things there without its help,
// and pushes them there before they are asked for. A hash table of buckets of four records, each a Versioned
// one, which tells a torn or changing record from a whole one; all sides have the same hash. What is looked
// for stands in its bucket or not at all, so one read finds it, or finds that it is missing: then ask whoever
// knows, with control. There are no pointers and no chains in it, and nothing to follow.
//
// It is a cache: what is put into a full bucket takes the place of what was put there first. A place to which
// a hint leads is read alone, which is a quarter of the bytes. Long records of a process of this host are
// found by the keys of their bucket, which are read first: that takes less time than four records.
//
// Clerks and servers trust each other (see hamlyn/segment/versioned.h): a bucket that was made to deceive
// deceives, but whatever stands in it, a call ends in its time. Keys that clients choose can be chosen to
// push each other out, unless all sides have a `salt` that no client knows. Threads: any; an area has one
// writer at a time, its owner or another. Owner: whoever made the segment, or the import, keeps it for
// longer.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hamlyn/segment/segment.h"
#include "hamlyn/segment/versioned.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// Where something was seen: a value to keep, and to give to others. What is found by one proves itself, so it
// may be old, of another area, or any number: then it costs a read, and is put right.
struct Hint {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // leads nowhere
  std::uint64_t place = kNone;  // of the record, in bytes from the segment's begin
};

// How an area lies in its segment: the same numbers at all sides. `Key` and `Value` are Plain, their
// sizes multiples of 8; equal keys have equal bytes.
template <Plain Key, Plain Value>
class CacheShape {
 public:
  // Contents of a record.
  struct Entry {
    std::uint64_t turn = 0;  // by which those of a bucket were put there; 0: nothing
    Key key{};               // under which it is found
    Value value{};           // what was put there
  };
  using Record = Versioned<Entry>;                               // one place of the area
  static constexpr std::size_t kWays = 4;                        // records of a bucket
  static constexpr std::uint64_t kLastTurn = ~std::uint64_t{0};  // that an entry can have
  // One read brings a bucket: all places where a key may stand.
  using Bucket = std::array<Record, kWays>;
  // Bytes before the value of a record. They prove nothing: the record may be torn, or change.
  struct Head {
    std::uint64_t version = 0;  // of the record
    std::uint64_t turn = 0;     // as of an entry
    Key key{};                  // under which the record is found, it seems
  };
  using Heads = std::array<Head, kWays>;  // those of a bucket
  static_assert(std::has_unique_object_representations_v<Key>);
  static_assert(sizeof(Entry) == sizeof(std::uint64_t) + sizeof(Key) + sizeof(Value));
  static_assert(sizeof(Head) == 2 * sizeof(std::uint64_t) + sizeof(Key));
  // From so many bytes on two reads, of the heads and of one record, take less time than one of all.
  static constexpr bool kLong = sizeof(Record) >= 1024;

  // Bytes of an area with so many buckets.
  static constexpr std::size_t bytes(std::size_t buckets) noexcept { return buckets * sizeof(Bucket); }

  // `buckets`: at least 1. It lies from `offset`, a multiple of 8, on.
  constexpr CacheShape(std::size_t offset, std::size_t buckets, std::uint64_t salt = 0) noexcept
      : offset_(offset), buckets_(buckets), salt_(salt) {}

  // Whether it is an area, and lies inside of a segment of `size` bytes.
  bool fits(std::size_t size) const noexcept {
    return buckets_ != 0 && offset_ % sizeof(std::uint64_t) == 0 && offset_ <= size &&
           buckets_ <= (size - offset_) / sizeof(Bucket);
  }
  // Bucket where `key` stands, or is not.
  std::size_t home(const Key& key) const noexcept {
    return offset_ + Versioned<Key>::of(key, salt_).check % buckets_ * sizeof(Bucket);
  }
  // Whether it leads to a record of the area.
  bool has(const Hint& hint) const noexcept {
    return hint.place >= offset_ && hint.place - offset_ < bytes(buckets_) &&
           (hint.place - offset_) % sizeof(Record) == 0;
  }
  // Whether it is whole and that key's.
  static bool is(const Record& record, const Key& key) noexcept {
    return record.value.turn != 0 && std::memcmp(&record.value.key, &key, sizeof key) == 0 && record.whole();
  }
  // Which record is that key's, the newest one; kWays: none is.
  static std::size_t find(const Bucket& bucket, const Key& key) noexcept {
    std::size_t out = kWays;
    for (std::size_t way = 0; way != kWays; ++way) {
      const bool newer = out == kWays || bucket[way].value.turn > bucket[out].value.turn;
      if (newer && is(bucket[way], key)) out = way;
    }
    return out;
  }
  // Finds which record seems to be that key's, the newest one; kWays: none does.
  static std::size_t find(const Heads& heads, const Key& key) noexcept {
    std::size_t out = kWays;
    for (std::size_t way = 0; way != kWays; ++way) {
      const bool newer = out == kWays || heads[way].turn > heads[out].turn;
      if (newer && heads[way].turn != 0 && std::memcmp(&heads[way].key, &key, sizeof key) == 0) out = way;
    }
    return out;
  }
  // No record is being written. One that never was is none.
  static bool settled(const Bucket& bucket) noexcept {
    for (const Record& record : bucket)
      if (!record.whole() && (record.version != 0 || record.check != 0)) return false;
    return true;
  }
  // Gives the turn to write, and where: in the key's own place, else in the oldest one. A torn record is
  // nobody's. The last turn of all, which only a record that somebody made up has, is given again: the next
  // one is 0, and hidden.
  static std::size_t place_for(const Bucket& bucket, const Key& key, std::uint64_t& turn) noexcept {
    std::size_t oldest = 0;
    turn = 1;
    for (std::size_t way = 0; way != kWays; ++way) {
      if (turn_of(bucket[way]) < turn_of(bucket[oldest])) oldest = way;
      const std::uint64_t last = turn_of(bucket[way]);
      if (last >= turn) turn = last == kLastTurn ? last : last + 1;
    }
    const std::size_t own = find(bucket, key);
    return own != kWays ? own : oldest;
  }

 private:
  static std::uint64_t turn_of(const Record& record) noexcept {
    return record.whole() ? record.value.turn : 0;
  }

  std::size_t offset_, buckets_;
  std::uint64_t salt_;
};

// In a segment of one's own.
template <Plain Key, Plain Value>
class OwnCacheArea {
 public:
  using Shape = CacheShape<Key, Value>;  // how it lies

  // Goes on from what is there; zeros are an empty one. Throws Error(invalid_argument): it is not inside of
  // the segment.
  OwnCacheArea(Segment& segment, const Shape& shape) : segment_(segment), shape_(shape) {
    if (!shape.fits(segment.bytes().size()))
      throw Error(ErrorCode::invalid_argument, "a cache area has a bucket, and lies inside of its segment");
  }

  // Puts it there, or in the place of what stands there under that key.
  void put(const Key& key, const Value& value) {
    std::uint64_t turn = 0;
    const std::size_t way = Shape::place_for(bucket(key), key, turn);
    Own(segment_, place(key, way)).write({turn, key, value});
  }
  // False: it was not there.
  bool remove(const Key& key) {
    const std::size_t way = Shape::find(bucket(key), key);
    if (way == Shape::kWays) return false;
    Own(segment_, place(key, way)).write({});
    return true;
  }
  // ok; not_ready: it is missing, or being written by another.
  Status find(const Key& key, Value& out) const {
    const auto there = bucket(key);
    const std::size_t way = Shape::find(there, key);
    if (way == Shape::kWays) return Status::not_ready;
    out = there[way].value.value;
    return Status::ok;
  }

 private:
  using Own = OwnVersioned<typename Shape::Entry>;

  std::size_t place(const Key& key, std::size_t way) const {
    return shape_.home(key) + way * sizeof(typename Shape::Record);
  }
  typename Shape::Bucket bucket(const Key& key) const {
    typename Shape::Bucket out;
    for (std::size_t way = 0; way != Shape::kWays; ++way) {
      typename Shape::Entry entry;
      std::uint64_t version = 0;
      if (Own(segment_, place(key, way)).read(entry, &version) == Status::ok)
        out[way] = Shape::Record::of(entry, version);
    }
    return out;
  }

  Segment& segment_;
  const Shape shape_;
};

// In a segment of somebody else's.
template <Plain Key, Plain Value>
class FarCacheArea {
 public:
  using Shape = CacheShape<Key, Value>;  // how it lies

  // Uses the segment that `import` leads to; all sides have agreed on `shape`.
  FarCacheArea(Import& import, const Shape& shape) noexcept : import_(import), shape_(shape) {}

  // One read, or two of a long record on this host; one more, if there is a hint and it is wrong; up to
  // eight more, while a record of its bucket is being written or it is missing. ok, and `hint` leads to it;
  // not_ready: it is missing, or is written without end, and `hint` leads nowhere; or as Import::read, also
  // out_of_bounds: the segment is shorter than the area. `timeout` is for each read.
  Status read(const Key& key, Value& out, std::chrono::nanoseconds timeout, Hint* hint = nullptr) noexcept {
    if (!shape_.fits(import_.size())) return Status::out_of_bounds;
    if (hint != nullptr && shape_.has(*hint)) {
      const Status status = read_at(hint->place, key, out, timeout);
      if (status != Status::not_ready) return status;
    }
    if (hint != nullptr) *hint = {};
    if (Shape::kLong && import_.is_near()) {
      Hint found;
      const Status status = find(key, found, timeout);
      if (status != Status::ok) return status;
      const Status there = shape_.has(found) ? read_at(found.place, key, out, timeout) : Status::not_ready;
      if (there == Status::ok && hint != nullptr) *hint = found;
      if (there != Status::not_ready) return there;
    }
    typename Shape::Bucket bucket;
    for (int left = kMostReads; left != 0; --left) {
      const Status status = load(key, bucket, timeout);
      if (status != Status::ok) return status;
      const std::size_t way = Shape::find(bucket, key);
      if (way == Shape::kWays && !Shape::settled(bucket)) continue;
      if (way == Shape::kWays) break;
      out = bucket[way].value.value;
      if (hint != nullptr) hint->place = shape_.home(key) + way * sizeof(typename Shape::Record);
      return Status::ok;
    }
    return Status::not_ready;
  }
  // Pushes it there before it is asked for (paper 4, section 7.2.1): a read of the bucket, a write, and what
  // has become of it, for the next one must not overtake it. With `notify` the other side is told. ok: it has
  // landed; or as Import::read, write and flush. `timeout` is for each.
  Status push(const Key& key, const Value& value, std::chrono::nanoseconds timeout,
              bool notify = false) noexcept {
    if (!shape_.fits(import_.size())) return Status::out_of_bounds;
    typename Shape::Bucket bucket;
    const Status status = load(key, bucket, timeout);
    if (status != Status::ok) return status;
    std::uint64_t turn = 0;
    const std::size_t way = Shape::place_for(bucket, key, turn);
    return write(shape_.home(key), bucket, way, {turn, key, value}, timeout, notify);
  }
  // Takes `key` out. not_ready: it was not there.
  Status remove(const Key& key, std::chrono::nanoseconds timeout) noexcept {
    if (!shape_.fits(import_.size())) return Status::out_of_bounds;
    typename Shape::Bucket bucket;
    const Status status = load(key, bucket, timeout);
    if (status != Status::ok) return status;
    const std::size_t way = Shape::find(bucket, key);
    return way == Shape::kWays ? Status::not_ready : write(shape_.home(key), bucket, way, {}, timeout, false);
  }

 private:
  static constexpr int kMostReads = 8;  // as of a bucket of a registry of names

  // ok; not_ready: no whole record of that key stands there.
  Status read_at(std::size_t place, const Key& key, Value& out, std::chrono::nanoseconds timeout) noexcept {
    typename Shape::Record record;
    const Status status = import_.read(place, std::as_writable_bytes(std::span(&record, 1)), timeout);
    if (status != Status::ok) return status;
    if (!Shape::is(record, key)) return Status::not_ready;
    out = record.value.value;
    return Status::ok;
  }
  // Looks for `key` among the heads of its bucket.
  Status find(const Key& key, Hint& found, std::chrono::nanoseconds timeout) noexcept {
    typename Shape::Heads heads;
    const Strides each{
        .chunk = sizeof heads[0], .x_chunks = Shape::kWays, .x_stride = sizeof(typename Shape::Record)};
    const std::size_t home = shape_.home(key);
    const Status status =
        import_.read(home, std::as_writable_bytes(std::span(heads)), timeout, {.strides = &each});
    const std::size_t way = Shape::find(heads, key);
    if (way != Shape::kWays) found.place = home + way * sizeof(typename Shape::Record);
    return status;
  }
  Status load(const Key& key, typename Shape::Bucket& bucket, std::chrono::nanoseconds timeout) noexcept {
    return import_.read(shape_.home(key), std::as_writable_bytes(std::span(bucket)), timeout);
  }
  Status write(std::size_t home, const typename Shape::Bucket& bucket, std::size_t way,
               const typename Shape::Entry& entry, std::chrono::nanoseconds timeout, bool notify) noexcept {
    std::uint64_t version = bucket[way].version + 1;
    if (version == 0) ++version;  // which is of one that never was written
    const auto record = Shape::Record::of(entry, version);
    return import_.write_flushed(home + way * sizeof record, std::as_bytes(std::span(&record, 1)), timeout,
                                 {.notify = notify});
  }

  Import& import_;
  const Shape shape_;
};

}  // namespace hamlyn
