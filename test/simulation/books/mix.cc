#include "test/simulation/books/mix.h"

#include <algorithm>
#include <utility>

namespace hamlyn::simulation {

namespace {

using Kind = Step::Kind;

constexpr std::pair<std::uint64_t, Kind> kBelow[] = {
    {450, Kind::start},     {650, Kind::run},   {780, Kind::read},    {850, Kind::look},
    {920, Kind::wait},      {970, Kind::links}, {980, Kind::cut},     {986, Kind::stop},
    {991, Kind::partition}, {994, Kind::death}, {997, Kind::restart}, {1000, Kind::comes}};

}  // namespace

Mix::Mix(World& world, sim::Generator& chance) {
  for (const auto& operation : world.operations()) operations_.push_back(operation.get());
  // Half of all runs have all of them.
  const bool all = chance.one_in(2);
  while (!all && operations_.size() > 1 && !chance.one_in(4))
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(chance.below(operations_.size())));
  for (const Kind fault : {Kind::cut, Kind::stop, Kind::partition, Kind::death, Kind::restart, Kind::comes}) {
    constexpr std::uint64_t kOneIn[] = {0, 0, 1, 2, 5};
    one_in_[static_cast<std::size_t>(fault)] = kOneIn[chance.below(std::size(kOneIn))];
  }
}

Kind Mix::kind_of(std::uint64_t dice, sim::Generator& chance) const {
  const auto found =
      std::find_if(std::begin(kBelow), std::end(kBelow), [&](const auto& each) { return dice < each.first; });
  if (found->second < Kind::cut) return found->second;
  const std::uint64_t one_in = one_in_[static_cast<std::size_t>(found->second)];
  return one_in != 0 && chance.one_in(one_in) ? found->second : Kind::run;
}

}  // namespace hamlyn::simulation
