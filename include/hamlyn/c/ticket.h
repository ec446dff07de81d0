#pragma once
// Tickets, seeds and shares, in C (hamlyn/c.h).
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Says where a message may land; whoever holds its 64 bytes may send there (paper 0, section 3.2). Copy it,
// store it, send it. For users its members are only to look at.
typedef struct hamlyn_ticket {
  uint64_t host;         // 0: this host
  uint64_t interface;    // the node's number of the receiving interface
  uint32_t slot;         // the slot's place at that interface
  uint32_t generation;   // of the slot
  uint64_t key;          // of the slot, or of the entry
  uint32_t entry;        // metadata entry, or a number that says that there is none
  uint32_t incarnation;  // of the entry
  uint64_t base;         // first byte that may be written, from the slot's base
  uint64_t bound;        // bytes, from there on
  uint32_t version;      // of this structure
  uint32_t purpose;      // 0: any; otherwise the protocol that it opens
} hamlyn_ticket;

// Grows a sender at the other side (paper 0, section 3.3): 64 bytes to send, store or publish.
typedef struct hamlyn_seed {
  hamlyn_ticket ticket;  // where the receiver hears of those who come with it
} hamlyn_seed;

// One sender's part of a group of messages (paper 0, section 2.5).
typedef struct hamlyn_share {
  hamlyn_ticket ticket;  // its bounds are this share's part of the buffer
  uint32_t count;        // how much its packets count
  uint32_t version;      // of this structure
} hamlyn_share;

// NULL if it is well formed, otherwise what is wrong with it; `hamlyn_seed_fault` says it of seeds. Worth
// anything it may still not be.
const char* hamlyn_ticket_fault(const hamlyn_ticket* ticket);
const char* hamlyn_seed_fault(const hamlyn_seed* seed);

#ifdef __cplusplus
}
#endif
