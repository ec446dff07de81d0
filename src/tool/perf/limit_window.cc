#include "tool/perf/limit_window.h"

#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

// Each side stores its own count with release behind what it did, and waits with acquire for the other's.
void send_all(Room& room, std::size_t bytes, const Work& send) {
  auto& window = *reinterpret_cast<Window*>(room.memory().data());
  room.meet();
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    while (window.taken.word.load(std::memory_order_acquire) + kWindow <= i) hamlyn_rest(1);
    send(window.message(i, bytes), i);
    window.sent.word.store(i + 1, std::memory_order_release);
  }
}

void receive_all(Room& room, std::size_t bytes, const Work& receive) {
  auto& window = *reinterpret_cast<Window*>(room.memory().data());
  std::uint64_t start = 0;
  room.meet();
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
    while (window.sent.word.load(std::memory_order_acquire) <= i) hamlyn_rest(1);
    receive(window.message(i, bytes), i);
    window.taken.word.store(i + 1, std::memory_order_release);
  }
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
}

}  // namespace

std::vector<double> run_window(Cores cores, std::size_t bytes, const Work& send, const Work& receive) {
  return run_pair(
      cores, {.bytes = Window::memory(bytes)}, [&](Room& room) { send_all(room, bytes, send); },
      [&](Room& room) { receive_all(room, bytes, receive); });
}

}  // namespace hamlyn::tool::perf
