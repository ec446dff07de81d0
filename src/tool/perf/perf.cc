#include "tool/perf/perf.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/standard_output.h"
#include "tool/perf/catalogue.h"
#include "tool/perf/cores.h"
#include "tool/perf/derived.h"
#include "tool/perf/distance.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/keeper.h"
#include "tool/perf/machine.h"
#include "tool/perf/peers.h"
#include "tool/perf/report.h"
#include "tool/perf/rounds.h"
#include "tool/perf/selection.h"

namespace hamlyn::tool {
namespace {

using namespace perf;

std::vector<Meter> selected(const PerfOptions& options) {
  const Selection selection{options.only};
  std::vector<Meter> chosen;
  for (Meter& meter : catalogue(options.peers)) {
    if (selection.takes(meter.name)) chosen.push_back(std::move(meter));
  }
  if (chosen.empty()) {
    throw std::invalid_argument(
        "no figure that can be measured here is called '" + options.only +
        "' (the whole name counts): --list shows the names, with --peers also those of peers");
  }
  return chosen;
}

Cores cores_for(const PerfOptions& options) {
  const std::vector<int> allowed = allowed_processors();
  if (options.cores.first < 0) return choose_cores(allowed);
  check_cores(options.cores, allowed);
  return options.cores;
}

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

int list(const std::vector<Meter>& meters) {
  for (const Meter& meter : meters) base::print(meter.name + "\n");
  return 0;
}

}  // namespace

int run_perf(const PerfOptions& options) {
  if (options.rounds < 1) throw std::invalid_argument("perf needs at least one round");
  const std::vector<Meter> meters = selected(options);
  if (options.list) return list(meters);
  const Cores cores = cores_for(options);
  if (options.nodes.first.empty() != options.nodes.second.empty())
    throw std::invalid_argument("--nodes: two sockets, as A,B");
  use_far_nodes(options.nodes);

  Report report{describe_machine(cores), utc_now(), HAMLYN_VERSION, {}, {}, {}};
  Outcome outcome = measure(meters, cores, options.rounds);
  report.figures = std::move(outcome.figures);
  add_derived(report.figures);
  report.targets = compare(all_targets(), report.figures);
  if (options.peers) report.absent = absent_peers();
  base::print(options.json ? to_json(report) : to_text(report));
  for (const std::string& failure : outcome.failures)
    std::fprintf(stderr, "hamlyn perf: %s\n", failure.c_str());
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace hamlyn::tool
