// The program `hamlyn-bench`: this machine's limits, Hamlyn and installed peers, measured beside each other
// in rounds, and how they stand to the project's targets (docs/performance.md).
#include "base/standard_output.h"
#include "bench/catalogue.h"
#include "bench/derived.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "tool/perf/session.h"
#include "tool/perf/words.h"

namespace hamlyn::tool {
namespace {

struct BenchOptions : PerfOptions {
  bool peers = false;
  int rounds = 5;
};

int run(const BenchOptions& options) {
  const std::vector<perf::Meter> meters =
      selected(perf::catalogue_with(options.peers), options,
               "--list shows the names, with --peers also those of peers");
  if (options.list) return list(meters);
  perf::Measured measured = measure(meters, options, options.rounds);
  perf::Judged judged{std::move(measured.report), {}, {}};
  perf::add_derived(judged.report.figures);
  judged.targets = compare(perf::all_targets(), judged.report.figures);
  if (options.peers) judged.absent = perf::absent_peers();
  base::print(options.json ? to_json(judged) : to_text(judged));
  return perf::tell(measured.failures, "hamlyn-bench");
}

int run_words(int count, char** words, Speaker& speaker) {
  BenchOptions options;
  CLI::App app(
      "Measure this machine's limits, Hamlyn, and installed peers, and compare them with the targets",
      "hamlyn-bench");
  app.set_version_flag("--version", "hamlyn-bench " HAMLYN_VERSION, "Print the version");
  add_measuring(app, options);
  app.add_option("--rounds", options.rounds, "How often each figure is taken")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--peers", options.peers, "Also figures of peers that are installed");
  const std::string help = read_words(app, count, words, speaker);
  if (help.empty()) return run(options);
  base::print(help);
  return kOk;
}

}  // namespace
}  // namespace hamlyn::tool

int main(int argc, char** argv) {
  using namespace hamlyn::tool;
  Speaker speaker{"hamlyn-bench", "", JsonOutput::none};
  return run_to_the_end(speaker, [&] { return run_words(argc, argv, speaker); });
}
