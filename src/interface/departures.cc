#include "interface/departures.h"

#include "base/assert.h"
#include "interface/core.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

namespace {
// Packets that go by a gate are not there before the run's end, and a look at the network costs more than one
// at memory: so many times as much in each run.
constexpr std::size_t kGateShare = 4;

// The short ways do not ask `others_first`, which would cost each message: the link keeps them from going.
void hold_short_ways(LinkLevel& way, bool hold) noexcept {
  if (way.level == Priority::normal) way.link->others_wait(hold);
}
}  // namespace

void Departures::leave(LinkLevel& way) noexcept {
  if (way.state == LinkLevel::State::ready) {
    ready(way).remove(way);
  } else if (way.state != LinkLevel::State::idle) {
    if (way.state != LinkLevel::State::answers) full_.remove(way);
    if (way.holds()) hold_short_ways(way, false);
  }
}

void Departures::set(LinkLevel& way, LinkLevel::State state) noexcept {
  HAMLYN_ASSERT(
      (state == LinkLevel::State::idle || state == LinkLevel::State::answers) == way.destinations.empty(),
      "messages are waited for exactly where some wait");
  leave(way);
  way.state = state;
  if (state == LinkLevel::State::ready) {
    ready(way).append(way);
  } else if (state != LinkLevel::State::idle) {
    if (state != LinkLevel::State::answers) full_.append(way);
    if (way.holds()) hold_short_ways(way, true);
  }
}

void Departures::hold(Link& link) noexcept {
  LinkLevel& way = link.way(Priority::normal);
  if (!way.holds()) set(way, way.destinations.empty() ? LinkLevel::State::answers : LinkLevel::State::full);
  hold_short_ways(way, true);  // a longer ring, or a packet of several cells, may have let them go
}

void Departures::go_on(Link& link) noexcept {
  LinkLevel& way = link.way(Priority::normal);
  if (way.state != LinkLevel::State::answers) return;
  way.direct_waits = false;
  set(way, LinkLevel::State::idle);
}

void Departures::start(Destination& destination, LinkLevel::State state) noexcept {
  HAMLYN_ASSERT(destination.link != nullptr && destination.link->peer == destination.peer,
                "a destination waits at the link that leads there");
  LinkLevel& way = destination.link->way(destination.terminus->priority());
  way.destinations.append(destination);
  if (way.state == LinkLevel::State::idle) set(way, state);
  if (way.state == LinkLevel::State::answers) set(way, LinkLevel::State::full);
}

void Departures::start_without_link(Destination& destination) noexcept {
  HAMLYN_ASSERT(destination.link == nullptr && core_.find_link(destination.peer) == nullptr,
                "where there is a link, packets wait for that");
  without_link_.append(destination);
  core_.surroundings().want_link(destination.peer);
}

void Departures::stop(Destination& destination) noexcept {
  if (destination.link == nullptr) {
    without_link_.remove(destination);
    return;
  }
  LinkLevel& way = destination.link->way(destination.terminus->priority());
  way.destinations.remove(destination);
  if (!way.destinations.empty()) return;
  way.direct_waits = false;
  set(way, LinkLevel::State::idle);
}

void Departures::link_made(Link& link) noexcept {
  for (LinkLevel& way : link.ways) way.link = &link;
  for (std::size_t i = 0; i < kPriorities; ++i) link.ways[i].level = static_cast<Priority>(i);
  for (Destination *destination = without_link_.first(), *next; destination != nullptr; destination = next) {
    next = Destinations::next(*destination);
    if (destination->peer != link.peer) continue;
    without_link_.remove(*destination);
    if (destination->terminus->link_made(*destination, link)) start(*destination);
  }
}

void Departures::link_ended(Link& link) noexcept {
  for (LinkLevel& way : link.ways) {
    while (Destination* destination = way.destinations.first())
      destination->terminus->fail(*destination, Status::link_ended);
  }
}

void Departures::link_refused(std::uint64_t peer, Status status) noexcept {
  for (Destination *destination = without_link_.first(), *next; destination != nullptr; destination = next) {
    next = Destinations::next(*destination);
    if (destination->peer == peer) destination->terminus->fail(*destination, status);
  }
}

bool Departures::run() noexcept {
  look_for_link();
  look_for_room();
  bool moved = false;
  std::size_t bytes = 0;
  for (unsigned packet = 0; packet < kPacketsPerRun && bytes < kBytesPerRun; ++packet) {
    LinkLevel* way = next_way();
    if (way == nullptr) break;
    moved |= serve(*way, bytes);
  }
  return moved;
}

void Departures::run(LinkLevel& way) noexcept {
  std::size_t bytes = 0;
  for (unsigned packet = 0; packet < kPacketsPerRun && bytes < kBytesPerRun; ++packet) {
    if (way.state != LinkLevel::State::ready) return;
    serve(way, bytes);
  }
}

// Asked again, one at a time: whoever makes links may have had no room for the wish.
void Departures::look_for_link() noexcept {
  if (without_link_.empty()) return;
  core_.surroundings().want_link(without_link_.first()->peer);
  without_link_.rotate();
}

void Departures::look_for_room() noexcept {
  const LinkLevel* first_full = nullptr;
  for (unsigned look = 0; look < kLooksPerRun && !full_.empty(); ++look) {
    LinkLevel& way = *full_.first();
    HAMLYN_ASSERT(way.state == LinkLevel::State::full || way.state == LinkLevel::State::yielding,
                  "the others are in other lists");
    if (way.state == LinkLevel::State::yielding || way.link->has_room(way.level)) {
      set(way, LinkLevel::State::ready);
      continue;
    }
    full_.rotate();
    if (full_.first() == first_full) return;
    if (first_full == nullptr) first_full = &way;
  }
}

LinkLevel* Departures::next_way() noexcept {
  LinkLevel* const urgent = ready_[static_cast<std::size_t>(Priority::urgent)].first();
  LinkLevel* const normal = ready_[static_cast<std::size_t>(Priority::normal)].first();
  if (urgent != nullptr && (normal == nullptr || urgent_in_a_row_ < kUrgentInARow)) {
    if (normal != nullptr) ++urgent_in_a_row_;
    return urgent;
  }
  urgent_in_a_row_ = 0;
  return normal;
}

// One packet of the terminus whose turn it is.
bool Departures::serve(LinkLevel& way, std::size_t& bytes) noexcept {
  HAMLYN_ASSERT(way.state == LinkLevel::State::ready && !way.destinations.empty(),
                "a level is served when a packet may leave");
  Destination& destination = *way.destinations.first();
  if (way.level == Priority::normal) way.link->remote.messages_turn = false;
  std::size_t left = 0;
  const Status status = destination.terminus->depart_one(destination, left);
  bytes += way.link->by_gate ? left / kGateShare : left;
  if (way.destinations.empty()) return status == Status::ok;  // it was the last one's last
  if (status == Status::queue_full) {
    set(way, LinkLevel::State::full);
    return false;
  }
  if (way.destinations.first() == &destination) way.destinations.rotate();
  set(way, way.direct_waits ? LinkLevel::State::yielding : LinkLevel::State::ready);
  way.direct_waits = false;
  return status == Status::ok;
}

}  // namespace hamlyn::internal_::interface
