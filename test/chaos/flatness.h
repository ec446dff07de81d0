#pragma once
// Whether round trips took longer and longer. What else the machine does makes single minutes slow; what
// grows with the time that a process has lived makes all the late ones slow.
#include <algorithm>
#include <cstddef>
#include <vector>

namespace hamlyn::chaos {

inline constexpr std::size_t kLooksToJudge = 9;
inline constexpr double kMostSlower = 3;

inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// How many times the median of the first third is that of the last third, of what each look found. 0: there
// are too few to say.
inline double slower(const std::vector<double>& looks) {
  if (looks.size() < kLooksToJudge) return 0;
  const auto third = static_cast<std::ptrdiff_t>(looks.size() / 3);
  const double first = median_of({looks.begin(), looks.begin() + third});
  const double last = median_of({looks.end() - third, looks.end()});
  return first > 0 ? last / first : 0;
}

}  // namespace hamlyn::chaos
