#pragma once
// Processes on hosts of their own that talk to each other all the time, by the library, over libfabric.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "test/host/hosts.h"
#include "test/support/actor.h"

namespace hamlyn::test {

// What a process has seen of one peer.
struct Seen {
  std::uint64_t heard = 0;  // messages
  std::uint64_t ended = 0;  // links
};

// Answers every message of each peer with one.
class Talker {
 public:
  // `node`: the socket of its host's daemon. `dead`: Interface::Options::dead.
  Talker(pid_t network, const std::string& node, std::chrono::milliseconds dead);

  // Both begin to talk to each other; true when each has heard the other.
  static bool introduce(Talker& one, Talker& other);

  Seen seen(const Talker& peer);
  Actor& process() noexcept { return process_; }

 private:
  bool talk_to(const Talker& peer);

  Actor process_;
  Ticket ticket_;
};

}  // namespace hamlyn::test
