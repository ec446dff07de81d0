#include "segment/descriptors.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>

#include "base/descriptor_table.h"
#include "base/throw_system.h"
#include "interface/packet.h"
#include "library/own_thread.h"
#include "segment/segments.h"

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

}  // namespace

Descriptors::Descriptors(Segment& segment, NotificationQueue& queue)
    : segment_(segment),
      queue_(queue),
      arrivals_(queue.descriptor()),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      held_(sizeof(HeldPut) + interface::kPacketLimit) {
  if (stop_.get() < 0) base::throw_system("eventfd");
  auto control = make_pair(), data = make_pair();
  control_ = {std::move(control.first), control.second.get()};
  data_ = {std::move(data.first), data.second.get()};
  std::promise<bool> own;
  thread_ = library::start_own_thread("hamlyn-segment", [&, this] {
    const auto number = [](int descriptor) { return static_cast<unsigned>(descriptor); };
    const bool kept = base::keep_only(
        {number(arrivals_), number(stop_.get()), number(control_.write), number(data_.write)});
    own.set_value(kept);
    if (kept) run();
  });
  if (!own.get_future().get()) {
    thread_.join();
    throw Error(ErrorCode::out_of_memory, "no memory for a table of descriptors");
  }
}  // in our table the ends that are written to are closed here

Descriptors::~Descriptors() {
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
  while (::send(to.write, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(to.write, POLLOUT)) return false;
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

// Nothing: there is none, and the queue will say when there is.
std::optional<SegmentRecord> Descriptors::next() noexcept {
  library::Engine& engine = segment_.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  interface::Queue& queue = queue_.inside();
  while (guard && !queue.empty()) {
    Notification notification;
    engine.core().take(queue, notification);
    if (const auto record = record_of(notification)) return record;
  }
  if (guard) engine.rearm(queue);
  return std::nullopt;
}

void Descriptors::run() noexcept {
  do {
    while (const auto record = next()) {
      if (!move_record(*record)) return;
    }
  } while (wait(arrivals_, POLLIN));
}

}  // namespace hamlyn::segment
