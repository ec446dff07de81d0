#include "interface/departures.h"

#include "base/assert.h"
#include "interface/core.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

namespace {
// Packets that go by a gate are not there before the run's end, and a look at the network costs more than one
// at
// memory: so many times as much in each run.
constexpr std::size_t kGateShare = 4;
}  // namespace

void Departures::leave(Way& way) noexcept {
  if (way.state == Way::State::ready) {
    ready(way).remove(way);
  } else if (way.state != Way::State::idle) {
    full_.remove(way);
  }
}

void Departures::set(Way& way, Way::State state) noexcept {
  HAMLYN_ASSERT((state == Way::State::idle) == way.lanes.empty(),
                "a level is idle exactly when nobody waits there");
  leave(way);
  way.state = state;
  if (state == Way::State::ready) {
    ready(way).append(way);
  } else if (state != Way::State::idle) {
    full_.append(way);
  }
}

void Departures::start(Lane& lane, Way::State state) noexcept {
  HAMLYN_ASSERT(lane.link != nullptr && lane.link->peer == lane.peer,
                "a destination waits at the link that leads there");
  Way& way = lane.link->way(lane.terminus->priority());
  way.lanes.append(lane);
  if (way.state == Way::State::idle) set(way, state);
}

void Departures::start_without_link(Lane& lane) noexcept {
  HAMLYN_ASSERT(lane.link == nullptr && core_.find_link(lane.peer) == nullptr,
                "where there is a link, packets wait for that");
  without_link_.append(lane);
  core_.surroundings().want_link(lane.peer);
}

void Departures::stop(Lane& lane) noexcept {
  if (lane.link == nullptr) {
    without_link_.remove(lane);
    return;
  }
  Way& way = lane.link->way(lane.terminus->priority());
  way.lanes.remove(lane);
  if (!way.lanes.empty()) return;
  way.direct_waits = false;
  set(way, Way::State::idle);
}

void Departures::link_made(Link& link) noexcept {
  for (Way& way : link.ways) way.link = &link;
  for (std::size_t i = 0; i < kPriorities; ++i) link.ways[i].level = static_cast<Priority>(i);
  for (Lane *lane = without_link_.first(), *next; lane != nullptr; lane = next) {
    next = Lanes::next(*lane);
    if (lane->peer != link.peer) continue;
    without_link_.remove(*lane);
    if (lane->terminus->link_made(*lane, link)) start(*lane);
  }
}

void Departures::link_ended(Link& link) noexcept {
  for (Way& way : link.ways) {
    while (Lane* lane = way.lanes.first()) lane->terminus->fail(*lane, Status::link_ended);
  }
}

void Departures::link_refused(std::uint64_t peer, Status status) noexcept {
  for (Lane *lane = without_link_.first(), *next; lane != nullptr; lane = next) {
    next = Lanes::next(*lane);
    if (lane->peer == peer) lane->terminus->fail(*lane, status);
  }
}

bool Departures::run() noexcept {
  look_for_link();
  look_for_room();
  bool moved = false;
  std::size_t bytes = 0;
  for (unsigned packet = 0; packet < kPacketsPerRun && bytes < kBytesPerRun; ++packet) {
    Way* way = next_way();
    if (way == nullptr) break;
    moved |= serve(*way, bytes);
  }
  return moved;
}

void Departures::run(Way& way) noexcept {
  std::size_t bytes = 0;
  for (unsigned packet = 0; packet < kPacketsPerRun && bytes < kBytesPerRun; ++packet) {
    if (way.state != Way::State::ready) return;
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
  const Way* first_full = nullptr;
  for (unsigned look = 0; look < kLooksPerRun && !full_.empty(); ++look) {
    Way& way = *full_.first();
    HAMLYN_ASSERT(way.state == Way::State::full || way.state == Way::State::rests,
                  "the others are in other lists");
    if (way.state == Way::State::rests || way.link->has_room(way.level)) {
      set(way, Way::State::ready);
      continue;
    }
    full_.rotate();
    if (full_.first() == first_full) return;
    if (first_full == nullptr) first_full = &way;
  }
}

Way* Departures::next_way() noexcept {
  Way* const urgent = ready_[static_cast<std::size_t>(Priority::urgent)].first();
  Way* const normal = ready_[static_cast<std::size_t>(Priority::normal)].first();
  if (urgent != nullptr && (normal == nullptr || urgent_in_a_row_ < kUrgentInARow)) {
    if (normal != nullptr) ++urgent_in_a_row_;
    return urgent;
  }
  urgent_in_a_row_ = 0;
  return normal;
}

// One packet of the terminus whose turn it is.
bool Departures::serve(Way& way, std::size_t& bytes) noexcept {
  HAMLYN_ASSERT(way.state == Way::State::ready && !way.lanes.empty(),
                "a level is served when a packet may leave");
  Lane& lane = *way.lanes.first();
  std::size_t left = 0;
  const Status status = lane.terminus->depart_one(lane, left);
  bytes += way.link->by_gate ? left / kGateShare : left;
  if (way.lanes.empty()) return status == Status::ok;  // it was the last one's last
  if (status == Status::queue_full) {
    set(way, Way::State::full);
    return false;
  }
  if (way.lanes.first() == &lane) way.lanes.rotate();
  set(way, way.direct_waits ? Way::State::rests : Way::State::ready);
  way.direct_waits = false;
  return status == Status::ok;
}

}  // namespace hamlyn::internal_::interface
