#pragma once
// The counter page that each process keeps for `hamlyn node` and `hamlyn top`: written by its owner alone,
// shown read-only to the node daemon, and read without the owner's help. docs/wire.md has every byte.
//
// Rows of slots, queues, termini and calls are for the first ones that there are; whatever finds no row
// counts into one that nobody sees, so that counting never asks. So the page is all that counting ever takes,
// whatever comes.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"

namespace hamlyn::internal_::interface {

inline constexpr std::uint64_t kCounterMagic = 0x31434E594C4D4148u;  // "HAMLYNC1", little-endian
inline constexpr std::uint32_t kCounterVersion = 6;
inline constexpr std::size_t kCounterPageBytes = 208896;
inline constexpr std::size_t kCounterLinks = 252;   // rows; links beyond have counts of their own, not shown
inline constexpr std::size_t kCounterReasons = 64;  // room for reasons why links were refused, or have ended
inline constexpr std::size_t kCounterCauses = 32;   // room for causes of refusals
inline constexpr std::size_t kCounterSlots = 256;   // those of the lowest numbers
inline constexpr std::size_t kCounterQueues = 64;
inline constexpr std::size_t kCounterTermini = 64;
inline constexpr std::size_t kCounterCalls = 128;
inline constexpr std::size_t kCounterCallCauses = 24;  // room for causes of failed calls
inline constexpr std::size_t kCounterTimes = 112;      // ranges of times: four for each power of two

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
  std::uint64_t doorbells;   // rung by this side
  std::uint64_t full;        // times that a packet found no room in it
  std::uint64_t bad_frames;  // between hosts: that said they were of this link, and could not be
  std::uint64_t reserved[5];
  std::uint32_t refused[kCounterCauses];  // by Refusal, modulo 2^32
};
static_assert(sizeof(LinkCounters) == 256 && static_cast<std::size_t>(Refusal::count) <= kCounterCauses);

struct SlotCounters {
  std::uint32_t generation;  // 0: the row is free
  std::uint32_t queue;       // row of the queue that it notifies, from 1 on; 0: that has none
  std::uint32_t entries;
  std::uint32_t places;    // of fast mode, for each link
  std::uint64_t bound;     // bytes
  std::uint64_t messages;  // that have landed whole
  std::uint64_t bytes;     // of them
  std::uint64_t failed;    // messages, and groups
  // High-water marks: notifications of it that stood in its queue at a time, unread.
  std::uint32_t most_places;   // of one link, each in a place of fast mode: to be held against `places`
  std::uint32_t most_entries;  // each of an entry: to be held against `entries`
  std::uint64_t reserved;
};
static_assert(sizeof(SlotCounters) == 64);

// Packets that named a slot, by Refusal, modulo 2^32. Apart from its other counts, which packets that are
// taken touch.
struct SlotRefusals {
  std::uint32_t by_cause[kCounterCauses];
};
static_assert(sizeof(SlotRefusals) == 128);

struct QueueCounters {
  std::uint64_t places;  // 0: the row is free
  std::uint64_t notifications;
  std::uint64_t most_standing;  // at a time: the high-water mark
  std::uint64_t reserved[5];
};
static_assert(sizeof(QueueCounters) == 64);

// Counts messages that go through a terminus's work queue. Packets of fast mode are counted by link.
struct TerminusCounters {
  std::uint32_t entries;  // 0: the row is free
  std::uint32_t level;
  std::uint64_t messages;
  std::uint64_t bytes;
  std::uint64_t most_pending;  // at a time: the high-water mark
  // Reasons for which messages waited, and how often:
  std::uint64_t no_link;             // one that is made yet
  std::uint64_t no_room;             // in the link
  std::uint64_t no_place;            // of fast mode, at the receiver: refused with Status::no_place
  std::uint64_t no_acknowledgement;  // room to await one more
  std::uint64_t no_entry;            // in the work queue: refused with Status::queue_full
  std::uint64_t reserved[7];
};
static_assert(sizeof(TerminusCounters) == 128);

// Whose calls a row counts.
enum class CallSide : std::uint32_t {
  none,       // the row is free
  caller,     // those that this process makes of one procedure
  procedure,  // those of one procedure that are made here
  client,     // those of one client that are made here
};
// Causes of failed calls behind those of rpc::Cause.
enum class CallEnd : std::uint32_t {
  given_up = 16,  // its caller wanted no result any more
  link_ended,
  not_sent,
  count,
};
static_assert(static_cast<std::size_t>(CallEnd::count) <= kCounterCallCauses);

struct CallCounters {
  CallSide side;
  std::uint32_t reserved;
  std::uint64_t peer;                        // the other side's interface; 0: several
  std::uint64_t calls;                       // also those that failed
  std::uint64_t retries;                     // times that a call found no stack, or no room
  std::uint32_t failed[kCounterCallCauses];  // by rpc::Cause, then by CallEnd, modulo 2^32
  char name[64];                             // zero-terminated, cut
  // Times of one call in sixteen, by `time_place`, modulo 2^32: a caller's until it has the result, a
  // server's until it has answered.
  std::uint32_t times[kCounterTimes];
};
static_assert(sizeof(CallCounters) == 640);

// The range of a time. The first one has all below 40 ns, the last one all from 7.5 s on.
constexpr std::size_t time_place(std::uint64_t nanoseconds) noexcept {
  if (nanoseconds < 32) return 0;
  const auto shift = static_cast<std::size_t>(std::bit_width(nanoseconds)) - 3;
  const std::size_t place = (shift - 3) * 4 + static_cast<std::size_t>(nanoseconds >> shift) - 4;
  return place < kCounterTimes ? place : kCounterTimes - 1;
}
// The least time of a range; that of the one behind it is the bound of its times.
constexpr std::uint64_t least_time(std::size_t place) noexcept { return (4 + place % 4) << (3 + place / 4); }

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
  std::uint64_t wakeups;         // of the interface thread
  std::uint64_t empty_wakeups;   // of those, with nothing to do
  std::uint64_t events_lost;     // notifications of errors that no queue had room for
  std::uint64_t links_broken;    // of the ended ones, because the peer broke the protocol
  std::uint64_t links_stalled;   // and because the peer left what was sent to it
  std::uint64_t termini;         // now
  std::uint64_t bad_frames;      // between hosts, of all links ever
  std::uint64_t unknown_frames;  // and of no link: forged, or late
  std::uint64_t unread;          // descriptors that other users' processes were handed and have not read
  std::uint64_t left_pieces;     // memories that they hold of links that have ended, and of areas that went
  std::uint64_t left_bytes;      // bytes of those
  std::uint64_t links_held_up;   // that were not made because of these, ever
  std::uint64_t consent;         // 0: everyone; else bit 0, users from bit 8, groups from bit 16 on
  std::uint32_t no_link[kCounterReasons];  // links refused or ended, by LinkReason, modulo 2^32
  std::uint64_t reserved[9];
  std::uint64_t refused[kCounterCauses];  // by Refusal, all links ever
  char program[128];                      // zero-terminated; what the process calls itself
  std::uint64_t padding[16];
  LinkCounters link[kCounterLinks];
  SlotCounters slot[kCounterSlots];
  QueueCounters queue[kCounterQueues];
  TerminusCounters terminus[kCounterTermini];
  SlotRefusals slot_refused[kCounterSlots];  // by the rows of `slot`
  CallCounters call[kCounterCalls];
};
static_assert(offsetof(CounterPage, refused) == 512 && offsetof(CounterPage, link) == 1024 &&
              offsetof(CounterPage, slot) == 65536 && offsetof(CounterPage, queue) == 81920 &&
              offsetof(CounterPage, terminus) == 86016 && offsetof(CounterPage, slot_refused) == 94208 &&
              offsetof(CounterPage, call) == 126976);
static_assert(std::is_trivially_copyable_v<CounterPage> && sizeof(CounterPage) == kCounterPageBytes);

// Null if the page is one that this version reads, otherwise what is wrong with it.
inline const char* invalid(const CounterPage& page) noexcept {
  if (page.magic != kCounterMagic) return "not a counter page";
  if (page.version != kCounterVersion) return "counter page of another version";
  return nullptr;
}

}  // namespace hamlyn::internal_::interface
