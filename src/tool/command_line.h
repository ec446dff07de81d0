#pragma once
// What was said on the command line of `hamlyn`. Reads and checks it, and does nothing.
#include <cstdint>
#include <string>

#include "tool/doctor.h"
#include "tool/options.h"
#include "tool/perf/perf.h"
#include "tool/sim.h"

namespace hamlyn::tool {

struct CommandLine {
  std::string command;  // "send", ...
  std::string help;     // not empty: to be printed, and nothing else is to be done
  // Where the command prints its JSON object, and a failure another one.
  enum class Json : std::uint8_t { none, on_output, on_error } json = Json::none;
  SendOptions send;
  ReceiveOptions receive;
  NodeOptions node;
  TopOptions top;
  DoctorOptions doctor;
  SimOptions sim;
  PerfOptions perf;
};

// Throws Failure (kUsage) for whatever cannot be; `out.command` then says whose options it was about.
void read_command_line(int count, const char* const* words, CommandLine& out);

}  // namespace hamlyn::tool
