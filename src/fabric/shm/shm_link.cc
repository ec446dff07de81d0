#include "fabric/shm/shm_link.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "fabric/shm/announcement.h"
#include "fabric/shm/credit.h"
#include "fabric/shm/growth.h"
#include "interface/places/opened.h"
#include "interface/remote/short_remote.h"

namespace hamlyn::shm {

using interface::cells_of;
using interface::Core;
using interface::kUrgentInARow;
using interface::Operation;

namespace {
constexpr std::size_t kHomePayload = 1024;  // two such packets fit the home page's cells
// With header and metadata it fits the urgent ring, and the cell that stays free there.
constexpr std::size_t kUrgentPayload = (kUrgentCells - 3) * interface::kCell;
constexpr std::uint32_t kReplyCellsMost = 1 + interface::kReplyPayload / interface::kCell;
// Threads that one ring wakes. Of a peer one sleeps on the bell, and a few may not yet have noticed that they
// were woken, who look at everything when they have. A peer may have thousands wait there: waking them would
// be our time.
constexpr int kWoken = 8;
static_assert(2 * kReplyCellsMost < kReplyCells, "two of the longest replies fit their ring");
// Cells that the main ring grows to at most, and for answers to another user's gets.
constexpr std::uint32_t kMessageRing = kGrownCells[std::size(kGrownCells) - 1];
constexpr std::uint32_t kStrangersRing = kGrownCells[std::size(kGrownCells) - 2];
static_assert(kStrangersRing * interface::kCell > interface::kGetLimit + interface::kGetLimit / 2,
              "the longest answer fits");
}  // namespace

OwnedMemory ShmLink::prepare_page(std::uint64_t interface, std::size_t mtu) {
  OwnedMemory made = make_sealed_memory(sizeof(Page));
  PageHeader& header = static_cast<Page*>(made.mapping.data())->header;
  header.magic = kPageMagic;
  header.structures = kPageVersion;
  header.cell_bytes = interface::kCell;
  header.mtu = static_cast<std::uint32_t>(mtu);
  header.interface = interface;
  return made;
}

ShmLink::PageCheck ShmLink::check_page(const Mapping& theirs, std::uint64_t peer) noexcept {
  PageHeader header;
  std::memcpy(&header, theirs.data(), sizeof header);
  base::forget_source(header);
  return {invalid(header, peer), header.mtu};
}

ShmLink::ShmLink(interface::Surroundings& surroundings, std::uint64_t own, std::uint64_t peer_interface,
                 std::size_t mtu, Mapping mine, Mapping theirs)
    : Link(this),
      mine_(static_cast<Page*>(mine.data())),
      theirs_(static_cast<const Page*>(theirs.data())),
      payload_limit_(std::min(kHomePayload, mtu)),
      mtu_(mtu),
      surroundings_(surroundings),
      my_page_(std::move(mine)),
      their_page_(std::move(theirs)) {
  peer = peer_interface;
  in_order = true;
  out_.reset(mine_->cells, kHomeCells, 0, 1, first_cell(own));
  in_.reset(theirs_->cells, kHomeCells, 1, first_cell(peer_interface));
  replies_out_.reset(mine_->replies, kReplyCells, 0);
  replies_in_.reset(theirs_->replies, kReplyCells);
  urgent_out_.reset(mine_->urgent, kUrgentCells, 0);
  urgent_in_.reset(theirs_->urgent, kUrgentCells);
  bell_.reset(&theirs_->watch.watch, &mine_->watch.doorbell);
}

// --- sending

Status ShmLink::put(const Packet& packet, const std::byte* data, const std::byte* metadata,
                    Priority level) noexcept {
  if (level == Priority::urgent) [[unlikely]]
    return put_urgent(packet, data, metadata);
  return put_normal(packet, data, metadata, kMessageRing);
}

Status ShmLink::put_answer(const Packet& packet, const std::byte* data, bool) noexcept {
  return put_normal(packet, data, nullptr, same_user ? kMessageRing : kStrangersRing);
}

// A ring that is shorter than `grows_to` grows if it is too short for more than a few of such packets.
inline Status ShmLink::put_normal(const Packet& packet, const std::byte* data, const std::byte* metadata,
                                  std::uint32_t grows_to) noexcept {
  const std::uint32_t cells = cells_of(packet.lead);
  if (!out_.has_room(cells)) [[unlikely]] {
    if (broken) return Status::link_ended;
    if (!make_room(cells, grows_to)) return broken ? Status::link_ended : no_room();
  }
  HAMLYN_ASSERT(out_.has_room(cells), "make_room() has found it");
  out_.put(packet, data, metadata);
  ++counters->packets_out;
  counters->bytes_out += packet.lead.length;
  if (cells > out_.count() / kPacketsAhead && out_.count() < grows_to) [[unlikely]]
    want_room();
  if (bell_.must_ring()) [[unlikely]]
    ring();
  // And the cell behind it, of which a word is cleared.
  if (++puts_ <= kBurst && cells <= kPrepared) out_.prefetch_next(cells + 1);
  return Status::ok;
}

Status ShmLink::put_urgent(const Packet& packet, const std::byte* data, const std::byte* metadata) noexcept {
  const std::uint32_t cells = cells_of(packet.lead);
  if (!urgent_out_.has_room(cells) && (!take_urgent_credit() || !urgent_out_.has_room(cells)))
    return broken ? Status::link_ended : no_room();
  HAMLYN_ASSERT(urgent_out_.has_room(cells), "the credit has made room");
  urgent_out_.put(packet, data, metadata);
  announce();
  ++counters->packets_out;
  counters->bytes_out += packet.lead.length;
  if (bell_.must_ring()) ring();
  return Status::ok;
}

Status ShmLink::put_reply(const Packet& packet, const std::byte* data) noexcept {
  const std::uint32_t cells = cells_of(packet.lead);
  if (!replies_out_.has_room(cells)) {
    take_reply_credit();
    if (broken) return Status::link_ended;
    if (!replies_out_.has_room(cells)) return Status::queue_full;
  }
  HAMLYN_ASSERT(packet.lead.metadata_length == 0, "replies have none");
  replies_out_.put(packet, data, nullptr);
  reply_left();
  return Status::ok;
}

void ShmLink::reply_left() noexcept {
  announce();
  if (bell_.must_ring()) ring();
  ++puts_;
  replies_out_.prefetch_next();
  // Now, while this one is on its way, rather than when the next is waited for.
  if (!replies_out_.has_room(kReplyCellsMost)) take_reply_credit();
}

// Pairs with publish_replies_taken at the other side.
void ShmLink::take_reply_credit() noexcept {
  if (!replies_out_.credit(Credit<>::told(theirs_->credits.replies_taken))) break_off();
}

// Pairs with cold_look at the other side.
void ShmLink::announce() noexcept { Announcer<>::announce(mine_->announcement.announced, ++announced_); }

interface::ColdLook ShmLink::cold_look() const noexcept {
  const std::uint32_t* at = &theirs_->announcement.announced;
  std::uint32_t announced;
  if (!Announcer<>::nothing_there(*at, announced, replies_in_, urgent_in_)) return Link::cold_look();
  return {in_.turn_at(), at, in_.turn(), announced};
}

// The peer does not keep to the protocol: whoever keeps the links ends this one.
void ShmLink::break_off() noexcept {
  broken = true;
  surroundings_.attention();
}

// Pairs with publish_taken at the other side.
bool ShmLink::take_credit() noexcept {
  if (unwatched_) ask_to_be_watched();
  const std::uint64_t taken = Credit<>::told(theirs_->credits.taken);
  if (taken < last_taken_ || !out_.credit(taken)) {
    break_off();
    return false;
  }
  HAMLYN_ASSERT(taken <= out_.written(), "credit() has refused more");
  last_taken_ = taken;
  if (former_out_ && taken >= former_until_) former_out_ = Mapping();
  return true;
}

// Pairs with arrive_urgent at the other side.
bool ShmLink::take_urgent_credit() noexcept {
  if (unwatched_) ask_to_be_watched();
  const std::uint64_t taken = Credit<>::told(theirs_->credits.urgent_taken);
  if (taken < urgent_taken_ || !urgent_out_.credit(taken)) {
    break_off();
    return false;
  }
  HAMLYN_ASSERT(taken <= urgent_out_.written(), "credit() has refused more");
  urgent_taken_ = taken;
  return true;
}

bool ShmLink::make_room(std::uint32_t cells, std::uint32_t grows_to) noexcept {
  if (!take_credit()) return false;
  if (growth_ == Growth::ready && out_.has_room(1)) switch_out();
  if (out_.has_room(cells)) return true;
  room_wanted = true;
  if (out_.count() < grows_to) want_room();
  return false;
}

std::size_t ShmLink::urgent_payload_limit() const noexcept { return std::min(kUrgentPayload, mtu_); }

bool ShmLink::has_room(Priority level) noexcept {
  if (level == Priority::urgent) {
    const std::uint32_t most = kUrgentCells - 1;
    return broken || urgent_out_.has_room(most) || (take_urgent_credit() && urgent_out_.has_room(most)) ||
           broken;
  }
  const auto cells = static_cast<std::uint32_t>(payload_limit_ / interface::kCell + 2);
  const bool room = broken || out_.has_room(cells) || (take_credit() && out_.has_room(cells));
  // Others may wait for it, and nobody rings for it any more.
  if (std::exchange(room_wanted, !room) && room) surroundings_.settled();
  return room || broken;
}

bool ShmLink::has_reply_room() noexcept {
  if (!replies_out_.has_room(kReplyCellsMost)) take_reply_credit();
  return !broken && replies_out_.has_room(kReplyCellsMost);
}

bool ShmLink::former_ring_left() noexcept {
  return last_taken_ >= former_until_ || (take_credit() && last_taken_ >= former_until_);
}

void ShmLink::want_room() noexcept {
  // Not before the peer has left the former ring: it holds one next ring, and no more
  // (test/model/growth.pml). Until then the watch is armed for what the peer takes, though there may be room.
  if (growth_ == Growth::none && grown_ < std::size(kGrownCells)) {
    if (former_ring_left()) {
      growth_ = Growth::wanted;
      surroundings_.attention();
    } else {
      wait_for_taken(former_until_);
    }
  }
  if (growth_ == Growth::ready && take_credit() && out_.has_room(1)) switch_out();
}

std::uint32_t ShmLink::next_size() const noexcept { return kGrownCells[grown_]; }

// Packets of half of a ring still fit it, though one at a time.
void ShmLink::growth_refused() noexcept {
  growth_ = Growth::refused;
  if (grown_ != 0) payload_limit_ = std::min<std::size_t>(mtu_, out_.count() / 2 * interface::kCell);
}

void ShmLink::continue_out(Mapping ring) noexcept {
  HAMLYN_ASSERT(growth_ != Growth::ready, "one next ring at a time");
  next_out_ = std::move(ring);
  growth_ = Growth::ready;
  if (take_credit() && out_.has_room(1)) switch_out();
}

// The last cell of the old ring names the new one; the reader leaves the old one only there.
void ShmLink::switch_out() noexcept {
  HAMLYN_ASSERT(growth_ == Growth::ready && next_out_.size() != 0, "the peer has the next ring");
  HAMLYN_ASSERT(grown_ < std::size(kGrownCells), "want_room() asks for no longer ring");
  HAMLYN_ASSERT(former_out_.size() == 0 || last_taken_ >= former_until_, "the peer has left the ring before");
  former_until_ = shm::continue_in(out_, static_cast<Packet*>(next_out_.data()), kGrownCells[grown_]);
  former_out_ = std::move(out_ring_);
  out_ring_ = std::move(next_out_);
  next_out_ = Mapping();
  ++grown_;
  growth_ = Growth::none;
  payload_limit_ = std::min<std::size_t>(mtu_, out_.count() / kPacketsAhead * interface::kCell);
  counters->memory_out = memory_out();
  if (bell_.must_ring()) ring();
}

void ShmLink::leave_unwatched() noexcept {
  unwatched_ = true;
  out_.withhold_room();
  urgent_out_.withhold_room();
}

void ShmLink::ask_to_be_watched() noexcept {
  unwatched_ = false;
  surroundings_.attention();
}

bool ShmLink::work_pending() noexcept {
  return !broken && take_credit() && take_urgent_credit() &&
         (out_.written() != last_taken_ || urgent_out_.written() != urgent_taken_);
}

bool ShmLink::moved() noexcept {
  if (!unwatched_ && !broken && take_credit() && take_urgent_credit()) take_reply_credit();
  const std::uint64_t now = in_.taken() + urgent_in_.taken() + replies_in_.taken() + last_taken_ +
                            urgent_taken_ + replies_out_.room_until();
  return std::exchange(moved_, now) != now || something_arrived();
}

void ShmLink::judge_ring(std::optional<std::uint32_t> slept_on) noexcept {
  if (moved())
    empty_rings = 0;
  else if (slept_on && base::RealMemory::load_relaxed(*doorbell()) != *slept_on)  // written in must_ring
    ++empty_rings;
}

void ShmLink::ring() noexcept {
  ++counters->doorbells;
  // Shared: the sleeper waits on its own, read-only, mapping of this word.
  syscall(SYS_futex, &mine_->watch.doorbell, FUTEX_WAKE, kWoken, nullptr, nullptr, 0);
}

// --- receiving

unsigned ShmLink::arrive(Core& core, unsigned budget) noexcept {
  if (broken) [[unlikely]]
    return 0;
  unsigned replies = 0;
  if (replies_in_.something_there()) [[unlikely]]
    replies = arrive_replies(
        core, kReplyCells);  // replies are taken first; who waits for one hears that something moved
  unsigned count = 0;
  if (urgent_in_.something_there()) [[unlikely]] {
    count = arrive_urgent(core, budget);
    // The application hears of it before the link goes on, unless that has been the rule for long.
    if (urgent_in_a_row_ < kUrgentInARow || broken) return count + replies;
    urgent_in_a_row_ = 0;
    budget = std::min(budget, count + 1);
  }
  const unsigned urgent = count;
  std::uint64_t bytes = 0;
  puts_ = 0;
  const std::uint64_t completions = core.completions();
  interface::Words words;
  while (count < budget && core.completions() == completions && in_.look(words)) {
    ++count;
    const std::uint64_t lead = words.word[interface::kLeadWord];
    if ((interface::is_short_write(lead) && core.deposit_cached(*this, words)) ||
        (interface::is_opened_write(lead) && core.opened_cached(*this, words)) ||
        (interface::is_put(lead) && core.put_cached(*this, words))) [[likely]] {
      if (!in_.step()) [[unlikely]]
        after_step();
    } else if (!arrive_other(core, arrived(words))) [[unlikely]] {
      broken = true;
      core.note_broken(*this);
      break;
    } else if (interface::is_area_write(lead)) {
      budget -= std::min(budget - count, interface::kAreaPacketCost - 1);
    }
    bytes += interface::data_bytes(words);
    if (!interface::is_short_write(lead) && urgent_in_.something_there()) [[unlikely]] {
      break;  // it overtakes at the packet boundary: in the next turn
    }
  }
  if (count != urgent) {
    counters->packets_in += count - urgent;
    counters->bytes_in += bytes;
  }
  return count + replies;
}

// All but the shortest packets. False: the peer does not keep to the protocol.
bool ShmLink::arrive_other(Core& core, const Packet& packet) noexcept {
  const std::uint32_t cells = cells_of(packet.lead);
  if (!usable(packet.lead, mtu_, in_.count())) return false;
  if (packet.lead.operation == Operation::continue_ring) return switch_in();
  const Refusal refusal = core.deposit(*this, packet, in_.payload(packet.lead));
  if (refusal != Refusal::none) core.refuse(*this, refusal, packet);
  in_.skip(cells);
  // An area's buffer is free then: the sender may wait for that, and many more cells may not come.
  if (packet.lead.operation == Operation::area_write || in_.credit_due()) publish_taken();
  return true;
}

unsigned ShmLink::arrive_urgent(Core& core, unsigned budget) noexcept {
  unsigned count = 0;
  const unsigned most = std::min(budget, kUrgentInARow - urgent_in_a_row_);
  arriving = Priority::urgent;
  interface::Words words;
  while (count < most && urgent_in_.look(words)) {
    const Packet packet = arrived(words);
    if (!usable(packet.lead, urgent_payload_limit(), kUrgentCells) ||
        packet.lead.operation == Operation::continue_ring ||
        (packet.lead.operation == Operation::area_write && !interface::is_in_place(packet))) {
      broken = true;  // what is urgent carries its data, or finds it in place
      core.note_broken(*this);
      break;
    }
    ++count;
    const Refusal refusal = core.deposit(*this, packet, urgent_in_.payload(packet.lead));
    if (refusal != Refusal::none) core.refuse(*this, refusal, packet);
    urgent_in_.skip(cells_of(packet.lead));
    counters->bytes_in += packet.lead.length;
  }
  arriving = Priority::normal;
  counters->packets_in += count;
  urgent_in_a_row_ += count;
  // Pairs with take_urgent_credit at the other side.
  Credit<>::tell(mine_->credits.urgent_taken, urgent_in_.taken());
  if (bell_.must_ring(true)) ring();
  return count;
}

unsigned ShmLink::arrive_replies(Core& core, unsigned most) noexcept {
  unsigned count = 0;
  interface::Words words;
  while (count < most && replies_in_.look(words)) {
    const Packet packet = arrived(words);
    if (interface::invalid_reply(packet.lead) != nullptr) {
      broken = true;
      core.note_broken(*this);
      break;
    }
    const Refusal refusal = core.deposit_reply(*this, packet, replies_in_.payload(packet.lead));
    if (refusal != Refusal::none) core.refuse(*this, refusal, packet);
    replies_in_.skip(cells_of(packet.lead));
    ++count;
  }
  // Not each time: the other side reads that line. It always has room for the longest reply without the last
  // few.
  if (replies_in_.taken() - replies_told_ >= kRepliesUntold) publish_replies_taken();
  return count;
}

// Packets of long answers, as far as nothing else stands before them.
unsigned ShmLink::arrive_long(Core& core) noexcept {
  core.close_run();
  unsigned count = 0;
  interface::Words words;
  while (count != Core::kSweepBudget && in_.look(words) &&
         interface::is_get_data(words.word[interface::kLeadWord])) {
    if (!arrive_other(core, arrived(words))) {
      broken = true;
      core.note_broken(*this);
      break;
    }
    ++count;
    counters->bytes_in += words.word[interface::kLeadWord] >> 32 & 0xFFFF;
  }
  counters->packets_in += count;
  return count;
}

// Pairs with take_reply_credit at the other side.
void ShmLink::publish_replies_taken() noexcept {
  static_assert(kRepliesUntold + kReplyCellsMost < kReplyCells, "a reply fits, whatever is untold");
  replies_told_ = replies_in_.taken();
  Credit<>::tell(mine_->credits.replies_taken, replies_told_);
  if (bell_.must_ring(true)) ring();
}

// The whole answer of a fetch or of a short get, for whoever waits for it. False: nothing was done.
bool ShmLink::take_short_reply(Core& core) noexcept {
  interface::Words words;
  if (!replies_in_.look(words) || !interface::is_short_answer(words.word[interface::kLeadWord])) return false;
  const Refusal refusal = core.take_short_answer(*this, words);
  if (refusal != Refusal::none) [[unlikely]]
    core.refuse(*this, refusal, arrived(words));
  replies_in_.skip(1);
  if (replies_in_.taken() - replies_told_ >= kRepliesUntold) publish_replies_taken();
  return true;
}

void ShmLink::settle(Core& core) noexcept {
  if (Core::places_due(*this)) core.see_to_places(*this);
  if (in_.until_stop() == 0) after_step();
}

void ShmLink::after_step() noexcept {
  in_.after_step();
  if (in_.credit_due()) publish_taken();
}

// Pairs with take_credit at the other side.
void ShmLink::publish_taken() noexcept {
  Credit<>::tell(mine_->credits.taken, in_.tell_taken());
  if (bell_.must_ring(true)) [[unlikely]]
    ring();
}

bool ShmLink::continue_in(Mapping ring) noexcept {
  if (next_in_) return false;
  next_in_ = std::move(ring);
  return true;
}

bool ShmLink::switch_in() noexcept {
  if (!next_in_) return false;
  const auto cells = static_cast<std::uint32_t>(next_in_.size() / interface::kCell);
  shm::continue_in(in_, static_cast<const Packet*>(next_in_.data()), cells);
  in_ring_ = std::move(next_in_);
  next_in_ = Mapping();  // what was read before, if it was no page
  publish_taken();
  counters->memory_in = memory_in();
  return true;
}

}  // namespace hamlyn::shm
