#pragma once
// Runs a program as its users do, and keeps what it writes. Nothing here waits without an end: a program that
// overstays is killed, and the test fails.
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace hamlyn::test {

inline constexpr std::chrono::seconds kPatience{30};

struct Finished {
  int status = -1;  // as a shell has it: the exit status, or 128 and the signal that ended it
  std::string out, err;
};

class Command {
 public:
  struct Options {
    std::string input = {};                               // standard input, as a file
    int input_fd = -1;                                    // instead: any descriptor of ours
    int output_fd = -1;                                   // where standard output goes; -1: it is kept
    int error_fd = -1;                                    // the same for standard error
    std::map<std::string, std::string> environment = {};  // besides our own
    std::optional<uid_t> user = {};                       // run as this user and its group of the same number
    std::optional<gid_t> group = {};                      // or of this one
    pid_t network_of = 0;                                 // run in this process's network; 0: in ours
  };

  Command(const std::vector<std::string>& arguments, const Options& options);
  ~Command();  // kills it if it still runs
  Command(Command&&) noexcept;
  Command& operator=(Command&&) = delete;

  pid_t pid() const noexcept { return pid_; }
  bool running();
  void signal(int number) const;
  // Waits until it ends. Kills it when patience is over.
  Finished wait(std::chrono::milliseconds patience = kPatience);
  // What it has written so far.
  std::string out() const;
  std::string err() const;

 private:
  // Made before the fork, for the child.
  struct Prepared {
    std::vector<char*> words, environment;
    std::string network;
  };
  [[noreturn]] void become(const Prepared& prepared, const Options& options, int input) noexcept;

  base::FileDescriptor out_, err_, pidfd_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// The path of a program of the build: HAMLYN_BIN_DIR/name.
std::string program(const std::string& name);

// Looks at `condition` until it holds. False when patience is over.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds patience = kPatience);

// A folder of its own for one test, gone with it.
class Folder {
 public:
  explicit Folder(mode_t mode = 0700);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const;  // of what is in it, sorted

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
// Bytes that do not repeat, the same for the same seed.
std::string noise(std::size_t bytes, unsigned seed = 1);

void pause_briefly();

template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause_briefly();
  }
  return true;
}

}  // namespace hamlyn::test
