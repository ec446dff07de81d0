// Two that nobody touches. One asks and the other answers, a thousand times a second, and what a round trip
// takes is written down.
#include <cstring>

#include "test/chaos/door.h"
#include "test/chaos/roles.h"

namespace hamlyn::chaos {
namespace {

using Clock = std::chrono::steady_clock;

struct Place {
  explicit Place(Stage& stage) : interface(stage.interface_options()) {}

  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface, 64};
  Slot slot{area, queue, {}};
  Terminus terminus{interface};
};

// The other's ticket, with a link to it.
Ticket find_other(Stage& stage, Place& place) {
  open_door(stage, [&] { place.interface.publish(stage.name(), place.slot.ticket(), {.everyone = true}); });
  stage.enter(place.interface);
  const Ticket other = place.interface.lookup(Stage::name_of(stage.partners().front()), kPatience);
  if (place.terminus.connect(other, kPatience) != Status::ok) throw Error(ErrorCode::peer_died, "no link");
  return other;
}

bool say(Stage& stage, Place& place, const Ticket& other, std::uint64_t word) {
  const Status status = place.terminus.send_fast(other, std::as_bytes(std::span(&word, 1)), word);
  if (status != Status::ok && !stage.leaving())
    stage.fault(std::string("a bystander's message: ") + name(status));
  return status == Status::ok;
}

bool hear(Stage& stage, Place& place, Notification& next) {
  const auto end = Clock::now() + kPatience;
  while (!stage.leaving()) {
    const Status status = place.queue.receive(next, kStep);
    if (status == Status::ok && next.kind == Notification::Kind::message) return true;
    if (stage.leaving()) break;
    if (status == Status::ok && next.kind != Notification::Kind::attachment) {  // the daemon comes and goes
      stage.fault("a bystander's link has ended");
      return false;
    }
    if (Clock::now() > end) {
      stage.fault("a bystander waits and nothing comes");
      return false;
    }
  }
  return false;
}

}  // namespace

int ask(Stage& stage) {
  Place place(stage);
  const Ticket other = find_other(stage, place);
  Notification next;
  for (std::uint64_t round = 1; !stage.leaving(); ++round) {
    const auto from = Clock::now();
    if (!say(stage, place, other, round) || !hear(stage, place, next)) break;
    stage.ledger().latency[stage.ledger().chaos ? 1 : 0].add(Clock::now() - from);
    if (next.word != round) stage.fault("a bystander hears another answer");
    pause(std::chrono::milliseconds{1});
  }
  return 0;
}

int answer(Stage& stage) {
  Place place(stage);
  const Ticket other = find_other(stage, place);
  Notification next;
  while (hear(stage, place, next)) {
    if (!say(stage, place, other, next.word)) break;
  }
  return 0;
}

}  // namespace hamlyn::chaos
