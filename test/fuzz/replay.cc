// A fuzz target as a test: the corpus that coverage has found, and random bytes from fixed seeds.
// HAMLYN_FUZZ_SEED runs one seed alone, HAMLYN_FUZZ_RUNS more of them, HAMLYN_FUZZ_FILE one file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

void run_file(const std::filesystem::path& path) {
  SCOPED_TRACE(path);
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "it cannot be read";
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  fuzz(std::as_bytes(std::span{bytes}));
}

void run_seed(std::uint64_t seed) {
  SCOPED_TRACE("HAMLYN_FUZZ_SEED=" + std::to_string(seed));
  std::mt19937_64 random{seed};
  std::vector<std::byte> bytes(random_runs.bytes);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() >> 24); });
  fuzz(bytes);
}

TEST(HAMLYN_FUZZ_SUITE, Corpus) {
  if (const char* const file = std::getenv("HAMLYN_FUZZ_FILE")) return run_file(file);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HAMLYN_FUZZ_CORPUS)) files.push_back(entry);
  ASSERT_GT(files.size(), 10u) << "there is no corpus";
  std::ranges::sort(files);
  for (const std::filesystem::path& path : files) {
    run_file(path);
    if (testing::Test::HasFailure()) break;
  }
}

TEST(HAMLYN_FUZZ_SUITE, RandomBytes) {
  if (const char* const seed = std::getenv("HAMLYN_FUZZ_SEED"))
    return run_seed(std::strtoull(seed, nullptr, 10));
  const char* const runs = std::getenv("HAMLYN_FUZZ_RUNS");
  const std::uint64_t count = runs == nullptr ? random_runs.runs : std::strtoull(runs, nullptr, 10);
  for (Goal& goal : random_runs.goals) goal.times = 0;
  for (std::uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) run_seed(seed);
  if (testing::Test::HasFailure() || count < random_runs.runs) return;
  for (const Goal& goal : random_runs.goals) EXPECT_GE(goal.times, goal.least) << goal.what;
}

}  // namespace
}  // namespace hamlyn::fuzz
