// Pools of message buffers between processes of a simulated host: one sends out of its pool's buffers, the
// other lands in its own, and either dies at any time. No buffer is lost, and none is two owners'.
#include <algorithm>
#include <deque>
#include <map>

#include "hamlyn/core/buffer_pool.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLong = 3000;
constexpr std::uint64_t kMessages = 20;

// A word of the message's number, over and over.
std::byte word_of(std::uint64_t number) { return static_cast<std::byte>(number + 1); }
bool is_whole(std::span<const std::byte> bytes, std::uint64_t number) {
  return std::ranges::all_of(bytes, [&](std::byte each) { return each == word_of(number); });
}

// The buffers that messages leave from, each in use until its message is over.
class Leaving {
 public:
  explicit Leaving(Manager& manager)
      : area_(manager.interface(), 16 * 1024),
        pool_(area_, {{512, 2}, {kLong, 2}}),
        terminus_(manager.interface()) {
    EXPECT_EQ(terminus_.bind(0, area_), Status::ok);
  }
  ~Leaving() {
    under_way_.clear();
    EXPECT_EQ(pool_.free_buffers(), 4u);
  }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

  // False: it could not be sent, and never will.
  bool send(Hosted& all, const Ticket& ticket, std::uint64_t number) {
    const std::size_t length = number % 3 == 0 ? 400 : kLong - number;
    Buffer buffer;
    Status taken = pool_.take(length, buffer);
    for (; taken == Status::no_buffer; taken = pool_.take(length, buffer)) {
      all.expect(!under_way_.empty(), "a buffer is lost");
      if (under_way_.empty() || !finish_one(all)) return false;
    }
    all.expect(taken == Status::ok, "no buffer can be had");
    std::ranges::fill(buffer.bytes(), word_of(number));
    const Piece piece{0, buffer.offset(), length};
    SendHandle handle;
    const Status sent = terminus_.send_gathered(ticket, {&piece, 1}, {.acknowledged = true}, &handle);
    if (sent != Status::ok && sent != Status::pending) return all.expect(!all.alive(1), "not sent"), false;
    under_way_.push_back({std::move(buffer), handle, number});
    return true;
  }
  bool finish_one(Hosted& all) {
    Sending& oldest = under_way_.front();
    Status status = terminus_.status(oldest.handle);
    if (status == Status::pending) status = terminus_.wait(oldest.handle, 1s);
    all.expect(status == Status::ok || !all.alive(1), "a message does not land");
    all.expect(status != Status::timed_out, "nobody tells of the death");
    all.expect(is_whole(oldest.buffer.bytes(), oldest.number), "a buffer was two messages'");
    // Half of them come back by their address.
    if (std::byte* const at = oldest.number % 2 == 0 ? oldest.buffer.release() : nullptr)
      all.expect(pool_.give_back(at) == Status::ok && pool_.give_back(at) == Status::invalid,
                 "not given back");
    under_way_.pop_front();
    return status == Status::ok;
  }
  bool idle() const { return under_way_.empty(); }

 private:
  struct Sending {
    Buffer buffer;
    SendHandle handle;
    std::uint64_t number;
  };

  SendBufferArea area_;
  BufferPool pool_;
  Terminus terminus_;
  std::deque<Sending> under_way_;
};

// One that lands: a slot with one entry over a buffer, told to the sender by its name.
struct Landing {
  Landing(Manager& manager, MessageArea& area, NotificationQueue& queue, Buffer into, std::uint64_t number)
      : buffer(std::move(into)),
        slot(area, queue,
             {.base = buffer.offset(), .bound = buffer.bytes().size(), .entries = 1, .fast = false}) {
    manager.interface().publish("m" + std::to_string(number), slot.ticket(0));
  }
  Buffer buffer;
  Slot slot;
};

void exchange_buffers(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    MessageArea area(manager.interface(), 16 * 1024);
    BufferPool pool(area, {{kLong, 3}});
    NotificationQueue queue(manager.interface());
    std::map<std::uint32_t, std::pair<std::uint64_t, std::unique_ptr<Landing>>> landings;  // by slot
    std::uint64_t next = 0, landed = 0;
    while (landed != kMessages) {
      for (Buffer buffer; next != kMessages && pool.take(kLong, buffer) == Status::ok; ++next) {
        auto made = std::make_unique<Landing>(manager, area, queue, std::move(buffer), next);
        const std::uint32_t slot = made->slot.number();
        landings[slot] = {next, std::move(made)};
      }
      all.expect(landings.size() + pool.free_buffers() == 3, "a buffer is lost");
      Notification arrival;
      const Status status = queue.receive(arrival, 5ms);
      if (status != Status::ok || arrival.kind != Notification::Kind::message) {
        all.expect(!all.alive(2), "no message");
        break;
      }
      const auto found = landings.find(arrival.slot);
      all.expect(found != landings.end(), "it is of nobody's slot");
      if (found == landings.end()) break;
      const auto& [number, landing] = found->second;
      all.expect(is_whole(landing->buffer.bytes().first(arrival.length), number),
                 "a buffer was two messages'");
      landings.erase(found);
      ++landed;
    }
    landings.clear();
    EXPECT_EQ(pool.free_buffers(), 3u);
    all.host.pause(1'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    Leaving leaving(manager);
    for (std::uint64_t number = 0; number != kMessages; ++number) {
      Ticket ticket;
      try {
        ticket = manager.interface().lookup("m" + std::to_string(number), 5ms);
      } catch (const Error&) {
        return all.expect(!all.alive(1), "no such name");
      }
      if (!leaving.send(all, ticket, number)) return;
    }
    while (!leaving.idle() && leaving.finish_one(all)) {
    }
  });
}

TEST(HostedBuffers, carry_messages_and_come_back) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted({.least_delay = 1000, .most_delay = seed % 2 == 0 ? 1000u : 80'000u, .mtu = 256}, seed);
    exchange_buffers(hosted);
    hosted.run();
  }
}
TEST(HostedBuffers, come_back_whenever_the_sender_dies) { with_a_death_at_any_time(2, exchange_buffers); }
TEST(HostedBuffers, come_back_whenever_the_receiver_dies) { with_a_death_at_any_time(1, exchange_buffers); }

}  // namespace
}  // namespace hamlyn::test
