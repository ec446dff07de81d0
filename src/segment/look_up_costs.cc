#include "segment/look_up_costs.h"

#include <algorithm>

namespace hamlyn::internal_::segment {
namespace {

constexpr std::uint64_t kOtherWay = 64;  // look-ups, of which one goes the dearer way
constexpr double kMostReads = 64;

}  // namespace

bool LookUpCosts::read_next() noexcept {
  ++looked_;
  if (!read_.known || !asked_.known) return !read_.known;
  const bool cheaper = read_.value * reads_.value <= asked_.value;
  return (looked_ % kOtherWay == 0) != cheaper;
}

std::uint32_t LookUpCosts::most_reads() const noexcept {
  if (!read_.known || !asked_.known) return static_cast<std::uint32_t>(kMostReads);
  return static_cast<std::uint32_t>(std::clamp(asked_.value / std::max(read_.value, 1.0), 1.0, kMostReads));
}

void LookUpCosts::was_read(double cost, std::uint32_t reads) noexcept {
  read_.add(cost / reads);
  reads_.add(reads);
}

void LookUpCosts::was_asked(double cost) noexcept { asked_.add(cost); }

}  // namespace hamlyn::internal_::segment
