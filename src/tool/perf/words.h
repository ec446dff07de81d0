#pragma once
// The options of each program that measures figures.
#include <CLI/CLI.hpp>

#include "tool/perf/perf.h"
#include "tool/words.h"

namespace hamlyn::tool {

inline void add_measuring(CLI::App& command, PerfOptions& options) {
  command.add_option("--only", options.only, "Measure only figures whose whole name matches")
      ->type_name("REGEX")
      ->check(not_empty());
  command.add_option("--cores", options.cores, "The two processors to measure on")
      ->type_name("A,B")
      ->delimiter(',');
  command.add_option("--nodes", options.nodes, "Sockets of two nodes, for figures between hosts")
      ->type_name("A,B")
      ->delimiter(',');
  command.add_flag("--list", options.list, "Print the names of the figures and measure nothing");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(kExitCodes);
}

}  // namespace hamlyn::tool
