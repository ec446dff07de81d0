#include "library/control/unread.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace hamlyn::internal_::library {
namespace {

// A message takes more of a socket's memory than this. A message that is just being freed may leave a byte.
constexpr int kLessThanAMessage = 256;

bool all_read(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) != 0 || bytes < kLessThanAMessage;
}

}  // namespace

bool Unread::room(std::uint32_t uid, std::uint64_t count) {
  if (fits(uid, count)) return true;
  settle();
  return fits(uid, count);
}

void Unread::sent(std::uint32_t uid, int socket, std::uint64_t count, int epoll) {
  share_.add(uid, count);
  const auto line = std::ranges::find_if(lines_, [&](const auto& each) { return each->socket == socket; });
  if (line != lines_.end()) {
    (*line)->count += count;
    return;
  }
  lines_.push_back(std::unique_ptr<Line>(new Line{uid, socket, count, epoll}));
  if (epoll < 0) return;
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLET;  // an edge for each message that is read
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
}

void Unread::end(base::ForeignSocket socket) {
  const auto line =
      std::ranges::find_if(lines_, [&](const auto& each) { return each->socket == socket.get(); });
  if (line == lines_.end()) return;
  ::shutdown(socket.get(), SHUT_RDWR);  // the other side hears of the end all the same
  (*line)->kept.emplace(std::move(socket));
  settle();
}

void Unread::settle() {
  std::erase_if(lines_, [this](const auto& line) {
    if (!all_read(line->socket)) return false;
    share_.give_back(line->uid, line->count);
    if (line->epoll >= 0) ::epoll_ctl(line->epoll, EPOLL_CTL_DEL, line->socket, nullptr);
    return true;
  });
}

}  // namespace hamlyn::internal_::library
