#include "daemon/clerk_starter.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "base/socket.h"
#include "base/throw_system.h"
#include "node/client/address.h"

namespace hamlyn::daemon {
namespace {

constexpr timeval kAnswer{2, 0};  // the starter's: what it does takes a millisecond
constexpr rlim_t kDescriptors = 1024;
constexpr rlim_t kThreads = 64;

struct Order {
  std::uint32_t start = 0;  // 1: a clerk at the socket that comes with it; 0: `process` is to be ended
  std::int32_t process = 0;
  char node[sizeof(sockaddr_un::sun_path)]{};
};

std::optional<ClerkAccount> find(const std::string& user) {
  std::vector<char> memory(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(user.c_str(), &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr)
    return ClerkAccount{found->pw_uid, found->pw_gid};
  unsigned number = 0;
  const auto read = std::from_chars(user.data(), user.data() + user.size(), number);
  if (read.ec != std::errc{} || read.ptr != user.data() + user.size()) return std::nullopt;
  return ClerkAccount{number, number};
}

constexpr std::uint32_t kChangingUsers = 1u << CAP_SETUID | 1u << CAP_SETGID;

// Reads and writes what this process may do.
struct Capabilities {
  bool read() noexcept { return ::syscall(SYS_capget, &header, data) == 0; }
  void write() noexcept { ::syscall(SYS_capset, &header, data); }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
};

bool may_change_users() noexcept {
  Capabilities held;
  return held.read() && (held.data[0].effective & kChangingUsers) == kChangingUsers;
}

// In the clerk's process.
[[noreturn]] void become_clerk(const ClerkAccount& account, int socket, const char* node) {
  if (socket == kClerksSocket ? ::fcntl(socket, F_SETFD, 0) != 0 : ::dup2(socket, kClerksSocket) < 0)
    ::_exit(1);
  ::close_range(kClerksSocket + 1, ~0u, 0);
  const rlimit none{0, 0};
  const rlimit descriptors{kDescriptors, kDescriptors};
  const rlimit threads{kThreads, kThreads};
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  ::setrlimit(RLIMIT_NPROC, &threads);
  if (::setgroups(0, nullptr) != 0 || ::setresgid(account.gid, account.gid, account.gid) != 0 ||
      ::setresuid(account.uid, account.uid, account.uid) != 0 || ::setresuid(0, 0, 0) == 0)
    ::_exit(1);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  Capabilities{}.write();  // none
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const std::string number = std::to_string(kClerksSocket);
  ::execl("/proc/self/exe", "hamlynd", "--socket", node, "--clerk", number.c_str(), nullptr);
  ::_exit(1);
}

// The process that starts clerks.
class Starter {
 public:
  Starter(base::FileDescriptor daemon, const ClerkAccount& account)
      : daemon_(std::move(daemon)), account_(account) {}

  [[noreturn]] void run() {
    ::prctl(PR_SET_NAME, "hamlyn-starter");
    for (;;) {
      Order order;
      base::Received got =
          base::receive_message(daemon_.get(), std::as_writable_bytes(std::span{&order, 1}), 0);
      if (got.state != base::SocketState::ok || got.bytes != sizeof order || got.fd_count != order.start ||
          order.node[sizeof order.node - 1] != 0)
        ::_exit(0);  // with the daemon
      const pid_t process = order.start == 1 ? start(got.fds[0].get(), order.node) : end(order.process);
      order.process = process;
      if (base::send_message(daemon_.get(), std::as_bytes(std::span{&order, 1}), {}, 0) !=
          base::SocketState::ok)
        ::_exit(0);
    }
  }

 private:
  pid_t start(int socket, const char* node) {
    const pid_t child = ::fork();
    if (child == 0) become_clerk(account_, socket, node);
    if (child > 0) clerks_.push_back(child);
    return child;
  }

  // Nobody but a clerk of this process's.
  pid_t end(pid_t process) {
    if (std::erase(clerks_, process) == 0) return -1;
    const uid_t own = ::geteuid();
    [[maybe_unused]] const int as_clerk = ::seteuid(account_.uid);
    ::kill(process, SIGKILL);
    [[maybe_unused]] const int again = ::seteuid(own);
    ::waitpid(process, nullptr, 0);
    return process;
  }

  base::FileDescriptor daemon_;
  const ClerkAccount account_;
  std::vector<pid_t> clerks_;
};

}  // namespace

void give_up_changing_users() noexcept {
  if (::geteuid() == 0) return;
  for (const int each : {CAP_SETUID, CAP_SETGID}) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, each, 0, 0);
  Capabilities held;
  if (!held.read()) return;
  for (auto* const set : {&held.data[0].effective, &held.data[0].permitted, &held.data[0].inheritable})
    *set &= ~kChangingUsers;
  held.write();
}

std::unique_ptr<ClerkStarter> ClerkStarter::make(const std::string& user, std::string& why) {
  const auto account = find(user);
  if (!account) {
    why = "there is no user " + user;
  } else if (account->uid == 0 || account->uid == ::geteuid()) {
    why = user + " is root, or the daemon's own user";
  } else if (!may_change_users()) {
    why = "this daemon may not change users";
  } else if (!node::serves_all(::geteuid())) {
    why = "other users believe a daemon of root or of the user hamlyn, and none of this user's";
  }
  if (!why.empty()) return nullptr;
  auto [mine, its] = base::socket_pair();
  const pid_t child = ::fork();
  if (child < 0) base::throw_system("fork");
  if (child == 0) {
    mine.reset();
    Starter{std::move(its), *account}.run();
  }
  ::setsockopt(mine.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswer, sizeof kAnswer);
  return std::unique_ptr<ClerkStarter>{new ClerkStarter{std::move(mine), child}};
}

ClerkStarter::ClerkStarter(base::FileDescriptor socket, pid_t process)
    : socket_(std::move(socket)), process_(process) {}

ClerkStarter::~ClerkStarter() {
  socket_.reset();
  ::waitpid(process_, nullptr, 0);
}

pid_t ClerkStarter::ask(bool start, pid_t process, int socket, const std::string& node) noexcept {
  Order order;
  order.start = start ? 1 : 0;
  order.process = process;
  if (node.size() >= sizeof order.node) return -1;
  std::memcpy(order.node, node.data(), node.size());
  const bool asked =
      base::send_message(socket_.get(), std::as_bytes(std::span{&order, 1}),
                         std::span{&socket, start ? std::size_t{1} : 0}, 0) == base::SocketState::ok;
  const auto answer =
      asked ? base::receive_message(socket_.get(), std::as_writable_bytes(std::span{&order, 1}), 0)
            : base::Received{};
  return answer.state == base::SocketState::ok && answer.bytes == sizeof order ? order.process : -1;
}

pid_t ClerkStarter::start(base::FileDescriptor socket, const std::string& node) {
  const pid_t process = ask(true, 0, socket.get(), node);
  if (process < 0) spdlog::warn("the clerk of names cannot be started: names of other nodes are asked for");
  return process;
}

void ClerkStarter::end(pid_t process) noexcept { ask(false, process, -1, {}); }

std::span<std::byte> ClerkStarter::map(int memory, std::size_t bytes) noexcept {
  return this_machine().map(memory, bytes);
}
void ClerkStarter::unmap(std::span<std::byte> mapping) noexcept { this_machine().unmap(mapping); }
std::int64_t ClerkStarter::now_ns() noexcept { return this_machine().now_ns(); }

}  // namespace hamlyn::daemon
