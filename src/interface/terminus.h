#pragma once
// A send terminus (paper 0, section 2.3): a private work queue, with a sub-queue for each destination, so
// that one that is stalled holds up nobody else. Whose packet leaves when, of several termini and
// destinations, is the order of departures.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/chain.h"
#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/share.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"
#include "interface/core.h"
#include "interface/packets/put_packet.h"
#include "interface/packets/sequence_word.h"
#include "interface/remote/requests.h"

namespace hamlyn::internal_::interface {

struct Gathering;

class Terminus {
 public:
  Terminus(Core& core, std::size_t entries, Priority priority = Priority::normal);
  ~Terminus();
  Terminus(const Terminus&) = delete;
  Terminus& operator=(const Terminus&) = delete;

  // `queue`: the one of the options, here and below.
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle, Queue* queue = nullptr) noexcept {
    return send(ticket, 0, data, options, handle, queue);
  }
  Status send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
              SendHandle* handle, Queue* queue = nullptr) noexcept;
  // To the oldest buffer of a slot with posted buffers (posted/terminus_posted.cc).
  Status send_posted(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                     const SendOptions& options, SendHandle* handle, Queue* queue = nullptr) noexcept;
  Status cancel(SendHandle handle) noexcept;

  // Send buffer areas by tag, and messages out of them (terminus_areas.cc).
  Status bind(std::uint32_t tag, std::uint32_t area);
  Status unbind(std::uint32_t tag) noexcept;
  Status send_gathered(const Ticket& ticket, std::span<const Piece> pieces, const SendOptions& options,
                       SendHandle* handle, Queue* queue = nullptr) noexcept {
    return send_gathered(ticket, nullptr, pieces, options, handle, queue);
  }
  Status send_gathered(const Share& share, std::span<const Piece> pieces, const SendOptions& options,
                       SendHandle* handle, Queue* queue = nullptr) noexcept {
    return send_gathered(share.ticket, &share, pieces, options, handle, queue);
  }
  void area_gone(std::uint32_t area) noexcept;

  // Puts `data` to `offset` of `at`, another slot of that owner, and tells of it as send_posted does, by a
  // buffer in which nothing lands (terminus_telling.cc). Without a right, `at` of no interface: it is refused
  // there, and both sides count it. As send_posted; refused: the slot takes no puts, or has gone.
  Status put_telling(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                     std::uint64_t offset, const SendOptions& options, SendHandle* handle,
                     Queue* queue) noexcept;

  // Puts (terminus_puts.cc).
  // An empty put, as soon as the link has room: something was stored there through a mapping.
  Status call_owner(const Ticket& ticket) noexcept;
  Status put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
             SendHandle* handle) noexcept;
  // Puts up to 48 bytes now, or not at all.
  Status put_now(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) noexcept;
  // Puts up to 48 bytes to `offset`, and a signal behind them, in one frame if there are frames. As put;
  // `left`: the data has left, whatever is said of the signal.
  Status put_with_signal(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
                         std::span<const std::byte> value, const PutOptions& signal, bool& left) noexcept;
  // Puts a signal of what `before` has put to `of`, another slot of that owner. As put.
  Status put_signal_of(const Ticket& ticket, std::span<const std::byte> value, const PutOptions& signal,
                       Terminus& before, const Ticket& of) noexcept;
  // Puts, and asks a fence behind it, in one frame if there are frames and all of it can leave at once.
  // `by`: the serial of the link that has taken the put, and the answer is the fence's; 0: none has, and the
  // answer is that of put.
  Status put_and_fence(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                       SendHandle* sent, RemoteHandle* fence, Requests::Mark& mark,
                       std::uint64_t& by) noexcept;
  // Asks a fence behind such a put. link_ended: its link is no more.
  Status fence_behind(const Ticket& ticket, std::uint64_t by, Requests::Mark& mark,
                      RemoteHandle* fence) noexcept;
  Opened opened(const Ticket& ticket) noexcept;
  // If its owner did not let this user in: it may do so now.
  void ask_again(const Ticket& ticket) noexcept;
  // Which question its owner was asked last for places there; 0: none.
  std::uint64_t asked_last(const Ticket& ticket) const noexcept;
  // The way of puts to the slot, null if there is none, for a fence; and how that names the opening.
  SendCredit* credit_of(const Ticket& ticket) noexcept;
  std::uint32_t opening_of(const SendCredit* credit) const noexcept;
  // Among those who put by one credit. Beyond 64 termini some have the same: whoever of them asks first
  // hears.
  std::uint64_t bit() const noexcept { return bit_; }
  // Whether a put that has not left whole goes by that credit.
  bool puts_by(const SendCredit& credit) const noexcept;
  // ok: `credit` has a place at that slot for a notification.
  Status find_place(const Ticket& ticket, SendCredit*& credit) noexcept;
  // ok: puts may go to that slot by `credit`.
  Status find_way(const Ticket& ticket, SendCredit*& credit) noexcept;
  // Something has left by `credit` that a fence is to answer for.
  void put_left(Link& link, SendCredit& credit) noexcept;
  // The queue that messages were to be told in has gone.
  void forget_queue(const Queue* queue) noexcept;

  base::PendingCalls& calls() noexcept { return calls_; }  // calls that wait for what it does

  // Fast mode (terminus_fast.cc).
  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset) noexcept;
  // To the destination of last time: where the message may go now, and over which link. Null: something is
  // in the way, and send_fast says what. Calls nothing.
  __attribute__((always_inline)) SendCredit* cached_way(const Ticket& ticket, std::size_t length,
                                                        std::uint64_t offset, shm::ShmLink*& link) noexcept {
    if (last_.peer != ticket.interface || last_.slot_word != slot_word(ticket) || last_.key != ticket.key ||
        !ticket.fast() || last_.credit->left == 0 || pending_ != 0 || offset > ticket.bound ||
        length > ticket.bound - offset) [[unlikely]] {
      return nullptr;
    }
    link = last_.local;
    return last_.credit;
  }

  // The link within the host of the last message to a posted buffer, if another to that slot may leave by it
  // now; else null.
  __attribute__((always_inline)) shm::ShmLink* cached_posted(const Ticket& ticket) noexcept {
    const bool same = last_posted_.peer == ticket.interface && last_posted_.slot_word == slot_word(ticket) &&
                      last_posted_.key == ticket.key && ticket.posted();
    return same && pending_ == 0 && !free_.empty() ? last_posted_.local : nullptr;
  }
  std::uint32_t next_message() noexcept { return core_.next_message(); }
  // Counts a message that went straight into the link, without an entry.
  void left_at_once(Link& link, std::size_t bytes, SendHandle* handle) noexcept {
    core_.warm(link);  // who is sent something may well answer
    ++counters_.messages;
    counters_.bytes += bytes;
    ++sent_;
    if (handle != nullptr) *handle = {sent_, index_of(*free_.first())};
    if (waiting_.empty()) SequenceWord<>::tell(sequence_, sent_);
  }

  // Finds the way of a put of up to 48 bytes.
  __attribute__((always_inline)) SendCredit* cached_put(const Ticket& ticket, std::size_t length,
                                                        const PutOptions& options,
                                                        shm::ShmLink*& link) noexcept {
    SendCredit* const credit = last_.credit;
    if (last_.peer != ticket.interface || last_.slot_word != slot_word(ticket) || last_.key != ticket.key ||
        !credit->takes_puts || credit->refused || pending_ != 0 || length > kPutInline || options.notify ||
        options.strides != nullptr || options.element != 0 || options.stored != 0 ||
        options.signal != Signal::none || options.offset > ticket.bound ||
        length > ticket.bound - options.offset || ticket.base + options.offset >= kPutSpan) [[unlikely]] {
      return nullptr;
    }
    link = last_.local;
    return credit;
  }

  // Gets and fetch-ops.
  Requests& requests() noexcept { return requests_; }
  // Whether what this terminus has sent there before has not left yet.
  bool messages_wait_for(const Link& link) noexcept {
    return pending_ != 0 && destination_of(link.peer) != nullptr;
  }

  Status status(SendHandle handle) const noexcept;
  // Why the receiving interface refused it; none: it did not, or that is long ago.
  Refusal refusal(SendHandle handle) const noexcept;
  // The sequence word (paper 0, section 2.3): every message up to that number is over. Without the lock.
  std::uint64_t sequence() const noexcept { return SequenceWord<>::told(sequence_); }
  Priority priority() const noexcept { return priority_; }
  // Whether a link to there is up and, for fast mode, places are granted. Asks for what is missing.
  Status ready(const Ticket& ticket) noexcept;
  // Answers as `ready`, and whether there is a free place and room now.
  Status place_free(const Ticket& ticket) noexcept;

  // For the order of departures. One packet of a destination's first message, its length added to `bytes`:
  // ok, queue_full, link_ended, or pending: it waits for other messages, not for room.
  Status depart_one(Destination& destination, std::size_t& bytes) noexcept;
  // False: all of it waits for something else.
  bool link_made(Destination& destination, Link& link) noexcept;
  // Its messages are over, and so is the destination.
  void fail(Destination& destination, Status status) noexcept;
  // Takes back what the other side has given back, or never will.
  bool take_back() noexcept;
  // Goes on with messages that wait for room to await their acknowledgement.
  bool go_on_with_held() noexcept;
  void link_ended(const Link& link, WhyNoLink why) noexcept;
  // The receiving interface has spoken of a message that asked for it.
  void delivered(const Link& link, std::uint32_t message, Refusal cause) noexcept;
  void forget_link() noexcept {
    last_ = last_in_level_ = {};
    last_posted_ = {};
    forget_answer();
  }
  void link_refused(std::uint64_t peer, WhyNoLink why) noexcept;

  // Somebody who waits for a link without a message that waits with it. Told here if there will be none
  // (link_ended: nobody is there; refused), and if one that there was has ended.
  struct LinkWait {
    std::uint64_t peer = 0;
    bool refused = false;
    Status answer = Status::ok;  // if it was refused
    bool ended = false;
    LinkWait* next = nullptr;
  };
  void add(LinkWait& wait) noexcept;
  void remove(LinkWait& wait) noexcept;
  // Asks for a link with `peer`, for who does not wait: connecting; or once link_ended or refused, if there
  // will be none by what was answered to the last one who asked so. With a process that this terminus had a
  // link with and that has gone for good: link_ended each time, and nobody is asked.
  Status ask_for_link(std::uint64_t peer) noexcept;
  // Returns why the last link with that peer has ended, or none could be had, also when there is one again;
  // `ended`, if another peer's has since.
  WhyNoLink why_no_link(std::uint64_t peer) const noexcept;
  // Somebody begins to wait for one: what was answered before is no answer to that.
  void forget_answer() noexcept { refused_peer_ = 0; }
  // Likewise, and whoever was found gone is asked for again (Terminus::connect).
  void ask_anew() noexcept { refused_peer_ = gone_peer_ = 0; }
  // Whether the link by which the last message in fast mode went to `peer`, or was to go, has ended, and
  // there is no other. Once.
  bool take_end(std::uint64_t peer) noexcept;

 private:
  void note_no_link(std::uint64_t peer, WhyNoLink why) noexcept;

  // So much of a message goes straight into the link; the rest takes its turns.
  static constexpr std::size_t kDirectBytes = 65536;

  struct DestinationQueue;
  struct Work {
    enum class Kind : std::uint8_t { message, put, posted };  // `posted`: to a posted buffer

    Ticket ticket;
    const std::byte* data = nullptr;
    std::size_t length = 0;
    std::size_t sent = 0;
    std::uint64_t offset = 0;                 // from the slot's base
    Link* link = nullptr;                     // null: not made yet
    DestinationQueue* destination = nullptr;  // null: waits for nobody
    std::uint64_t sequence = 0;               // of its handle; 0: never used
    base::ChainLinks<Work> in_order;          // of all that are pending, or free
    base::ChainLinks<Work> in_destination;    // or of all that are lent
    Status status = Status::ok;
    std::uint32_t message = 0;
    std::uint32_t count = 0;         // what its packets add up to, modulo 2^32
    std::uint32_t packets_left = 0;  // 0: nothing has left yet
    std::uint32_t parts = 0;         // pieces out of areas, if it is gathered
    std::uint32_t part = 0;          // the one that is being sent
    std::uint64_t part_sent = 0;
    std::uint32_t packets_sent = 0;  // of a gathered message
    bool from_area = false;          // the other side was told to read an area
    bool in_place = false;           // its data is there already; `mapping` says by which mapping
    std::uint16_t mapping = 0;
    bool lent = false;       // all has left; the buffers are not free before it was taken
    bool area_gone = false;  // it is read no more, but others that the message has pieces of are
    std::uint64_t mark = 0;  // of the link, behind the last packet that does not carry its data
    std::size_t packet_size = 0;
    std::uint8_t metadata_length = 0;
    bool acknowledged = false;
    std::uint8_t element = 0;         // of what size the numbers are that the data consists of; 0: bytes
    Refusal refusal = Refusal::none;  // as the receiving interface has said
    bool left = false;                // whole, and not acknowledged yet
    bool held = false;                // until there is room to await its acknowledgement
    Kind kind = Kind::message;
    SendCredit* credit = nullptr;   // of a put, while the link lives; it may be another ticket's since
    std::uint64_t opening = 0;      // by which it leaves
    bool notify = false;            // of a put: its last packet says so
    bool strided = false;           // likewise
    std::uint64_t posted_word = 0;  // the sender's, for the notification there
    bool telling = false;           // of one to a posted buffer: a telling put
    Strides strides;
    Queue* queue = nullptr;  // hears of its end; a place is reserved there
    std::uint64_t word = 0;  // for it
    std::array<std::byte, kMetadataLimit> metadata;
  };

  // Where the last fast-mode message went; at first nowhere, where there are no places.
  static SendCredit nowhere;
  struct Last {
    std::uint64_t peer = 0;
    std::uint64_t slot_word = 0;
    std::uint64_t key = 0;
    Link* link = nullptr;
    shm::ShmLink* local = nullptr;  // the same, if it has short ways
    SendCredit* credit = &nowhere;
  };

  // Where the last message of one packet to a posted buffer went.
  struct LastPosted {
    std::uint64_t peer = 0;
    std::uint64_t slot_word = 0;
    std::uint64_t key = 0;
    shm::ShmLink* local = nullptr;  // null: its link has no short ways
  };

  struct DestinationQueue : Destination {
    base::Chain<Work, &Work::in_destination> works;
    DestinationQueue* next = nullptr;  // in its bucket, or free
  };

  Status send(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
              const SendOptions& options, SendHandle* handle, Queue* queue) noexcept;
  Status send_at_once(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
                      const SendOptions& options, SendHandle* handle) noexcept;
  static Status check(const Share& share, std::uint64_t length, const SendOptions& options) noexcept;
  Status send_gathered(const Ticket& ticket, const Share* share, std::span<const Piece> pieces,
                       const SendOptions& options, SendHandle* handle, Queue* queue) noexcept;
  Status put_gathered(Work& work) noexcept;
  Status way_of(const Ticket& ticket) noexcept;
  static Status check_put(const Ticket& ticket, std::span<const std::byte> data,
                          const PutOptions& options) noexcept;
  Status put_at_once(const Ticket& ticket, std::span<const std::byte> data,
                     const PutOptions& options) noexcept;
  Status left_at_once(Status status, const PutOptions& options) noexcept;
  Status put_next(Work& work) noexcept;
  Status put_signal(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                    std::uint64_t of) noexcept;
  Status put_announcement(Work& work) noexcept;
  static bool still_open(const Work& work) noexcept;
  static void give_place_back(const Work& work) noexcept;
  Status announce(Link& link, std::uint64_t opening, std::uint64_t offset, std::uint64_t length,
                  Touched touched) noexcept;
  std::size_t next_put(const Work& work) const noexcept;
  bool store_in_place(Work& work, const Ticket& ticket, std::span<const std::byte> data,
                      std::uint64_t offset) noexcept;
  Status put_in_place(Work& work) noexcept;
  Status put_question(Work& work) noexcept;
  Status put_from_area(Work& work, Packet& packet, std::size_t bytes) noexcept;
  Status put_through_ring(Work& work, Packet& packet, std::size_t bytes) noexcept;
  bool stands_in_shown_area(const Work& work) noexcept;
  void lend(Work& work) noexcept;
  // All of it has left, and the other side may read its areas at any moment.
  static bool still_read(const Work& work) noexcept {
    return (work.lent || (work.left && work.from_area)) && work.link->taken_seen < work.mark;
  }
  std::uint32_t index_of(const Work& work) const noexcept {
    return static_cast<std::uint32_t>(&work - work_.data());
  }

  Status check(const Ticket& ticket, std::uint64_t length, const SendOptions& options) const noexcept;
  // `queue`, if not null, has a place reserved for it.
  Status post(Work& work, const Ticket& ticket, std::uint32_t count, std::uint64_t length,
              const SendOptions& options, SendHandle* handle, bool full, Queue* queue = nullptr) noexcept;
  Status place(Work& work, bool full) noexcept;
  void tell(Work& work) noexcept;
  bool await_room(Work& work, Link& link) noexcept;
  void await_delivery(Work& work) noexcept;
  Last& last_of_level() noexcept { return *level_last_; }
  // ok: last_of_level() leads there.
  Status recall(const Ticket& ticket) noexcept {
    const Last& last = last_of_level();
    if (last.peer == ticket.interface && last.slot_word == slot_word(ticket) && last.key == ticket.key &&
        ticket.fast())
      return Status::ok;
    return remember(ticket);
  }
  Status remember(const Ticket& ticket) noexcept;
  Status put_fast(Link& link, const SendCredit& credit, std::uint64_t at, std::uint64_t word,
                  std::span<const std::byte> data) noexcept;
  Status without_place() noexcept;
  Status too_long(Link& link, std::size_t bytes) noexcept;
  bool awaits_longer_ring(Link& link) noexcept;
  DestinationQueue*& bucket(std::uint64_t peer) noexcept { return buckets_[peer & (buckets_.size() - 1)]; }
  DestinationQueue* destination_of(std::uint64_t peer) noexcept;
  DestinationQueue& open_destination(std::uint64_t peer, Link* link) noexcept;
  void close_destination(DestinationQueue& destination) noexcept;
  void leave_destination(Work& work) noexcept;
  void forget_destination(DestinationQueue& destination) noexcept;
  Status put_one_packet(Work& work) noexcept;
  Status posted_at_once(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                        const SendOptions& options, SendHandle* handle) noexcept;
  Status put_posted(Work& work) noexcept;
  Status telling_at_once(const Ticket& to, std::uint64_t word, std::uint64_t where,
                         std::span<const std::byte> data, const SendOptions& options,
                         SendHandle* handle) noexcept;
  Status put_telling(Work& work) noexcept;
  Status put_before_telling(Work& work) noexcept;
  std::uint32_t& posted_under_way(Link& link) const noexcept {
    return link.posted_under_way[static_cast<std::size_t>(priority_)];
  }
  static bool of_several(const Work& work) noexcept { return work.length > work.packet_size; }
  Status packet_left(Work& work, Status status, std::size_t bytes, bool first) noexcept;
  void abandon(const Work& work) noexcept;
  void start(Work& work) noexcept;
  void finish(Work& work, Status status) noexcept;

  Core& core_;
  const Priority priority_;
  const std::uint64_t bit_;
  TerminusCounters& counters_;
  std::vector<Work> work_;
  base::Chain<Work, &Work::in_order> waiting_;  // as they were sent: all that are not over
  base::Chain<Work, &Work::in_order> free_;  // the longest free first, so that handles tell of failures long
  base::Chain<Work, &Work::in_destination> lent_;  // sent, but their buffers are still read
  base::Chain<Work, &Work::in_destination> left_;  // gone, and not acknowledged yet
  base::Chain<Work, &Work::in_destination> held_;  // to be acknowledged, when there is room to await it
  std::uint32_t pending_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t sequence_ = 0;                  // touched by SequenceWord alone
  std::vector<DestinationQueue> destinations_;  // as many as entries
  DestinationQueue* free_destination_ = nullptr;
  std::vector<DestinationQueue*> buckets_;  // by destination; a power of two of them
  Last last_;
  Last last_in_level_;  // of the urgent level, and of links that have no short ways
  Last* level_last_;    // one of the two
  LastPosted last_posted_;
  LinkWait* link_waits_ = nullptr;
  std::uint64_t asked_peer_ = 0;  // with whom somebody wanted a link who does not wait; 0: nobody
  // The last message in fast mode, if its link's ring is too short for it: its bytes, and where to.
  std::size_t refused_bytes_ = 0;
  const SendCredit* refused_at_ = nullptr;
  std::uint64_t refused_peer_ = 0;        // with whom there will be none, which was not told yet
  Status refused_answer_ = Status::ok;    // and what it is to be told
  std::uint64_t fast_peer_ = 0;           // to whom the last message in fast mode went, or was to go
  bool end_untold_ = false;               // that link has ended since
  std::uint64_t gone_peer_ = 0;           // the process of such a message, once it has gone; 0: none has
  std::uint64_t last_without_link_ = 0;   // peer whose link was the last to end, or could not be had
  WhyNoLink why_no_link_;                 // with that peer
  std::unique_ptr<Gathering> gathering_;  // once an area was bound
  Requests requests_;
  base::PendingCalls calls_;
};

}  // namespace hamlyn::internal_::interface
