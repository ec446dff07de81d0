#pragma once
// The stage of every hostile test: a node daemon of its own, a victim that receives, an honest neighbour that
// exchanges messages with it all the time, and a rogue. The test itself is none of them: it only asks how
// they are.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "hamlyn/hamlyn.h"
#include "interface/counters.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"
#include "test/support/rogue.h"

namespace hamlyn::test {

inline constexpr std::size_t kCauses = static_cast<std::size_t>(Refusal::count);
inline constexpr std::size_t kSlotBytes = 4096;
inline constexpr std::uint32_t kEntries = 8;
// Bounds of the entries of the paranoid slots.
inline constexpr Slot::Limits kLimits{1024, 512};
// The most that one get may ask for at the open and the paranoid slot, which take remote operations.
inline constexpr std::uint32_t kMostGet = 256;
// A counted message of this length in the open slot is an honest sender's, of one byte all over.
inline constexpr std::size_t kHonestBytes = kSlotBytes / kEntries - 3;

// Of the victim's slots.
struct Tickets {
  Ticket fast;
  std::array<Ticket, kEntries> counted;
  std::array<Ticket, kEntries> paranoid;
  std::array<Ticket, kEntries> one_shot;
};

// What the victim says of itself. The first part grows; the second is the same before and after if nothing
// leaks.
struct Report {
  std::uint64_t fast = 0;                       // of the rogue's messages
  std::uint64_t counted = 0;                    // likewise
  std::uint64_t wrong = 0;                      // messages that were not what was sent
  std::uint64_t failed = 0;                     // entries
  std::uint64_t ended = 0;                      // links
  std::uint64_t sent = 0;                       // messages of the victim to the rogue that left whole
  std::uint64_t unsent = 0;                     // and that did not
  std::uint64_t mapped = 0;                     // looks into a slot of the rogue's
  std::uint64_t damage = 0;                     // bytes changed outside of any slot
  std::uint64_t touched = 0;                    // bytes that are not zero in the rogue's slots
  std::array<std::uint64_t, kCauses> errors{};  // refusals as the victim's queue told them

  std::uint64_t fds = 0;
  std::uint64_t control_fds = 0;  // of the control thread, which has a table of its own
  std::uint64_t mappings = 0;     // of links
};

class World {
 public:
  struct Options {
    Interface::Options victim = {};
    std::string config = {};  // of the daemon
    bool other_user = false;  // the rogue is another user than the victim; needs root
    bool rearm = true;        // the victim arms a finished entry again
  };

  World() : World(Options{}) {}
  explicit World(Options options);

  const Tickets& tickets() const noexcept { return tickets_; }
  std::uint64_t victim() const noexcept { return tickets_.fast.interface; }
  const std::string& node() const noexcept { return node_; }
  int rogue_user() const noexcept { return rogue_user_; }
  int victim_user() const noexcept { return victim_user_; }
  pid_t daemon_pid() const noexcept { return daemon_->command().pid(); }
  pid_t victim_pid() const noexcept { return victim_->pid(); }

  // Lets `part` run as a rogue.
  Actor rogue(const std::function<int(Line&, Rogue&)>& part) const;

  Report report();
  interface::CounterPage counters();
  Tickets fresh_tickets();  // after entries have been armed anew
  // A ticket to that rogue; no slot is behind it.
  static Ticket ticket_back(std::uint64_t rogue);
  // The victim sends there, one message after the other, until one fails.
  void send_to(const Ticket& ticket);
  // The victim maps that slot, and reads it.
  void map(const Ticket& ticket);
  // The neighbour has its link before, which nobody could give it afterwards.
  void kill_daemon() {
    expect_goes_on();
    daemon_->kill();
  }

  // The victim answers and its neighbour's messages go on.
  void expect_goes_on();
  // And nothing of any rogue, all of them gone, is left in the victim.
  void expect_clean();
  // As many of each cause as given, and no others.
  void expect_errors(const std::array<std::uint64_t, kCauses>& expected);

 private:
  std::uint64_t rounds();

  Folder folder_{0755};
  std::string node_;
  int victim_user_ = -1;
  int rogue_user_ = -1;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Actor> victim_, neighbour_;
  Tickets tickets_;
  Report before_;
};

// How many links the victim did not make, or has ended, for that reason.
inline std::uint64_t no_links(World& world, LinkReason reason) {
  return world.counters().no_link[static_cast<std::size_t>(reason)];
}

// Tests that run twice: the rogue is of the victim's user, or, when we are root, of another.
enum class Rogues { of_same_user, of_other_user };
class Hostile : public testing::TestWithParam<Rogues> {
 protected:
  void SetUp() override;
  World::Options options() const { return {.other_user = GetParam() == Rogues::of_other_user}; }
};
std::string rogue_name(const testing::TestParamInfo<Rogues>& info);

#define HAMLYN_HOSTILE(name)                                                                                \
  class Hostile##name : public Hostile {};                                                                  \
  INSTANTIATE_TEST_SUITE_P(By, Hostile##name, testing::Values(Rogues::of_same_user, Rogues::of_other_user), \
                           rogue_name);

}  // namespace hamlyn::test
