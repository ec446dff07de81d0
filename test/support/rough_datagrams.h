#pragma once
// A datagram port whose letters get lost, are repeated and come late, in another order, before they reach the
// real one that is below it: what a network may do, on loopback, by a seed.
#include <cstdint>
#include <vector>

#include "fabric/datagram_port.h"
#include "fabric/sim/generator.h"

namespace hamlyn::test {

class RoughDatagrams final : public fabric::DatagramPort {
 public:
  struct Weather {
    std::uint64_t most_delay = 100;  // in the time of `pass`
    std::uint64_t lost_one_in = 4;
    std::uint64_t repeated_one_in = 4;
  };

  RoughDatagrams(fabric::DatagramPort& real, std::uint64_t seed, const Weather& weather)
      : real_(real), chance_(seed), weather_(weather) {}

  std::size_t limit() const noexcept override { return real_.limit(); }
  std::span<const std::byte> address() const noexcept override { return real_.address(); }
  Peer insert(std::span<const std::byte> address) override { return real_.insert(address); }
  void forget(Peer peer) noexcept override { real_.forget(peer); }
  void take_strangers() noexcept override { real_.take_strangers(); }
  Status send(Peer to, std::span<const std::byte> data) noexcept override {
    if (chance_.one_in(weather_.lost_one_in)) return ++lost_, Status::ok;
    held_.push_back({now_ + chance_.below(weather_.most_delay), to, {data.begin(), data.end()}});
    if (chance_.one_in(weather_.repeated_one_in)) {
      ++repeated_;
      held_.push_back({now_ + chance_.below(weather_.most_delay), to, {data.begin(), data.end()}});
    }
    return Status::ok;
  }
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override { return real_.receive(into); }
  std::uint64_t refused() const noexcept override { return real_.refused(); }

  // What is due leaves.
  void pass(std::uint64_t time) {
    now_ += time;
    std::erase_if(held_, [this](const Letter& each) {
      if (each.due > now_) return false;
      static_cast<void>(real_.send(each.to, each.bytes));  // if there is no room, that one is lost, too
      return true;
    });
  }

  std::uint64_t lost() const noexcept { return lost_; }
  std::uint64_t repeated() const noexcept { return repeated_; }

 private:
  struct Letter {
    std::uint64_t due;
    Peer to;
    std::vector<std::byte> bytes;
  };

  fabric::DatagramPort& real_;
  sim::Generator chance_;
  const Weather weather_;
  std::uint64_t now_ = 0, lost_ = 0, repeated_ = 0;
  std::vector<Letter> held_;
};

}  // namespace hamlyn::test
