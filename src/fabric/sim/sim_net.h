#pragma once
// The simulated fabric (design, section 6): one process, virtual time, one seed. Each packet has a delay of
// its own, so that packets overtake one another; nothing is lost or repeated while a link lives. Whatever is
// decided depends on the seed and on the order of calls alone, never on an address or a clock.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "fabric/sim/generator.h"
#include "hamlyn/values/priority.h"
#include "interface/packets/packet.h"

namespace hamlyn::sim {

class SimLink;

// A packet under way: everything is copied, so that the sender may reuse its buffers at once.
struct Parcel {
  interface::Packet packet;
  std::array<std::byte, interface::kCell> metadata;
  std::vector<std::byte> data;  // empty if inline
  bool reply = false;
  std::uint64_t number = 0;  // of what its sender has put
  Priority level = Priority::normal;
};

// How the links behave. Equal delays keep the order of packets.
struct Weather {
  std::uint64_t least_delay = 1;
  std::uint64_t most_delay = 100;
  std::size_t mtu = interface::kPacketLimit;
  std::size_t window = 64;  // packets of one direction that were sent and not yet taken
  std::size_t urgent_window = 4;
  std::size_t urgent_mtu = 320;
  std::size_t reply_window = 12;
  bool orders_differ = false;  // the two ends of a link have different byte orders
};

class SimNet {
 public:
  explicit SimNet(std::uint64_t seed, const Weather& weather = {});
  ~SimNet();
  SimNet(const SimNet&) = delete;
  SimNet& operator=(const SimNet&) = delete;

  // The two ends of a link between two interfaces. They may go in any order, before the net.
  std::pair<std::unique_ptr<SimLink>, std::unique_ptr<SimLink>> join(std::uint64_t one, std::uint64_t other);
  // One that leads back to the interface that it comes from.
  std::unique_ptr<SimLink> join_oneself(std::uint64_t one);
  // Loses what is under way on a link, and all that comes later; what has arrived stays with its ends.
  void cut(SimLink& end) noexcept;
  // Its process has gone. What it had put arrives, as out of memory that outlives its writer; the other end
  // is not told: whoever keeps the links there ends it when everything has come.
  void hang_up(SimLink& end) noexcept;

  std::uint64_t now() const noexcept { return now_; }
  Generator& chance() noexcept { return chance_; }
  const Weather& weather() const noexcept { return weather_; }
  bool in_order() const noexcept { return weather_.least_delay == weather_.most_delay; }

  // When the next packet arrives; nothing: none is under way.
  std::optional<std::uint64_t> next_arrival() const noexcept {
    return under_way_.empty() ? std::nullopt : std::optional{under_way_.top().time};
  }
  // Lets the next packet arrive. False: none is under way.
  bool step();
  // Lets all arrive that are due within `time` from now.
  void pass(std::uint64_t time);
  // Lets all arrive that are under way.
  void settle();

 private:
  friend class SimLink;

  struct Arrival {
    std::uint64_t time;
    std::uint64_t sequence;  // decides between arrivals of the same time
    std::size_t end;         // where it arrives
    std::shared_ptr<Parcel> parcel;
    bool operator>(const Arrival& other) const noexcept {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  void send(std::size_t end, std::shared_ptr<Parcel> parcel);
  void forget(SimLink& end) noexcept;

  Weather weather_;
  Generator chance_;
  std::uint64_t now_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::vector<SimLink*> ends_;  // by number; null when gone
  // The word of each end, which the other one may read when this one has gone (interface/areas/good_areas.h).
  std::vector<std::uint64_t> good_areas_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> under_way_;
};

}  // namespace hamlyn::sim
