#include "test/simulation/sim_runs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/standard_output.h"
#include "test/simulation/books/protocols/run_protocols.h"
#include "test/simulation/books/shorten.h"
#include "test/simulation/sim_coverage.h"
#include "tool/failure.h"

namespace hamlyn::simulation {
namespace {

using tool::Failure;
using tool::kFailed;
using tool::kOk;
using tool::kUsage;

constexpr std::uint64_t kMostShortened = 3;  // of a range: each may take a thousand runs
constexpr std::size_t kSeedsTold = 100;      // of bad runs; more would say nothing new

struct Sum {
  std::uint64_t runs = 0;
  std::uint64_t failures = 0;
  Counts counts;
  Coverage coverage;
  std::vector<std::uint64_t> bad;  // seeds, the first ones
};

// What the failure of a seed's second program begins with.
constexpr std::string_view kOfProtocols = "of the protocols: ";

Result interface_run(const Program& program, Trace::Reader reader = {}) {
  return simulation::run(program, std::move(reader));
}

Result protocols_run(const Program& program, Trace::Reader reader = {}) {
  Result result = run_protocols(program, std::move(reader));
  if (!result.good()) result.problem.insert(0, kOfProtocols);
  return result;
}

// The program of the protocols that the same seed decides, after that of the interface.
void add_protocols(Result& result, Trace::Reader reader) {
  const Result second = protocols_run({result.seed, {}, {}}, std::move(reader));
  result.counts.add(second.counts);
  result.coverage.add(second.coverage);
  result.digest = (result.digest ^ second.digest) * 0x100000001B3u;
  if (second.good()) return;
  result.problem = second.problem;
  result.steps = second.steps;
}

void add(Sum& sum, const Result& result) {
  ++sum.runs;
  sum.counts.add(result.counts);
  sum.coverage.add(result.coverage);
  if (result.good()) return;
  ++sum.failures;
  if (sum.bad.size() < kSeedsTold) sum.bad.push_back(result.seed);
}

std::string replay(const Result& failed) {
  return fmt::format("hamlyn-sim --seed {} --verbose", failed.seed);
}

// How to see it again, with as few of its steps as will do. It takes the runs that may keep their memory from
// `may_keep`.
std::string replay(const Result& failed, std::uint64_t& may_keep) {
  const bool of_protocols = failed.problem.starts_with(kOfProtocols);
  if (may_keep == 0) return replay(failed);
  const auto run = [=](const Program& program) {
    return of_protocols ? protocols_run(program) : interface_run(program);
  };
  const Shortened least = shorten({failed.seed, {}, {}}, failed, run, may_keep);
  may_keep -= least.kept;
  const std::string none = of_protocols ? std::to_string(Program::kSteps) : "none";
  return fmt::format("hamlyn-sim --seed {} --steps {} --verbose", failed.seed,
                     least.steps.empty() ? none : simulation::to_text(least.steps));
}

std::string counts_json(const Counts& counts) {
  return fmt::format(
      R"("operations":{},"completed":{},"failed":{},"faults":{{"cuts":{},"deaths":{},"restarts":{},"stops":{},"stalls":{},"refusals":{},"partitions":{}}})",
      counts.operations, counts.completed, counts.failed, counts.cuts, counts.deaths, counts.restarts,
      counts.stops, counts.stalls, counts.refusals, counts.partitions);
}

std::string counts_text(const Counts& counts) {
  return fmt::format("{} operations ({} completed, {} failed by a fault), {} faults", counts.operations,
                     counts.completed, counts.failed, counts.faults());
}

// The texts of violations are ours: letters, digits and punctuation that JSON takes as it is.
std::string to_json(const Result& result) {
  return fmt::format(R"({{"seed":{},"digest":"{:016x}",{},"problem":{}}})", result.seed, result.digest,
                     counts_json(result.counts), result.good() ? "null" : '"' + result.problem + '"');
}

std::string to_json(const Sum& sum, double seconds) {
  std::string seeds;
  for (const std::uint64_t seed : sum.bad) seeds += fmt::format("{}{}", seeds.empty() ? "" : ",", seed);
  return fmt::format(R"({{"runs":{},{},"failures":{},"seeds":[{}],"seconds":{:.3f},"coverage":{}}})",
                     sum.runs, counts_json(sum.counts), sum.failures, seeds, seconds,
                     coverage_json(sum.coverage));
}

std::string to_text(const Sum& sum, double seconds) {
  std::string text = coverage_text(sum.coverage);
  text += fmt::format("{} runs in {:.1f} s: {}, ", sum.runs, seconds, counts_text(sum.counts));
  if (sum.failures == 0) return text + "no failures";
  text += fmt::format("{} failures: seeds", sum.failures);
  for (const std::uint64_t seed : sum.bad) text += fmt::format(" {}", seed);
  return text + (sum.failures > sum.bad.size() ? " ..." : "");
}

Failure wrong_steps(const std::string& text) {
  return {fmt::format("'{}' is no list of steps", text), "usage",
          fmt::format("write it as 3,17-20; the last is {}", Program::kEnd - 1), kUsage};
}

int run_one(std::uint64_t seed, const SimOptions& options) {
  Trace::Reader reader;
  if (options.verbose) {
    // Beside a JSON object on standard output, the events are for people.
    reader = [beside = options.json](std::string_view event) {
      const std::string line = fmt::format("{}\n", event);
      beside ? fmt::print(stderr, "{}", line) : base::print(line);
    };
  }
  Program program{seed, {}, {}};
  if (options.steps == "none") {
    program.only.emplace();
  } else if (!options.steps.empty()) {
    program.only = parse_steps(options.steps);
    if (!program.only) throw wrong_steps(options.steps);
  }
  Result result = program.of_protocols() ? protocols_run(program, reader) : interface_run(program, reader);
  if (result.good() && !program.only) {
    if (reader) reader("the protocols");
    add_protocols(result, std::move(reader));
  }
  if (options.json) {
    base::print(to_json(result) + "\n");
  } else {
    base::print(
        fmt::format("seed {}: {}, digest {:016x}\n", seed, counts_text(result.counts), result.digest));
  }
  if (result.good()) return kOk;
  fmt::print(stderr, "seed {}: {}\n", seed, result.problem);
  if (program.only) return kFailed;
  std::uint64_t may_keep = Shortened::kMostKept;
  fmt::print(stderr, "to see it: {}\n", replay(result, may_keep));
  return kFailed;
}

int run_range(std::uint64_t first, std::uint64_t last, const SimOptions& options) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start;
  Sum sum;
  std::uint64_t may_keep = Shortened::kMostKept;
  for (std::uint64_t seed = first;; ++seed) {
    Result result = simulation::run(seed);
    if (result.good()) add_protocols(result, {});
    add(sum, result);
    if (!result.good()) {
      fmt::print(stderr, "{}seed {}: {}; to see it: {}\n", terminal ? "\r\033[K" : "", seed, result.problem,
                 sum.failures <= kMostShortened ? replay(result, may_keep) : replay(result));
    }
    if (terminal && Clock::now() >= next) {
      fmt::print(stderr, "\r\033[Kseed {} of {}-{}, {} failures", seed, first, last, sum.failures);
      next = Clock::now() + std::chrono::milliseconds{100};
    }
    if (seed == last) break;
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  base::print((options.json ? to_json(sum, seconds) : to_text(sum, seconds)) + "\n");
  return sum.failures == 0 ? kOk : kFailed;
}

Failure wrong_seeds(const std::string& text) {
  return {fmt::format("'{}' is no range of seeds", text), "usage", "write it as 1-1000", kUsage};
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> parse_seeds(const std::string& text) {
  std::uint64_t first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto dash = std::from_chars(text.data(), end, first);
  if (dash.ec != std::errc() || dash.ptr == end || *dash.ptr != '-') throw wrong_seeds(text);
  const auto rest = std::from_chars(dash.ptr + 1, end, last);
  if (rest.ec != std::errc() || rest.ptr != end || last < first) throw wrong_seeds(text);
  return {first, last};
}

int run_sim(const SimOptions& options) {
  if (options.seed.has_value() == !options.seeds.empty())
    throw Failure("it takes one seed, or a range of them", "usage", "give --seed N or --seeds A-B", kUsage);
  if (options.seed) return run_one(*options.seed, options);
  if (!options.steps.empty())
    throw Failure("--steps are of one run", "usage", "give --seed N with it", kUsage);
  if (options.verbose) throw Failure("--verbose shows one run", "usage", "give --seed N with it", kUsage);
  const auto [first, last] = parse_seeds(options.seeds);
  return run_range(first, last, options);
}

}  // namespace hamlyn::simulation
