#pragma once
// Datagrams in virtual time: lost, repeated, delayed and reordered by one seed.
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "fabric/datagram_port.h"
#include "fabric/sim/generator.h"

namespace hamlyn::sim {

class SimDatagramPort;

class SimDatagramNet {
 public:
  struct Weather {
    std::uint64_t least_delay = 1;
    std::uint64_t most_delay = 100;
    std::uint64_t lost_one_in = 10;  // 0: none
    std::uint64_t repeated_one_in = 10;
    std::size_t limit = 1408;
    std::size_t waiting = 32;   // datagrams of one port that have not left
    std::size_t standing = 64;  // that may stand at one port; more are lost
  };

  explicit SimDatagramNet(std::uint64_t seed) : SimDatagramNet(seed, Weather{}) {}
  SimDatagramNet(std::uint64_t seed, const Weather& weather) : weather_(weather), chance_(seed) {}

  // Ports go before the net.
  std::unique_ptr<SimDatagramPort> make_port();
  void pass(std::uint64_t time) noexcept { now_ += time; }
  std::uint64_t now() const noexcept { return now_; }
  // Loses all that ports send until `mend`.
  void cut() noexcept { cut_ = true; }
  void mend() noexcept { cut_ = false; }
  std::uint64_t lost() const noexcept { return lost_; }
  std::uint64_t repeated() const noexcept { return repeated_; }

 private:
  friend class SimDatagramPort;
  void carry(std::uint64_t from, std::uint64_t to, const std::vector<std::byte>& bytes);
  void put(std::uint64_t from, std::uint64_t to, const std::vector<std::byte>& bytes);

  const Weather weather_;
  Generator chance_;
  std::uint64_t now_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t lost_ = 0, repeated_ = 0;
  bool cut_ = false;
  std::vector<SimDatagramPort*> ports_;  // by number; null when gone
};

class SimDatagramPort final : public fabric::DatagramPort {
 public:
  SimDatagramPort(SimDatagramNet& net, std::uint64_t number);
  ~SimDatagramPort() override;

  std::size_t limit() const noexcept override { return net_.weather_.limit; }
  std::span<const std::byte> address() const noexcept override;
  Peer insert(std::span<const std::byte> address) override;
  void forget(Peer peer) noexcept override;
  void take_strangers() noexcept override { strangers_ = true; }
  Status send(Peer to, std::span<const std::byte> data) noexcept override;
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override;
  std::uint64_t refused() const noexcept override { return refused_; }

 private:
  friend class SimDatagramNet;
  struct Coming {
    std::uint64_t time;
    std::uint64_t number;
    std::uint64_t from;
    std::vector<std::byte> bytes;
    bool operator>(const Coming& other) const noexcept {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Leaving {
    std::uint64_t to;
    std::vector<std::byte> bytes;
  };

  SimDatagramNet& net_;
  const std::uint64_t number_;
  // Their numbers, by the name that they have here; kNobody: it was taken back.
  std::vector<std::uint64_t> peers_;
  bool strangers_ = false;
  std::vector<Leaving> leaving_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::uint64_t refused_ = 0;
};

}  // namespace hamlyn::sim
