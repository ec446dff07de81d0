#pragma once
// Requesters that swap in two words of a target over datagrams, while they, the target and what it knows of
// them come and go; and whether what they were told can have been.
#include <functional>
#include <memory>
#include <vector>

#include "fabric/sim/generator.h"
#include "segment/lossy_swap.h"
#include "test/support/swap_history.h"

namespace hamlyn::test {

segment::Chance chance_of(std::uint64_t seed);

class SwapStorm {
 public:
  static constexpr std::uint64_t kTick = 8;    // between looks
  static constexpr std::uint64_t kEnd = 6000;  // of what is begun

  // `ports`: the target's, and one of each requester; they name each other here. `pass`: so much time goes by
  // on their network.
  SwapStorm(const sim::Generator& chance, const std::vector<fabric::DatagramPort*>& ports,
            std::function<void(std::uint64_t)> pass);

  // Fails the test if something does not end, or no order explains what was told.
  void run();
  // Operations of which somebody was told how they ended.
  std::size_t known() const;

 private:
  static constexpr std::size_t kWords = 2, kMostEvents = 70;
  struct Open {
    std::uint64_t number;
    std::size_t word, event;
  };
  struct Party {
    fabric::DatagramPort* port = nullptr;
    segment::Peer target = 0;
    segment::Peer at_target = 0;
    std::unique_ptr<segment::SwapRequester> requester;
    std::vector<Open> open;
    std::uint64_t last[kWords] = {};
  };

  void start(Party& party);
  void start_target();
  bool all_over() const;
  void step(bool begins);
  void look(Party& party);
  void begin(Party& party);

  sim::Generator chance_;
  const std::function<void(std::uint64_t)> pass_;
  fabric::DatagramPort& target_port_;
  std::unique_ptr<segment::SwapTarget> target_;
  std::vector<Party> parties_;
  std::uint64_t memory_[kWords] = {};
  std::vector<SwapEvent> history_[kWords];
  std::uint64_t now_ = 0;
};

}  // namespace hamlyn::test
