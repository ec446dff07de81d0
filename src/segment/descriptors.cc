#include "segment/descriptors.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/throw_system.h"
#include "interface/packet.h"
#include "library/descriptor_wait.h"
#include "library/own_thread.h"

namespace hamlyn::segment {

namespace {

constexpr int kMemoryMs = 10;  // before a record is sent again for which the kernel had no memory

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

// From the program's start on: a child that is forked at the moment at which this is done would wait for the
// thread that does it.
const int forks_heard_of =
    pthread_atfork([] { not_inherited_mutex.lock(); }, [] { not_inherited_mutex.unlock(); }, close_in_child);

}  // namespace

NotInherited::NotInherited(base::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
  if (forks_heard_of != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
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
  task_ = library::start_task(segment.interface().engine().lock(), "hamlyn-segment", [this] { run(); });
}

Descriptors::~Descriptors() {
  if (segment_.interface().engine().lock().forked()) return;  // the thread is the parent's
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  task_.reset();
}

// False: it is time to stop.
bool Descriptors::wait(int descriptor, short events) noexcept {
  for (;;) {
    const int held = held_bytes_ != 0 ? data_.write.get() : -1;  // until its reader makes room
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {descriptor, events, 0}, {held, POLLOUT, 0}};
    if (!library::wait_for_descriptors(fds, std::nullopt)) return false;
    if (fds[0].revents != 0) return false;
    if (fds[2].revents != 0) move_held();
    if (fds[1].revents != 0) return true;
  }
}

// After a failure: whether the kernel may have memory for it later. By then a while is over, unless it is
// time to stop.
bool Descriptors::await_memory(int error) noexcept {
  if (error != ENOBUFS && error != ENOMEM) return false;
  pollfd stop{stop_.get(), POLLIN, 0};
  return ::poll(&stop, 1, kMemoryMs) <= 0;
}

bool Descriptors::send(const Pair& to, std::span<const std::byte> bytes) noexcept {
  while (::send(to.write.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR || await_memory(errno)) continue;
    if (errno != EAGAIN || !wait(to.write.get(), POLLOUT)) return false;
  }
  return true;
}

int Descriptors::data() noexcept {
  if (!data_wanted_.exchange(true)) {
    const std::uint64_t one = 1;  // some may wait already
    [[maybe_unused]] const ssize_t written = write(arrivals_, &one, sizeof one);
  }
  return data_.read.get();
}

// As many as there is room for. The last one may be left in held_.
void Descriptors::move_held() noexcept {
  while (data_wanted_.load()) {
    if (held_bytes_ == 0) {
      HeldPut held;
      const auto data = std::span(held_).subspan(sizeof held);
      if (segment_.take_held(held, data) != Status::ok) return;
      if (held.length == 0) continue;  // only of others that have come
      std::memcpy(held_.data(), &held, sizeof held);
      held_bytes_ = sizeof held + held.length;
    }
    if (::send(data_.write.get(), held_.data(), held_bytes_, MSG_NOSIGNAL) < 0) {
      if (errno == EAGAIN) return;
      if (errno == EINTR || await_memory(errno)) continue;
    }
    held_bytes_ = 0;
  }
}

void Descriptors::run() noexcept {
  do {
    move_held();
    while (const auto record = segment_.poll()) {
      if (record->kind == SegmentRecord::Kind::held) move_held();
      if (!send(control_, std::as_bytes(std::span(&*record, 1)))) return;
    }
  } while (wait(arrivals_, POLLIN));
}

}  // namespace hamlyn::segment
