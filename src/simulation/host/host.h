#pragma once
// Simulated processes that have the whole library, each its own interface: their threads are fibers, their
// clock is virtual, their links are simulated, and one seed decides everything. It is to them what the
// kernel, the daemon and the control threads are to real ones. They may be spread over several hosts: links
// between those are the real ones' (src/fabric/ofi) over a wire that loses, repeats and delays
// (rough_wire.h).
//
// A process that dies goes on to its end, by itself: its links are gone, it gets no others, and whatever it
// waits for is cancelled. So its memory is given back, and nobody else notices.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/shm/sealed_memory.h"
#include "library/setting.h"
#include "simulation/fault.h"
#include "simulation/host/fiber.h"
#include "simulation/link_end.h"
#include "simulation/rough_wire.h"
#include "simulation/trace.h"

namespace hamlyn::simulation {

class SimulatedServices;

// A process of a host.
struct Inhabitant {
  explicit Inhabitant(std::uint64_t the_number) : number(the_number) {}

  const std::uint64_t number;  // and that of its interface
  bool alive = true;
  bool stopped = false;
  SimulatedServices* services = nullptr;  // null: it has no interface
  bool leaves = false;                    // that interface gets no links any more
  std::shared_ptr<void> own;              // library::Setting::own
  std::uint64_t host = 0;
  std::map<std::uint64_t, LinkEnd> links;  // by the peer's number
  std::set<std::uint64_t> parted;          // from whom some fault may have parted it
  std::set<std::uint64_t> cut_off;         // from whom a link was cut, or ended of itself
  std::uint64_t arrivals = 0;
  // Its way to other hosts; null if there are none, or it has no interface.
  std::unique_ptr<RoughPort> port;
  std::unique_ptr<ofi::Exchange> exchange;
  std::uint64_t wakes = 0;         // of its threads, from sleeps
  std::uint64_t asleep_since = 0;  // when it last had something leave before it slept
};

class Host final : public library::Setting {
 public:
  struct Disk {
    std::uint64_t least_time = 20'000;  // of a sync
    std::uint64_t most_time = 3'000'000;
    std::uint64_t fails_one_in = 0;  // syncs; 0: none
  };
  struct Rules {
    sim::Weather weather;             // times are nanoseconds
    std::uint64_t refuse_one_in = 0;  // links that the node does not grant; 0: it grants all
    std::uint64_t hosts = 1;
    RoughNet::Weather wire{};  // between them
    ofi::Limits far{};
    Disk disk{};
  };

  Host(std::uint64_t seed, const Rules& rules, Trace::Reader reader);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  sim::Generator& chance() noexcept { return chance_; }
  std::uint64_t time() const noexcept { return net_.now(); }
  Topology topology() const noexcept { return topology_; }
  bool in_order() const noexcept { return topology_ == Topology::in_order; }

  // A process whose only thread runs `main`.
  Inhabitant& come(std::function<void(Inhabitant&)> main) { return come_at(0, std::move(main)); }
  // Makes such a process on that host, from 1 on. Its number begins with that of the host, as a node's daemon
  // gives it.
  Inhabitant& come_at(std::uint64_t host, std::function<void(Inhabitant&)> main);
  const std::vector<std::unique_ptr<Inhabitant>>& inhabitants() const noexcept { return inhabitants_; }
  Inhabitant& inhabitant(std::uint64_t number) { return *inhabitants_.at((number & kIndex) - 1); }
  // The process that runs.
  Inhabitant& here() noexcept { return *running_->process; }

  // Something happens so much later.
  void after(std::uint64_t nanoseconds, std::function<void()> what);
  // Runs until all have come to their ends, or one has failed.
  void run();
  // The process that runs does something else for a time.
  void pause(std::uint64_t nanoseconds);

  // Faults.
  void kill(Inhabitant& process);
  void stop(Inhabitant& process);
  // For longer than the others wait: they end their links with it.
  void stall(Inhabitant& process);
  void go_on(Inhabitant& process);
  void cut(Inhabitant& one, Inhabitant& other, std::uint64_t after_packets);
  // Nothing gets from the one's host to the other's, or neither way, for a time.
  void part(Inhabitant& one, Inhabitant& other, bool both_ways, std::uint64_t nanoseconds);
  // Bytes of that file that would be left if the power failed now: what was in it when the last sync of it
  // that has ended began. Nothing: there was none.
  std::span<const std::byte> on_disk(int file);
  // From now on the wire between hosts does no harm.
  void be_kind();
  // Whether a fault may have come between them.
  bool parted(std::uint64_t one, std::uint64_t other) const {
    return inhabitants_[(one & kIndex) - 1]->parted.count(other) != 0;
  }

  // Whether what one has put for the other may be lost on its way.
  bool cut_between(std::uint64_t one, std::uint64_t other) const {
    return inhabitants_[(one & kIndex) - 1]->cut_off.count(other) != 0;
  }

  // Notes that something was which must not be. The first one counts; everything comes to its end.
  void fail(std::string problem);
  void demand(bool as_it_should_be, const char* what) {
    if (!as_it_should_be) fail(what);
  }
  const std::string& problem() const noexcept { return problem_; }
  std::uint64_t turns() const noexcept { return turns_; }  // so often some thread has run, or time has passed
  void note(std::string_view text, std::initializer_list<std::uint64_t> values = {}) {
    trace_.note(time(), running_ != nullptr ? here().number : 0, text, values);
  }
  std::uint64_t digest() const noexcept { return trace_.digest(); }

  std::uint64_t deaths = 0, cuts = 0, stops = 0, stalls = 0, refusals = 0, partitions = 0;
  // Called when something has gone wrong between two; may be empty.
  std::function<void(Fault, const Inhabitant& one, const Inhabitant& other)> on_fault;

  // library::Setting
  Time now() noexcept override;
  std::uint64_t random_key() noexcept override { return keys_.next(); }
  void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t value,
             std::optional<Time> until) noexcept override;
  bool wait(std::span<pollfd> descriptors, std::optional<Time> until) noexcept override;
  bool sync(int file) noexcept override;
  void step_aside() noexcept override;
  std::unique_ptr<library::Task> start(std::function<void()> main) override;
  std::unique_ptr<library::HostServices> make_host_services(library::Engine& engine,
                                                            const Interface::Options& options) override;
  std::shared_ptr<void>& own() noexcept override { return here().own; }

 private:
  friend class SimulatedServices;
  class Beside;

  struct Thread {
    Thread(Inhabitant& of, bool is_main, std::function<void()> body)
        : process(&of), main(is_main), awaited(!is_main), fiber(std::move(body)) {}
    Inhabitant* process;
    const bool main;
    bool awaited;  // somebody asks, or will, whether it is over
    Fiber fiber;
    // Causes that wake it from its sleep; all of these are nothing in one that never slept.
    const std::atomic<std::uint32_t>* word = nullptr;
    std::uint32_t value = 0;
    std::uint64_t until = kNever;
    std::uint64_t arrivals = kNever;  // kNever: those do not wake it
    std::span<pollfd> descriptors;
    const Thread* joins = nullptr;
  };
  struct Name {
    Ticket ticket;         // of whatever interface
    std::uint64_t holder;  // who has registered it
  };
  struct Event {
    std::uint64_t time;
    std::uint64_t sequence;
    std::function<void()> what;
    bool operator>(const Event& other) const noexcept {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr unsigned kHostShift = 48;
  static constexpr std::uint64_t kIndex =
      (std::uint64_t{1} << kHostShift) - 1;  // what of a number counts all

  // `look`: at descriptors, too.
  bool ready(const Thread& thread, bool look) const noexcept;
  void run(Thread& thread);
  // Lets time pass until something can happen. False: nothing ever will.
  bool wait_for_something();
  void do_events();
  void may_part(Inhabitant& one, Inhabitant& other);
  // False: it does not run.
  bool halt(Inhabitant& process, std::string_view how, Fault fault, std::uint64_t& count);
  void cut_off(Inhabitant& one, Inhabitant& other);
  void struck(Fault fault, const Inhabitant& one, const Inhabitant& other) {
    if (on_fault) on_fault(fault, one, other);
  }
  void struck(Fault fault, const Inhabitant& process);
  void pass(std::uint64_t nanoseconds) noexcept;
  // Until then, or what else the thread that runs waits for.
  void stand_still(std::uint64_t until) noexcept;

  // Work of the control threads and the daemon.
  void introduce(std::uint64_t from, std::uint64_t to);
  void join(Inhabitant& one, Inhabitant& other);
  void join_oneself(Inhabitant& one);
  void add(Inhabitant& process, std::uint64_t peer);
  void look_at_overtaken();
  void look_at_end(std::uint64_t process, std::uint64_t peer);
  void end_links(Inhabitant& process);
  std::uint64_t soon() { return chance_.between(1000, 200000); }

  // Links to other hosts (far.cc).
  void open_far(Inhabitant& process);
  // Closes the endpoint of a process that leaves: what it had put arrives, and the others are told. If it is
  // dead, nothing more is said.
  void close_far(Inhabitant& process);
  std::unique_ptr<ofi::OfiLink> make_far(Inhabitant& from, const Inhabitant& to, std::uint64_t number,
                                         bool initiator);
  void send_before_sleep(Inhabitant& process) noexcept;
  // When something is to be done there at the latest.
  std::uint64_t far_next(const Inhabitant& process) const noexcept;
  // Finds the link's other end, at its peer; null if there is none any more.
  LinkEnd* other_end(const Inhabitant& process, std::uint64_t peer, const LinkEnd& end);
  // Notes at once what has ended there, so that nobody is surprised.
  void look_at_far(Inhabitant& process);
  void end_far(std::uint64_t process, std::uint64_t peer);
  void forget_far(Inhabitant& process, std::uint64_t peer, WhyNoLink why);
  void leave_far(Inhabitant& process, std::uint64_t peer);

  const Rules rules_;
  Trace trace_;
  sim::Generator chance_;
  sim::Generator keys_;
  sim::SimNet net_;
  std::unique_ptr<RoughNet> wire_;          // null: there is one host
  std::vector<std::uint64_t> port_owners_;  // by address
  const Topology topology_;
  bool troubled_ = false;  // frames are lost, or were for a while: links between hosts may end of themselves
  std::vector<std::unique_ptr<Inhabitant>> inhabitants_;  // number n stands at n - 1, without its host
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* running_ = nullptr;
  std::uint64_t turns_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::map<std::string, Name, std::less<>> names_;
  std::vector<shm::Mapping> shown_;  // all send buffer areas that anybody was shown: they stay to be read
  std::map<std::uint64_t, std::vector<std::byte>> on_disk_;  // by inode
  std::string problem_;
};

}  // namespace hamlyn::simulation
