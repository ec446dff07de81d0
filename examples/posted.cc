// Buffers that a receiver posts, and senders that name no place (docs/slots.md, "Posted buffers").
//
//   posted          receives; starts itself a second time as the sender
//   posted NAME     sends to whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBuffers = 8, kBytes = 4096;
constexpr std::uint64_t kMessages = 20;

int receive() {
  const std::string name = "posted." + std::to_string(getpid());
  SecondProcess sender{name};

  hamlyn::Interface interface;
  hamlyn::NotificationQueue queue{interface};
  hamlyn::PostedSlot slot{queue, {.buffers = kBuffers}};
  // Any memory of this process; while a buffer is posted it is the interface's.
  std::vector<std::array<std::byte, kBytes>> buffers(kBuffers);
  for (std::size_t i = 0; i < kBuffers; ++i) check(slot.post(buffers[i], i));
  interface.publish(name, slot.ticket());

  std::uint64_t received = 0, bytes = 0, without_buffer = 0;
  while (received < kMessages) {
    hamlyn::Notification n;
    check(queue.receive(n, 30s));
    if (n.kind == hamlyn::Notification::Kind::protocol_error) {  // told to the sender, too
      without_buffer += n.word;
      continue;
    }
    require(n.kind != hamlyn::Notification::Kind::link_ended, "the sender has gone");
    if (n.slot != slot.number()) continue;
    // A buffer whose message lost its rest is `failed`, and ours again as any other.
    if (n.kind == hamlyn::Notification::Kind::message) {
      require(n.word == received, "messages take buffers in the order in which they were sent");
      ++received;
      bytes += n.length;
    }
    check(slot.post(buffers[n.offset], n.offset));
  }
  std::printf("%llu messages, %llu bytes, in %zu buffers; %llu times none was free\n",
              static_cast<unsigned long long>(received), static_cast<unsigned long long>(bytes), kBuffers,
              static_cast<unsigned long long>(without_buffer));
  return sender.wait() ? 0 : 1;
}

// Sends a message, and again if no buffer was free for it: the receiver is behind.
void deliver(hamlyn::Terminus& terminus, const hamlyn::Ticket& ticket, std::string_view text,
             std::uint64_t word) {
  for (;;) {
    hamlyn::SendHandle handle;
    hamlyn::Status status =
        terminus.send_posted(ticket, std::as_bytes(std::span(text)), word, {.acknowledged = true}, &handle);
    if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);
    const bool behind =
        status == hamlyn::Status::refused && terminus.refusal(handle) == hamlyn::Refusal::no_buffer;
    if (!behind) return check(status);
    std::this_thread::sleep_for(1ms);
  }
}

int send(const char* name) {
  hamlyn::Interface interface;
  const hamlyn::Ticket ticket = interface.lookup(name, 30s);
  hamlyn::Terminus terminus{interface};
  for (std::uint64_t i = 0; i < kMessages; ++i) deliver(terminus, ticket, std::string(100 * i, 'x'), i);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive());
  } catch (const std::exception& error) {  // set-up throws hamlyn::Error; the data path never throws
    std::fprintf(stderr, "posted: %s\n", error.what());
    return 1;
  }
}
