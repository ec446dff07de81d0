#pragma once
// The processes of a run, the net between them, and what goes wrong there: links that are cut or refused,
// processes that die, stop or come.
#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_order.h"
#include "fabric/sim/sim_net.h"
#include "simulation/trace.h"
#include "test/simulation/books/process.h"
#include "test/simulation/books/violation.h"

namespace hamlyn::simulation {

inline constexpr std::size_t kMostProcesses = 8;  // that a run ever has

struct Counts {
  std::uint64_t operations = 0;  // begun
  std::uint64_t completed = 0;   // and done
  std::uint64_t failed = 0;      // or told to have failed, because of a fault
  std::uint64_t cuts = 0;
  std::uint64_t deaths = 0;
  std::uint64_t stops = 0;
  std::uint64_t refusals = 0;    // links that the node did not grant
  std::uint64_t restarts = 0;    // deaths after which another came at once
  std::uint64_t stalls = 0;      // stops that were long
  std::uint64_t partitions = 0;  // of hosts

  void add(const Counts& other) noexcept;
  std::uint64_t faults() const noexcept { return cuts + deaths + stops + stalls + refusals + partitions; }
};

class World {
 public:
  World(std::uint64_t seed, Trace::Reader reader);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  sim::Generator& chance() noexcept { return chance_; }
  // What is decided from now on is decided by the seed and this number alone.
  void begin_step(std::uint32_t number) noexcept;
  sim::SimNet& net() noexcept { return *net_; }
  std::uint64_t now() const noexcept { return net_->now(); }
  Topology topology() const noexcept { return topology_; }
  // Whether nothing overtakes anything.
  bool in_order() const noexcept { return topology_ != Topology::hosts && net_->in_order(); }
  // Whether the byte orders at the two ends of each link do.
  bool orders_differ() const noexcept { return net_->weather().orders_differ; }
  // Data of numbers of so many bytes, as the other side of a link finds it.
  void as_it_comes(std::span<std::byte> data, std::uint32_t element) const noexcept {
    if (orders_differ()) base::swap_elements(data.data(), data.size(), element);
  }
  // Time passes, for all nets.
  void pass(std::uint64_t time);
  // All that ever came; number n stands at n - 1.
  const std::vector<std::unique_ptr<Process>>& processes() const noexcept { return processes_; }
  Process& process(std::uint64_t number) { return *processes_.at(number - 1); }
  Process& any() { return *processes_[chance_.below(processes_.size())]; }
  Process& any_living();
  // Another one that lives, or one whose name is another's by now, or null: not each call finds one.
  Process* any_other(const Process& than);
  // Whether what `from` sends to `to` now may be lost: a link between them is over, though its ends may not
  // have heard of it, or `to` is dead.
  bool unsure(const Process& from, const Process& to) const;
  // Whether neither has a link to the other.
  bool apart(const Process& one, const Process& other) const;

  Counts counts;
  Coverage coverage;
  void begun(OperationKind kind) noexcept {
    ++counts.operations;
    coverage.begun(kind, topology_);
  }
  // An operation was told of it.
  void met(OperationKind kind, Fault fault) noexcept { coverage.met(kind, fault, topology_); }
  // The same, if the answer to one says so.
  void met(OperationKind kind, Status status) noexcept { coverage.met(kind, status, topology_); }
  void note(const Process& process, std::string_view text, std::initializer_list<std::uint64_t> values = {}) {
    trace_.note(net_->now(), process.number(), text, values);
  }
  std::uint64_t digest() const noexcept { return trace_.digest(); }

  void come();
  void kill(Process& process);
  // It dies, and another has its name from now on; who has a ticket of it finds that out.
  void restart(Process& process);
  void stop(Process& process);
  void go_on(Process& process);
  void cut_any(Process& process);
  // Nothing gets from one host to another, or neither way, for a while; no link need end by that.
  void part();
  // Runs its interface, and notes which links have found out that they are over. True if anything moved.
  bool run(Process& process);
  // Counts what packets and frames have met since it was called last.
  void look_at_mishaps();
  // From now on the wire does no harm.
  void be_kind();
  // Nothing is on its way there, and both ends of each link know of it.
  bool wire_is_quiet();
  // What whoever keeps a process's links does: ends those that are over, makes those that are wanted. Not at
  // once: it may leave some for later, and refuse some.
  void keep_links(Process& process, bool at_once);
  // Gives up to `most` notifications to those whose slots they are of. True if there were any.
  bool read(Process& process, interface::Queue& queue, std::size_t most);

  const std::vector<std::unique_ptr<Operation>>& operations() const noexcept { return operations_; }

 private:
  struct Partition {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ways;  // between ports
    std::uint64_t until;
  };

  void be_dead(Process& process);
  void cut(Process& process, Process& peer);
  // The same link's end at its peer; null if there is none any more.
  LinkEnd* other_end(const Process& process, std::uint64_t peer, const LinkEnd& end);
  // From now on they may end of themselves.
  void excuse_links(Process& process);
  void give_up_stalled(Process& process);
  void forget_link(Process& process, Process& peer);
  void struck(Fault fault, const Process& one, const Process& other);
  void struck(Fault fault, const Process& process);
  // Of its send buffer areas: those that are wanted at the other side, and those that have gone.
  void show_areas(Process& process, bool at_once);
  void join(Process& one, Process& other);
  void end_link(Process& process, Process& peer);
  void may_lose(Process& one, Process& other);
  void link_over(Process& one, Process& other);

  Trace trace_;
  sim::Generator chance_;
  const std::uint64_t steps_seed_;
  std::unique_ptr<sim::SimNet> net_;
  const std::uint64_t hosts_;
  std::unique_ptr<RoughNet> wire_;  // null: there is one host
  const Topology topology_;
  std::vector<Partition> partitions_;
  std::uint64_t last_parted_ = 0;                  // when the last of all ends, or ended
  std::uint64_t excused_until_ = 0;                // links may end of what was too long to live through
  std::vector<std::bitset<kFaults>> met_on_wire_;  // by pair of processes, since they were looked at
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Throws Violation if sender and receiver do not agree on the places of notification queues, or a queue keeps
// some for nobody. Only true when nothing is under way and all was read.
void check_credits_at_rest(World& world);

// Of what size the numbers are that something sends; 0: it is bytes.
inline std::uint32_t any_element(sim::Generator& chance) {
  constexpr std::uint32_t kElements[] = {0, 0, 0, 0, 0, 2, 4, 8};
  return kElements[chance.below(8)];
}

}  // namespace hamlyn::simulation
