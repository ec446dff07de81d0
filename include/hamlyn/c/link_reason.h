#pragma once
// Why there is no link with an interface, in C (hamlyn/c.h).
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Why a link was refused, or has ended; frozen numbers.
enum hamlyn_link_reason {
  HAMLYN_REASON_NONE = 0,           // there is a link, or nobody has asked for one, or it was long ago
  HAMLYN_REASON_NO_PROCESS = 1,     // no process of that number is attached to its node
  HAMLYN_REASON_NOT_PERMITTED = 2,  // rights: the other side's own, or a rule of a node
  HAMLYN_REASON_SHUNNED = 3,  // the other side had refused so many packets of this one that the link was cut
  HAMLYN_REASON_QUOTA = 4,    // the user at this side has as many links, or bytes in links, as it may
  HAMLYN_REASON_PEER_QUOTA = 5,       // the user at the other side has
  HAMLYN_REASON_NODE_FULL = 6,        // all users together have as many as the node holds
  HAMLYN_REASON_NODE_BUSY = 7,        // the node daemon has no descriptors or memory left, or too much waits
  HAMLYN_REASON_TOO_MANY_LINKS = 8,   // a process has as many links as it takes
  HAMLYN_REASON_NO_DESCRIPTORS = 9,   // a process has no descriptors left
  HAMLYN_REASON_NO_MEMORY = 10,       // a process has no memory or address space left
  HAMLYN_REASON_CALL_FORBIDDEN = 11,  // a process may not make a system call that links need
  HAMLYN_REASON_MEMORY_LEFT_BEHIND = 12,  // a user still holds memory of too many links that have ended
  HAMLYN_REASON_UNREAD = 13,              // a user leaves unread too much of what it was handed
  HAMLYN_REASON_NODE_MISSING = 14,        // the node of that process is not there, or has gone
  HAMLYN_REASON_NODE_SILENT = 15,         // the node of that process has not answered in time
  HAMLYN_REASON_NO_WAY = 16,              // a process cannot be reached from other nodes
  HAMLYN_REASON_OTHER_ENGINE = 17,        // the two processes use different engines of libfabric
  HAMLYN_REASON_NO_CONNECTION = 18,       // nothing has ever come over the network from there
  HAMLYN_REASON_NO_DAEMON = 19,           // there is no node daemon now that could introduce the two
  HAMLYN_REASON_NO_PAGE = 20,             // a process was introduced, and did not show its memory in time
  HAMLYN_REASON_LEFT = 21,                // a process has closed its interface
  HAMLYN_REASON_DIED = 22,                // a process has ended, or runs another program
  HAMLYN_REASON_STALLED = 23,  // a process took nothing for the stall time, though something was pending
  HAMLYN_REASON_SILENT = 24,   // a process of another host was not heard for the time after which it is dead
  HAMLYN_REASON_CUT = 25,      // the node's rule on refused packets
  HAMLYN_REASON_PROTOCOL_BROKEN = 26,   // a process has said or written what no honest one does
  HAMLYN_REASON_DAEMON_RESTARTED = 27,  // this node's daemon was started again
  HAMLYN_REASON_ENDED = 28              // the other side has ended the link, and does not say why
};

// The reason's name, as "no_descriptors". Never NULL.
const char* hamlyn_link_reason_name(uint32_t reason);
// One sentence on what has happened. `told`: 1 if the process at the other side has said so, about itself or
// about this one. Never NULL.
const char* hamlyn_link_reason_text(uint32_t reason, uint32_t told);
// One sentence on what can be done about it. Never NULL.
const char* hamlyn_link_reason_advice(uint32_t reason, uint32_t told);

#ifdef __cplusplus
}
#endif
