// The program `hamlyn-sim`: random programs over a simulated fabric, from seeds (docs/simulation.md).
#include <charconv>

#include "base/standard_output.h"
#include "test/simulation/sim_runs.h"
#include "tool/words.h"

namespace hamlyn::simulation {
namespace {

using tool::not_empty;

// CLI11 takes -1 for 2^64 - 1, and for all that is more. Without a description, which the help would show
// behind the option's type.
CLI::Validator whole_number() {
  return {[](const std::string& text) {
            std::uint64_t value = 0;
            const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good = wrong == std::errc{} && end == text.data() + text.size();
            return good ? std::string() : "'" + text + "' is no whole number";
          },
          ""};
}

int run_words(int count, char** words, tool::Speaker& speaker) {
  SimOptions options;
  CLI::App app("Run random programs over a simulated fabric, from seeds", "hamlyn-sim");
  app.add_option("--seed", options.seed, "Run the program of this seed")
      ->type_name("N")
      ->check(whole_number());
  app.add_option("--seeds", options.seeds, "Run those of all seeds from A to B")
      ->type_name("A-B")
      ->check(not_empty());
  app.add_option("--steps", options.steps, "Run only these of its steps")
      ->type_name("LIST")
      ->check(not_empty());
  app.add_flag("--verbose,-v", options.verbose, "Show each event of the one run");
  app.add_flag("--json", options.json, "Print one JSON object");
  app.footer(tool::kExitCodes);
  const std::string help = tool::read_words(app, count, words, speaker);
  if (help.empty()) return run_sim(options);
  base::print(help);
  return tool::kOk;
}

}  // namespace
}  // namespace hamlyn::simulation

int main(int argc, char** argv) {
  hamlyn::tool::Speaker speaker{"hamlyn-sim", "", hamlyn::tool::JsonOutput::none};
  return hamlyn::tool::run_to_the_end(speaker,
                                      [&] { return hamlyn::simulation::run_words(argc, argv, speaker); });
}
