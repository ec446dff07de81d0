#pragma once
// Everything that the launcher of a job waits for.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/file_descriptor.h"
#include "tool/run/streams.h"

namespace hamlyn::tool {

// A signal that the process in front has got, as it tells the launcher.
struct Passed {
  std::uint8_t number = 0;
  bool terminal = false;  // the terminal has sent it, to all processes of this host's part
};

// Whether that signal asks to end.
bool is_ending(int signal) noexcept;

class Events {
 public:
  // `front`: a socket to the process in front.
  explicit Events(int front);

  struct Came {
    std::vector<Passed> signals;
    bool front_ended = false;
    // The first signal that asks to end; 0: none has.
    int ending() const noexcept;
  };
  // Waits until a child has ended, a signal has come, `news` was called, `other` is readable, or the time is
  // over; passes on what streams. `other`: a descriptor of the caller's, or -1.
  Came wait(Streams& streams, std::chrono::milliseconds timeout, int other = -1);
  // Ends a wait, from any thread.
  void news() const noexcept;

 private:
  const int front_;
  base::FileDescriptor children_, news_;
};

}  // namespace hamlyn::tool
