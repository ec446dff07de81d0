#pragma once
// Whose packet departs next (paper 0, section 2.3; paper 1, section 5): links in turn, and at each link and
// level the termini that have something for it in turn, packet by packet. The urgent level goes first, but
// not for ever while normal packets wait. A link without room costs a look now and then, whatever waits for
// it.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/chain.h"
#include "base/namespaces.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::interface {

// Urgent packets in a row while normal ones wait; then it is the turn of a normal one. At both ends of a
// link: where packets leave and where they are taken.
inline constexpr unsigned kUrgentInARow = 8;

class Core;
class Link;
class Terminus;

// Messages of one terminus for one destination, as the order of departures sees them.
struct Destination {
  Terminus* terminus = nullptr;
  std::uint64_t peer = 0;
  Link* link = nullptr;  // null: not made yet
  base::ChainLinks<Destination> in_turn;
};

using Destinations = base::Chain<Destination, &Destination::in_turn>;

// One level of one link.
struct LinkLevel {
  enum class State : std::uint8_t {
    idle,      // nobody waits
    ready,     // a packet may leave
    yielding,  // a direct send wants its turn
    full,      // there was no room for one
    answers,   // no message waits, but there was no room for a long answer
  };
  // Whether direct sends stand back.
  bool holds() const noexcept { return state >= State::full; }
  Link* link = nullptr;
  Destinations destinations;  // who waits, whose turn is next first
  base::ChainLinks<LinkLevel> in_turn;
  Priority level = Priority::normal;
  State state = State::idle;
  bool direct_waits = false;  // a direct send came while there was no room
};

class Departures {
 public:
  // A run comes back to the arrivals soon.
  static constexpr unsigned kPacketsPerRun = 16;
  static constexpr std::size_t kBytesPerRun = 16384;
  static constexpr unsigned kLooksPerRun = 8;  // at ways that had no room

  explicit Departures(Core& core) noexcept : core_(core) {}

  // Messages that wait, with a link or without.
  bool any() const noexcept { return messages_ != 0; }
  void count(int change) noexcept {
    HAMLYN_ASSERT(static_cast<int>(messages_) + change >= 0, "only what was counted is counted off");
    messages_ = static_cast<std::uint32_t>(static_cast<int>(messages_) + change);
  }

  // Joins those who wait for the destination's link. `full`: there was no room for its first packet.
  void start(Destination& destination, LinkLevel::State state = LinkLevel::State::ready) noexcept;
  // Joins those who wait for a link that is still to be made.
  void start_without_link(Destination& destination) noexcept;
  // Leaves either.
  void stop(Destination& destination) noexcept;

  void link_made(Link& link) noexcept;
  void link_ended(Link& link) noexcept;
  void link_refused(std::uint64_t peer, Status status) noexcept;

  // Lets some packets leave. True if any did.
  bool run() noexcept;
  // Runs one link and level.
  void run(LinkLevel& way) noexcept;

  // A long answer has found no room at the link: until it has left, no message and no direct send may take
  // what becomes free. go_on: it has left, or there is none.
  void hold(Link& link) noexcept;
  void go_on(Link& link) noexcept;

 private:
  using LinkLevels = base::Chain<LinkLevel, &LinkLevel::in_turn>;

  void look_for_link() noexcept;
  void look_for_room() noexcept;
  LinkLevel* next_way() noexcept;
  bool serve(LinkLevel& way, std::size_t& bytes) noexcept;
  void set(LinkLevel& way, LinkLevel::State state) noexcept;
  void leave(LinkLevel& way) noexcept;
  LinkLevels& ready(const LinkLevel& way) noexcept { return ready_[static_cast<std::size_t>(way.level)]; }

  Core& core_;
  LinkLevels ready_[kPriorities];
  LinkLevels full_;  // or rests
  Destinations without_link_;
  std::uint32_t messages_ = 0;
  unsigned urgent_in_a_row_ = 0;
};

}  // namespace hamlyn::internal_::interface
