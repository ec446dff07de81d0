#include "test/support/daemon.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "node/client/address.h"

namespace hamlyn::test {
namespace {

std::vector<std::string> words(const std::string& socket, const std::vector<std::string>& more) {
  std::vector<std::string> out{program("hamlynd"), "--socket", socket};
  if (std::find(more.begin(), more.end(), "--idle-exit") == more.end())
    out.insert(out.end(), {"--idle-exit", "0"});
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

Daemon::Daemon(const std::string& socket, const std::vector<std::string>& more,
               const Command::Options& options)
    : command_(words(socket, more), options) {
  const bool listens = eventually([&] {
    try {
      return !command_.running() || static_cast<bool>(node::connect_to(socket));
    } catch (const Error&) {
      return false;  // between bind and listen, and its mode not set yet
    }
  });
  EXPECT_TRUE(listens && command_.running()) << command_.err();
}

void Daemon::kill() {
  command_.signal(SIGKILL);
  command_.wait();
}

node::ClientOptions at(const std::string& socket) {
  node::ClientOptions out;
  out.socket = socket;
  out.start_node = false;
  out.timeout = kPatience;
  return out;
}

node::Event next_event(node::Client& client) {
  std::optional<node::Event> out;
  const bool came = eventually([&] {
    out = client.next();
    return out.has_value();
  });
  EXPECT_TRUE(came) << "no event";
  return came ? std::move(*out) : node::Event{};
}

Child::Child(int user, const std::function<int()>& work) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 99;
  try {
    const auto id = static_cast<unsigned>(user);
    if (user < 0 || (::setgroups(0, nullptr) == 0 && ::setgid(id) == 0 && ::setuid(id) == 0)) status = work();
  } catch (const Error& error) {
    std::fprintf(stderr, "child: %s: %s\n", name(error.code()), error.what());
    status = failed_with(error.code());
  } catch (...) {
    status = 98;
  }
  ::_exit(status);
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int Child::wait() {
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  EXPECT_TRUE(ended) << "the child does not end";
  if (!ended) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace hamlyn::test
