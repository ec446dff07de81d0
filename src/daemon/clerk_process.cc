#include "daemon/clerk_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/socket.h"
#include "base/throw_system.h"

namespace hamlyn::daemon {
namespace {

using segment::ClerkKind;
using segment::ClerkMessage;

constexpr int kClerksSocket = 3;  // in the clerk's process
constexpr int kTurn = 64;         // messages of the clerk before it is another's turn

// What the clerk's process starts with: its socket, and no other descriptor or signal mask of the daemon's.
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

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

ClerkProcess::ClerkProcess() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) base::throw_system("epoll_create1");
}

ClerkProcess::~ClerkProcess() {
  node_ = nullptr;  // has gone before
  end();
  drop_memory();
}

void ClerkProcess::serve(node::Node& node, const Options& options) {
  node_ = &node;
  node_socket_ = options.socket;
  service_.emplace(node, static_cast<Outside&>(*this),
                   segment::NameService::Options{options.key, options.generation, options.after});
  node.set_clerk(*service_);
}

bool ClerkProcess::start() {
  try {
    auto [mine, its] = base::socket_pair();
    Spawn spawn{its.get()};
    process_ = spawn.run(node_socket_);
    if (process_ < 0) return false;
    socket_ = std::move(mine);
  } catch (const Error& error) {
    spdlog::warn("the clerk of names cannot be started: {}", error.what());
    return false;
  }
  node_->set_clerk_process(static_cast<std::uint32_t>(process_));
  watch(EPOLL_CTL_ADD);
  spdlog::info("the clerk of names is process {}", process_);
  return true;
}

void ClerkProcess::watch(int operation) {
  epoll_event event{};
  event.events = unsaid_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  ::epoll_ctl(epoll_.get(), operation, socket_.get(), &event);
}

bool ClerkProcess::send(const ClerkMessage& message) {
  const int memory[] = {memory_.get()};
  const bool shows = message.kind == ClerkKind::table && message.buckets != 0;
  // One that has gone is seen to have gone when it is read from.
  return base::send_message(socket_.get(), std::as_bytes(std::span{&message, 1}),
                            std::span{memory}.first(shows ? 1 : 0), MSG_DONTWAIT) == base::SocketState::ok;
}

bool ClerkProcess::say(const ClerkMessage& message) {
  if (!socket_) return false;
  if (message.kind == ClerkKind::read) return unsaid_.empty() && send(message);
  // Of tables only the last one counts, and its memory is the one that is there.
  std::erase_if(unsaid_, [&](const ClerkMessage& each) { return each.kind == message.kind; });
  unsaid_.push_back(message);
  flush();
  return true;
}

void ClerkProcess::flush() {
  if (unsaid_.empty()) return;
  while (!unsaid_.empty() && send(unsaid_.front())) unsaid_.pop_front();
  watch(EPOLL_CTL_MOD);
}

void ClerkProcess::receive_some(node::Time now) {
  if (!socket_) return;
  flush();
  for (int i = 0; i < kTurn && socket_; ++i) {
    ClerkMessage message;
    const auto got =
        base::receive_message(socket_.get(), std::as_writable_bytes(std::span{&message, 1}), MSG_DONTWAIT);
    if (got.state == base::SocketState::again) return;
    if (got.state != base::SocketState::ok || got.bytes != sizeof message) {
      spdlog::warn("the clerk of names has ended; it is started again when it is wanted");
      end();
      return service_->ended(now);
    }
    service_->received(message, now);
  }
}

void ClerkProcess::tick(node::Time now) {
  if (!socket_ || service_->deadline() > now_ns() || service_->tick(now)) return;
  spdlog::warn("the clerk of names does not answer, and is ended");
  end();
  service_->ended(now);
}

node::Time ClerkProcess::deadline(node::Time now) const {
  if (!socket_) return node::Time::max();
  const std::int64_t until = service_->deadline();
  if (until == std::numeric_limits<std::int64_t>::max()) return node::Time::max();
  const std::int64_t left = until - const_cast<ClerkProcess*>(this)->now_ns();
  return now + node::Time{std::max<std::int64_t>(left / 1'000'000 + 1, 0)};
}

// It is of no use without its socket, and answers to nobody: it is not asked to end.
void ClerkProcess::end() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    if (node_ != nullptr) node_->set_clerk_process(0);
  }
  process_ = -1;
  socket_.reset();
  unsaid_.clear();
}

std::span<std::byte> ClerkProcess::make_memory(std::size_t bytes) {
  drop_memory();
  const std::size_t size = whole_pages(bytes);
  memory_.reset(::memfd_create("hamlyn-names", MFD_CLOEXEC));
  if (!memory_ || ::ftruncate(memory_.get(), static_cast<off_t>(size)) != 0) return {};
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory_.get(), 0);
  if (at == MAP_FAILED) return {};
  mapping_ = {static_cast<std::byte*>(at), size};
  return mapping_.first(bytes);
}

void ClerkProcess::drop_memory() {
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
  mapping_ = {};
  memory_.reset();
}

std::int64_t ClerkProcess::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace hamlyn::daemon
