#pragma once
// Which nodes there are, as events: those of this host's cluster (docs/cluster.md) as its daemon sees them.
// First a snapshot, then every change, without a gap between the two. What changes faster than it is taken is
// told as the last of it, and how many changes that stands for: the daemon keeps no more than one line per
// node for us.
//
// Another node's daemon may see things differently (half of a partition does): there is no agreed view, and
// nothing here is a promise about a process. A link's own end (Notification::Kind::link_ended) is that.
//
// Threads: one at a time. It needs no Interface, and counts as one in the user's quota of interfaces.
// Owner: who made it. It can be moved.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hamlyn/values/error.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

// The nodes of this host's cluster, and what changes.
class Membership {
 public:
  struct Options {
    std::string node =
        {};  // the daemon's socket; empty: as HAMLYN_NODE names it, else the service's or one's own
    std::chrono::milliseconds timeout{5000};  // for the snapshot
  };

  // How a node stands, as this host's daemon sees it.
  enum class State : std::uint8_t {
    self,     // this host's own node
    alive,    // heard lately
    suspect,  // silent for two fifths of the cluster's `dead_after`
    dead,     // silent for longer, or given up by either side
    left,     // it has said that it goes
  };

  // A node of the cluster.
  struct Node {
    std::uint16_t id = 0;           // the upper 16 bits of its processes' interface numbers
    State state = State::dead;      // as of the last event taken
    bool boot = false;              // it admits newcomers
    std::uint64_t incarnation = 0;  // of its daemon: grows with every start
    std::string address;            // "10.0.0.7:7471"; of this host's own node empty
  };

  // Kinds of event.
  enum class Change : std::uint8_t {
    came,         // it is there: for the first time, or again under the same incarnation
    returned,     // it is there under a newer incarnation: everything of the former one is over
    suspected,    // alive -> suspect
    cleared,      // suspect -> alive
    died,         // its daemon is silent: links with its processes go on while they are heard
    left,         // links with its processes have ended; it is not looked for any more
    renewed,      // this host's own node has another incarnation: all its links with other nodes have ended
    missed,       // it is as it was, but was something else meanwhile
    daemon_gone,  // this host's daemon has ended. nodes() is empty until it is back: then all nodes come anew
  };

  // A change of one node.
  struct Event {
    Change change{};            // what has changed
    Node node;                  // as it is now; after daemon_gone nothing
    std::uint64_t former = 0;   // its incarnation when it was told of last; 0: never
    std::uint32_t changes = 1;  // how many changes of this node this event stands for
  };

  // Waits for the snapshot. Throws Error: node_unreachable (it starts no daemon), node_not_trusted,
  // version_mismatch, not_permitted, quota_interfaces, timed_out.
  Membership();
  explicit Membership(const Options& options);
  ~Membership();
  // A membership that was moved from can only be destroyed or assigned to.
  Membership(Membership&&) noexcept;
  Membership& operator=(Membership&&) noexcept;

  // As of the last event taken, and before the first one the snapshot; by id. Empty: the node belongs to no
  // cluster.
  const std::vector<Node>& nodes() const noexcept;

  // The next event, if there is one. Does not wait (but to find a daemon again that has ended, up to 50 ms).
  [[nodiscard]] std::optional<Event> next();
  // Waits for it. ok, timed_out; invalid: the descriptor is not there any more.
  Status wait(Event& out, std::chrono::milliseconds timeout);
  // Readable when next() may have something: for poll and epoll, level-triggered. The same as long as it
  // lives.
  int descriptor() const noexcept;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The name as written above. Never null.
const char* name(Membership::State state) noexcept;
const char* name(Membership::Change change) noexcept;

}  // namespace hamlyn
