#include "segment/descriptors.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/throw_system.h"
#include "interface/packet.h"
#include "library/engine.h"
#include "library/own_thread.h"

namespace hamlyn::segment {

namespace {

std::pair<base::FileDescriptor, base::FileDescriptor> make_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
    base::throw_system("socketpair");
  std::pair ends{base::FileDescriptor(fds[0]), base::FileDescriptor(fds[1])};
  shutdown(fds[0], SHUT_WR);  // it is to be read
  return ends;
}

std::mutex not_inherited_mutex;
std::vector<int> not_inherited;

// In the child, whose only thread holds the mutex.
void close_in_child() {
  for (const int descriptor : not_inherited) close(descriptor);
  not_inherited.clear();
  not_inherited_mutex.unlock();
}

void watch_forks() {
  static const int watched = pthread_atfork([] { not_inherited_mutex.lock(); },
                                            [] { not_inherited_mutex.unlock(); }, close_in_child);
  if (watched != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
}

}  // namespace

NotInherited::NotInherited(base::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
  watch_forks();
  const std::lock_guard guard(not_inherited_mutex);
  not_inherited.push_back(descriptor_.get());
}

NotInherited::~NotInherited() {
  const std::lock_guard guard(not_inherited_mutex);
  if (std::erase(not_inherited, descriptor_.get()) == 0)
    descriptor_.release();  // the child has closed its own
}

Descriptors::Pair Descriptors::make() {
  auto ends = make_pair();
  return {std::move(ends.first), NotInherited(std::move(ends.second))};
}

Descriptors::Descriptors(Segment& segment, NotificationQueue& queue)
    : segment_(segment),
      arrivals_(queue.descriptor()),
      control_(make()),
      data_(make()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      held_(sizeof(HeldPut) + interface::kPacketLimit) {
  if (stop_.get() < 0) base::throw_system("eventfd");
  thread_ = library::start_own_thread("hamlyn-segment", [this] { run(); });
}

Descriptors::~Descriptors() {
  if (segment_.interface().engine().lock().forked()) {
    thread_.detach();  // it is the parent's
    return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

// False: it is time to stop.
bool Descriptors::wait(int descriptor, short events) noexcept {
  for (;;) {
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {descriptor, events, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return false;
    if (fds[0].revents != 0) return false;
    if (fds[1].revents != 0) return true;
  }
}

bool Descriptors::send(const Pair& to, std::span<const std::byte> bytes) noexcept {
  while (::send(to.write.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(to.write.get(), POLLOUT)) return false;
  }
  return true;
}

bool Descriptors::move_held() noexcept {
  HeldPut held;
  const auto data = std::span(held_).subspan(sizeof held);
  while (segment_.take_held(held, data) == Status::ok) {
    std::memcpy(held_.data(), &held, sizeof held);
    if (!send(data_, std::span(held_).first(sizeof held + held.length))) return false;
  }
  return true;
}

bool Descriptors::move_record(const SegmentRecord& record) noexcept {
  if (record.kind == SegmentRecord::Kind::held && !move_held()) return false;
  return send(control_, std::as_bytes(std::span(&record, 1)));
}

void Descriptors::run() noexcept {
  do {
    while (const auto record = segment_.poll()) {
      if (!move_record(*record)) return;
    }
  } while (wait(arrivals_, POLLIN));
}

}  // namespace hamlyn::segment
