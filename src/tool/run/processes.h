#pragma once
// Processes that `hamlyn run` starts, and the signals that it hears meanwhile.
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace hamlyn::tool {

// The signals that `hamlyn run` passes on. Blocks them and SIGCHLD from here on: they are read from
// descriptors. Ignores SIGPIPE. Processes that are started later have all of it as it was before.
sigset_t block_signals();
inline constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

// Lets this process have as many descriptors as it may. Those that it starts have as many as before.
void raise_descriptors();

// A process that is to be started.
struct Start {
  std::vector<std::string> words;        // the program, looked for in PATH, and its arguments
  std::string file = {};                 // the program, found before; empty: it is looked for
  std::vector<std::string> environment;  // "NAME=value", beside this process's own
  std::vector<int> processors = {};      // it runs on these alone; empty: on any
  bool input = false;                    // it gets standard input
  bool own_group = false;                // signals of the terminal do not reach it
  int output = -1;                       // in the place of standard output and error; -1: this process's own
  int error = -1;
};

// The file of a program, as PATH has it; the word itself if there is none, or if it names a folder.
std::string file_of(const std::string& word);

// Starts it. It is killed if this thread's process ends first. Throws Failure: program_not_started, with
// status 127 or 126, as a shell has it; system.
pid_t start(const Start& what);

}  // namespace hamlyn::tool
