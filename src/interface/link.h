#pragma once
// A link as its interface knows it, whatever the fabric: the fabric's link derives from it. A link carries
// packets between two interfaces, never twice, none lost while it lives (design, section 6).
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"
#include "interface/abandon/lost_messages.h"
#include "interface/areas/send_area.h"
#include "interface/counters.h"
#include "interface/departures.h"
#include "interface/durable/store.h"
#include "interface/packets/cached.h"
#include "interface/packets/packet.h"
#include "interface/puts/lost_ranges.h"
#include "interface/record_chain.h"
#include "interface/remote/remote.h"
#include "interface/sweep.h"

namespace hamlyn::shm {
class ShmLink;
}

namespace hamlyn::internal_::interface {

class Core;
class Queue;

// Notification places that this interface, as a receiver, keeps for one sender at one slot.
struct ReceiveCredit {
  Queue* queue = nullptr;
  std::uint64_t link = 0;  // serial
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint32_t granted = 0;
  std::uint32_t standing = 0;  // notifications in the queue
  std::uint32_t most = 0;      // at a time so far: the next one beyond is noted (Core::rise)
  std::uint32_t freed = 0;     // modulo 2^32, as the next two
  std::uint32_t told = 0;      // the freed count that the sender was told last
  std::uint32_t tell_at = 0;   // the freed count at which there is something to do
  std::uint32_t credit = 0;    // the sender's name for it
  bool answered = false;       // the grant has left
  bool over = false;           // the slot or the link is gone: places go back as they are taken
  bool takes_puts = false;
  bool gives_gets = false;
  Refusal cause{};           // why there is none
  Refusal put_refused{};     // why puts by it were refused, since the sender last asked (puts.cc)
  std::uint32_t serial = 0;  // of this opening
  // Once its sender has given it back with some standing: the link's serial, and the slot. What stands counts
  // against what that link has there next.
  std::uint64_t given_back_by = 0;
  std::uint32_t given_back_at = 0;
  LostRanges lost;        // parts of puts that are to be announced
  RecordLinks at_slot;    // others of the slot; of the queue once it is over
  RecordLinks gave_back;  // others that the link has given back

  // Half of them free again: worth a reply.
  bool credit_due() const noexcept { return granted != 0 && freed - told >= (granted + 1) / 2; }
  void find_tell_at() noexcept { tell_at = over ? freed + 1 : told + (granted + 1) / 2; }
};

// Words that all fast-mode packets to one slot have in common.
struct FastTarget {
  std::uint64_t slot_word = 0;
  std::uint64_t key = 0;
  std::uint64_t entry_word = 0;
};

// The sender's side: what it may still send there.
struct SendCredit {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint64_t key = 0;
  FastTarget target;  // once it is open
  std::uint32_t granted = 0;
  std::uint32_t left = 0;      // places that are free
  std::uint32_t freed = 0;     // as the receiver told last, modulo 2^32
  std::uint32_t record = 0;    // the receiver's name for it
  std::uint64_t opening = 0;   // the same, for puts (put_packet.h)
  std::uint32_t question = 0;  // the last that was asked for it
  bool asked = false;
  bool refused = false;
  Refusal cause{};          // why it was refused, or is over
  bool takes_puts = false;  // though there may be no place
  bool gives_gets = false;
  std::uint64_t put_mark = 0;  // of a link that does not keep the order: its count behind the last put by it
  std::uint64_t unfenced = 0;  // termini, a bit each, whose puts have left by it since a fence of theirs
  std::uint64_t lost = 0;      // those for whom it ended with some, and was opened anew
  // Termini for whom a link has ended with some, and why the last such link has.
  std::uint64_t lost_with_link = 0;
  WhyNoLink lost_by;
  // Termini to whom a fence was answered that puts were refused when none of them waited for it any more; and
  // why, by the place of their bit.
  std::uint64_t untold = 0;
  std::array<Refusal, 64> untold_cause{};
  // By what levels it is used, a bit each; and of the opening whose place it takes, by what levels it was,
  // and the link's count behind all that left by it (giving_back.cc).
  std::uint8_t levels = 0;
  std::uint8_t former_levels = 0;
  std::uint64_t former_mark = 0;

  bool is_of(const Ticket& ticket) const noexcept {
    return slot == ticket.slot && generation == ticket.generation && key == ticket.key;
  }
  bool open() const noexcept { return granted != 0 || takes_puts || gives_gets; }
  // For good: a ticket to it leads nowhere any more.
  bool gone() const noexcept {
    return refused &&
           (cause == Refusal::bad_slot || cause == Refusal::stale_generation || cause == Refusal::bad_key);
  }
  void forget_terminus(std::uint64_t bit) noexcept {
    unfenced &= ~bit;
    lost &= ~bit;
    lost_with_link &= ~bit;
    untold &= ~bit;
  }
  // Termini whose next fence there must say that something is amiss.
  std::uint64_t amiss() const noexcept { return lost | lost_with_link | untold; }
  void lose_with_link(std::uint64_t termini, WhyNoLink why) noexcept {
    if (termini == 0) return;
    lost_with_link |= termini;
    lost_by = why.reason == LinkReason::none ? WhyNoLink{LinkReason::ended, false} : why;
  }
  // Returns why the link has ended with which puts of that terminus may be lost, once; nothing: there was
  // none.
  WhyNoLink take_lost_with_link(std::uint64_t bit) noexcept {
    if ((lost_with_link & bit) == 0) return {};
    lost_with_link &= ~bit;
    return lost_by;
  }
  void tell_later(std::uint64_t bit, Refusal what) noexcept {
    untold |= bit;
    untold_cause[static_cast<std::size_t>(std::countr_zero(bit))] = what;
  }
  // none: there is nothing that was not told.
  Refusal take_untold(std::uint64_t bit) noexcept {
    if ((untold & bit) == 0) return Refusal::none;
    untold &= ~bit;
    return untold_cause[static_cast<std::size_t>(std::countr_zero(bit))];
  }
};

// Grants and credits name what they answer: the sender's credit (its lowest bits), and which of the questions
// that this link has asked so far. One that answers an earlier question, whose opening has ended since, was
// overtaken by that end.
inline constexpr unsigned kOutletBits = 8;
inline constexpr std::uint32_t kQuestions = 1u << (32 - kOutletBits);  // then their numbers come again
inline std::uint64_t credit_word(std::size_t credit, std::uint64_t question) noexcept {
  return credit | (question % kQuestions) << kOutletBits;
}

// Messages per link and direction whose delivery is to be acknowledged and is not yet.
inline constexpr std::uint32_t kAcknowledgementLimit = 32;

struct Acknowledgements {
  struct Due {
    std::uint32_t message;
    Refusal cause;  // none: it has landed
  };
  struct Promise {  // of a message whose rest has not come, or that is not durable yet
    std::uint32_t slot;
    std::uint32_t entry;
    std::uint32_t message;
    bool syncing;       // the sync that runs covers it
    Store* store;       // all of it has landed there; null: not yet
    StoredRange range;  // and this is where
  };
  // Receiver's side.
  std::uint32_t promised_count = 0;
  std::uint32_t due_count = 0;
  std::array<Promise, kAcknowledgementLimit> promised;
  std::array<Due, kAcknowledgementLimit> due;
  // Sender's side.
  std::uint32_t awaited_count = 0;
  std::array<std::uint32_t, kAcknowledgementLimit> awaited;  // messages

  // False: there is no room now.
  bool await(std::uint32_t message) noexcept {
    if (awaited_count == kAcknowledgementLimit) return false;
    awaited[awaited_count++] = message;
    return true;
  }
  // False: it was not awaited.
  bool await_no_more(std::uint32_t message) noexcept {
    for (std::uint32_t i = 0; i < awaited_count; ++i) {
      if (awaited[i] != message) continue;
      awaited[i] = awaited[--awaited_count];
      return true;
    }
    return false;
  }
};

// User at the other side, as the node attests it; at first nobody.
struct User {
  std::uint32_t uid = 0xFFFFFFFFu;
  std::uint32_t gid = 0xFFFFFFFFu;
};

class Link {
 public:
  static constexpr std::size_t kPlacesLimit = 256;  // slots that one link may hold places at, at a time
  static_assert(kPlacesLimit == std::size_t{1} << kOutletBits);

  virtual ~Link() = default;

  // Returns the link itself if its packets go through memory of this host, which makes the short ways
  // possible; otherwise null. No cast leads from a Link to a link of a fabric (test/style/layers.py).
  shm::ShmLink* local() const noexcept { return local_; }

  // Puts one packet behind those of its level before it. ok; queue_full: no room now; link_ended.
  virtual Status put(const Packet& packet, const std::byte* data, const std::byte* metadata,
                     Priority level) noexcept = 0;
  Status put(const Packet& packet, const std::byte* data, const std::byte* metadata) noexcept {
    return put(packet, data, metadata, Priority::normal);
  }
  // Puts a packet of a long answer, likewise, at the normal level. For another user's the link gets itself no
  // more room than an answer needs: whoever asks must not make this process keep much.
  // `more`: another is put right behind it, if there is room.
  virtual Status put_answer(const Packet& packet, const std::byte* data, bool) noexcept {
    return put(packet, data, nullptr);
  }
  // Sends a fast-mode packet, from its words.
  Status put_fast(const FastTarget& target, std::uint64_t offset, std::uint64_t word, const std::byte* data,
                  std::size_t length, Priority level) noexcept;
  // Sends a reply, which has a ring of its own: up to kReplyPayload bytes of data, no metadata.
  virtual Status put_reply(const Packet& packet, const std::byte* data) noexcept = 0;
  // Hands all replies and up to `budget` packets that have arrived to the interface. Returns how many.
  virtual unsigned arrive(Core& core, unsigned budget) noexcept = 0;
  // Whether a packet is there to be handed over; looks, changes nothing.
  virtual bool something_arrived() const noexcept = 0;
  // How many, replies among them, can be there at most.
  virtual std::uint64_t arrived_at_most() const noexcept = 0;
  // The words by which the sweep sees that something has come since now; one that is always so if it should
  // rather ask.
  virtual ColdLook cold_look() const noexcept;
  // Whether `put` would take a packet of that level now.
  virtual bool has_room(Priority level) noexcept = 0;
  // Whether `put_reply` would take the longest of replies. No, where nothing leaves any more: what is still
  // owed there goes with the link, and keeps nobody awake until then.
  virtual bool has_reply_room() noexcept = 0;
  // Whether `put_answer` would take a packet now. No, where nothing leaves any more.
  virtual bool has_answer_room() noexcept { return !broken && has_room(Priority::normal); }
  // Whether the other side is known to have the link, too.
  virtual bool made() const noexcept { return true; }
  // The most data that one normal packet can have now.
  virtual std::size_t payload_limit() const noexcept = 0;
  // The most that one urgent packet can have, now and ever.
  virtual std::size_t urgent_payload_limit() const noexcept = 0;
  // The most that one normal packet can have once the link has got itself more room: the MTU, or less if it
  // was refused that.
  virtual std::size_t payload_limit_ever() const noexcept = 0;
  // How much has been put here ever, and how much of that the other side is done with: who has put something
  // that it must not change until it was copied waits until the second has come to what the first was then.
  virtual std::uint64_t put_count() const noexcept = 0;
  virtual std::uint64_t taken_count() noexcept = 0;
  // Has what was put leave this process now, whatever else might join it. True once it has: then it arrives
  // whatever becomes of this process. Within a host it has left as soon as it was put.
  virtual bool departed() noexcept { return true; }
  // Holds what is put from now on, for what is put behind it; false: all of it leaves.
  virtual void gather(bool) noexcept {}
  // Something long waits: the link may get itself more room.
  virtual void want_room() noexcept {}
  // Others wait for room at the normal level, or wait no more: until then no short way goes ahead of them.
  virtual void others_wait(bool) noexcept {}

  // Whether that send buffer area of the other side is good: asked behind a copy out of it (good_areas.h).
  virtual bool area_good(std::uint32_t) const noexcept { return false; }
  // Says which of our areas the other side may read from now on. None that is missing is used anew before
  // this.
  void set_areas_shown(std::uint64_t areas) noexcept {
    areas_shown = areas;
    tell_areas(areas);
  }

  std::size_t payload_limit(Priority level) const noexcept {
    return level == Priority::normal ? payload_limit() : urgent_payload_limit();
  }

  // Wakes the waiters once so much was taken.
  void wait_for_taken(std::uint64_t count) noexcept {
    taken_wanted = taken_wanted == 0 ? count : std::min(taken_wanted, count);
  }
  // Whether what is put now comes behind the first `count` packets. If not, waiters look again once it would.
  bool comes_behind(std::uint64_t count) noexcept {
    if (in_order || taken_count() >= count) return true;
    wait_for_taken(count);
    return false;
  }
  // Whether that has come; once.
  bool wanted_was_taken() noexcept {
    if (taken_wanted == 0 || taken_count() < taken_wanted) return false;
    taken_wanted = 0;
    return true;
  }

  LinkLevel& way(Priority level) noexcept { return ways[static_cast<std::size_t>(level)]; }
  // Whether those who wait for room, messages or long answers, come before a direct send: it has its turn
  // when each of them had one.
  bool others_first(Priority level) noexcept {
    LinkLevel& way = this->way(level);
    if (!way.holds()) return false;
    way.direct_waits = true;
    return true;
  }

  SweepPlace sweep;
  std::array<LinkLevel, kPriorities> ways;  // who waits for room, by level
  std::uint64_t serial = 0;  // of this interface's links; never reused. The lowest bits are `index`
  std::uint32_t index = 0;   // of those that there are now; given to the next when this one has gone
  std::uint64_t peer = 0;    // the interface at the other side
  User user;
  bool same_user = false;        // this process's own, or root, who may make it keep as much as it likes
  std::uint32_t departures = 0;  // messages in termini that wait for this link
  // Messages of several packets to posted buffers that are not over, by level.
  std::array<std::uint32_t, kPriorities> posted_under_way{};
  std::uint32_t lent = 0;          // messages whose buffers the other side has not given back yet
  std::uint64_t taken_seen = 0;    // taken_count() when buffers were taken back last
  std::uint64_t taken_wanted = 0;  // somebody waits until taken_count() is that; 0: nobody
  bool room_wanted = false;        // somebody asked for room in vain since there last was some
  bool broken = false;             // the peer broke the protocol: to be ended by whoever keeps the links
  bool broken_noted = false;
  bool in_order = false;  // packets of one level arrive as they were put
  bool asked = true;      // this process wanted it
  bool by_gate = false;   // its packets come in by the gate (gate.h); said before it is added
  bool far = false;       // the peer is on another host; said before it is added
  LinkCounters spare_counters{};
  LinkCounters* counters = &spare_counters;  // its row of the counter page, if there was a free one

  Acknowledgements acknowledgements;

  // Receiver's side.
  Cached cached;
  std::vector<std::uint32_t> places;  // indices of records, by the sender's `delta`
  std::uint32_t openings = 0;         // so far; their serials
  std::uint32_t gave_back = 0;        // the first of the records that are given_back_by it; 0: none
  bool replies_due = false;
  // Whether something is to be answered when there is room.
  bool answers_due() const noexcept { return replies_due || remote.owes_long(); }
  LostMessages lost_messages;
  std::array<std::uint32_t, static_cast<std::size_t>(Refusal::count)> refused{};  // by cause, not told yet
  std::uint32_t told_causes = 0;  // causes of which a notification stands in a queue

  std::unique_ptr<ShownAreas> shown;  // once the peer has shown any

  // Sender's side.
  std::vector<Packet> abandons;  // that found no room yet
  std::vector<std::unique_ptr<SendCredit>> credits;
  std::uint64_t lost_before = 0;  // termini, a bit each: puts of theirs to this peer may be lost (LostPuts)
  std::uint64_t questions = 0;    // that were asked for them so far
  std::vector<MappedTarget> mapped;  // slots of the peer that data is stored to straight away
  // Told of the link's end: each mapping of a slot of the peer's, also one that is only read
  // (MappedSlot::status).
  std::vector<std::atomic<bool>*> mapping_ends;
  std::uint64_t areas_shown = 0;   // one bit for each: the peer can read it (set_areas_shown)
  std::uint64_t areas_wanted = 0;  // whoever keeps the links should show them

  RemoteWork remote;                     // of both sides
  Priority arriving = Priority::normal;  // level of what is being handed over

 protected:
  Link() = default;
  explicit Link(shm::ShmLink* local) noexcept : local_(local) {}

 private:
  virtual void tell_areas(std::uint64_t) noexcept {}

  shm::ShmLink* const local_ = nullptr;
};

}  // namespace hamlyn::internal_::interface
