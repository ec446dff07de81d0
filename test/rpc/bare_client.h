#pragma once
// A client of calls that may send whatever its tickets allow.
#include <bit>
#include <chrono>
#include <cstdlib>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "rpc/rpc_wire.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {

using namespace std::chrono_literals;
using namespace internal_::rpc;

// Greets as a client does, and has its tickets in hand.
struct Bare {
  explicit Bare(const Interface::Options& options, const char* name)
      : interface(options), door(interface.lookup(name, 5s)) {
    static_cast<void>(terminus.connect(door, kPatience));
    const Ticket own = slot.ticket();
    const Greeting greeting{own.slot,
                            own.generation,
                            static_cast<std::uint32_t>(own.key),
                            static_cast<std::uint32_t>(own.key >> 32),
                            shape_of(4, 2048),
                            0,
                            0};
    const auto words = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(greeting);
    for (std::size_t i = 0; i != kGreetingWords; ++i) say(greeting_word(7, i, words[i]));
    const auto admission = protocols::copy_of<Admission>(slot.bytes(next()));
    if (!admission || !good(*admission, 4)) std::_Exit(2);
    to.interface = door.interface;
    to.host = door.host;
    to.slot = admission->slot;
    to.generation = admission->generation;
    to.key = admission->key;
    to.bound = 1 << 20;
    longer = to;
    longer.slot = admission->long_slot;
    longer.generation = admission->long_generation;
    longer.key = admission->long_key;
    longer.entry = 0;
    longer.incarnation = admission->long_incarnation;
    stride = admission->stride;
    first = first_frame(admission->stacks, admission->stride);
    static_cast<void>(terminus.connect(to, kPatience));
  }
  void say(std::uint64_t word) {
    while (terminus.send_fast(door, {}, word) == Status::no_place)
      if (terminus.wait_for_place(door, kPatience) != Status::ok) std::_Exit(1);
  }
  // The next message that comes.
  Notification next() {
    Notification arrival;
    while (queue.receive(arrival, kPatience) == Status::ok && arrival.kind != Notification::Kind::message) {
    }
    return arrival;
  }

  Interface interface;
  MessageArea area{interface, 4 * 2048};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.entries = 4}};
  Terminus terminus{interface};
  const Ticket door;
  Ticket to, longer;
  std::uint64_t first = 0;   // byte of the first frame
  std::uint64_t stride = 0;  // of frames
};

}  // namespace hamlyn::test
