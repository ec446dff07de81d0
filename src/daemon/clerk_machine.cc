// The clerk of names as a process of this machine.
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "daemon/clerk_process.h"

namespace hamlyn::daemon {
namespace {

// Starts the clerk's process with its socket, and with no other descriptor or signal mask of the daemon's.
class Spawn {
 public:
  explicit Spawn(int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kClerksSocket);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kClerksSocket + 1);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  // -1: it could not be.
  pid_t run(const std::string& node) {
    std::string words[] = {"hamlynd", "--socket", node, "--clerk", std::to_string(kClerksSocket)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                         words[3].data(), words[4].data(), nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions_, &attributes_, arguments, environ);
    if (failed == 0) return child;
    spdlog::warn("the clerk of names cannot be started (errno {}): names of other nodes are asked for",
                 failed);
    return -1;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class ThisMachine final : public ClerkMachine {
 public:
  pid_t start(base::FileDescriptor socket, const std::string& node) override {
    Spawn spawn{socket.get()};
    return spawn.run(node);
  }
  void end(pid_t process) noexcept override {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  std::span<std::byte> map(int memory, std::size_t bytes) noexcept override {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
    if (at == MAP_FAILED) return {};
    return {static_cast<std::byte*>(at), bytes};
  }
  void unmap(std::span<std::byte> mapping) noexcept override { ::munmap(mapping.data(), mapping.size()); }
  std::int64_t now_ns() noexcept override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

ClerkMachine& this_machine() noexcept {
  static ThisMachine machine;
  return machine;
}

}  // namespace hamlyn::daemon
