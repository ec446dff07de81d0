#pragma once
// The interface itself, as a state machine: slots, queues, places and termini of one process, and the links
// that packets come and go by. It has no threads, no clock and no system calls; whoever runs it holds the run
// lock.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/values/limits.h"
#include "hamlyn/values/slot_options.h"
#include "interface/counters.h"
#include "interface/deadlines.h"
#include "interface/link.h"
#include "interface/link_ends.h"
#include "interface/link_sets.h"
#include "interface/packets/checks.h"
#include "interface/packets/packet.h"
#include "interface/packets/posted_packet.h"
#include "interface/packets/put_packet.h"
#include "interface/puts/lost_puts.h"
#include "interface/queue.h"
#include "interface/remote/remote.h"
#include "interface/slot_record.h"
#include "interface/sweep.h"

namespace hamlyn::internal_::interface {

class Gate;
class Terminus;

// The core's needs from outside: random keys, and somebody who makes links.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual std::uint64_t random_key() = 0;
  // A message wants to go to `peer`, to which there is no link. Called again while there is none.
  virtual void want_link(std::uint64_t peer) noexcept = 0;
  // A link is broken, or wants to grow: whoever keeps the links should look at them.
  virtual void attention() noexcept = 0;
  // A queue whose descriptor somebody waits on has got something.
  virtual void signal(Queue& queue) noexcept = 0;
  // A message has landed in a durable area: whoever writes its file should begin a sync.
  virtual void must_sync(Store&) noexcept {}
  // An acknowledgement has come, or room was found, that a thread may wait for.
  virtual void settled() noexcept {}
  // Something was put that leaves at the next run, which the sender's thread may never do.
  virtual void departure_waits() noexcept {}
};

// Takes packets past the core, for as long as nothing changes that it rests on (fabric/shm/short_way.h). The
// core says when.
class Shortcut {
 public:
  // Something changes that the packets of an open run rest on: it takes none before it is opened again.
  virtual void close() noexcept = 0;
  // There is something else to do: the same, and the core runs first.
  virtual void leave() noexcept = 0;
  // The core has run. `last`: the link that brought something last, if nothing else is to do; otherwise null.
  virtual void ran(Link* last) noexcept = 0;

 protected:
  ~Shortcut() = default;
};

class Core {
 public:
  static constexpr std::uint32_t kSlotLimit = 1u << 16;  // as index_of has it
  static constexpr unsigned kSweepBudget = 32;  // packets per link and turn: no link delays another by more

  Core(Surroundings& surroundings, CounterPage& counters);
  ~Core();

  // Arrivals of every link in turn, then departures. True if anything moved.
  bool run() noexcept;
  // The departures alone, for a gate that has handed something over. True if anything moved.
  bool depart() noexcept;
  void set_gate(Gate* gate) noexcept { sweep_.set_gate(gate); }
  // Requests of each level under way by a link, in each direction, of links that are added from now on.
  void set_outstanding(std::uint32_t outstanding) noexcept { outstanding_ = outstanding; }

  // Hands over what has arrived on a link whose other side has gone; no more than a link can hold: more come
  // from a peer that has only hung up and goes on writing.
  void drain(Link& link) noexcept;

  // Links.
  void add_link(Link& link);
  void tell_attachment(bool attached) noexcept;  // to each queue
  // Fails what waited for it; the caller then destroys it.
  void end_link(Link& link, WhyNoLink why = {}) noexcept;
  // There will be none: fails the messages that wait for it. `asked`: this process wanted it.
  void refuse_link(std::uint64_t peer, WhyNoLink why, bool asked = true) noexcept;
  LinkEnds& link_ends() noexcept { return link_ends_; }
  // Returns what this process lacked for the last link that others wanted; until it has a link again.
  WhyNoLink last_lack() const noexcept { return last_lack_; }
  Link* find_link(std::uint64_t peer) noexcept {
    // Mostly the same as last time.
    return found_link_ != nullptr && found_link_->peer == peer ? found_link_ : find_link_uncached(peer);
  }
  const std::vector<Link*>& links() const noexcept { return sweep_.links(); }
  // Something is expected of a link: it is looked at often for a while.
  void warm(Link& link) noexcept {
    if (!link.sweep.hot) sweep_.warm(link);
  }
  const std::vector<std::unique_ptr<Queue>>& queues() const noexcept { return queues_; }
  // Entries, records of places and links that ends of links, slots and openings have looked at so far.
  std::uint64_t looks() const noexcept { return looks_; }
  // A peer broke the protocol: whoever keeps the links ends it.
  void note_broken(Link& link) noexcept {
    if (link.broken_noted) return;
    link.broken_noted = true;
    ++counters_.links_broken;
    surroundings_.attention();
  }
  // Frames between hosts that were refused before there was a packet to look at: so many so far.
  void note_frames(std::uint64_t bad, std::uint64_t unknown) noexcept {
    counters_.bad_frames = bad;
    counters_.unknown_frames = unknown;
  }
  bool departures_wait() const noexcept { return departures_.any(); }
  bool replies_wait() const noexcept {
    return replies_due_ || watches_due();
  }  // places to be given back, and the like
  Departures& departures() noexcept { return departures_; }
  void count_held(int change) noexcept {
    HAMLYN_ASSERT(static_cast<int>(held_) + change >= 0, "only what was counted is counted off");
    held_ = static_cast<std::uint32_t>(static_cast<int>(held_) + change);
  }
  void count_lent(int change) noexcept {
    HAMLYN_ASSERT(static_cast<int>(lent_) + change >= 0, "only what was counted is counted off");
    lent_ = static_cast<std::uint32_t>(static_cast<int>(lent_) + change);
  }
  // Whether something has arrived, or is able to depart. Has threads look again that a longer ring may free.
  bool something_to_do() noexcept;

  // Queues, slots.
  Queue* make_queue(std::size_t places);
  bool drop_queue(Queue* queue) noexcept;  // false: slots still use it
  std::uint32_t make_slot(std::byte* base, std::size_t bytes, Queue* queue, const SlotOptions& options);
  void drop_slot(std::uint32_t slot) noexcept;
  SlotRecord& slot(std::uint32_t index) noexcept { return slots_[index]; }
  // A slot whose bytes a ticket opens as a whole; null if there is none, or the key is not the slot's.
  const SlotRecord* find_guarded_slot(std::uint32_t index, std::uint32_t generation,
                                      std::uint64_t key) const noexcept;
  // Says what is wrong with a ticket by which a peer has asked to map a slot; none: nothing.
  Refusal import_refusal(std::uint32_t slot, std::uint32_t generation, std::uint64_t key) const noexcept;
  // A peer has asked to map a slot by a ticket that opens none: what is wrong with the ticket is refused as
  // that of a packet is. True if somebody is to hear of it.
  bool refuse_import(Link& link, std::uint32_t slot, std::uint32_t generation, std::uint64_t key) noexcept;
  void change_key(std::uint32_t slot);
  // Bytes that have landed there since it was made.
  std::uint64_t landed_bytes(std::uint32_t slot) noexcept {
    close_run();  // which counts at its end
    return slots_[slot].counters->bytes;
  }
  // Its openings end; whoever may still, opens it again.
  void set_guests(std::uint32_t slot, std::unique_ptr<Guests> guests) noexcept;

  // Metadata entries (entries.cc).
  Status arm(std::uint32_t slot, std::uint32_t entry) noexcept;
  Status arm_anew(std::uint32_t slot, std::uint32_t entry, const Limits& limits) noexcept;
  // For a group. Throws std::bad_alloc, the first time for a slot.
  Status arm_group(std::uint32_t slot, std::uint32_t entry, const Limits& limits);
  Status disarm(std::uint32_t slot, std::uint32_t entry) noexcept;
  Status revoke(std::uint32_t slot, std::uint32_t entry) noexcept;
  // The entry fails if the link with `peer` ends before it is complete.
  Status expect(std::uint32_t slot, std::uint32_t entry, std::uint64_t peer) noexcept;
  // Expects the link that filled entry `from` of that slot.
  Status expect_as(std::uint32_t slot, std::uint32_t entry, std::uint32_t from) noexcept;
  // The entry fails if it is not complete at `time`, of the clock that `expire` is told of.
  Status fail_at(std::uint32_t slot, std::uint32_t entry, std::uint64_t time) noexcept;
  void notify_after(std::uint32_t slot, std::uint32_t messages) noexcept;
  // When `expire` is to be called; Deadlines::kNever.
  std::uint64_t next_deadline() const noexcept { return deadlines_.next(); }
  // Fails the entries whose time has come. True if there were any.
  bool expire(std::uint64_t now) noexcept;
  // Tells the receiver that the rest of a message is lost (paper 1, section 3.7). `rest`: the sum that the
  // deltas of its packets that have left lack. Of one to a posted buffer it is bytes, and `whole` says how
  // long the message is (posted_packet.h).
  void abandon(Link& link, const Ticket& ticket, std::uint32_t message, std::uint32_t rest,
               std::uint64_t whole) noexcept;
  // Sends a packet of one cell as soon as there is room, and before what comes later.
  void say_at_last(Link& link, const Packet& packet) noexcept;
  // Tells the owner that nobody waits for the watch of that number any more.
  void take_back_watch(Link& link, std::uint32_t id) noexcept;
  std::uint64_t random_key() { return surroundings_.random_key(); }

  // The next notification of a queue that is not empty.
  void take(Queue& queue, Notification& out) noexcept {
    const std::uint32_t places = queue.take(out);
    if (places != kNoPlaces) {
      give_back(places);
    } else {
      completion_taken(out, queue.taken_generation());
    }
  }

  // Slots with posted buffers (posted.cc). make_posted_slot throws as make_slot does.
  std::uint32_t make_posted_slot(Queue* queue, std::uint32_t buffers, bool halts);
  Status post(std::uint32_t slot, std::span<const std::span<std::byte>> pieces,
              std::uint64_t number) noexcept;
  Status take_back_posted(std::uint32_t slot, std::uint64_t& number) noexcept;

  // Puts (puts.cc), of a slot that takes them.
  void set_control(std::uint32_t slot, Control control) noexcept;
  void inhibit_puts(std::uint32_t slot) noexcept;
  void release_puts(std::uint32_t slot) noexcept;
  // Pins or unpins whole pages.
  void pin_puts(std::uint32_t slot, std::uint64_t begin, std::uint64_t end, bool pinned) noexcept;
  // The oldest put that waits, its data to `into` as far as there is room: not_ready: none; too_long: no
  // room.
  Status take_held(std::uint32_t slot, HeldPut& record, std::span<std::byte> into) noexcept;

  // Places.
  // The one that there is, or null.
  static SendCredit* find_credit(const Link& link, const Ticket& ticket) noexcept;
  // Finds it, or makes one; null: there are kPlacesLimit, of which none can be given back.
  SendCredit* credit(Link& link, const Ticket& ticket) noexcept;
  void ask_for_places(Link& link, SendCredit& credit, Priority level) noexcept;
  static bool behind_former(Link& link, const SendCredit& credit, Priority& level) noexcept;
  bool ask_whether_gone(Link& link, Priority level) noexcept;
  static void reopen(SendCredit& credit) noexcept;
  const std::vector<ReceiveCredit>& places() const noexcept { return records_; }  // of all links, by record

  // Watches: somebody waits for words of a slot, a thread of this process or a peer (remote/watches.cc).
  void begin_watch(std::uint32_t slot) noexcept;
  void end_watch(std::uint32_t slot) noexcept;
  // Whether a slot that is watched has changed since its watches were looked at. True: some were answered.
  bool answer_due_watches() noexcept {
    if (!watches_due()) [[likely]]
      return false;
    answer_watches();
    return replies_due_;
  }
  // Something there may be another: the next departure answers the peers for whom it is.
  void slot_changed(std::uint32_t slot) noexcept;

  // Send buffer areas. Throws Error(out_of_memory) when there are kAreaLimit.
  std::uint32_t add_area(const std::byte* data, std::uint64_t size);
  void drop_area(std::uint32_t number) noexcept;  // messages out of it that are under way are cancelled
  const SendArea& area(std::uint32_t number) const noexcept { return areas_[number]; }

  // Durable areas (durable.cc). A sync begins: adds to `ranges` where the messages stand that have landed and
  // that none has covered. It covers those, and no later ones.
  void begin_sync(Store& store, std::vector<StoredRange>& ranges) noexcept;
  // Ends the sync and tells the senders. False: some wait for room; the thread that runs the interface tells
  // them.
  bool end_sync(Store& store, bool done) noexcept;

  // Termini. What is returned is the row that it counts in.
  TerminusCounters& row_for_terminus() noexcept;
  void add_terminus(Terminus& terminus);
  void drop_terminus(Terminus& terminus) noexcept;
  std::uint32_t next_message() noexcept { return next_message_++; }
  std::uint64_t next_terminus_bit() noexcept;
  Surroundings& surroundings() noexcept { return surroundings_; }
  CounterPage& counters() noexcept { return counters_; }

  // One packet of any fabric, already copied to private memory (deposit.h). What it returns is counted here.
  Refusal deposit(Link& link, const Packet& packet, const Payload& payload) noexcept;
  // Deposits a packet of the ring of replies.
  Refusal deposit_reply(Link& link, const Packet& packet, const Payload& payload) noexcept {
    return deposit_control(link, packet, payload);
  }
  // Deposits a get, a fetch or a fence.
  Refusal deposit_request(Link& link, const Packet& packet) noexcept {
    if (packet.lead.operation == Operation::fence) return serve_fence(link, packet);
    return packet.lead.operation == Operation::get ? serve_get(link, packet) : serve_fetch(link, packet);
  }
  // Makes every check for a packet like the one before. False: not like it, and nothing was done.
  bool deposit_cached(Link& link, const Words& words) noexcept;
  static bool take_cached(Link& link, const Words& words, Queue& queue, Notification& out) noexcept;
  // Takes a block whose data stands in one piece.
  static bool take_cached_block(Link& link, const Words& words, const std::byte* data, Queue& queue,
                                Notification& out) noexcept;
  // Messages of one cell by an opening (places/opened.h).
  bool opened_cached(Link& link, const Words& words) noexcept;
  static bool take_cached_opened(Link& link, const Words& words, Queue& queue, Notification& out) noexcept;
  bool take_opened(Link& link, const Words& words, Queue& queue, Notification& out) noexcept;
  // Lands a short put.
  static bool put_cached(Link& link, const Words& words) noexcept;
  // Serves a request, if the answer can leave at once; and takes its answer (short_remote.h).
  static bool serve_cached(const Link& link, const Words& words, Words& reply) noexcept;
  Refusal take_short_answer(Link& link, const Words& words) noexcept;
  // Takes a whole message in one packet, or a packet of a group, which may make it whole.
  enum class Arrived : std::uint8_t { other, part, whole };
  Arrived take_whole(Link& link, const Words& words, const Payload& payload, Queue& queue,
                     Notification& out) noexcept;
  // Takes a message of one packet to a posted buffer (posted/take_posted.h).
  bool take_posted_in_run(Link& link, const Words& words, const Payload& payload, Queue& queue,
                          Notification& out) noexcept;
  // Whether places that were given back by it are to be seen to.
  static bool places_due(const Link& link) noexcept {
    return link.cached.write.places->freed == link.cached.write.places->tell_at;
  }
  void see_to_places(const Link& link) noexcept { tell_freed(link.cached.write.record); }
  // Moves with each message that is complete. Who hands packets over stops then: the next look would fetch a
  // line that the peer is about to write, while the application waits for what has come.
  std::uint64_t completions() const noexcept { return completions_; }
  // The one way past the core that there is; null: none.
  void set_shortcut(Shortcut* shortcut) noexcept { shortcut_ = shortcut; }
  // Something has changed that an open run rests on.
  void close_run() noexcept {
    if (shortcut_ != nullptr) shortcut_->close();
  }
  // There is something else to do, until the next run.
  void leave_run() noexcept {
    if (shortcut_ != nullptr) shortcut_->leave();
  }
  void refuse(Link& link, Refusal cause, const Packet& packet) noexcept;

 private:
  Link* find_link_uncached(std::uint64_t peer) noexcept;
  void refuse(Link& link, Refusal cause, std::uint32_t slot) noexcept;
  bool depart_here() noexcept;
  void give_back(std::uint32_t index) noexcept {
    ReceiveCredit& places = records_[index];
    HAMLYN_ASSERT(places.standing != 0, "a place is given back once");
    --places.standing;
    if (++places.freed == places.tell_at) [[unlikely]]
      tell_freed(index);
  }
  void tell_freed(std::uint32_t index) noexcept;
  // More of a sender's notifications are to stand than ever did. False: as many as it was granted stand.
  bool rise(ReceiveCredit& places) noexcept;

  Arrived take_fast(Link& link, const Words& words, const SlotRecord& slot, const Payload& payload,
                    Notification& out) noexcept;
  Arrived take_counted(Link& link, const Words& words, SlotRecord& slot, const Payload& payload,
                       Notification& out) noexcept;
  Arrived take_member(Link& link, const Words& words, SlotRecord& slot, const Payload& payload,
                      Notification& out) noexcept;
  static void land_counted(const Words& words, const SlotRecord& slot, const Payload& payload) noexcept;
  bool add_member(Link& link, std::uint32_t slot, std::uint32_t entry, std::uint64_t offset,
                  std::uint64_t length, std::uint32_t delta) noexcept;
  static bool land_cached(const CachedWrite& cached, const Words& words) noexcept;
  void remember_slot(Link& link, std::uint64_t lead, std::uint64_t slot_word, std::uint64_t key,
                     std::uint64_t entry_word, std::uint32_t record) noexcept;
  void forget_slots() noexcept;
  void forget_links() noexcept;
  // `OfArea`: the data did not come with the packet.
  template <bool OfArea>
  Refusal deposit_counted(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                          std::uint64_t length) noexcept;
  template <bool OfArea>
  Refusal deposit_grouped(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                          std::uint64_t length) noexcept;
  static bool land_from_area(const Link& link, std::byte* to, const Packet& packet, const Payload& payload,
                             std::uint64_t length) noexcept;
  void begin(Link& link, std::uint32_t slot, std::uint32_t index, std::uint32_t message,
             std::uint64_t offset) noexcept {
    note_filler(link, slot, index);
    MetadataEntry& entry = slots_[slot].entries[index];
    entry.state = EntryState::filling;
    entry.message = message;
    entry.link = link.serial;
    entry.accumulator = 0;
    entry.length = 0;
    entry.offset = offset;
    entry.user_length = 0;
  }
  Refusal take_abandon(Link& link, const Packet& packet) noexcept;
  bool give_up(const MetadataEntry& entry) noexcept;
  const MetadataEntry* entry_named(const Packet& packet) const noexcept;
  bool fills(const Link& link, const Packet& packet) const noexcept;
  bool loses(Refusal cause, const Packet& packet) const noexcept;
  void note_lost(Link& link, Refusal cause, const Packet& packet) noexcept;
  bool send_abandons() noexcept;
  bool take_back() noexcept;
  void forget_abandons(Link& link) noexcept;
  Refusal deposit_control(Link& link, const Packet& packet, const Payload& payload) noexcept;
  Refusal deposit_in_place(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                           const AreaPart& part) noexcept;
  Refusal deposit_from_area(Link& link, const Packet& packet, const Payload& payload) noexcept;
  Refusal deposit_acknowledged(Link& link, const Packet& packet, const Payload& payload) noexcept;
  void acknowledge(Link& link, std::uint32_t message, Refusal cause) noexcept;
  bool await_sync(Acknowledgements::Promise& promise) noexcept;
  Refusal landed(std::uint32_t slot) const noexcept;
  void settle_promises(std::uint32_t slot, std::uint32_t entry, Refusal cause) noexcept;
  void settle_promises(Link& link, std::uint32_t slot, std::uint32_t entry, Refusal cause) noexcept;
  void break_promises(std::uint32_t slot) noexcept;
  bool send_acknowledgements(Link& link) noexcept;  // false: some are still due
  Refusal take_delivered(Link& link, const Packet& packet) noexcept;
  Refusal why_nothing(const Link& link, const Packet& packet) const noexcept;
  Refusal grant_places(Link& link, const Packet& packet) noexcept;
  Refusal find_opened(const Link& link, const PutWord& word, std::uint32_t& record) const noexcept;
  Refusal deposit_opened(Link& link, const Packet& packet) noexcept;
  void remember_opened(Link& link, const PutWord& word, std::uint32_t record) noexcept;

  // Openings that are given back for others (giving_back.cc).
  std::uint64_t terminus_bits() const noexcept;
  bool would_be_missed(const Link& link, const SendCredit& credit) const noexcept;
  bool is_free(const Link& link, const SendCredit& credit) const noexcept;
  bool may_give_back(const Link& link, const SendCredit& credit) const noexcept;
  SendCredit* find_to_give_back(Link& link) noexcept;
  void take_back_earlier(Link& link, const Packet& packet, bool may) noexcept;
  std::uint32_t standing_of_earlier(const Link& link, const Packet& packet) noexcept;
  static SendCredit* answered_credit(Link& link, const Packet& packet, Refusal& cause) noexcept;
  Refusal take_grant(Link& link, const Packet& packet) noexcept;
  bool send_limit(Link& link) noexcept;
  Refusal take_limit(Link& link, const Packet& packet) noexcept;
  Refusal take_credit(Link& link, const Packet& packet) noexcept;

  // Messages to posted buffers (posted.cc).
  std::uint32_t find_posted(const Link& link, const SlotRecord& slot, std::uint32_t message,
                            std::uint32_t& under_way) const noexcept;
  Refusal begin_posted(Link& link, SlotRecord& slot, const Packet& packet, const PostedPart& part,
                       std::uint32_t under_way, std::uint32_t& index) noexcept;
  Refusal deposit_posted(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                         std::uint32_t& index) noexcept;
  Refusal deposit_posted_acknowledged(Link& link, const Packet& packet, const Payload& payload) noexcept;
  Arrived take_posted(Link& link, const Words& words, SlotRecord& slot, const Payload& payload, Queue& queue,
                      Notification& out) noexcept;
  Arrived take_posted_here(Link& link, const Words& words, SlotRecord& slot, const Payload& payload,
                           Queue& queue, Notification& out) noexcept;
  static void tell_of_posted(Link& link, const Words& words, SlotRecord& slot, const PostedPart& part,
                             std::uint32_t landed, Queue& queue, Notification& out) noexcept;
  void complete_posted(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t index,
                       std::uint64_t peer) noexcept;
  void halt(SlotRecord& slot, std::uint32_t slot_index, Refusal cause, std::uint64_t peer) noexcept;
  void halt_taken(const Notification& notification, std::uint32_t generation) noexcept;
  void abandon_filling(std::uint32_t slot) noexcept;
  Refusal abandon_posted(Link& link, const Packet& packet) noexcept;
  void note_lost_posted(Link& link, Refusal cause, const Packet& packet) noexcept;

  // Puts that are told of by a posted buffer (telling.cc).
  Refusal check_telling_put(const Link& link, const SlotRecord& slot, const Packet& packet,
                            std::uint32_t& record) const noexcept;
  Refusal deposit_telling(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                          std::uint32_t& index) noexcept;
  Arrived take_telling(Link& link, const Words& words, SlotRecord& slot, const Payload& payload, Queue& queue,
                       Notification& out) noexcept;

  // Puts (puts.cc).
  Refusal take_put(Link& link, const Packet& packet, const Payload& payload) noexcept;
  Refusal land_put(Link& link, const Packet& packet, const Payload& payload, const PutWord& word,
                   std::uint32_t record) noexcept;
  static bool hold(SlotRecord& slot, const PutLanding& landing, std::uint64_t peer, bool notify) noexcept;
  void tell_puts(SlotRecord& slot, std::uint32_t index, Puts::Kind kind, std::uint64_t begin,
                 std::uint64_t end, std::uint64_t peer) noexcept;
  void settle_held(std::uint32_t slot) noexcept;
  static bool is_of_puts(const Notification& notification) noexcept {
    return notification.kind >= Notification::Kind::put && notification.kind <= Notification::Kind::fetched;
  }
  void puts_taken(Notification& notification, std::uint32_t generation) noexcept;
  Refusal why_no_fence(Link& link, const Packet& packet) noexcept;

  // Telling of gets and fetch-ops (told.cc).
  void tell_of(const Link& link, const Packet& packet, Puts::Kind kind, std::uint64_t length) noexcept;
  void forgo_place(const Link& link, const Packet& packet) noexcept;
  void push_told(std::uint32_t record, Puts::Kind kind, std::uint64_t begin, std::uint64_t length,
                 std::uint64_t peer) noexcept;

  // Remote operations (remote.cc).
  enum class AnswerPart : std::uint8_t { none, more, last };  // what could leave of an answer
  Refusal serve_get(Link& link, const Packet& packet) noexcept;
  Refusal serve_fetch(Link& link, const Packet& packet) noexcept;
  void note_lost_fetch(const Link& link, const Packet& packet, Refusal cause) noexcept;
  Refusal serve_fence(Link& link, const Packet& packet) noexcept;
  Refusal do_fetch(Link& link, const Packet& packet, std::uint64_t& before) noexcept;
  bool may_answer(const Link& link) const noexcept;
  void answer(Link& link, const Packet& reply) noexcept;
  void owe(Link& link, const Packet& what, std::uint32_t sent) noexcept;
  static void remember_request(Link& link, const Packet& packet, const SlotRecord& slot, std::uint32_t length,
                               const Fetch& fetch) noexcept;
  AnswerPart put_owed(Link& link, Owed& owed) noexcept;
  AnswerPart put_data(Link& link, const Packet& request, std::uint32_t& sent) noexcept;
  bool send_owed(Link& link) noexcept;
  void serve_long(Link& link, const Packet& packet) noexcept;
  AnswerPart put_long(Link& link, const Packet& request, std::uint32_t& sent) noexcept;
  AnswerPart put_owed_long(Link& link, std::uint32_t place) noexcept;
  Status put_gathered(Link& link, const Packet& request, std::uint32_t sent, const Packet& reply) noexcept;
  bool send_long_answers() noexcept;
  std::size_t send_long(Link& link) noexcept;
  AnswerPart part_left(const Link& link, const Packet& request, std::uint32_t sent) noexcept;
  Refusal take_answer(Link& link, const Packet& packet, const Payload& payload) noexcept;
  Refusal land_piece(Link& link, Asked& asked, const Packet& packet, const Payload& payload) noexcept;
  std::byte* landing_of(const Asked& asked, std::uint32_t from) noexcept;
  void finish(Link& link, Asked& asked, Status status, std::uint64_t value) noexcept;
  void fail_requests(Link& link, WhyNoLink why) noexcept;
  void forget_queue(const Queue* queue) noexcept;

  // Watches (watches.cc).
  Refusal serve_watch(Link& link, const Packet& packet) noexcept;
  void give_up_watch(Link& link, std::uint32_t id) noexcept;
  void end_watch(const Packet& watch) noexcept;
  void drop_watches(SlotRecord& slot) noexcept;
  void hold_watch(Link& link, const Packet& packet) noexcept;
  void answer_held(Link& link, std::uint32_t place, const Packet& answer) noexcept;
  bool watches_due() const noexcept { return changes_ != answered_changes_; }
  void answer_watches() noexcept;
  void answer_watches(Link& link) noexcept;
  void forget_watches(Link& link) noexcept;

  // Puts that were lost with links (places.cc).
  void remember_lost(Link& link, WhyNoLink why) noexcept;

  bool link_waits_for(const ReceiveCredit& places) noexcept;
  void end_places(std::uint32_t index) noexcept;
  void unchain_places(std::uint32_t index) noexcept;
  void end_places_at(std::uint32_t slot) noexcept;
  bool send_replies(Link& link) noexcept;
  void tell(Link& link, Refusal cause, Queue* queue) noexcept;
  void tell_end(Link& link, Queue& queue, WhyNoLink why) noexcept;
  void note_no_link(std::uint64_t peer, WhyNoLink why, bool asked) noexcept;
  void count_no_link(WhyNoLink why) noexcept;
  void note_end(const Link& link, WhyNoLink why) noexcept;
  void note_lack(std::uint64_t peer, WhyNoLink why) noexcept;
  void tell_lack() noexcept;
  void error_taken(const Notification& notification) noexcept;
  void release_record(std::uint32_t index) noexcept;
  Queue* queue_for(std::uint32_t slot) noexcept;
  // A link that has ended, while entries are left that it was to fill.
  struct Ended {
    std::uint64_t peer;
    std::uint64_t serial;
    std::uint32_t index;
  };
  void fail_entries(const Link& link) noexcept;
  bool fail_some(const Ended& link) noexcept;
  void fail_block(const Ended& link, std::uint32_t slot_index, std::size_t block) noexcept;
  void go_on_failing() noexcept;
  void complete(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t entry_index,
                std::uint64_t peer) noexcept;
  void fail(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t entry_index, Failure why,
            std::uint64_t peer) noexcept;
  void notify(SlotRecord& slot, const MetadataEntry& entry, Notification& notification) noexcept;
  void completion_taken(Notification& notification, std::uint32_t generation) noexcept;
  void make_link_indices();
  std::uint32_t row_of(const Queue& queue) const noexcept;  // of the counter page, from 1 on; 0: none
  std::uint64_t* links_of(SlotRecord& slot, std::uint32_t entry) noexcept {
    return slot.links.data() + entry * link_words_;
  }
  // The entry fails if that link ends first.
  void note_filler(const Link& link, std::uint32_t slot, std::uint32_t entry) noexcept {
    HAMLYN_ASSERT(entry < slots_[slot].entry_count, "whoever fills an entry has checked its number");
    if (slots_[slot].fillers.has(entry / kFillBlock, link.index)) [[likely]]
      return;
    slots_[slot].fillers.add(entry / kFillBlock, link.index);
    filled_slots_.add(slot, link.index);
  }
  // Notes that a link has contributed to a group's entry.
  void note_member(const Link& link, std::uint32_t slot, std::uint32_t entry) noexcept {
    HAMLYN_ASSERT(link.index / kBits < link_words_, "sets have a bit for each index that was given");
    links_of(slots_[slot], entry)[link.index / kBits] |= std::uint64_t{1} << link.index % kBits;
    note_filler(link, slot, entry);
  }
  // The link of that serial, or null: it has ended.
  Link* link_of_serial(std::uint64_t serial) const noexcept {
    const std::uint64_t index = serial % kMostIndices;
    Link* const link = index < by_index_.size() ? by_index_[index] : nullptr;
    return link != nullptr && link->serial == serial ? link : nullptr;
  }
  void forget_deadline(MetadataEntry& entry) noexcept;
  Status arm(MetadataEntry& entry, EntryState state) noexcept;

  static constexpr std::size_t kBits = 64;                               // of a word of a set of links
  static constexpr std::uint64_t kMostIndices = std::uint64_t{1} << 20;  // of links: more than there can be
  static constexpr int kFailedAtOnce = 32;  // slots and blocks of entries that one run looks at

  Surroundings& surroundings_;
  CounterPage& counters_;
  std::uint32_t outstanding_ = kOutstanding;
  TerminusCounters uncounted_terminus_{};
  std::vector<SlotRecord> slots_;  // a power of two of them
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<ReceiveCredit> records_;
  LostPuts lost_puts_;
  std::vector<std::uint32_t> free_records_;
  Sweep sweep_;
  Link* found_link_ = nullptr;
  Shortcut* shortcut_ = nullptr;
  std::uint64_t completions_ = 0;
  std::unordered_map<std::uint64_t, Link*> link_of_;
  std::vector<Link*> by_index_;  // null: that index is free, or its link has ended
  std::vector<std::uint32_t> free_link_indices_;
  LinkSets filled_slots_;  // the slots with entries that a link was to fill
  std::vector<Ended>
      ended_;  // whose entries have not all failed yet; replies_due_ is set while there are any
  std::uint64_t looks_ = 0;
  std::size_t link_words_ = 0;  // of a set of links, a bit for each index
  Deadlines deadlines_;
  std::uint32_t abandons_wait_ = 0;
  std::vector<Terminus*> termini_;
  std::array<SendArea, kAreaLimit> areas_{};
  std::uint32_t held_ = 0;  // messages that wait for room to await their acknowledgement
  std::uint32_t lent_ = 0;  // messages whose buffers are still read
  Departures departures_{*this};
  LinkEnds link_ends_;
  std::uint32_t next_message_ = 1;
  std::uint64_t terminus_bit_ = 1;
  std::uint64_t next_link_serial_ = 1;
  bool replies_due_ = false;
  std::uint64_t changes_ = 0, answered_changes_ = 0;  // of slots that are watched; those that were looked at
  std::size_t next_long_ = 0;                         // the link whose long answers leave first
  bool lack_told_ = false;  // a notification of links that could not be had stands in a queue
  Notification lack_;       // what the next one says
  WhyNoLink last_lack_;
};

}  // namespace hamlyn::internal_::interface
