#pragma once
// The processes of this host's part of a job: started, signalled, and, at the end, all gone with whatever
// they have started.
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace hamlyn::tool {

// The signals that `hamlyn run` passes on, and SIGCHLD: blocked from here on, and read from descriptors.
sigset_t block_signals();
inline constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

// One that is to be started.
struct Start {
  std::vector<std::string> words;        // the program, looked for in PATH, and its arguments
  std::vector<std::string> environment;  // "NAME=value", beside this process's own
  std::vector<int> processors = {};      // it runs on these alone; empty: on any
  bool input = false;                    // it gets standard input
  int output = -1;                       // in the place of standard output and error; -1: this process's own
  int error = -1;
};

// Starts it. It is killed if this thread's process ends first. Throws Failure: program_not_started, with
// status 127 or 126, as a shell has it.
pid_t start(const Start& what);

// A child that has ended.
struct Ended {
  pid_t pid = 0;
  std::uint32_t status = 0;  // as a shell has it
};
// One that has, if there is any.
std::optional<Ended> take_ended();

// From here on whatever its descendants leave behind is this process's child.
void adopt_orphans();
// Kills every child, and the orphans that become children by it, until there are none.
void kill_all();

}  // namespace hamlyn::tool
