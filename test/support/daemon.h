#pragma once
// A real hamlynd of a test's own, with a socket in a folder of its own.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/client/client.h"
#include "test/support/command.h"

namespace hamlyn::test {

class Daemon {
 public:
  // Starts it and waits until it listens. `more`: further arguments (it never leaves by itself unless told so
  // here).
  explicit Daemon(const std::string& socket, const std::vector<std::string>& more = {},
                  const Command::Options& options = {});

  Command& command() noexcept { return command_; }
  void kill();  // SIGKILL, and gone

 private:
  Command command_;
};

// Options for a client that finds its daemon at `socket` and never starts one.
node::ClientOptions at(const std::string& socket);

// The next event, waited for. Fails the test if none comes.
node::Event next_event(node::Client& client);

// Runs `work` in a forked child, as `user` if that is not -1, and gives its exit status: what `work` returns,
// 100 and the ErrorCode if it throws an Error. Children end with the test.
class Child {
 public:
  Child(int user, const std::function<int()>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  int wait();

 private:
  pid_t pid_ = -1;
};

constexpr int failed_with(ErrorCode code) { return 100 + static_cast<int>(code); }

}  // namespace hamlyn::test
