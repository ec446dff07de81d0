#include "test/simulation/sim_coverage.h"

#include <fmt/core.h>

#include <array>

namespace hamlyn::simulation {
namespace {

// Heads of columns, as narrow as the numbers.
constexpr const char* kHeads[] = {"order", "lost",  "twice", "split", "cut",   "stop", "stall",
                                  "death", "again", "quota", "full",  "place", "slow", "disk"};
static_assert(std::size(kHeads) == kFaults);

std::string in_short(std::uint64_t count) {
  if (count < 10'000) return fmt::format("{}", count);
  return count < 10'000'000 ? fmt::format("{}k", count / 1000) : fmt::format("{}M", count / 1'000'000);
}

std::string cell(const Coverage& coverage, OperationKind kind, Fault fault) {
  std::uint64_t sum = 0;
  bool possible = false;
  for (std::size_t i = 0; i != kTopologies; ++i) {
    const auto topology = static_cast<Topology>(i);
    possible |= impossible(kind, fault, topology) == nullptr;
    sum += coverage.met_by(kind, fault, topology);
  }
  return possible ? in_short(sum) : "-";
}

std::uint64_t begun(const Coverage& coverage, OperationKind kind) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i != kTopologies; ++i) sum += coverage.begun_of(kind, static_cast<Topology>(i));
  return sum;
}

// Calls `each` for all that could have happened and did not.
template <class Each>
void for_all_missed(const Coverage& coverage, Each each) {
  for_all_cells([&](OperationKind kind, Fault fault, Topology topology) {
    if (coverage.met_by(kind, fault, topology) == 0 && impossible(kind, fault, topology) == nullptr)
      each(kind, fault, topology);
  });
}

}  // namespace

std::string coverage_text(const Coverage& coverage) {
  std::string text = fmt::format("{:18}{:>6}", "", "begun");
  for (const char* const head : kHeads) text += fmt::format("{:>6}", head);
  for (std::size_t i = 0; i != kKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    text += fmt::format("\n{:18}{:>6}", name(kind), in_short(begun(coverage, kind)));
    for (std::size_t fault = 0; fault != kFaults; ++fault)
      text += fmt::format("{:>6}", cell(coverage, kind, static_cast<Fault>(fault)));
  }
  const auto [possible, seen] = covered(coverage);
  text += fmt::format("\ncovered {} of {} ways in which an operation can meet a fault\n", seen, possible);
  for_all_missed(coverage, [&](OperationKind kind, Fault fault, Topology topology) {
    text += fmt::format("never: {}, {} ({})\n", name(kind), name(fault), name(topology));
  });
  return text;
}

// The names are ours: JSON takes them as they are.
std::string coverage_json(const Coverage& coverage) {
  const auto [possible, seen] = covered(coverage);
  std::string never, operations;
  for_all_missed(coverage, [&](OperationKind kind, Fault fault, Topology topology) {
    never += fmt::format(R"({}["{}","{}","{}"])", never.empty() ? "" : ",", name(kind), name(fault),
                         name(topology));
  });
  for (std::size_t i = 0; i != kKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    operations += fmt::format(R"({}"{}":{{"begun":{})", i == 0 ? "" : ",", name(kind), begun(coverage, kind));
    for (std::size_t f = 0; f != kFaults; ++f) {
      const auto fault = static_cast<Fault>(f);
      std::string counts;
      for (std::size_t t = 0; t != kTopologies; ++t)
        counts +=
            fmt::format("{}{}", t == 0 ? "" : ",", coverage.met_by(kind, fault, static_cast<Topology>(t)));
      operations += fmt::format(R"(,"{}":[{}])", name(fault), counts);
    }
    operations += "}";
  }
  return fmt::format(R"({{"possible":{},"seen":{},"never":[{}],"operations":{{{}}}}})", possible, seen, never,
                     operations);
}

}  // namespace hamlyn::simulation
