#pragma once
// View of a node for `hamlyn node` and `hamlyn top`: who is attached, as the daemon attests it, and what each
// process's counter page says. A page is written by its owner alone, who may write nonsense: it is copied
// once, and nothing in it is more than a number or a text to print.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interface/counters.h"

namespace hamlyn::tool {

using Refusals = std::vector<std::pair<std::string, std::uint64_t>>;  // causes that occurred, and how often

struct LinkView {
  std::uint64_t peer = 0;
  std::uint32_t peer_uid = 0, peer_pid = 0;
  std::uint64_t memory_out = 0, memory_in = 0;
  std::uint64_t packets_out = 0, packets_in = 0;
  std::uint64_t bytes_out = 0, bytes_in = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t full = 0;  // times that it had no room
  Refusals refused;
};

// By their rows in the page. Of free rows there is none here.
struct SlotView {
  std::uint32_t slot = 0, queue = 0;
  interface::SlotCounters counts {};
  Refusals refused = {};
};
struct QueueView {
  std::uint32_t queue = 0;  // as a slot names it
  interface::QueueCounters counts {};
};
struct TerminusView {
  std::uint32_t terminus = 0;
  interface::TerminusCounters counts {};
};

struct CallView {
  std::uint32_t row = 0;
  interface::CallCounters counts {};
  std::string name = {};  // printable
  Refusals failed = {};   // by cause
  std::uint64_t timed = 0;
  // No call of those that were timed, but for one in 2, 100 or 1000, took as long as so many nanoseconds; 0:
  // none was timed.
  std::uint64_t median = 0, one_in_100 = 0, one_in_1000 = 0;
};

struct Details {
  std::uint64_t slots = 0, queues = 0, area_bytes = 0;
  std::uint64_t links_ended = 0;
  bool everyone = true;  // may open links with it; else the daemon's rules, its own user,
  std::uint64_t users_named = 0, groups_named = 0;  // and these
  std::uint64_t wakeups = 0, empty_wakeups = 0, events_lost = 0;
  std::uint64_t packets_in = 0, packets_out = 0;  // of all links ever
  // Leftovers of this process at other users' processes: descriptors unread, memory that is of no use any
  // more.
  std::uint64_t unread = 0, left_pieces = 0, left_bytes = 0;
  std::uint64_t links_held_up = 0;  // not made for that
  Refusals refused;                 // of all links ever
  Refusals no_link = {};            // links that were refused or have ended, by reason
  std::vector<LinkView> links;
  std::vector<SlotView> slot_rows;
  std::vector<QueueView> queue_rows;
  std::vector<TerminusView> terminus_rows;
  std::vector<CallView> call_rows = {};
};

struct ProcessView {
  std::uint64_t interface = 0;
  std::uint32_t uid = 0, pid = 0;
  std::string program = {};
  double seconds = 0;  // since it attached
  std::uint64_t links = 0, link_bytes = 0, area_bytes = 0;
  std::uint64_t refused = 0;            // packets, as it has reported to the node of the links that it has
  std::optional<Details> details = {};  // none: this process is not yours
  std::string why_no_details = {};      // if it is, but its page cannot be read
};

// A node of the cluster, as the asked node's daemon sees it.
struct MemberView {
  std::uint16_t id = 0;
  std::string state;  // self, alive, suspect, dead, left
  bool boot = false;
  std::uint64_t incarnation = 0;
  double seconds = 0;  // in that state
  std::string address;
};

struct NodeView {
  std::string version;
  std::uint32_t uid = 0, pid = 0;
  double seconds = 0;                         // since it started
  std::string socket = {};                    // where it was asked
  std::vector<std::string> constraints = {};  // what its starter has left it: sentences
  std::uint64_t names = 0;
  std::uint64_t cut = 0;                          // links, by the rule on reports
  std::uint64_t bytes_used = 0, bytes_quota = 0;  // of the asking user, in links and areas
  std::vector<ProcessView> processes;
  std::vector<MemberView> nodes = {};  // of its cluster; none: it belongs to none
  std::uint64_t packets_refused = 0;   // by its daemon, of anybody on the network
  std::string kept_out = {};           // why no node lets it in, if so
};

// The details in a page, which `invalid` has passed.
Details details_of(const interface::CounterPage& page);
// Reads a counter page through its descriptor into `process`, or says there why that cannot be.
void read_details(int fd, ProcessView& process);
// Without control characters and what is no UTF-8: a process chooses the text, and a terminal would obey it.
std::string printable(const char* text, std::size_t most);

// Where the daemon answers that `socket` means, as in NodeOptions::node. One user can have several, by
// several XDG_RUNTIME_DIR, and programs meet at the same one only. Throws Error, which says where none
// answers.
std::string node_asked(const std::string& socket);
// Where it was asked, for texts: " (asked at SOCKET)", or nothing where none answers.
std::string where_asked(const std::string& socket);

// Asks the node's daemon, and reads the pages (node.cc). Throws Error.
NodeView look_at_node(const std::string& socket);

std::string user_name(std::uint32_t uid);
std::uint64_t sum(const Refusals& refusals);
std::string refusals_text(const Refusals& refusals);
std::string to_text(const NodeView& node);
std::string to_json(const NodeView& node);

}  // namespace hamlyn::tool
