#include "base/foreign.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <semaphore>
#include <system_error>
#include <thread>

#include "base/descriptor_table.h"

namespace hamlyn::internal_::base {
namespace {

// Fails at once on anything else, whoever's file it is; fstat could ask a server in user space.
bool is_memory(int fd) noexcept { return ::fcntl(fd, F_GET_SEALS) >= 0; }

constexpr int kSettled = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::uint64_t kHugePage = 2 << 20;  // in which the kernel may keep the smallest memfd
constexpr std::uint64_t kBlock = 512;         // of st_blocks

// The bytes that it holds, as nobody can change them any more; nothing if it is no such memory. Blocks may
// stand behind the end of a file, too. (Of a memfd fstat asks nobody.)
std::optional<std::uint64_t> settled_bytes(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat file {};
  if (seals < 0 || (seals & kSettled) != kSettled || ::fstat(fd, &file) != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(file.st_size);
  const auto held = static_cast<std::uint64_t>(file.st_blocks) * kBlock;
  return held <= std::max(size, kHugePage) ? size : held;
}

bool is_socket(int fd) noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

// With SO_PASSCRED every message carries credentials, for which `empty` has no room: that tells a message of
// no bytes, which may have descriptors, from the end.
void mark_messages(int socket) noexcept {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

bool marks_messages(int socket) noexcept {
  int on = 0;
  socklen_t size = sizeof on;
  return ::getsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, &size) == 0 && on != 0;
}

// Whether nothing lies in its queue, for certain.
bool empty(int socket) noexcept {
  for (int i = 0; i < 2; ++i) {  // the first may tell of an error, once
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = ::recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return true;
    if (got >= 0) return got == 0 && marks_messages(socket) && (message.msg_flags & MSG_CTRUNC) == 0;
  }
  return false;
}

}  // namespace

Foreign::~Foreign() {
  for (FileDescriptor& left : grave_) left.release();
}

Received Foreign::receive(int socket, std::span<std::byte> buffer, std::uint32_t user, Most most,
                          Senders senders) {
  Received got = peek_message(socket, buffer, pending(user) < kMaxPending ? kMaxDescriptors : 0, senders);
  const std::span fds{got.fds.data(), got.fd_count};
  const std::uint64_t may_have = fds.empty() ? 0 : most(buffer.first(std::min(got.bytes, buffer.size())));
  const auto may_be_taken = [&](const FileDescriptor& fd) {
    const std::optional<std::uint64_t> bytes = settled_bytes(fd.get());
    return bytes && *bytes <= may_have;
  };
  if (!std::ranges::all_of(fds, may_be_taken)) got.state = SocketState::malformed;
  if (got.state == SocketState::malformed || got.state == SocketState::starved) {
    for (FileDescriptor& fd : fds) refuse(std::move(fd), user);
    return got;
  }
  std::byte rest{};
  if (got.state == SocketState::ok) ::recv(socket, &rest, sizeof rest, MSG_DONTWAIT);
  return got;
}

void Foreign::refuse(FileDescriptor fd, std::uint32_t user) {
  if (is_memory(fd.get())) return;
  if (is_socket(fd.get())) return grave_.push_back(std::move(fd));
  std::shared_ptr<Pending> one(new Pending{.fd = fd.release(), .user = user});
  pending_.push_back(one);
  try {
    std::thread([one] {
      ::close(one->fd);
      one->done = true;
    }).detach();
  } catch (const std::system_error&) {
    // The descriptor stays open, and counts.
  }
}

void Foreign::close(FileDescriptor memory) {
  if (!memory) return;
  // Memory of unknown size counts as large.
  const std::uint64_t bytes = settled_bytes(memory.get()).value_or(Disposal::kSmall + 1);
  disposal_.close(std::move(memory), bytes);
}

std::size_t Foreign::pending(std::uint32_t user) {
  if (pending_.empty()) return 0;
  std::erase_if(pending_, [](const auto& one) { return one->done.load(); });
  return static_cast<std::size_t>(
      std::ranges::count_if(pending_, [user](const auto& one) { return one->user == user; }));
}

void Foreign::drop(FileDescriptor socket) {
  ::shutdown(socket.get(), SHUT_RDWR);
  mark_messages(socket.get());
  let_go(std::move(socket));
}

void Foreign::let_go(FileDescriptor socket) {
  if (!empty(socket.get())) grave_.push_back(std::move(socket));
}

std::size_t EndingThreads::count() {
  std::erase_if(ids_, [](int id) { return ::syscall(SYS_tgkill, ::getpid(), id, 0) != 0 && errno == ESRCH; });
  return ids_.size();
}

void Foreign::close_pending() {
  disposal_.retry();
  if (grave_.empty() || ending_.count() >= kMaxEnding) return;
  struct Steps {
    std::binary_semaphore taken{0};
    std::binary_semaphore closed{0};
    bool alone = false;
    int thread = 0;
  };
  try {
    const auto steps = std::make_shared<Steps>();
    std::vector<unsigned> keep;
    for (const FileDescriptor& fd : grave_) keep.push_back(static_cast<unsigned>(fd.get()));
    for (const auto& one : pending_) keep.push_back(static_cast<unsigned>(one->fd));  // to close it may wait
    std::thread([steps, keep] {
      steps->alone = keep_only(keep);
      steps->thread = static_cast<int>(::gettid());
      steps->taken.release();
      steps->closed.acquire();
    }).detach();
    // Waits for a thread of ours that nothing foreign can hold up.
    steps->taken.acquire();
    if (steps->alone) grave_.clear();  // none of these is the last
    steps->closed.release();
    ending_.add(steps->thread);
  } catch (const std::exception&) {
    // No thread or no memory: the next time.
  }
}

}  // namespace hamlyn::internal_::base
