#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {
namespace {

// A kernel's description of processors, in a folder of its own.
class FakeProcessors {
 public:
  FakeProcessors() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hamlyn-cores-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = pattern;
  }
  ~FakeProcessors() { std::filesystem::remove_all(root_); }
  FakeProcessors(const FakeProcessors&) = delete;
  FakeProcessors& operator=(const FakeProcessors&) = delete;

  void add(int processor, int package, int core) const {
    const auto folder = std::filesystem::path(root_) / ("cpu" + std::to_string(processor)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "physical_package_id") << package << '\n';
    std::ofstream(folder / "core_id") << core << '\n';
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

TEST(PerfCores, SiblingsOfOneCoreAreNotTaken) {
  const FakeProcessors fake;
  fake.add(0, 0, 0);
  fake.add(1, 0, 0);
  fake.add(2, 0, 1);
  fake.add(3, 0, 1);
  EXPECT_EQ(choose_cores({0, 1, 2, 3}, fake.root()), Cores(0, 2));
}

TEST(PerfCores, OnePackageIsPreferred) {
  const FakeProcessors fake;
  fake.add(0, 0, 0);
  fake.add(1, 1, 0);
  fake.add(2, 0, 1);
  EXPECT_EQ(choose_cores({0, 1, 2}, fake.root()), Cores(0, 2));
  EXPECT_EQ(choose_cores({0, 1}, fake.root()), Cores(0, 1));
}

TEST(PerfCores, WithoutADescriptionTheFirstTwoAreTaken) {
  const FakeProcessors fake;
  EXPECT_EQ(choose_cores({3, 5, 7}, fake.root()), Cores(3, 5));
}

TEST(PerfCores, OneProcessorIsNotEnough) { EXPECT_THROW(choose_cores({0}), std::runtime_error); }

TEST(PerfCores, OnlyTwoDifferentAllowedProcessorsCanBeAskedFor) {
  EXPECT_NO_THROW(check_cores({4, 2}, {2, 3, 4}));
  EXPECT_THROW(check_cores({2, 2}, {2, 3, 4}), std::invalid_argument);
  EXPECT_THROW(check_cores({2, 5}, {2, 3, 4}), std::invalid_argument);
}

}  // namespace
}  // namespace hamlyn::tool::perf
