#include "test/support/command.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace hamlyn::test {
namespace {

base::FileDescriptor memory_file(const std::string& bytes) {
  base::FileDescriptor file(::memfd_create("command", MFD_CLOEXEC));
  if (!file) throw std::runtime_error("no memfd");
  for (std::size_t done = 0; done < bytes.size();) {
    const auto put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put <= 0) throw std::runtime_error("cannot fill a memfd");
    done += static_cast<std::size_t>(put);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  ::fcntl(file.get(), F_SETFL, O_APPEND);  // without, processes that share it write over each other
  return file;
}

std::string contents(int fd) {
  std::string bytes;
  char piece[4096];
  for (off_t at = 0;;) {
    const auto got = ::pread(fd, piece, sizeof piece, at);
    if (got <= 0) return bytes;
    bytes.append(piece, static_cast<std::size_t>(got));
    at += got;
  }
}

std::vector<char*> pointers_to(const std::vector<std::string>& all) {
  std::vector<char*> out;
  for (const std::string& each : all) out.push_back(const_cast<char*>(each.c_str()));
  out.push_back(nullptr);
  return out;
}

// Our environment, with those variables in the place of its own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> out;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    if (!more.contains(variable.substr(0, variable.find('=')))) out.push_back(variable);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

int shell_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

Command::Command(const std::vector<std::string>& arguments, const Options& options)
    : out_(memory_file("")), err_(memory_file("")) {
  const auto input = memory_file(options.input);
  // All that needs memory comes before the fork: another thread of this process may be inside of malloc at
  // that moment, and under AddressSanitizer the child would wait for it for ever.
  const std::vector<std::string> environment = environment_with(options.environment);
  const Prepared prepared{pointers_to(arguments), pointers_to(environment),
                          "/proc/" + std::to_string(options.network_of) + "/ns/net"};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // 0: the parent is outside of this process's pid namespace.
    if (const pid_t now = ::getppid(); now != parent && now != 0) ::_exit(127);
    become(prepared, options, options.input_fd >= 0 ? options.input_fd : input.get());
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Command::Command(Command&& other) noexcept
    : out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      pidfd_(std::move(other.pidfd_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_) {}

Command::~Command() {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Command::become(const Prepared& prepared, const Options& options, int input) noexcept {
  ::dup2(input, STDIN_FILENO);
  ::dup2(options.output_fd >= 0 ? options.output_fd : out_.get(), STDOUT_FILENO);
  ::dup2(options.error_fd >= 0 ? options.error_fd : err_.get(), STDERR_FILENO);
  if (options.network_of != 0 &&
      ::setns(::open(prepared.network.c_str(), O_RDONLY | O_CLOEXEC), CLONE_NEWNET) != 0)
    ::_exit(126);
  if (options.user) {
    const gid_t group = options.group.value_or(*options.user);
    if (::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 || ::setuid(*options.user) != 0) ::_exit(127);
  }
  ::execvpe(prepared.words[0], prepared.words.data(), prepared.environment.data());
  ::_exit(127);
}

bool Command::running() {
  if (status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = shell_status(status);
  return false;
}

void Command::signal(int number) const { ::kill(pid_, number); }

Finished Command::wait(std::chrono::milliseconds patience) {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  if (!status_ && ::poll(&ended, 1, static_cast<int>(patience.count())) <= 0) ::kill(pid_, SIGKILL);
  if (!status_) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    status_ = shell_status(status);
  }
  return {*status_, out(), err()};
}

std::string Command::out() const { return contents(out_.get()); }
std::string Command::err() const { return contents(err_.get()); }

std::string program(const std::string& name) {
  const char* folder = std::getenv("HAMLYN_BIN_DIR");
  return folder ? std::string(folder) + "/" + name : name;
}

Folder::Folder(mode_t mode) {
  std::string path = (std::filesystem::temp_directory_path() / "hamlyn-test-XXXXXX").string();
  if (!::mkdtemp(path.data())) throw std::runtime_error("no temporary folder");
  ::chmod(path.c_str(), mode);
  path_ = path;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string noise(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string text((bytes + 7) / 8 * 8, '\0');
  for (std::size_t at = 0; at < text.size(); at += 8) {
    const std::uint64_t word = random();
    std::copy_n(reinterpret_cast<const char*>(&word), 8, text.data() + at);
  }
  text.resize(bytes);
  return text;
}

void pause_briefly() { ::poll(nullptr, 0, 2); }

}  // namespace hamlyn::test
