#pragma once
// The kinds of packets that a receiver takes the short way (ShmLink::take). `land` asks every check that
// Core::deposit would ask of the packet (interface/packets/checks.h), lands it, and says whether it has.
// False: nothing was done, and the packet is left to the long way, which refuses it or does more.
//
// kInRun: only in an open run, where nothing comes before what stands in the ring. kCountedLater: the run
// counts the packet when it closes.
#include "fabric/shm/shm_link.h"
#include "interface/places/opened.h"
#include "interface/posted/take_posted.h"
#include "interface/remote/short_remote.h"

namespace hamlyn::shm {

// In fast mode, up to 16 bytes, like the one before. Its notification goes straight to `out`.
struct CachedMessage {
  static constexpr bool kInRun = true;
  static constexpr bool kCountedLater = true;
  interface::Queue& queue;
  Notification& out;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    return interface::Core::take_cached(link, words, queue, out);
  }
};

// A packet like the one before with its data in the cells behind, as far as the run goes: behind it, too, no
// ring ends and no credit is due.
struct CachedBlock {
  static constexpr bool kInRun = true;
  static constexpr bool kCountedLater = false;
  interface::Queue& queue;
  Notification& out;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    const std::uint64_t lead = words.word[interface::kLeadWord];
    return interface::is_block_write(lead, link.mtu()) && cells_of(lead_of(lead)) < link.in().until_stop() &&
           interface::Core::take_cached_block(link, words, link.in().block(), queue, out);
  }
};

// In fast mode by an opening, like the one before.
struct CachedOpening {
  static constexpr bool kInRun = true;
  static constexpr bool kCountedLater = true;
  interface::Queue& queue;
  Notification& out;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    return interface::is_opened_write(words.word[interface::kLeadWord]) &&
           interface::Core::take_cached_opened(link, words, queue, out);
  }
};

// A message to a posted buffer, in one cell or with its data in the cells behind.
struct PostedMessage {
  static constexpr bool kInRun = true;
  static constexpr bool kCountedLater = false;
  interface::Core& core;
  interface::Queue& queue;
  Notification& out;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    const std::uint64_t lead = words.word[interface::kLeadWord];
    Payload payload;
    if (!interface::is_short_write(lead)) [[unlikely]] {
      if (!interface::is_block_write(lead, link.mtu()) || cells_of(lead_of(lead)) >= link.in().until_stop())
        return false;
      payload.first = link.in().block();
      payload.first_length = lead_of(lead).length;
    }
    return core.take_posted_in_run(link, words, payload, queue, out);
  }
};

// A whole message of one packet, or a packet of a group. `whole`: there is something to be told of in `out`.
struct Message {
  static constexpr bool kInRun = false;
  static constexpr bool kCountedLater = false;
  interface::Core& core;
  interface::Queue& queue;
  Notification& out;
  bool whole = false;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    const Lead lead = lead_of(words.word[interface::kLeadWord]);
    if (interface::is_opened_write(words.word[interface::kLeadWord]))
      return whole = core.take_opened(link, words, queue, out);
    if (lead.operation != interface::Operation::write || !usable(lead, link.mtu(), link.in().count()))
      return false;
    const auto arrived = core.take_whole(link, words, link.in().payload(lead), queue, out);
    whole = arrived == interface::Core::Arrived::whole;
    return arrived != interface::Core::Arrived::other;
  }
};

// A get, a fetch or a fence, which is served; one like the one before from registers into the answer's cell.
struct Request {
  static constexpr bool kInRun = false;
  static constexpr bool kCountedLater = false;
  interface::Core& core;

  bool land(ShmLink& link, const interface::Words& words) noexcept {
    if (!interface::is_request(words.word[interface::kLeadWord])) return false;
    interface::Words answer;
    if (link.cached_reply_room() && core.serve_cached(link, words, answer)) {
      link.reply(answer);
      return true;
    }
    const Packet packet = arrived(words);
    const Refusal refusal = core.deposit_request(link, packet);
    if (refusal != Refusal::none) core.refuse(link, refusal, packet);
    return true;
  }
};

// A put of one cell, like the one before.
struct Put {
  static constexpr bool kInRun = false;
  static constexpr bool kCountedLater = false;

  __attribute__((always_inline)) bool land(ShmLink& link, const interface::Words& words) noexcept {
    return interface::is_put(words.word[interface::kLeadWord]) && interface::Core::put_cached(link, words);
  }
};

}  // namespace hamlyn::shm
