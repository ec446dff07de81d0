#include "test/process/tool_world.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hamlyn::test {
namespace {

// The process that listens at `path`, or -1.
pid_t listener(const std::string& path) {
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : -1;
}

}  // namespace

// The daemon is named: programs would look for one of their user's elsewhere, too, and whoever runs tests may
// have one.
World::World() { static_cast<void>(::mkdir(runtime_.file("hamlyn").c_str(), 0700)); }

World::~World() {
  const pid_t daemon = listener(socket());
  if (daemon <= 1) return;
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)));
  ::kill(daemon, SIGTERM);
  pollfd ended{process.get(), POLLIN, 0};
  ::poll(&ended, 1, 5000);
}

Command World::start_program(const std::string& name, const std::vector<std::string>& words,
                             Command::Options options) {
  std::vector<std::string> arguments{program(name)};
  arguments.insert(arguments.end(), words.begin(), words.end());
  options.environment.emplace("XDG_RUNTIME_DIR", runtime_.path());
  options.environment.emplace("HAMLYN_NODE", socket());
  return Command(arguments, options);
}

Command World::start(const std::vector<std::string>& words, Command::Options options) {
  return start_program("hamlyn", words, std::move(options));
}

Finished World::run(const std::vector<std::string>& words, Command::Options options) {
  return start(words, std::move(options)).wait();
}

std::size_t World::attached() {
  const Finished node = run({"node", "--json"});
  return node.status == 0 ? nlohmann::json::parse(node.out).at("attached").size() : 0;
}

std::size_t World::names() {
  const Finished node = run({"node", "--json"});
  return node.status == 0 ? nlohmann::json::parse(node.out).at("names").get<std::size_t>() : 0;
}

bool two_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= 2;
}

void expect_usage(World& world, const std::vector<std::string>& words, const std::string& reason) {
  const Finished finished = world.run(words);
  EXPECT_EQ(finished.status, 2) << finished.err;
  EXPECT_NE(finished.err.find(reason), std::string::npos) << finished.err;
  const std::string help = " (usage): see 'hamlyn " + words.front() + " --help'\n";
  EXPECT_NE(finished.err.find(help), std::string::npos) << finished.err;
  EXPECT_EQ(finished.out, "");
}

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  read.reset(ends[0]);
  write.reset(ends[1]);
}

bool feed(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto put = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

bool stopped(const Command& command) {
  return eventually([&command] {
    std::ifstream file("/proc/" + std::to_string(command.pid()) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(") ");
    return name_end != std::string::npos && text[name_end + 2] == 'T';
  });
}

}  // namespace hamlyn::test
