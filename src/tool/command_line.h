#pragma once
// Command line of `hamlyn`. Reads and checks it, and does nothing.
#include <string>

#include "tool/doctor.h"
#include "tool/ending.h"
#include "tool/files/options.h"
#include "tool/options.h"
#include "tool/perf/logp/logp.h"
#include "tool/perf/perf.h"
#include "tool/run/options.h"

namespace hamlyn::tool {

struct CommandLine {
  Speaker speaker{"hamlyn", "", JsonOutput::none};
  std::string help;  // not empty: to be printed, and nothing else is to be done
  SendOptions send;
  ReceiveOptions receive;
  NodeOptions node;
  TopOptions top;
  CallsOptions calls;
  ServeOptions serve;
  FilesOptions files;
  MountOptions mount;
  UnmountOptions unmount;
  RunOptions run;
  DoctorOptions doctor;
  PerfOptions perf;
  LogpOptions logp;
};

// Throws Failure (kUsage) for whatever cannot be; `out.speaker` then says whose options it was about.
void read_command_line(int count, const char* const* words, CommandLine& out);

}  // namespace hamlyn::tool
