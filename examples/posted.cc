// Buffers that a receiver posts, and a sender that names no place (docs/slots.md, "Posted buffers"). The
// sender has as many messages under way as there are buffers; each buffer that is posted again is told to it.
//
//   posted          receives; starts itself a second time as the sender
//   posted NAME     sends to whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBuffers = 8, kBytes = 4096;
constexpr std::uint64_t kMessages = 20;

// The next message of a slot with posted buffers. Any failure of a link or of the other side ends the
// program.
hamlyn::Notification next(hamlyn::NotificationQueue& queue) {
  hamlyn::Notification n;
  check(queue.receive(n, 30s));
  require(n.kind == hamlyn::Notification::Kind::message,
          "the other side has gone, or sends what it must not");
  return n;
}

// Throws unless a message has left, or will. Its bytes must stay until then.
void leaves(hamlyn::Status status) {
  if (status != hamlyn::Status::pending) check(status);
}

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

  // The first message is the ticket by which the sender is told of free buffers. It is a stranger's until it
  // was looked at: it must lead to whoever has sent it.
  hamlyn::Notification n = next(queue);
  hamlyn::Ticket freed;
  require(n.length == sizeof freed, "no ticket came");
  std::memcpy(&freed, buffers[n.offset].data(), sizeof freed);
  require(invalid(freed) == nullptr && freed.posted() && freed.interface == n.peer,
          "no ticket of the sender's");

  hamlyn::Terminus terminus{interface};
  std::uint64_t bytes = 0;
  for (std::uint64_t received = 0;; ++received) {
    check(slot.post(buffers[n.offset], n.offset));
    leaves(terminus.send_posted(freed, {}, n.offset));
    if (received == kMessages) break;
    n = next(queue);
    require(n.word == received, "messages take buffers in the order in which they were sent");
    bytes += n.length;
  }
  std::printf("%llu messages, %llu bytes, in %zu buffers\n", static_cast<unsigned long long>(kMessages),
              static_cast<unsigned long long>(bytes), kBuffers);
  return sender.wait() ? 0 : 1;
}

int send(const char* name) {
  hamlyn::Interface interface;
  hamlyn::NotificationQueue queue{interface};
  // Nothing lands here but the news that a buffer is free: the buffers are empty.
  hamlyn::PostedSlot freed{queue, {.buffers = kBuffers}};
  for (std::size_t i = 0; i < kBuffers; ++i) check(freed.post(std::span<std::byte>{}, i));

  const hamlyn::Ticket ticket = interface.lookup(name, 30s);
  hamlyn::Terminus terminus{interface};
  check(terminus.connect(ticket, 30s));
  const hamlyn::Ticket own = freed.ticket();
  leaves(terminus.send_posted(ticket, std::as_bytes(std::span{&own, 1}), 0));
  std::size_t free = kBuffers - 1;
  for (std::uint64_t i = 0; i < kMessages; ++i, --free) {
    for (; free == 0; ++free) check(freed.post(std::span<std::byte>{}, next(queue).offset));
    hamlyn::SendHandle handle;
    const std::string text(100 * i, 'x');
    const hamlyn::Status status =
        terminus.send_posted(ticket, std::as_bytes(std::span(text)), i, {}, &handle);
    check(status == hamlyn::Status::pending ? terminus.wait(handle, 30s) : status);
  }
  // The receiver has them all when it has posted each buffer again.
  for (; free != kBuffers; ++free) next(queue);
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
