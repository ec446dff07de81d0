// A daemon that is started on demand, and what its starter was limited to: what it takes back, what is said
// of the rest, and what a starter hears whose daemon cannot start.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file_descriptor.h"
#include "node/client/address.h"
#include "node/client/client.h"
#include "node/client/constraints.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

constexpr int kThisProcess = 1, kIdleClass = 3, kClassShift = 13;  // of ioprio_set
constexpr int kStranger = 41003;

node::ClientOptions starting(const std::string& socket) {
  node::ClientOptions out = at(socket);
  out.start_node = true;
  out.daemon = program("hamlynd");
  return out;
}

// The daemon that was started at that socket, ended with the test. (Another user's is trusted by nobody, not
// even by root: who it is, the kernel says.)
class Started {
 public:
  explicit Started(std::string socket) : socket_(std::move(socket)), pid_(listener(socket_)) {
    EXPECT_GT(pid_, 1u);
  }
  ~Started() {
    if (pid_ <= 1) return;
    ::kill(pid(), SIGTERM);
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(socket_); }));
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t pid() const { return static_cast<pid_t>(pid_); }
  std::string file(const std::string& name) const {
    return read_file("/proc/" + std::to_string(pid_) + "/" + name);
  }
  std::string has(const std::string& key) const {  // the line of its status
    const std::string status = file("status");
    const std::size_t from = status.find(key + ":");
    return from == std::string::npos ? "" : status.substr(from, status.find('\n', from) - from);
  }
  bool has_all_that_it_may(const std::string& limit) const {  // as the kernel writes them, the soft one first
    const std::string limits = file("limits");
    const std::size_t from = limits.find(limit);
    std::istringstream line{from == std::string::npos ? "" : limits.substr(from + limit.size())};
    std::string soft, hard;
    return line >> soft >> hard && soft == hard;
  }

 private:
  static std::uint32_t listener(const std::string& path) {
    const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool there =
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return there ? static_cast<std::uint32_t>(peer.pid) : 0;
  }

  const std::string socket_;
  const std::uint32_t pid_;
};

int processors(pid_t pid) {
  cpu_set_t set;
  return ::sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

bool limit_itself() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = 32;
  rlimit bytes{};
  ::getrlimit(RLIMIT_FSIZE, &bytes);
  bytes.rlim_cur = 4096;
  sigset_t all;
  sigfillset(&all);
  const sched_param none{};
  ::umask(0777);
  return ::sched_setaffinity(0, sizeof one, &one) == 0 && ::setrlimit(RLIMIT_NOFILE, &files) == 0 &&
         ::setrlimit(RLIMIT_FSIZE, &bytes) == 0 && ::sigprocmask(SIG_BLOCK, &all, nullptr) == 0 &&
         ::sched_setscheduler(0, SCHED_BATCH, &none) == 0 && ::setenv("OF_ITS_STARTER", "1", 1) == 0 &&
         ::syscall(SYS_ioprio_set, kThisProcess, 0, kIdleClass << kClassShift) == 0 &&
         ::prctl(PR_SET_TIMERSLACK, 10'000'000UL, 0, 0, 0) == 0;
}

TEST(NodeStarter, ADaemonTakesBackWhatItMay) {
  const Folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const std::string socket = folder.file("s");
  const int user = ::geteuid() == 0 ? kStranger : -1;  // so that the kernel refuses what it refuses users
  Child starts{user, [&] {
                 if (!limit_itself()) return 1;
                 return node::Client::attach(starting(socket)).interface_id() != 0 ? 0 : 2;
               }};
  ASSERT_EQ(starts.wait(), 0);
  const Started daemon{socket};
  EXPECT_EQ(processors(daemon.pid()), processors(0));
  EXPECT_EQ(::sched_getscheduler(daemon.pid()), SCHED_OTHER);
  EXPECT_EQ(::syscall(SYS_ioprio_get, kThisProcess, daemon.pid()) >> kClassShift, 0);
  EXPECT_EQ(daemon.has("Umask"), "Umask:\t0077");
  const std::string blocked = daemon.has("SigBlk");
  EXPECT_EQ(std::strtoull(blocked.c_str() + blocked.find('\t') + 1, nullptr, 16),
            (1ull << (SIGTERM - 1)) | (1ull << (SIGINT - 1)))
      << "those that it reads from a descriptor";
  for (const char* const limit : {"Max open files", "Max file size"})
    EXPECT_TRUE(daemon.has_all_that_it_may(limit)) << daemon.file("limits");
  EXPECT_EQ(::getpgid(daemon.pid()), ::getsid(daemon.pid()));
  if (::geteuid() != 0) return;  // what is shown of another process to root
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(daemon.pid()) + "/cwd"), "/");
  EXPECT_EQ(daemon.file("environ").find("OF_ITS_STARTER"), std::string::npos);
  EXPECT_EQ(daemon.file("timerslack_ns"), "50000\n");
}

TEST(NodeStarter, WhatADaemonCannotTakeBackIsSaid) {
  const Folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const std::string socket = folder.file("s");
  const int user = ::geteuid() == 0 ? kStranger : -1;
  Child starts{user, [&] {
                 const rlimit few{64, 64};
                 if (::setpriority(PRIO_PROCESS, 0, 5) != 0 || ::setrlimit(RLIMIT_NOFILE, &few) != 0)
                   return 1;
                 // Each with a descriptor of its own, so that the daemon's limit is met before this one's.
                 std::vector<node::Client> clients;
                 try {
                   for (int i = 0; i < 17; ++i) clients.push_back(node::Client::attach(starting(socket)));
                 } catch (const Error& error) {
                   const std::string text = error.what();
                   const bool names_it = text.find("may have 64 descriptors") != std::string::npos &&
                                         text.find("ulimit -n") != std::string::npos;
                   return error.code() == ErrorCode::node_full && names_it ? 0 : 2;
                 }
                 return 3;
               }};
  ASSERT_EQ(starts.wait(), 0);
  const Started daemon{socket};
  const std::vector<std::string> said = node::constraints_of(static_cast<std::uint32_t>(daemon.pid()));
  for (const std::string wanted : {"it runs at nice 5", "it may have 64 descriptors open"}) {
    EXPECT_EQ(std::ranges::count(said, wanted), 1) << wanted;
    EXPECT_NE(read_file(socket + ".log").find(wanted + ", which its starter has left it"), std::string::npos)
        << read_file(socket + ".log");
  }
}

// Neither the daemon nor its log can write a byte.
TEST(NodeStarter, AStarterHearsWhyItsDaemonDoesNotListen) {
  const Folder folder;
  const std::string socket = folder.file("s");
  Child starts{-1, [&] {
                 ::signal(SIGXFSZ, SIG_IGN);
                 const rlimit none{0, 0};
                 if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
                 try {
                   node::Client::attach(starting(socket));
                 } catch (const Error& error) {
                   const std::string text = error.what();
                   const bool says = text.find("does not listen: ") != std::string::npos &&
                                     text.find("File too large") != std::string::npos;
                   if (!says) std::fprintf(stderr, "%s\n", error.what());
                   return error.code() == ErrorCode::node_unreachable && says ? 0 : 2;
                 }
                 return 3;
               }};
  EXPECT_EQ(starts.wait(), 0);
  EXPECT_EQ(read_file(socket + ".log"), "");
}

TEST(NodeStarter, OneThatSaysNothingLeavesALogThatIsNamed) {
  const Folder folder;
  node::ClientOptions options = starting(folder.file("s"));
  options.daemon = "false";
  const auto text_of = [&] {
    try {
      node::Client::attach(options);
      return std::string("attached");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(text_of().find("does not listen: " + folder.file("s.log") + " says why"), std::string::npos)
      << text_of();
  std::filesystem::remove(folder.file("s.log"));
  std::filesystem::create_directory(folder.file("s.log"));
  EXPECT_NE(text_of().find("its log " + folder.file("s.log") + " cannot be written"), std::string::npos)
      << text_of();
}

// A folder or a file of mode 0 keeps all others of its user out, and its maker, too.
TEST(NodeStarter, AUmaskThatLeavesNothingKeepsNobodyOut) {
  const Folder runtime;
  std::filesystem::permissions(runtime.path(), std::filesystem::perms::all);
  const int user = ::geteuid() == 0 ? kStranger : -1;
  const std::string mine = runtime.file("mine");
  const auto attach = [&](mode_t mask) {
    Child child{user, [&] {
                  ::umask(0077);
                  ::mkdir(mine.c_str(), 0700);
                  ::umask(mask);
                  ::setenv("XDG_RUNTIME_DIR", mine.c_str(), 1);
                  node::ClientOptions options = starting(node::own_socket());
                  return node::Client::attach(options).interface_id() != 0 ? 0 : 1;
                }};
    return child.wait();
  };
  const std::string socket = mine + "/hamlyn/node.sock";
  for (int round = 0; round != 2; ++round) {  // the second finds the files of the first
    ASSERT_EQ(attach(round == 0 ? 0777 : 0022), 0);
    const Started daemon{socket};
  }
  struct stat made {};
  ASSERT_EQ(::stat((mine + "/hamlyn").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777u, 0700u);
}

}  // namespace
}  // namespace hamlyn::test
