// Time that an honest process waits for the node daemon's answer, alone and while others ask without end. It
// looks up a name that it has registered itself. Daemon and honest process share one processor. The attackers
// have the other one, or both. Where root measures, attackers are another user's: of one user the daemon
// serves first who comes first.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "node/client/client.h"
#include "node/client/list.h"
#include "tool/perf/clock.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/program.h"
#include "tool/perf/timing.h"
#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::size_t kTimes = 4000;
constexpr int kRoundsBefore = 300;     // of the attackers, before anything is timed
constexpr unsigned kStranger = 65533;  // 65534 is nobody that a daemon can tell apart

struct Flags {
  std::atomic<bool> beset{false};
  std::atomic<bool> over{false};
};

Flags& flags_of(Room& room) { return *std::launder(reinterpret_cast<Flags*>(room.memory().data())); }

// A daemon of its own, on that processor.
class Node {
 public:
  explicit Node(int processor) {
    std::string folder = "/tmp/hamlyn-perf-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr || ::chmod(folder.c_str(), 0755) != 0)
      throw std::runtime_error("no folder for a node");
    folder_ = folder;
    std::vector<std::string> words{daemon_program(), "--socket", socket()};
    if (::geteuid() == 0) words.emplace_back("--service");
    daemon_.emplace(words, Environment{});
    await_daemon(socket());
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(processor), &set);
    const auto pid = static_cast<pid_t>(node::list(options()).pid);
    if (::sched_setaffinity(pid, sizeof set, &set) != 0)
      throw std::runtime_error("the node is not to be moved");
  }
  ~Node() {
    if (daemon_) {
      daemon_->process().stop(SIGTERM);
      daemon_->process().wait();
    }
    for (const char* const more : {"", ".key", ".lock", ".log", ".start", ".attached", ".names"})
      ::unlink((socket() + more).c_str());
    ::rmdir(folder_.c_str());
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  node::ClientOptions options() const {
    node::ClientOptions out;
    out.socket = socket();
    out.start_node = false;
    return out;
  }

 private:
  std::string socket() const { return folder_ + "/node"; }

  std::string folder_;
  std::optional<Program> daemon_;
};

node::Event next(node::Client& client) {
  for (;;) {
    if (auto event = client.next()) return std::move(*event);
  }
}

void ask(Room& room, const Node& node, bool beset) {
  Flags& flags = flags_of(room);
  node::Client client = node::Client::attach(node.options());
  Ticket ticket;
  ticket.interface = client.interface_id();
  client.publish(1, "honest", {}, ticket);
  expect(next(client).kind == node::Event::Kind::published, "no name");
  while (beset && !flags.beset) std::this_thread::yield();
  std::vector<double> took;
  took.reserve(kTimes);
  for (std::uint64_t request = 2; took.size() < kTimes; ++request) {
    const std::uint64_t start = hamlyn_ticks();
    client.lookup(request, "honest", false);
    pollfd answer{client.descriptor(), POLLIN, 0};
    ::poll(&answer, 1, -1);
    expect(next(client).kind == node::Event::Kind::found, "no answer");
    took.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
  flags.over = true;
  room.report(took);
}

// Asks for links with one of their own that reads nothing, and for names that nobody has, as fast as the
// daemon takes it; what is answered is read.
class Attackers {
 public:
  Attackers(const Node& node, std::size_t askers)
      : node_(node), silent_(node::Client::attach(node.options())) {
    for (std::size_t i = 0; i < askers; ++i) askers_.push_back(node::Client::attach(node.options()));
  }
  void ask() {
    for (node::Client& asker : askers_) {
      bool lost = false;
      while (const auto event = asker.next()) {
        lost |= event->kind == node::Event::Kind::lost;
        if (event->kind == node::Event::Kind::introduced) asker.link_ended(event->link);
      }
      if (lost) asker = node::Client::attach(node_.options());
      if (asker.unsent()) continue;
      asker.introduce(++request_, silent_.interface_id());
      asker.lookup(++request_, "nobody", false);
    }
  }

 private:
  const Node& node_;
  node::Client silent_;
  std::vector<node::Client> askers_;
  std::uint64_t request_ = 0;
};

void attack(Room& room, const Node& node, std::size_t askers) {
  if (::geteuid() == 0 && (::setgid(kStranger) != 0 || ::setuid(kStranger) != 0))
    throw std::runtime_error("no other user to attack as");
  Flags& flags = flags_of(room);
  Attackers attackers{node, askers};
  for (int i = 0; i < kRoundsBefore; ++i) attackers.ask();
  flags.beset = true;
  while (!flags.over) attackers.ask();
}

// Where attackers are: on their own processor, or half of them on that of the daemon and its honest client.
enum class Attack { none, beside, everywhere };

void attack_from(Attack where, Cores cores, Room& room, const Node& node, std::size_t askers) {
  if (where == Attack::none) return;
  if (where == Attack::beside) return attack(room, node, askers);
  Worker other{[&] {
    try {
      pin(cores.first);
      attack(room, node, askers / 2);
      return 0;
    } catch (const std::exception&) {
      return 1;
    }
  }};
  attack(room, node, askers / 2);
  expect(other.wait(), "half of the attackers have not attacked");
}

Meter meter(const char* name, Attack where, std::size_t askers) {
  const auto round = [where, askers](Cores cores, int) {
    const Node node{cores.first};
    return run_pair(
        cores, {.results = kTimes}, [&](Room& room) { ask(room, node, where != Attack::none); },
        [&](Room& room) { attack_from(where, cores, room, node, askers); });
  };
  return {.name = std::string("node.lookup.") + name, .round = round, .single_operations = true};
}

}  // namespace

Meter node_lookup() { return meter("alone", Attack::none, 0); }
Meter node_lookup_beset_8() { return meter("beset.8", Attack::beside, 8); }
Meter node_lookup_beset_128() { return meter("beset.128", Attack::beside, 128); }
Meter node_lookup_beset_everywhere() { return meter("beset.everywhere", Attack::everywhere, 128); }

}  // namespace hamlyn::tool::perf
