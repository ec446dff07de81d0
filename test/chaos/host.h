#pragma once
// The daemon of the driver's own, in a folder of its own that goes with it. It is killed, ended, and started
// again as another file of the same program, as an upgrade does.
#include <memory>
#include <string>

#include "test/support/command.h"

namespace hamlyn::chaos {

class Host {
 public:
  // `daemon`: the program. `service`: it serves several users. Throws std::runtime_error if it does not
  // start.
  Host(std::string daemon, bool service);

  std::string socket() const { return folder_.file("node.sock"); }
  pid_t pid() const noexcept { return command_->pid(); }
  bool running() { return command_->running(); }

  void kill_and_restart();
  // The old one ends in good order. False: it did not.
  bool upgrade();
  // Ends it, in good order. What is wrong: it did not, or has left its socket. Empty: nothing.
  std::string end();
  std::string log() const { return command_->err(); }

 private:
  void start(const std::string& program);

  const std::string daemon_;
  const bool service_;
  test::Folder folder_{0755};
  unsigned upgrades_ = 0;
  std::string program_;
  std::unique_ptr<test::Command> command_;
};

}  // namespace hamlyn::chaos
