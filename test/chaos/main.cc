// hamlyn-chaos: real processes that use everything that Hamlyn has, while they are killed, stopped and
// scribbled at (docs/chaos.md).
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/standard_output.h"
#include "hamlyn/values/error.h"
#include "test/chaos/report.h"

namespace hamlyn::chaos {
namespace {

// Of the same build.
std::string daemon_beside_us() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hamlynd").string();
}

int run(const Plan& plan, bool as_json) {
  Conductor conductor(plan);
  std::vector<Look> looks;
  if (!as_json) base::print(heading() + "\n");
  conductor.run([&](const Look& look) {
    looks.push_back(look);
    if (!as_json) base::print(row(look) + "\n");
    base::flush_output();
  });
  const bool good = conductor.ledger().faults == 0;
  base::print((as_json ? json(plan, conductor, looks) : summary(conductor)) + "\n");
  base::finish_output();
  if (!good) fmt::print(stderr, "again: {}\n", command_line(plan));
  return good ? 0 : 1;
}

int print_help(const std::string& text) {
  try {
    base::print(text);
    base::finish_output();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace hamlyn::chaos

int main(int count, char** words) {
  using namespace hamlyn::chaos;
  Plan plan;
  plan.daemon = daemon_beside_us();
  bool as_json = false;
  CLI::App app(
      "Dozens of processes that use everything that Hamlyn has, while they are killed, stopped and scribbled "
      "at");
  app.add_option("--seconds", plan.seconds, "Of chaos")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000u));
  app.add_option("--processes", plan.processes, "At a time")
      ->capture_default_str()
      ->check(CLI::Range(4u, kSeats));
  app.add_option("--seed", plan.seed, "Decides what is done to whom")->capture_default_str();
  app.add_option("--every", plan.every, "Seconds of chaos between two looks, for which all rest")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000u));
  app.add_option("--daemon", plan.daemon, "The daemon's program; by default the one beside this program");
  app.add_flag("--users", plan.users, "Processes of three users, in turn (root alone)");
  app.add_flag("--daemon-faults", plan.daemon_faults, "Kill the daemon, too, and upgrade it");
  app.add_flag("--json", as_json, "One JSON object, at the end");
  app.footer(
      "Exit status: 0 every promise was kept, 1 one was not, 2 the command line is wrong or nothing could be "
      "started.");
  try {
    app.parse(count, words);
  } catch (const CLI::Success& wanted) {
    std::ostringstream text;
    app.exit(wanted, text);
    return print_help(text.str());
  } catch (const CLI::ParseError& wrong) {
    app.exit(wrong);
    return 2;
  }
  if (plan.users && ::geteuid() != 0) {
    fmt::print(stderr, "SKIPPED: --users needs root\n");
    return 77;  // as ctest knows it
  }
  try {
    return run(plan, as_json);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\nagain: {}\n", error.what(), command_line(plan));
    return 2;
  }
}
