// Coroutines over one queue: many tasks in one thread send long messages, and each goes on when the queue
// says that its message has landed. Nobody looks by the clock: while nothing happens the thread sleeps. The
// receiver waits for an amount of bytes.
//
//   sends          starts itself a second time, and checks what has come
//   sends NAME     sends to whoever has published NAME.0, NAME.1 and so on
#include <hamlyn/hamlyn.h>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTasks = 8, kEach = 8, kBytes = 200'000;

std::byte byte_of(std::size_t message) { return static_cast<std::byte>(message * 7 + 1); }

// Runs from where it is called to its first wait, and from then on whenever that is over.
struct Task {
  struct promise_type {
    Task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }  // out of whatever resumed it
  };
};

// Sends, and is resumed by the queue: `co_await sends.send(...)` gives how it ended.
class Sends {
 public:
  Sends(hamlyn::Interface& interface) : terminus_(interface), queue_(interface, 256) {}

  class Sent {
   public:
    Sent(Sends& sends, const hamlyn::Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset)
        : sends_(sends), ticket_(ticket), data_(data), offset_(offset) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> frame) noexcept {
      frame_ = frame;
      const auto word = reinterpret_cast<std::uintptr_t>(this);
      status_ = sends_.terminus_.send(
          ticket_, data_, {.offset = offset_, .acknowledged = true, .queue = &sends_.queue_, .word = word});
      return status_ == hamlyn::Status::pending;
    }
    hamlyn::Status await_resume() const noexcept { return status_; }
    void end(hamlyn::Status status) {
      status_ = status;
      frame_.resume();
    }

   private:
    Sends& sends_;
    const hamlyn::Ticket ticket_;
    const std::span<const std::byte> data_;
    const std::uint64_t offset_;
    std::coroutine_handle<> frame_;
    hamlyn::Status status_ = hamlyn::Status::invalid;
  };
  Sent send(const hamlyn::Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) {
    return {*this, ticket, data, offset};
  }

  // Until `left` says that no task is left.
  void run(const std::size_t& left) {
    while (left != 0) {
      hamlyn::Notification end;
      check(queue_.receive(end, 30s));
      const bool sent = end.kind == hamlyn::Notification::Kind::sent;
      if (!sent && end.kind != hamlyn::Notification::Kind::send_failed) continue;
      reinterpret_cast<Sent*>(static_cast<std::uintptr_t>(end.word))
          ->end(sent ? hamlyn::Status::ok : hamlyn::Status::refused);
    }
  }

 private:
  hamlyn::Terminus terminus_;
  hamlyn::NotificationQueue queue_;
};

Task send_all(Sends& sends, std::size_t task, std::span<const hamlyn::Ticket> tickets, std::size_t& left) {
  std::vector<std::byte> data(kBytes);
  for (std::size_t i = 0; i != kEach; ++i) {
    const std::size_t message = task * kEach + i;
    std::fill(data.begin(), data.end(), byte_of(message));
    check(co_await sends.send(tickets[message], data, message * kBytes));
  }
  --left;
}

int send(const std::string& name) {
  hamlyn::Interface interface;
  std::vector<hamlyn::Ticket> tickets;
  for (std::size_t i = 0; i != kTasks * kEach; ++i)
    tickets.push_back(interface.lookup(name + "." + std::to_string(i), 30s));
  Sends sends(interface);
  std::size_t left = kTasks;
  for (std::size_t task = 0; task != kTasks; ++task) send_all(sends, task, tickets, left);
  sends.run(left);
  return 0;
}

int receive() {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, kTasks * kEach * kBytes};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = kTasks * kEach, .fast = false}};
  const std::string name = "sends." + std::to_string(getpid());
  for (std::uint32_t i = 0; i != kTasks * kEach; ++i)
    interface.publish(name + "." + std::to_string(i), slot.ticket(i));
  SecondProcess other{name};
  check(slot.wait_landed(kTasks * kEach * kBytes, 30s));  // whatever is told of them
  for (std::size_t i = 0; i != area.bytes().size(); ++i)
    require(area.bytes()[i] == byte_of(i / kBytes), "a byte is another");
  if (!other.wait()) return 1;
  std::printf("%zu messages of %zu bytes, %zu at a time\n", kTasks * kEach, kBytes, kTasks);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return written(argc == 1 ? receive() : send(argv[1]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "sends: %s\n", error.what());
  return 1;
}
