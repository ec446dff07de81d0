// Rings wake a sleeper. A peer 64 of whose rings in a row had no cause is looked at by the clock.
// Random programs of honest peers, each step of one between any two of the others: each ring has a cause.
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"
#include "test/rpc/seeds.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

// A process as its engine has it: somebody runs it, or sleeps on the doorbells of all links.
class Process {
 public:
  Process(Party& of, Party& first, Party& second, std::mt19937_64& chance)
      : party_(of), chance_(chance), queue_(of.core.make_queue(64)), to_{&first, &second} {
    const auto places = 1 + static_cast<std::uint32_t>(chance() % 8);
    for (auto& slot : slots_)
      slot.emplace(of, area_, queue_, SlotOptions{.places = places, .gets = kMostGot, .puts = true});
    constexpr unsigned kWeights[] = {0, 1, 4, 16};
    for (unsigned& each : habits_) each = kWeights[chance() % std::size(kWeights)];
    habits_[kRuns] += 1, habits_[kSleeps] += 1;
    if (chance() % 4 == 0) return;
    const std::uint64_t only = kSends + chance() % 4;  // or none
    for (std::uint64_t each = kSends; each <= kGets; ++each) habits_[each] = each == only ? 4 : 0;
  }
  void meet(Process& first, Process& second) {
    tickets_ = {first.ticket_for(party_), second.ticket_for(party_)};
  }

  // How often it was woken by a ring.
  unsigned woken() const { return woken_; }

  // A step of whoever runs it; of one that sleeps, a look whether somebody has rung. Another thread of its
  // own may relieve the sleeper, too.
  void step() {
    if (asleep_) return chance_() % 8 == 0 ? disarm() : look_at_doorbells();
    if (arms_) return fall_asleep();
    switch (draw()) {
      case kRuns:
        party_.core.run();
        return;
      case kTakes:
        for (std::uint64_t left = chance_() % 5; left != 0 && !queue_->empty(); --left) take(party_, queue_);
        return;
      case kSends:
        return send(chance_() % 2);
      case kPuts:
        return put(chance_() % 2);
      case kGets:
        return get(chance_() % 2);
      default:
        return arm();
    }
  }

 private:
  static constexpr std::size_t kBytes = 32768, kMostGot = 4096;
  enum Habit : std::uint8_t { kRuns, kTakes, kSends, kPuts, kGets, kSleeps, kHabits };

  // One of its habits. Some processes do little else than one of them.
  Habit draw() {
    std::uint64_t at = chance_() % std::accumulate(habits_.begin(), habits_.end(), 0u);
    std::size_t habit = 0;
    for (; at >= habits_[habit]; ++habit) at -= habits_[habit];
    return static_cast<Habit>(habit);
  }

  Ticket ticket_for(const Party& peer) { return slots_[to_[0] == &peer ? 0 : 1]->ticket(); }

  void send(std::size_t to) {
    for (std::uint64_t left = 1 + chance_() % 12; left != 0; --left)
      if (terminus_.send_fast(tickets_[to], {}, left, 0) != Status::ok) return;
  }
  void put(std::size_t to) {
    const std::size_t bytes = 1 + chance_() % (chance_() % 2 == 0 ? 64 : kBytes);
    static_cast<void>(terminus_.put(tickets_[to], std::span(sent_).first(bytes), {}, nullptr));
  }
  void get(std::size_t to) {
    RemoteHandle handle;
    const interface::Landing landing { .slot = slots_[to]->index(), .length = 1 + chance_() % kMostGot };
    static_cast<void>(terminus_.requests().get(tickets_[to], landing, {}, nullptr, &handle));
  }

  // The look behind that is a step of its own.
  void arm() {
    arms_ = true;
    epoch_ += 2;
    watched_.clear();
    for (interface::Link* link : party_.core.links())
      watched_.push_back({link->local(), link->local()->arm(epoch_)});
  }
  void fall_asleep() {
    arms_ = false;
    asleep_ = !party_.core.something_to_do();
    if (!asleep_) wake();
  }
  void look_at_doorbells() {
    for (const auto& [link, value] : watched_)
      if (base::RealMemory::load_relaxed(*link->doorbell()) != value) {
        ++woken_;
        return wake();
      }
  }
  void disarm() {
    asleep_ = false;
    for (const auto& [link, value] : watched_) link->disarm();
  }
  void wake() {
    disarm();
    for (const auto& [link, value] : watched_) {
      link->judge_ring(value);
      EXPECT_EQ(link->empty_rings, 0u);
    }
    party_.core.run();
  }

  Party& party_;
  std::mt19937_64& chance_;
  interface::Queue* const queue_;
  const std::array<Party*, 2> to_;
  std::array<unsigned, kHabits> habits_{};
  Terminus terminus_{party_.core, 63};
  Area area_{kBytes};
  std::array<std::optional<TestSlot>, 2> slots_;
  std::array<Ticket, 2> tickets_;
  std::vector<std::byte> sent_ = std::vector<std::byte>(kBytes);
  std::vector<std::pair<shm::ShmLink*, std::uint32_t>> watched_;
  std::uint32_t epoch_ = 0;
  bool arms_ = false, asleep_ = false;
  unsigned woken_ = 0;
};

class HonestRings : public Conformance {};

TEST_P(HonestRings, always_have_a_cause) {
  unsigned woken = 0;
  for_each_seed(100, [&](std::uint64_t seed) {
    std::mt19937_64 chance(seed);
    Process one(alice, bob, carol, chance), other(bob, alice, carol, chance),
        third(carol, alice, bob, chance);
    one.meet(other, third), other.meet(one, third), third.meet(one, other);
    const std::array<Process*, 3> all{&one, &other, &third};
    for (int left = 2000; left != 0 && !HasFailure(); --left) {
      if (chance() % 512 == 0) fabric->pass();  // links grow
      all[chance() % 3]->step();
    }
    for (const Process* each : all) woken += each->woken();
    rest();
  });
  EXPECT_GT(woken, 1000u);
}

INSTANTIATE_TEST_SUITE_P(fabric, HonestRings, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
