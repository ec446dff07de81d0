#pragma once
// Two processes that are the ranks of a Split-C program, for figures.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hamlyn/splitc.h"
#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf {

using Words = splitc::everywhere<std::uint64_t>;
// The interface of this process's rank, while its work is done.
Interface& interface_of_rank();
using RankWork = std::function<void(Words&, Room&)>;

inline constexpr std::size_t kOver = 1024;        // the word by which rank 0 says that all is measured
inline constexpr std::uint32_t kGetsOfRank = 64;  // that may be under way

// Ways of their program.
inline splitc::ProgramOptions guarded_ranks(bool guarded = true) {
  return {.guarded = guarded, .over = splitc::Over::segments};
}
// 0: as many credits as there are mostly.
inline splitc::ProgramOptions ranks_over_vi(std::uint32_t credits = 0) {
  return {.over = splitc::Over::vi, .credits = credits};
}

struct RankOptions {
  std::size_t results = 1;                       // at most
  splitc::ProgramOptions way = guarded_ranks();  // of heaps; between nodes they are always guarded
  Place place = Place::shm;
  std::size_t heap = std::size_t{1} << 20;  // bytes of each rank
};
// Runs rank 0 and rank 1, each on a processor of its own, with twice kOver words everywhere.
std::vector<double> run_ranks(Cores cores, const RankOptions& options, const RankWork& first,
                              const RankWork& second);

inline std::atomic_ref<std::uint64_t> own(Words& words, std::size_t at) {
  return std::atomic_ref(words.mine()[at]);
}
inline void say_over(Words& words) { *words.at(1, kOver) = 1; }
// Serves until the other side has all.
void serve(Words& words, Room& room);

}  // namespace hamlyn::tool::perf
