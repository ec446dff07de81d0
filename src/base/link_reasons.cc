// The one table of reasons why there is no link.
#include "base/link_reasons.h"

#include <array>

namespace hamlyn {
namespace {

// Says a reason in words, once for each side that may give it. Without a text: that side never gives it.
struct Sentences {
  const char* text = nullptr;
  const char* advice = nullptr;
};

struct Row {
  LinkReason reason;
  const char* name;
  bool gone;        // nobody is there any more
  ErrorCode error;  // of setting up
  Sentences here;
  Sentences told;
};

using enum LinkReason;

constexpr std::array kRows = {
    Row{none,
        "none",
        true,
        ErrorCode::peer_died,
        {"nothing is known of a link with that process that has ended, or could not be had",
         "Ask what has ended how (closed, abandoned). The next send asks for a link."},
        {}},
    Row{no_process,
        "no_process",
        true,
        ErrorCode::peer_died,
        {"no process of that number is attached to its node",
         "Look the name up again: the process has ended, or is attached to another daemon (hamlyn node)."},
        {}},
    Row{not_permitted,
        "not_permitted",
        false,
        ErrorCode::not_permitted,
        {"that process, or a rule of the node, does not let this user open a link with it",
         "Ask whoever runs that process, or the administrator of the node, for rights."},
        {"the other side says that it does not let this user open a link with it",
         "Have whoever runs that process name this user in its Interface::Options::consent."}},
    Row{shunned,
        "shunned",
        false,
        ErrorCode::not_permitted,
        {"that process has refused so many packets of this one that the link was cut",
         "Look why they were refused (hamlyn node there); only that process can open the next link."},
        {}},
    Row{quota,
        "quota",
        false,
        ErrorCode::quota_links,
        {"this user has as many links, or bytes in links, as it may",
         "End what you do not need (hamlyn node shows it), or have quotas.links or quotas.bytes raised."},
        {}},
    Row{peer_quota,
        "peer_quota",
        false,
        ErrorCode::quota_links,
        {"the user at the other side has as many links, or bytes in links, as it may, or as others may open",
         "End links with that user's processes, or have quotas.links raised at their node."},
        {}},
    Row{node_full,
        "node_full",
        false,
        ErrorCode::node_full,
        {"all users together have as many links, or bytes in links, as a node holds",
         "Try again later, or have total.links or total.bytes raised."},
        {}},
    Row{node_busy,
        "node_busy",
        false,
        ErrorCode::out_of_memory,
        {"the node daemon has no descriptors or memory left, or too many requests of this process wait",
         "Try again later, ask for fewer at a time, or raise the daemon's limit of descriptors."},
        {}},
    Row{too_many_links,
        "too_many_links",
        false,
        ErrorCode::out_of_memory,
        {"this process has as many links as its options and its limit of descriptors (ulimit -n) allow",
         "Raise Interface::Options::links or RLIMIT_NOFILE, or have less going on at a time."},
        {"the other side says that it has as many links as it takes",
         "Try again later, or have its Interface::Options::links or its limit of descriptors raised."}},
    Row{no_descriptors,
        "no_descriptors",
        false,
        ErrorCode::out_of_memory,
        {"this process has no descriptors left", "Close some, or raise RLIMIT_NOFILE (ulimit -n)."},
        {"the other side says that it has no descriptors left",
         "Have its limit of descriptors raised where it runs (ulimit -n)."}},
    Row{no_memory,
        "no_memory",
        false,
        ErrorCode::out_of_memory,
        {"this process has no memory or address space left",
         "Free some, or raise its limits (ulimit -a; the memory of its control group)."},
        {"the other side says that it has no memory or address space left",
         "Have its limits raised where it runs (ulimit -a; the memory of its control group)."}},
    Row{call_forbidden,
        "call_forbidden",
        false,
        ErrorCode::system,
        {"this process may not make a system call that links need (memfd_create, or a seal)",
         "Allow it (seccomp, or what else confines the process); docs/rules.md lists the calls."},
        {"the other side says that it may not make a system call that links need (memfd_create, or a seal)",
         "Have the call allowed where the other side runs (seccomp, or what else confines it)."}},
    Row{memory_left_behind,
        "memory_left_behind",
        false,
        ErrorCode::peer_refused,
        {"processes of the user at the other side hold memory of too many links that have ended",
         "Have those processes ended; links are made again when they have let go."},
        {"the other side says that processes of this user hold memory of too many links that have ended",
         "End the processes of this user that still hold it (those that talked with that process)."}},
    Row{unread,
        "unread",
        false,
        ErrorCode::peer_refused,
        {"processes of the user at the other side leave unread too much of what this one has handed them",
         "Have those processes go on, or end."},
        {"the other side says that processes of this user leave unread too much of what it has handed them",
         "Have those processes of this user go on, or end."}},
    Row{node_missing,
        "node_missing",
        true,
        ErrorCode::peer_died,
        {"the node of that process is not there, or has gone",
         "See whether hamlynd runs there and both nodes know each other (hamlyn node), then look up again."},
        {}},
    Row{node_silent,
        "node_silent",
        false,
        ErrorCode::timed_out,
        {"the node of that process, or the process there, has not answered in time",
         "Try again; hamlyn node says whether that node is there."},
        {}},
    Row{no_way,
        "no_way",
        false,
        ErrorCode::peer_refused,
        {"one of the two processes cannot be reached from other nodes",
         "See why in the logs of both daemons: libfabric, an engine, or an address that cannot be used."},
        {}},
    Row{other_engine,
        "other_engine",
        false,
        ErrorCode::version_mismatch,
        {"the two processes use different engines of libfabric",
         "Give both nodes the same cluster.engine in their configuration."},
        {}},
    Row{no_connection,
        "no_connection",
        false,
        ErrorCode::timed_out,
        {"nothing has ever come over the network from there, though both daemons know each other",
         "See whether a firewall keeps TCP from passing between the hosts, or that process is stopped."},
        {}},
    Row{no_daemon,
        "no_daemon",
        false,
        ErrorCode::node_unreachable,
        {"there is no node daemon now that could introduce the two processes",
         "Start hamlynd again; what was asked for is asked again then."},
        {}},
    Row{no_page,
        "no_page",
        false,
        ErrorCode::peer_refused,
        {"that process was introduced, and did not show its memory in time",
         "See whether that process is stopped, or confined; then try again."},
        {"the other side says that this process did not show its memory in time",
         "See whether this process was stopped; then try again."}},
    Row{left,
        "left",
        true,
        ErrorCode::peer_died,
        {"this process has closed its interface", "Make a new Interface."},
        {"the other side has closed its interface", "Look its name up again when it is back."}},
    Row{died,
        "died",
        true,
        ErrorCode::peer_died,
        {"the process at the other side has ended", "Look its name up again when it is back."},
        {}},
    Row{stalled,
        "stalled",
        true,
        ErrorCode::peer_died,
        {"the other side took nothing for the stall time, though something was pending",
         "See whether that process is stopped; Interface::Options::stall sets the time."},
        {"the other side says that this process took nothing for its stall time",
         "See whether this process was stopped; the other side's Options::stall sets the time."}},
    Row{silent,
        "silent",
        true,
        ErrorCode::peer_died,
        {"the process on the other host was not heard any more",
         "See whether its host and the network are up; Interface::Options::dead sets the time."},
        {}},
    Row{cut,
        "cut",
        true,
        ErrorCode::peer_died,
        {"the node daemon has cut the link: one of the two sends too much that the other must refuse",
         "Look which packets were refused, and why (hamlyn node)."},
        {"the other side says that the node daemon has cut the link",
         "See what this process sends that the other side must refuse (hamlyn node)."}},
    Row{protocol_broken,
        "protocol_broken",
        true,
        ErrorCode::peer_died,
        {"the other side has said or written what no honest process does",
         "Do not trust what came from it; see that both sides use a sound Hamlyn of one version."},
        {"the other side says that this process has said or written what no honest one does",
         "See what else writes into this process's memory; use one version of Hamlyn at both sides."}},
    Row{daemon_restarted,
        "daemon_restarted",
        true,
        ErrorCode::peer_died,
        {"this node's daemon was started again, which ends its links to other nodes",
         "Ask for a link again: the next send does."},
        {}},
    Row{ended,
        "ended",
        true,
        ErrorCode::peer_died,
        {"the process at the other side has ended the link", "Look its name up again if it has gone."},
        {}},
};

constexpr bool each_in_its_place() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].reason) != i) return false;
  }
  return true;
}
static_assert(each_in_its_place());

const Row& row(LinkReason reason) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return kRows[index < kRows.size() ? index : 0];
}

const Sentences& sentences(WhyNoLink why) noexcept {
  const Row& found = row(why.reason);
  return why.told && found.told.text != nullptr ? found.told : found.here;
}

}  // namespace

const char* name(LinkReason reason) noexcept {
  return static_cast<std::size_t>(reason) < kRows.size() ? row(reason).name : "unknown";
}
const char* text(WhyNoLink why) noexcept { return sentences(why).text; }
const char* advice(WhyNoLink why) noexcept { return sentences(why).advice; }

namespace internal_::base {

Status status_of(LinkReason reason) noexcept {
  return row(reason).gone ? Status::link_ended : Status::refused;
}

bool has_gone(LinkReason reason) noexcept { return reason == left || reason == died; }

ErrorCode error_of(WhyNoLink why) noexcept {
  const Row& found = row(why.reason);
  // A reason that the other side gives is about its limits, and not about those of this process.
  return why.told && !found.gone ? ErrorCode::peer_refused : found.error;
}

LinkReason reason_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::name_unknown:
      return no_process;
    case ErrorCode::not_permitted:
      return not_permitted;
    case ErrorCode::quota_links:
    case ErrorCode::quota_bytes:
      return quota;
    case ErrorCode::node_full:
      return node_full;
    case ErrorCode::peer_died:
      return node_missing;
    case ErrorCode::timed_out:
      return node_silent;
    case ErrorCode::peer_refused:
      return no_way;
    case ErrorCode::version_mismatch:
      return other_engine;
    default:
      return node_busy;
  }
}

bool is_own_lack(LinkReason reason) noexcept {
  return reason == too_many_links || reason == no_descriptors || reason == no_memory ||
         reason == call_forbidden;
}

bool may_be_told(std::uint64_t reason) noexcept {
  return reason < kRows.size() && kRows[reason].told.text != nullptr;
}

LinkReason link_reason(std::uint64_t number) noexcept {
  return number < kRows.size() ? static_cast<LinkReason>(number) : none;
}

}  // namespace internal_::base
}  // namespace hamlyn
