#include "tool/perf/session.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "base/standard_output.h"
#include "tool/perf/cores.h"
#include "tool/perf/distance.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/keeper.h"
#include "tool/perf/machine.h"
#include "tool/perf/rounds.h"
#include "tool/perf/selection.h"

namespace hamlyn::tool::perf {
namespace {

// One line that is overwritten; nothing where nobody looks.
class ProgressLine {
 public:
  explicit ProgressLine(int rounds) : rounds_(rounds), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int round, const std::string& name) const {
    if (shown_) std::fprintf(stderr, "\r\033[Kround %d of %d: %s", round + 1, rounds_, name.c_str());
  }

 private:
  int rounds_;
  bool shown_;
};

bool any_of_ours(const std::vector<Meter>& meters) {
  for (const Meter& meter : meters) {
    if (meter.name.starts_with("shm.")) return true;
  }
  return false;
}

Outcome measure(const std::vector<Meter>& meters, Cores cores, int rounds) {
  // The first two lines in this order: a process that is forked later must not hold the keeper's pipe open.
  std::optional<Keeper> keeper;
  if (any_of_ours(meters)) keeper.emplace();
  const ProgressLine line{rounds};
  return run_rounds(meters, cores, rounds, line_nanoseconds,
                    [&](int round, const std::string& name) { line.show(round, name); });
}

}  // namespace

std::vector<Meter> selected(std::vector<Meter> all, const PerfOptions& options, const std::string& names) {
  const Selection selection{options.only};
  std::vector<Meter> chosen;
  for (Meter& meter : all) {
    if (selection.takes(meter.name)) chosen.push_back(std::move(meter));
  }
  if (chosen.empty()) {
    throw std::invalid_argument("no figure that can be measured here is called '" + options.only +
                                "' (the whole name counts): " + names);
  }
  return chosen;
}

Measured measure(const std::vector<Meter>& meters, const PerfOptions& options, int rounds) {
  const Cores cores = cores_for(options.cores);
  if (options.nodes.first.empty() != options.nodes.second.empty())
    throw std::invalid_argument("--nodes: two sockets, as A,B");
  use_far_nodes(options.nodes);
  Report report{describe_machine(cores), utc_now(), HAMLYN_VERSION, {}};
  Outcome outcome = measure(meters, cores, rounds);
  report.figures = std::move(outcome.figures);
  return {std::move(report), std::move(outcome.failures)};
}

int list(const std::vector<Meter>& meters) {
  for (const Meter& meter : meters) base::print(meter.name + "\n");
  return 0;
}

int tell(const std::vector<std::string>& failures, const std::string& program) {
  for (const std::string& failure : failures)
    std::fprintf(stderr, "%s: %s\n", program.c_str(), failure.c_str());
  return failures.empty() ? 0 : 1;
}

}  // namespace hamlyn::tool::perf
