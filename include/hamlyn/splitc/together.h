#pragma once
// Collectives: every rank takes part, in the same order. Ranks that do different things are
// found, and each of them is told which rank does what.
//
// Threads: that of the Program. Owner: who made it. Errors: as `*p`; invalid_argument: ranks disagree;
// peer_died: a rank has ended.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/splitc/program.h"

namespace hamlyn::internal_::splitc {

enum class Kind : std::uint8_t {
  none,
  barrier,
  store_sync,
  broadcast,
  reduction,
  scan,
  gather,
  allocation,
  deallocation,
  end,
  count
};

// Gives `bytes` of each rank, rank by rank. Good until the next of these calls. Of a broadcast only what
// `root` gave.
const std::byte* gather(Kind kind, std::uint32_t root, const void* mine, std::size_t bytes);
void begin_barrier();
bool barrier_is_over();
void end_barrier();

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// For reductions and scans.
struct maximum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
// For reductions and scans.
struct minimum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

// Waits until all ranks are here.
void barrier();
// A barrier in two halves: between them a rank may do all that is no collective.
class Barrier {
 public:
  // Says that this rank is here.
  void arrive() { internal_::splitc::begin_barrier(); }
  // Says whether all have arrived, without a wait.
  bool try_wait() { return internal_::splitc::barrier_is_over(); }
  // Waits until all have arrived.
  void wait() { internal_::splitc::end_barrier(); }
};

// Returns what `root` has given.
template <Plain T>
T broadcast(const T& value, Rank root = 0) {
  T out;
  std::memcpy(&out,
              internal_::splitc::gather(internal_::splitc::Kind::broadcast, root, &value, sizeof(T)) +
                  root * sizeof(T),
              sizeof(T));
  return out;
}
// Gives each rank's value, rank by rank. Throws Error: also invalid_argument: `all` has not room for as many
// as there are ranks.
template <Plain T>
void gather_all(const T& value, std::span<T> all) {
  if (all.size() < ranks()) internal_::splitc::throw_outside(ranks() - 1, all.size(), "place");
  std::memcpy(all.data(), internal_::splitc::gather(internal_::splitc::Kind::gather, 0, &value, sizeof(T)),
              ranks() * sizeof(T));
}

}  // namespace hamlyn::splitc

namespace hamlyn::internal_::splitc {

// Takes the values of ranks 0 to `last` together, in their order: the same on all ranks, also of floating
// point numbers.
template <class T, class Op>
T fold(Kind kind, std::uint32_t root, std::uint32_t last, const T& mine, Op op) {
  const std::byte* const all = gather(kind, root, &mine, sizeof(T));
  T out, next;
  std::memcpy(&out, all, sizeof(T));
  for (std::uint32_t rank = 1; rank <= last; ++rank) {
    std::memcpy(&next, all + rank * sizeof(T), sizeof(T));
    out = static_cast<T>(op(out, next));
  }
  return out;
}

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Returns all values taken together, to all ranks (all_reduce_to_all).
template <Plain T, class Op = std::plus<T>>
T reduce_all(const T& value, Op op = {}) {
  return internal_::splitc::fold(internal_::splitc::Kind::reduction, 0, ranks() - 1, value, op);
}
// Returns them to `root` alone (all_reduce_to_one): to others, their own value.
template <Plain T, class Op = std::plus<T>>
T reduce_one(const T& value, Rank root, Op op = {}) {
  const T all = internal_::splitc::fold(internal_::splitc::Kind::reduction, root, ranks() - 1, value, op);
  return rank() == root ? all : value;
}
// Returns the values of this rank and all before it taken together.
template <Plain T, class Op = std::plus<T>>
T scan(const T& value, Op op = {}) {
  return internal_::splitc::fold(internal_::splitc::Kind::scan, 0, rank(), value, op);
}

}  // namespace hamlyn::splitc
