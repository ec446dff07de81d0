#pragma once
// The counter page that each process keeps for `hamlyn node`: written by its owner alone, shown read-only to
// the node daemon. Reporting costs the data path nothing. docs/wire.md has every byte.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hamlyn/notification.h"

namespace hamlyn::interface {

inline constexpr std::uint64_t kCounterMagic = 0x31434E594C4D4148u;  // "HAMLYNC1", little-endian
inline constexpr std::uint32_t kCounterVersion = 2;
inline constexpr std::size_t kCounterPageBytes = 65536;
inline constexpr std::size_t kCounterLinks = 252;  // rows; links beyond have counts of their own, not shown
inline constexpr std::size_t kCounterCauses = 32;  // room for causes of refusals

struct LinkCounters {
  std::uint64_t peer;  // 0: the row is free
  std::uint32_t peer_uid;
  std::uint32_t peer_pid;
  std::uint64_t memory_out;  // bytes of shared memory that this side holds for the link
  std::uint64_t memory_in;   // that the other side does
  std::uint64_t packets_out;
  std::uint64_t packets_in;
  std::uint64_t bytes_out;  // of data
  std::uint64_t bytes_in;
  std::uint64_t doorbells;  // rung by this side
  std::uint64_t reserved[7];
  std::uint32_t refused[kCounterCauses];  // by Refusal, modulo 2^32
};
static_assert(sizeof(LinkCounters) == 256 && static_cast<std::size_t>(Refusal::count) <= kCounterCauses);

struct CounterPage {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t pid;
  std::uint64_t interface;
  std::uint64_t links;        // now
  std::uint64_t links_ended;  // ever
  std::uint64_t slots;        // now
  std::uint64_t queues;       // now
  std::uint64_t areas_bytes;  // bytes of message areas
  std::uint64_t packets_in;   // of links that have ended
  std::uint64_t packets_out;
  std::uint64_t wakeups;        // of the interface thread
  std::uint64_t empty_wakeups;  // of those, with nothing to do
  std::uint64_t events_lost;    // notifications of errors that no queue had room for
  std::uint64_t links_broken;   // of the ended ones, because the peer broke the protocol
  std::uint64_t links_stalled;  // and because the peer left what was sent to it
  std::uint64_t reserved[49];
  std::uint64_t refused[kCounterCauses];  // by Refusal, all links ever
  char program[128];                      // zero-terminated; what the process calls itself
  std::uint64_t padding[16];
  LinkCounters link[kCounterLinks];
};
static_assert(offsetof(CounterPage, refused) == 512 && offsetof(CounterPage, link) == 1024);
static_assert(std::is_trivially_copyable_v<CounterPage> && sizeof(CounterPage) == kCounterPageBytes);

// Null if the page is one that this version reads, otherwise what is wrong with it.
inline const char* invalid(const CounterPage& page) noexcept {
  if (page.magic != kCounterMagic) return "not a counter page";
  if (page.version != kCounterVersion) return "counter page of another version";
  return nullptr;
}

}  // namespace hamlyn::interface
