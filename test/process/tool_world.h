#pragma once
// A node of its own for one test of the command `hamlyn`: its own folder for the daemon's socket, its own
// daemon, started by the first command and ended with the test.
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "test/support/command.h"

namespace hamlyn::test {

class World {
 public:
  World();
  ~World();  // ends the daemon

  // A program of the build with these words.
  Command start_program(const std::string& name, const std::vector<std::string>& words,
                        Command::Options options = {});
  // `hamlyn` with these words.
  Command start(const std::vector<std::string>& words, Command::Options options = {});
  Finished run(const std::vector<std::string>& words, Command::Options options = {});

  // What `hamlyn node` says of this test's node: processes attached and names registered; 0 while there is no
  // daemon.
  std::size_t attached();
  std::size_t names();

  // Environment that makes any program one of this node, and able to start its daemon.
  std::map<std::string, std::string> environment() const {
    return {{"XDG_RUNTIME_DIR", runtime_.path()},
            {"HAMLYN_NODE", socket()},
            {"HAMLYN_DAEMON", program("hamlynd")}};
  }
  // Where its daemon listens.
  std::string socket() const { return runtime_.file("hamlyn/node.sock"); }

  // A file in this test's folder for data, which holds nothing else.
  std::string file(const std::string& name) const { return data_.file(name); }
  const Folder& data() const noexcept { return data_; }

 private:
  Folder runtime_, data_;
};

// Whether this process may run on two processors at least, which whoever measures needs.
bool two_processors();

// Expects that `hamlyn` with these words answers with that reason, and where its command's help is to be had.
void expect_usage(World& world, const std::vector<std::string>& words, const std::string& reason);

// Both ends of a pipe.
struct Pipe {
  Pipe();
  base::FileDescriptor read, write;
};

// Writes all of it, however long the reader takes. False if the reader has gone.
bool feed(int fd, const std::string& bytes);

// Waits until `command` is stopped by a signal.
bool stopped(const Command& command);

}  // namespace hamlyn::test
