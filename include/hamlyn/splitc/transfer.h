#pragma once
// Split-phase transfers, and whole arrays at a time. A get or a put has been begun when its call returns, and
// is over after `sync`. Nobody acknowledges a store: its target waits for it.
//
// Threads: that of the Program. Owner: who made it; what is read or written stays the caller's.
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/splitc/program.h"
#include "hamlyn/values/put.h"

namespace hamlyn::splitc {

class Batch;

}  // namespace hamlyn::splitc

namespace hamlyn::internal_::splitc {

using hamlyn::splitc::Batch;
using Source = std::span<const std::byte>;
using Room = std::span<std::byte>;
void get(std::uint64_t word, Room into, const Strides* strides, Batch* batch);
void put(std::uint64_t word, Source from, Batch* batch);
void bulk_put(std::uint64_t word, Source from, const Strides* strides, Batch* batch);
void bulk_read(std::uint64_t word, Room into, const Strides* strides);
void bulk_write(std::uint64_t word, Source from, const Strides* strides);
void bulk_store(std::uint64_t word, Source from, const Strides* strides, std::uint64_t counter);

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Gets and puts that are waited for together. Those without one are of the whole rank.
class Batch {
 public:
  Batch() noexcept = default;
  ~Batch();  // waits; says nothing of what went wrong
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Says whether all of it is over, without a wait (is_sync). Throws Error: peer_died.
  bool done();
  // Waits until it is. Throws Error: peer_died.
  void sync();

 private:
  friend class internal_::splitc::Runtime;
  std::uint32_t gets_ = 0;  // under way
  bool puts_ = false;       // there are some that may not have landed
};

// Waits until all gets and puts of this rank are over, those of batches too. <unistd.h> has another `sync`: a
// file that includes that says `using hamlyn::splitc::sync;` or `splitc::sync()`.
void sync();
// Says whether they are, without a wait.
bool all_done();

// Reads into `into`, which is in use until it is over (`:=` of the language).
template <Plain T>
void get(T& into, global_ptr<T> from, Batch* batch = nullptr) {
  if (const std::byte* const at = internal_::splitc::reach_to_read(from.word(), sizeof(T)); at != nullptr)
    internal_::splitc::load<sizeof(T)>(&into, at);
  else
    internal_::splitc::get(from.word(), std::as_writable_bytes(std::span(&into, 1)), nullptr, batch);
}
// Writes `value`, which is free when the call returns.
template <Plain T>
void put(global_ptr<T> to, const T& value, Batch* batch = nullptr) {
  if (std::byte* const at = internal_::splitc::reach(to.word(), sizeof(T)); at != nullptr)
    internal_::splitc::stored<sizeof(T)>(at, &value);
  else
    internal_::splitc::put(to.word(), std::as_bytes(std::span(&value, 1)), batch);
}
// Stores `value` (`:-` of the language). Where it goes by packets it may stay here until 64 are together, or
// until this rank waits or polls.
template <Plain T>
void store(global_ptr<T> to, const T& value) {
  if (std::byte* const at = internal_::splitc::reach(to.word(), sizeof(T)); at != nullptr) {
    internal_::splitc::stored<sizeof(T)>(at, &value);
    internal_::splitc::count(internal_::splitc::here->heaps[to.owner()], sizeof(T));
  } else {
    internal_::splitc::store(to.word(), &value, sizeof(T));
  }
}

// Reads a whole array, and waits for it. With `strides`, here and below, the other rank's elements stand
// scattered (hamlyn/values/put.h), and this rank's one behind the other.
template <Plain T>
void bulk_read(std::span<std::type_identity_t<T>> into, global_ptr<T> from,
               const Strides* strides = nullptr) {
  internal_::splitc::bulk_read(from.word(), std::as_writable_bytes(into), strides);
}
// Writes it, and waits until it has landed.
template <Plain T>
void bulk_write(global_ptr<T> to, std::span<const std::type_identity_t<T>> from,
                const Strides* strides = nullptr) {
  internal_::splitc::bulk_write(to.word(), std::as_bytes(from), strides);
}
// Reads; `into` is in use until that is over.
template <Plain T>
void bulk_get(std::span<std::type_identity_t<T>> into, global_ptr<T> from, Batch* batch = nullptr,
              const Strides* strides = nullptr) {
  internal_::splitc::get(from.word(), std::as_writable_bytes(into), strides, batch);
}
// Writes; `from` is in use until that is over.
template <Plain T>
void bulk_put(global_ptr<T> to, std::span<const std::type_identity_t<T>> from, Batch* batch = nullptr,
              const Strides* strides = nullptr) {
  internal_::splitc::bulk_put(to.word(), std::as_bytes(from), strides, batch);
}
// Stores it; `from` is free when the call returns.
template <Plain T>
void bulk_store(global_ptr<T> to, std::span<const std::type_identity_t<T>> from,
                const Strides* strides = nullptr) {
  internal_::splitc::bulk_store(to.word(), std::as_bytes(from), strides, 0);
}
// Stores, and adds 1 to `counter`, a word of the same rank, behind the data: who sees the number sees the
// data.
template <Plain T>
void bulk_store(global_ptr<T> to, std::span<const std::type_identity_t<T>> from,
                global_ptr<std::uint64_t> counter, const Strides* strides = nullptr) {
  internal_::splitc::bulk_store(to.word(), std::as_bytes(from), strides, counter.word());
}
// Stores one value so.
template <Plain T>
void store(global_ptr<T> to, const T& value, global_ptr<std::uint64_t> counter) {
  bulk_store(to, std::span(&value, 1), counter);
}

// Waits until a counter in this rank's heap is at least so much. Throws Error: also invalid_argument: it is
// not in the heap.
void wait_for(const std::uint64_t& mine, std::uint64_t at_least);
// Waits until so many bytes more have been stored here than the calls before have waited for (store_sync).
void store_sync(std::size_t bytes);
// Waits until all that any rank has stored anywhere is there, and all ranks are here. Collective.
void all_store_sync();

}  // namespace hamlyn::splitc
