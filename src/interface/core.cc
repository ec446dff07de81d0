#include "interface/core.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/link_reasons.h"
#include "interface/deposit.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

namespace {

constexpr std::uint32_t kFirstSlots = 64;

}  // namespace

Core::Core(Surroundings& surroundings, CounterPage& counters)
    : surroundings_(surroundings), counters_(counters), slots_(kFirstSlots), records_(1) {
  records_[kDeadRecord].slot = kNoEntry;
  for (std::uint32_t i = kFirstSlots; i-- > 0;) free_slots_.push_back(i);
}

Core::~Core() = default;

__attribute__((always_inline)) inline bool Core::depart_here() noexcept {
  bool moved = false;
  static_cast<void>(answer_due_watches());
  if (replies_due_) [[unlikely]] {
    replies_due_ = false;
    if (!ended_.empty()) {
      go_on_failing();
      moved = true;  // nothing has come, and those who wait for these entries are to look
    }
    for (Link* link : links()) {
      if (link->replies_due && send_replies(*link)) moved = true;
    }
    moved |= send_long_answers();
  }
  if (abandons_wait_ != 0 && send_abandons()) [[unlikely]]
    moved = true;
  if (lent_ != 0 && take_back()) [[unlikely]]
    moved = true;
  if (held_ != 0) [[unlikely]] {
    for (Terminus* terminus : termini_) moved |= terminus->go_on_with_held();
  }
  if (departures_.any() && departures_.run()) moved = true;
  return moved;
}

bool Core::depart() noexcept { return depart_here(); }

bool Core::run() noexcept {
  close_run();
  const bool arrived = sweep_.run(*this);
  const bool departed = depart_here();
  if (shortcut_ != nullptr) shortcut_->ran(departures_.any() ? nullptr : sweep_.last());
  return arrived || departed;
}

bool Core::take_back() noexcept {
  bool moved = false;
  for (Link* link : links()) {
    if (link->lent != 0) link->taken_seen = link->taken_count();
  }
  for (Terminus* terminus : termini_) moved |= terminus->take_back();
  return moved;
}

void Core::drain(Link& link) noexcept {
  std::uint64_t most = link.arrived_at_most();
  while (!link.broken && most != 0) {
    const unsigned taken =
        link.arrive(*this, static_cast<unsigned>(std::min<std::uint64_t>(most, kSweepBudget)));
    if (taken == 0) return;
    most -= std::min<std::uint64_t>(most, taken);
  }
}

bool Core::something_to_do() noexcept {
  if (sweep_.idle(*this) || !ended_.empty()) return true;
  for (Link* link : links()) {
    if (!link->sweep.demoted && link->something_arrived()) {
      sweep_.warm(*link);  // a peer that does not announce what it sends must not keep us awake
      return true;
    }
    for (const LinkLevel& way : link->ways) {
      const bool wanted = !way.destinations.empty() ||
                          (way.level == Priority::normal && (link->room_wanted || !link->abandons.empty()));
      if (wanted && link->has_room(way.level)) return true;
    }
    if (link->replies_due && link->has_reply_room())
      return true;  // a peer that takes none must not keep us awake
    if (link->remote.owes_long() && link->has_answer_room()) return true;
    if (link->lent != 0 && link->taken_count() != link->taken_seen) return true;
    if (link->wanted_was_taken()) {
      surroundings_.settled();  // a thread may wait for a ring that is longer by two steps
      return true;
    }
  }
  return false;
}

Status Link::put_fast(const FastTarget& target, std::uint64_t offset, std::uint64_t word,
                      const std::byte* data, std::size_t length, Priority level) noexcept {
  Words words{};
  words.word[kLeadWord] = write_lead(length);
  words.word[kSlotWord] = target.slot_word;
  words.word[kKeyWord] = target.key;
  words.word[kOffsetWord] = offset;
  words.word[kEntryWord] = target.entry_word;
  words.word[kUserWord] = word;
  return put(packet_of(words), data, nullptr, level);
}

// --- links

// Makes every set of links longer, where there are more links than bits. Not on the way of a packet.
void Core::make_link_indices() {
  const std::size_t words = link_words_ == 0 ? 1 : 2 * link_words_;
  std::vector<std::vector<std::uint64_t>> longer(slots_.size());
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    SlotRecord& slot = slots_[s];
    if (slot.live) slot.fillers.resize(blocks_of(slot.entry_count), words);
    if (slot.links.empty()) continue;
    longer[s].resize(slot.entry_count * words);
    for (std::size_t i = 0; i < slot.links.size(); ++i)
      longer[s][i / link_words_ * words + i % link_words_] = slot.links[i];
  }
  filled_slots_.resize(slots_.size(), words);
  by_index_.resize(words * kBits);
  ended_.reserve(words * kBits);
  free_link_indices_.reserve(words * kBits);  // so that giving one back never allocates
  for (std::size_t s = 0; s < slots_.size(); ++s) slots_[s].links.swap(longer[s]);
  for (std::size_t i = words * kBits; i-- > link_words_ * kBits;)
    free_link_indices_.push_back(static_cast<std::uint32_t>(i));
  link_words_ = words;
}

void Core::add_link(Link& link) {
  if (outstanding_ != kOutstanding) {
    link.remote.resize(outstanding_);
    link.remote.taken_untold = link.replies_due = replies_due_ = true;
  }
  if (free_link_indices_.empty()) make_link_indices();
  link.index = free_link_indices_.back();
  free_link_indices_.pop_back();
  link.serial = next_link_serial_++ * kMostIndices + link.index;
  HAMLYN_ASSERT(by_index_[link.index] == nullptr, "a free index is nobody's");
  HAMLYN_ASSERT(find_link_uncached(link.peer) == nullptr, "one link to a peer at a time");
  by_index_[link.index] = &link;
  link_of_.emplace(link.peer, &link);
  sweep_.add(link);
  lost_puts_.recall(link);
  if (link.made()) link_ends_.forget(link.peer);
  last_lack_ = {};
  forget_links();
  ++counters_.links;
  departures_.link_made(link);
}

void Core::forget_links() noexcept {
  leave_run();
  found_link_ = nullptr;
  for (Terminus* terminus : termini_) terminus->forget_link();
}

Link* Core::find_link_uncached(std::uint64_t peer) noexcept {
  const auto found = link_of_.find(peer);
  return found == link_of_.end() ? nullptr : (found_link_ = found->second);
}

void Core::end_link(Link& link, WhyNoLink why) noexcept {
  note_end(link, why);
  sweep_.remove(link);
  HAMLYN_ASSERT(by_index_[link.index] == &link, "a link ends once");
  by_index_[link.index] = nullptr;
  link_of_.erase(link.peer);
  forget_links();
  --counters_.links;
  ++counters_.links_ended;
  // Bytes that have left and were not copied yet are worth nothing, before their senders hear that it is
  // over.
  if (link.areas_shown != 0) link.set_areas_shown(0);
  // Pairs with MappedSlot::status.
  for (std::atomic<bool>* ended : std::exchange(link.mapping_ends, {}))
    ended->store(true, std::memory_order_relaxed);
  departures_.link_ended(link);
  for (Terminus* terminus : termini_) terminus->link_ended(link, why);
  forget_abandons(link);
  fail_requests(link, why);
  fail_entries(link);
  for (std::size_t i = 0; i < link.refused.size(); ++i) {
    if (link.refused[i] != 0) tell(link, static_cast<Refusal>(i), queue_for(kNoEntry));
  }
  // Each queue that the link had a part in hears of its end once; the first one if there is none.
  bool told = false;
  for (const std::uint32_t index : link.places) {
    Queue* const queue = records_[index].queue;
    if (queue == nullptr || std::exchange(queue->end_of, link.serial) == link.serial) continue;
    tell_end(link, *queue, why);
    told = true;
  }
  // Queues of slots with posted buffers hear of each end: which links have sent there is not known.
  for (const auto& queue : queues_) {
    if (queue->posted == 0 || std::exchange(queue->end_of, link.serial) == link.serial) continue;
    tell_end(link, *queue, why);
    told = true;
  }
  if (!told && !queues_.empty()) tell_end(link, *queues_.front(), why);
  for (const std::uint32_t index : link.places) {
    if (index != kDeadRecord) end_places(index);
  }
  looks_ += link.places.size();
  link.places.clear();
  while (link.gave_back != 0) {
    const std::uint32_t index = link.gave_back;
    unchain<&ReceiveCredit::gave_back>(records_, link.gave_back, index);
    records_[index].given_back_by = 0;
    ++looks_;
  }
  HAMLYN_ASSERT(link.remote.owes_nothing(), "what was owed went with the link");
  remember_lost(link, why);
}

void Core::tell_attachment(bool attached) noexcept {
  Notification change;
  change.kind = Notification::Kind::attachment;
  change.word = attached ? 0 : 1;
  for (const auto& queue : queues_) {
    queue->push_event(change);  // it always finds room
    surroundings_.signal(*queue);
  }
}

void Core::tell_end(Link& link, Queue& queue, WhyNoLink why) noexcept {
  Notification ended;
  ended.kind = Notification::Kind::link_ended;
  ended.peer = link.peer;
  ended.word = 1;
  ended.entry = static_cast<std::uint32_t>(why.reason);
  ended.message_id = why.told ? 1 : 0;
  queue.push_event(ended);  // it always finds room
  surroundings_.signal(queue);
}

void Core::note_no_link(std::uint64_t peer, WhyNoLink why, bool asked) noexcept {
  link_ends_.remember(peer, why, asked);
  count_no_link(why);
}

void Core::count_no_link(WhyNoLink why) noexcept {
  const auto reason = static_cast<std::size_t>(why.reason);
  if (reason < kCounterReasons) ++counters_.no_link[reason];
}

// The end of a link that was never made does not replace the reason why none could be had: that one stands.
void Core::note_end(const Link& link, WhyNoLink why) noexcept {
  const auto only_over = [](WhyNoLink each) { return base::status_of(each.reason) == Status::link_ended; };
  if (!link.made() && only_over(why) && !only_over(link_ends_.of(link.peer))) return count_no_link(why);
  note_no_link(link.peer, why, link.asked);
}

void Core::refuse_link(std::uint64_t peer, WhyNoLink why, bool asked) noexcept {
  note_no_link(peer, why, asked);
  if (!asked && !why.told && base::is_own_lack(why.reason)) note_lack(peer, why);
  const Status status = base::status_of(why.reason);
  departures_.link_refused(peer, status);
  for (Terminus* terminus : termini_) terminus->link_refused(peer, why);
}

// --- queues

std::uint32_t Core::row_of(const Queue& queue) const noexcept {
  const QueueCounters* const first = counters_.queue;
  const bool has_row = queue.counters != &queue.spare_counters;
  return has_row ? static_cast<std::uint32_t>(queue.counters - first) + 1 : 0;
}

Queue* Core::make_queue(std::size_t places) {
  queues_.push_back(std::make_unique<Queue>(places));
  Queue& queue = *queues_.back();
  ++counters_.queues;
  for (QueueCounters& row : counters_.queue) {
    if (row.places != 0) continue;
    row = {.places = queue.capacity(), .notifications = 0, .most_standing = 0, .reserved = {}};
    queue.counters = &row;
    break;
  }
  return &queue;
}

bool Core::drop_queue(Queue* queue) noexcept {
  if (queue->users != 0) return false;
  HAMLYN_ASSERT(counters_.queues != 0, "the queue was counted when it was made");
  close_run();
  while (queue->over != 0) {
    const std::uint32_t record = queue->over;
    ReceiveCredit& places = records_[record];
    HAMLYN_ASSERT(places.over, "records that are not over are in their slot's list");
    // Its slots are gone, so it is over; what was not taken goes with the queue.
    unchain_places(record);
    places.queue = nullptr;
    places.freed += places.standing;
    places.standing = 0;
    ++looks_;
    if (!link_waits_for(places)) release_record(record);
  }
  forget_queue(queue);
  *queue->counters = {};
  for (Link* link : links()) link->told_causes = 0;  // what told of them may go unread with the queue
  lack_told_ = false;
  std::erase_if(queues_, [&](const auto& owned) { return owned.get() == queue; });
  --counters_.queues;
  return true;
}

// --- deposit, the parts that are not the shortest way

void Core::remember_slot(Link& link, std::uint64_t lead, std::uint64_t slot_word, std::uint64_t key,
                         std::uint64_t entry_word, std::uint32_t record) noexcept {
  link.cached.counted_last = false;
  const bool is_short = is_short_write(lead);
  CachedWrite& cached = is_short ? link.cached.write : link.cached.block;
  if (!is_short && cached.queue != nullptr && cached.opened_by(slot_word, entry_word, key)) return;
  const std::uint32_t index = low_half(slot_word);
  HAMLYN_ASSERT(index < slots_.size(), "the packet was accepted, so its slot is one");
  const SlotRecord& slot = slots_[index];
  const std::uint64_t length = is_short ? lead >> 32 & 0xFFFF : 0;
  HAMLYN_ASSERT(slot.live && length <= slot.bound, "the packet was accepted, so it fits its slot");
  cached = {slot.queue,          lead >> 32,           slot_word, key,    entry_word,
            slot.bound - length, slot.bound,           slot.base, length, &records_[record],
            slot.counters,       number_of(slot_word), record};
}

void Core::forget_slots() noexcept {
  for (Link* link : links()) link->cached.forget();
}

template <bool OfArea>
Refusal Core::deposit_counted(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                              std::uint64_t length) noexcept {
  const Refusal cause = check_counted(slot, packet, length);
  if (!OfArea && cause == Refusal::bad_entry && is_posted(packet)) {
    std::uint32_t taken;
    return deposit_posted(link, slot, packet, payload, taken);
  }
  if (cause != Refusal::none) return cause;
  MetadataEntry& entry = slot.entries[packet.entry];
  const std::uint32_t message = message_of(packet.word);
  const Refusal state = check_state(entry, link, message, packet.delta);
  if (state == Refusal::bad_share && packet.delta != 0) {
    // Somebody has sent more than its share: the count means nothing any more.
    fail(slot, packet.slot, packet.entry, Failure::miscounted, link.peer);
  }
  if (state != Refusal::none) return state;
  if (entry.state == EntryState::gathering)
    return deposit_grouped<OfArea>(link, slot, packet, payload, length);
  std::byte* const to = slot.base + packet.offset;
  if (entry.state == EntryState::armed) {
    // The entry stays armed: others have tickets of it, too.
    if (OfArea && !land_from_area(link, to, packet, payload, length)) return Refusal::bad_area;
    begin(link, packet.slot, packet.entry, message, packet.offset);
  } else if (OfArea && !land_from_area(link, to, packet, payload, length)) {
    fail(slot, packet.slot, packet.entry, Failure::abandoned, link.peer);
    return Refusal::bad_area;
  }
  if (!OfArea) move_bytes(to, packet, payload);
  if (packet.lead.metadata_length != 0) {
    std::memcpy(entry.user, payload.metadata, packet.lead.metadata_length);
    entry.user_length = packet.lead.metadata_length;
  }
  entry.length += static_cast<std::uint32_t>(length);
  entry.offset = std::min(entry.offset, packet.offset);
  // Counting (paper 0, section 2.5): whatever the order, the sum is zero when the last packet has come.
  entry.accumulator += packet.delta;
  if (packet.delta == 0 || entry.accumulator == 0) {
    complete(slot, packet.slot, packet.entry, link.peer);
    if (link.acknowledgements.promised_count != 0) [[unlikely]]
      settle_promises(packet.slot, packet.entry, Refusal::none);
  }
  return Refusal::none;
}

template Refusal Core::deposit_counted<false>(Link&, SlotRecord&, const Packet&, const Payload&,
                                              std::uint64_t) noexcept;
template Refusal Core::deposit_counted<true>(Link&, SlotRecord&, const Packet&, const Payload&,
                                             std::uint64_t) noexcept;

Refusal Core::deposit_control(Link& link, const Packet& packet, const Payload& payload) noexcept {
  switch (packet.lead.operation) {
    case Operation::open:
      return grant_places(link, packet);
    case Operation::grant:
      return take_grant(link, packet);
    case Operation::credit:
      return take_credit(link, packet);
    case Operation::abandon:
      return take_abandon(link, packet);
    case Operation::area_write:
      return deposit_from_area(link, packet, payload);
    case Operation::write_acknowledged:
      return deposit_acknowledged(link, packet, payload);
    case Operation::delivered:
      return take_delivered(link, packet);
    case Operation::opened_write:
      return deposit_opened(link, packet);
    case Operation::get:
    case Operation::get_strided:
      return serve_get(link, packet);
    case Operation::fetch:
      return serve_fetch(link, packet);
    case Operation::put:
    case Operation::put_block:
    case Operation::put_strided:
      return take_put(link, packet, payload);
    case Operation::fence:
      return serve_fence(link, packet);
    case Operation::watch:
      return serve_watch(link, packet);
    case Operation::get_data:
    case Operation::got:
    case Operation::fetched:
    case Operation::refused_request:
      return take_answer(link, packet, payload);
    case Operation::taken_requests:
      return take_limit(link, packet);
    default:
      return Refusal::malformed;
  }
}

// --- termini

TerminusCounters& Core::row_for_terminus() noexcept {
  for (TerminusCounters& row : counters_.terminus) {
    if (row.entries == 0) return row;
  }
  return uncounted_terminus_;
}

void Core::add_terminus(Terminus& terminus) {
  termini_.push_back(&terminus);
  ++counters_.termini;
}

void Core::drop_terminus(Terminus& terminus) noexcept {
  std::erase(termini_, &terminus);
  --counters_.termini;
  if ((terminus_bits() & terminus.bit()) != 0) return;  // another's, too
  for (Link* link : links()) {
    for (const auto& credit : link->credits) credit->forget_terminus(terminus.bit());
    link->lost_before &= ~terminus.bit();
  }
  lost_puts_.forget_terminus(terminus.bit());
}

std::uint64_t Core::terminus_bits() const noexcept {
  std::uint64_t bits = 0;
  for (const Terminus* terminus : termini_) bits |= terminus->bit();
  return bits;
}

// One that no other has, while there are any; the longest free first.
std::uint64_t Core::next_terminus_bit() noexcept {
  const std::uint64_t taken = terminus_bits();
  do {
    terminus_bit_ = std::rotl(terminus_bit_, 1);
  } while ((taken & terminus_bit_) != 0 && ~taken != 0);
  return terminus_bit_;
}

}  // namespace hamlyn::internal_::interface
