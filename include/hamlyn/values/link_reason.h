#pragma once
// Why there is no link with an interface: it was refused, or has ended. One table (docs/error-list.md) has
// the sentences.
#include <cstdint>

namespace hamlyn {

// Why a link was refused, or has ended. Numbers are frozen: processes and daemons tell them to each other.
enum class LinkReason : std::uint16_t {
  none = 0,  // there is a link, or nobody has asked for one, or it was long ago

  // No link is made.
  no_process = 1,      // no process of that number is attached to its node
  not_permitted,       // rights: the other side's own, or a rule of a node
  shunned,             // the other side had refused so many packets of this one that the link was cut
  quota,               // the user at this side has as many links, or bytes in links, as it may
  peer_quota,          // the user at the other side has
  node_full,           // all users together have as many as the node holds
  node_busy,           // the node daemon has no descriptors or memory left, or too many requests that wait
  too_many_links,      // a process has as many links as it takes
  no_descriptors,      // a process has no descriptors left
  no_memory,           // a process has no memory or address space left
  call_forbidden,      // a process may not make a system call that links need
  memory_left_behind,  // a user still holds memory of too many links that have ended
  unread,              // a user leaves unread too much of what it was handed
  node_missing,        // the node of that process is not there, or has gone
  node_silent,         // the node of that process has not answered in time
  no_way,              // a process cannot be reached from other nodes
  other_engine,        // the two processes use different engines of libfabric
  no_connection,       // nothing has ever come over the network from there
  no_daemon,           // there is no node daemon now that could introduce the two
  no_page,             // a process was introduced, and did not show its memory in time

  // A link has ended.
  left,              // a process has closed its interface
  died,              // a process has ended, or runs another program
  stalled,           // a process took nothing for the stall time, though something was pending
  silent,            // a process of another host was not heard for the time after which it is dead
  cut,               // the node's rule on refused packets
  protocol_broken,   // a process has said or written what no honest one does
  daemon_restarted,  // this node's daemon was started again, and knows no link to another node
  ended,             // the other side has ended the link, and does not say why
};

// A reason, and who gives it. A value.
struct WhyNoLink {
  LinkReason reason = LinkReason::none;
  // The process at the other side has said so, about itself or about this one. Its word, and no more.
  bool told = false;

  friend bool operator==(const WhyNoLink&, const WhyNoLink&) = default;
};

// The name as written above. Never null.
const char* name(LinkReason reason) noexcept;
// One sentence on what has happened. Never null.
const char* text(WhyNoLink why) noexcept;

// One sentence on what can be done about it. Never null.
const char* advice(WhyNoLink why) noexcept;

}  // namespace hamlyn
