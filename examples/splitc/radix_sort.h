#pragma once
// Radix sort: for each digit every rank counts its keys, all ranks add their counts up, and each key is
// stored where it belongs in a spread array.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "trial.h"

namespace radix_sort {

using namespace trial;
using Key = std::uint32_t;

inline constexpr unsigned kBits = 8;
inline constexpr std::size_t kValues = std::size_t{1} << kBits;

inline std::vector<Key> keys_of(Rank owner, std::size_t each) {
  std::vector<Key> out(each);
  std::mt19937 random(owner + 1);
  std::ranges::generate(out, random);
  return out;
}

// Where this rank's keys with each value of a digit begin: behind all of lower values, and behind those of
// ranks before it.
inline std::vector<std::uint64_t> places(std::span<const Key> keys, unsigned shift,
                                         everywhere<std::uint64_t>& counts) {
  std::array<std::uint64_t, kValues> own{};
  for (const Key key : keys) ++own[key >> shift & (kValues - 1)];
  for (Rank to = 0; to != ranks(); ++to) bulk_store(counts.at(to, rank() * kValues), own);
  all_store_sync();
  std::vector<std::uint64_t> out(kValues);
  std::uint64_t at = 0;
  for (std::size_t value = 0; value != kValues; ++value)
    for (Rank of = 0; of != ranks(); ++of) {
      if (of == rank()) out[value] = at;
      at += counts.mine()[of * kValues + value];
    }
  return out;
}

// One digit: from one array into another.
inline void pass(const spread_array<Key>& from, const spread_array<Key>& to, unsigned shift,
                 everywhere<std::uint64_t>& counts) {
  std::vector<std::uint64_t> next = places(from.mine(), shift, counts);
  for (const Key key : from.mine()) store(to.at(next[key >> shift & (kValues - 1)]++), key);
  all_store_sync();
}

inline void run(int count, char** words) {
  const std::size_t each = number(count, words, 5'000);
  require(each != 0, "each rank has some keys");
  std::vector<Key> whole;
  for (Rank owner = 0; owner != ranks(); ++owner) {
    const auto part = keys_of(owner, each);
    whole.insert(whole.end(), part.begin(), part.end());
  }
  const double start = seconds();
  std::ranges::sort(whole);
  const double one = broadcast(seconds() - start);

  const spread_array<Key> a(each * ranks(), each), b(each * ranks(), each);
  everywhere<std::uint64_t> counts(ranks() * kValues);
  std::ranges::copy(keys_of(rank(), each), a.mine().begin());
  const double all = time_of([&] {
    for (unsigned shift = 0; shift != 32; shift += 2 * kBits) {
      pass(a, b, shift, counts);
      pass(b, a, shift + kBits, counts);
    }
  });
  const bool good = std::ranges::equal(a.mine(), std::span(whole).subspan(rank() * each, each));
  require(reduce_all(std::uint64_t{good}) == ranks(), "the keys are not sorted");
  tell("radix sort of " + std::to_string(whole.size()) + " keys", all, one);
}

}  // namespace radix_sort
