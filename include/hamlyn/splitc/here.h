#pragma once
// Where the heaps of all ranks are, as loads and stores want to know it. Nothing in here is for users.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hamlyn::internal_::splitc {

// Bits of a global pointer, from above: the mark of a program, a rank, a place in that rank's segment.
inline constexpr unsigned kPlaceBits = 38, kRankBits = 10, kMarkShift = kPlaceBits + kRankBits;
inline constexpr std::uint64_t kPlaces = (std::uint64_t{1} << kPlaceBits) - 1;
inline constexpr std::uint32_t kMostRanks = std::uint32_t{1} << kRankBits;

constexpr std::uint64_t mark_of(std::uint64_t word) noexcept { return word >> kMarkShift; }
constexpr std::uint32_t rank_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> kPlaceBits) & (kMostRanks - 1);
}
constexpr std::uint64_t place_of(std::uint64_t word) noexcept { return word & kPlaces; }
// Makes the pointer to another place of the same heap.
constexpr std::uint64_t moved(std::uint64_t word, std::uint64_t by) noexcept {
  return (word & ~kPlaces) | ((word + by) & kPlaces);
}

// Makes the pointer to the same place of another rank's heap. Rank 1023, which no job has, stands for all
// that are no ranks.
constexpr std::uint64_t of_rank(std::uint64_t word, std::uint32_t owner) noexcept {
  constexpr std::uint64_t kNone = kMostRanks - 1;
  return (word & ~(kNone << kPlaceBits)) | (owner < kNone ? owner : kNone) << kPlaceBits;
}

// A rank's heap, as loads and stores reach it.
struct Heap {
  std::uint64_t first = 0;          // the pointer to its first byte; if they do not: one that none is near
  std::byte* memory = nullptr;      // that byte here; null: they do not
  std::uint64_t* stored = nullptr;  // word at its rank that tells what this one has stored there
  std::uint64_t bytes = 0;          // that this rank has stored there
};
// The pointer that no pointer to that rank is near: less than a heap behind it there is none.
constexpr std::uint64_t out_of_reach(std::uint32_t rank) noexcept {
  return std::uint64_t{rank ^ kMostRanks / 2} << kPlaceBits;
}

// A rank's view of its program.
struct Here {
  // Places in a heap at which a word fits; 0: loads and stores may follow no pointer now.
  std::uint64_t words = 0;
  std::uint64_t first = 0, bytes = 0;  // each heap has the places [first, first + bytes)
  std::uint32_t rank = 0, ranks = 1;
  std::uint32_t looks = 0;  // reads until somebody must look whether all ranks live
  Heap* heaps = nullptr;    // of kMostRanks, never null
  class Runtime* runtime = nullptr;
};

inline constinit Heap no_heaps[kMostRanks]{};
inline constinit Here nobody{.heaps = no_heaps};
// View of the program that this process has. Where several ranks are simulated in one process, each sets it
// again when it has waited.
inline constinit Here* here = &nobody;

// Bytes of the longest word, and of the smallest heap at least.
inline constexpr std::size_t kWord = sizeof(std::uint64_t);

// Finds memory that loads and stores reach. Null: not this way, or not now, or a part of a heap's last word.
// The distance to the first pointer into a heap tells mark, rank and place at once: whatever differs makes it
// longer than a heap.
inline std::byte* reach(std::uint64_t word, std::size_t bytes) noexcept {
  const Here& view = *here;
  const Heap& heap = view.heaps[rank_of(word)];
  const std::uint64_t at = word - heap.first;
  if (at >= view.words) return nullptr;
  if (bytes > kWord && at + (bytes - kWord) >= view.words) return nullptr;
  return heap.memory + at;
}

// Finds memory to read: who reads again and again may wait for a rank that has ended.
inline const std::byte* reach_to_read(std::uint64_t word, std::size_t bytes) noexcept {
  return --here->looks == 0 ? nullptr : reach(word, bytes);
}

// Loads and stores a value that others may change, of a size that the compiler knows: a word in one move.
template <std::size_t kBytes>
inline void load(void* into, const std::byte* from) noexcept {
  std::memcpy(into, from, kBytes);
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with `stored` at the other side
}
template <std::size_t kBytes>
inline void stored(std::byte* to, const void* from) noexcept {
  std::atomic_thread_fence(std::memory_order_release);  // pairs with `load` at the other side
  std::memcpy(to, from, kBytes);
}
// Counts what was stored behind it: who sees the count sees the data.
inline void count(Heap& heap, std::size_t bytes) noexcept {
  heap.bytes += bytes;
  // Pairs with Runtime::stored_here at that rank.
  const std::atomic_ref<std::uint64_t> counted(*heap.stored);
  counted.store(heap.bytes, std::memory_order_release);
}

// The long ways, of every heap. Each throws Error, as docs/splitc.md says.
void read(std::uint64_t word, void* into, std::size_t bytes);
void write(std::uint64_t word, const void* from, std::size_t bytes);
void store(std::uint64_t word, const void* from, std::size_t bytes);
// Memory of this rank, or mapped; null if it is neither.
std::byte* local(std::uint64_t word, std::size_t bytes) noexcept;
// Makes the pointer to an object in this rank's heap.
std::uint64_t word_of(const void* mine);
// Throws Error: invalid_argument: there is no `what` of that number among so many.
[[noreturn]] void throw_outside(std::size_t index, std::size_t size, const char* what = "element");

}  // namespace hamlyn::internal_::splitc
