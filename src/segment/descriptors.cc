#include "segment/descriptors.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/throw_system.h"
#include "interface/packets/packet.h"
#include "library/wait/descriptor_wait.h"
#include "library/wait/own_thread.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::segment {

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

}  // namespace

Descriptors::Descriptors(Segment& segment, NotificationQueue& queue)
    : segment_(segment), arrivals_(queue.descriptor()), held_(sizeof(HeldPut) + interface::kPacketLimit) {
  auto control = make_pair();
  auto data = make_pair();
  control_read_.adopt(std::move(control.first));
  data_read_.adopt(std::move(data.first));
  const bool own_table = library::simulation == nullptr;
  if (!own_table) {
    control_ = std::move(control.second);
    data_ = std::move(data.second);
    wake_event_.listen();
  }
  task_ = library::start_task(segment.interface().waiting(), "hamlyn-segment",
                              [this, own_table, from = control.second.get(), to = data.second.get()] {
                                if (own_table) take(from, to);
                                if (!own_table || has_ends_) run();
                                wake_event_.close();
                                control_.reset();
                                data_.reset();
                              });
  if (!own_table) return;
  taken_.acquire();
  if (!has_ends_) throw Error(ErrorCode::out_of_memory, "no memory for a segment's descriptors");
}

// The constructor closes the ends of the process when it is done.
void Descriptors::take(int control, int data) noexcept {
  const auto unsigned_of = [](int fd) { return static_cast<unsigned>(fd); };
  try {
    if (library::leave_descriptors({unsigned_of(arrivals_), unsigned_of(control), unsigned_of(data)})) {
      control_.reset(control);
      wake_event_.listen();
      data_.reset(data);
      has_ends_ = true;
    }
  } catch (const std::exception&) {  // the constructor sees it
  }
  taken_.release();
}

Descriptors::~Descriptors() {
  if (segment_.interface().waiting().forked()) return;  // the thread is the parent's
  stop_.store(true);
  wake_event_.ring();
  task_.reset();
}

// False: it is time to stop.
bool Descriptors::wait(int descriptor, short events) noexcept {
  while (!stop_.load()) {
    const int held = held_bytes_ != 0 ? data_.get() : -1;  // until its reader makes room
    pollfd fds[] = {{wake_event_.descriptor(), POLLIN, 0}, {descriptor, events, 0}, {held, POLLOUT, 0}};
    if (!library::wait_for_descriptors(fds, std::nullopt)) return false;
    if (fds[0].revents != 0) wake_event_.take();
    if (fds[0].revents != 0 || fds[2].revents != 0) move_held();
    if (fds[1].revents != 0) return true;
  }
  return false;
}

// After a failure: whether the kernel may have memory for it later. By then a while is over, unless it is
// time to stop.
bool Descriptors::await_memory(int error) noexcept {
  if (error != ENOBUFS && error != ENOMEM) return false;
  pollfd rung{wake_event_.descriptor(), POLLIN, 0};
  ::poll(&rung, 1, kMemoryMs);
  return !stop_.load();
}

bool Descriptors::send(const base::FileDescriptor& to, std::span<const std::byte> bytes) noexcept {
  while (::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR || await_memory(errno)) continue;
    if (errno != EAGAIN || !wait(to.get(), POLLOUT)) return false;
  }
  return true;
}

int Descriptors::data() noexcept {
  if (!data_wanted_.exchange(true)) wake_event_.ring();  // some may wait already
  return data_read_.get();
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
    if (::send(data_.get(), held_.data(), held_bytes_, MSG_NOSIGNAL) < 0) {
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

}  // namespace hamlyn::internal_::segment
