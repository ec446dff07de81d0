#pragma once
// Sample sort: samples of all keys choose a range for each rank, keys go to the rank of their range, and each
// rank sorts what it has.
#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "trial.h"

namespace sample_sort {

using namespace trial;
using Key = std::uint64_t;

inline constexpr std::size_t kSample = 32;  // keys of each rank

inline std::vector<Key> keys_of(Rank owner, std::size_t each) {
  std::vector<Key> out(each);
  std::mt19937_64 random(owner);
  std::ranges::generate(out, random);
  return out;
}

// Sorted keys of all ranks: this rank's part of them is returned.
inline std::span<Key> sort(const std::vector<Key>& keys, everywhere<Key>& samples, everywhere<Key>& landing,
                           everywhere<std::uint64_t>& fill) {
  for (std::size_t i = 0; i != kSample; ++i)
    for (Rank to = 0; to != ranks(); ++to)
      store(samples.at(to, rank() * kSample + i), keys[i * keys.size() / kSample]);
  all_store_sync();
  std::ranges::sort(samples.mine());

  std::vector<std::vector<Key>> parts(ranks());
  for (const Key key : keys) {
    const auto above = std::ranges::upper_bound(samples.mine(), key) - samples.mine().begin();
    parts[std::min<std::size_t>(static_cast<std::size_t>(above) / kSample, ranks() - 1)].push_back(key);
  }
  for (Rank turn = 1; turn <= ranks(); ++turn) {  // not all to rank 0 first
    const Rank to = (rank() + turn) % ranks();
    if (parts[to].empty()) continue;
    const std::uint64_t at = fetch_add(fill.at(to), parts[to].size());
    require(at + parts[to].size() <= landing.size(), "a rank gets more keys than it has room for");
    bulk_store(landing.at(to, at), parts[to]);
  }
  all_store_sync();
  const auto mine = landing.mine().first(fill.mine()[0]);
  std::ranges::sort(mine);
  return mine;
}

inline void run(int count, char** words) {
  const std::size_t each = number(count, words, 20'000);
  require(each >= kSample, "each rank has as many keys as a sample");
  std::vector<Key> whole;
  for (Rank owner = 0; owner != ranks(); ++owner) {
    const auto part = keys_of(owner, each);
    whole.insert(whole.end(), part.begin(), part.end());
  }
  const double start = seconds();
  std::ranges::sort(whole);
  const double one = broadcast(seconds() - start);

  everywhere<Key> samples(kSample * ranks()), landing(3 * each + 4096);
  everywhere<std::uint64_t> fill;
  const auto keys = keys_of(rank(), each);
  std::span<Key> mine;
  const double all = time_of([&] { mine = sort(keys, samples, landing, fill); });
  const std::uint64_t before = scan(std::uint64_t{mine.size()}) - mine.size();
  const bool good = std::ranges::equal(mine, std::span(whole).subspan(before, mine.size()));
  require(
      reduce_all(std::uint64_t{good}) == ranks() && reduce_all(std::uint64_t{mine.size()}) == whole.size(),
      "the keys are not sorted");
  tell("sample sort of " + std::to_string(whole.size()) + " keys", all, one);
}

}  // namespace sample_sort
