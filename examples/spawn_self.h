#pragma once
// Starts the running program a second time, so that one example shows both processes.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

// The second process of an example; waited for when this object ends.
class SecondProcess {
 public:
  explicit SecondProcess(std::string name, std::string more = {}) {
    std::string self = "/proc/self/exe";
    char* words[] = {self.data(), name.data(), more.empty() ? nullptr : more.data(), nullptr};
    if (posix_spawn(&pid_, self.c_str(), nullptr, nullptr, words, environ) != 0)
      throw std::runtime_error("cannot start a second process");
  }
  ~SecondProcess() { wait(); }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  void signal(int number) { kill(pid_, number); }

  // Whether it has ended well.
  bool wait() {
    if (pid_ > 0) waitpid(pid_, &end_, 0);
    pid_ = 0;
    return WIFEXITED(end_) && WEXITSTATUS(end_) == 0;
  }

 private:
  pid_t pid_ = 0;
  int end_ = 1;
};
