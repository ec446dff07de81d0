#include "fabric/sim/sim_link.h"

#include <algorithm>
#include <utility>

#include "base/byte_order.h"
#include "base/copy.h"
#include "fabric/sim/turned.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"

namespace hamlyn::sim {

using interface::Core;
using interface::Operation;
using interface::Packet;
using interface::Payload;

SimLink::SimLink(SimNet& net, std::size_t number, std::size_t other, std::uint64_t peer_interface)
    : net_(net), number_(number), other_(other) {
  peer = peer_interface;
}

SimLink::~SimLink() { net_.forget(*this); }

std::size_t SimLink::urgent_payload_limit() const noexcept {
  return std::min(net_.weather().urgent_mtu, net_.weather().mtu);
}

std::shared_ptr<Parcel> SimLink::packed(const Packet& packet, const std::byte* data) const {
  auto parcel = std::make_shared<Parcel>();
  parcel->packet = packet;
  const std::size_t length = packet.lead.length;
  if (length <= interface::kInlineData) {
    std::copy_n(data, length, parcel->packet.data);
  } else {
    parcel->data.resize(length);
    base::copy_from_shared(parcel->data.data(), data, length);  // of an answer the owner may write there
  }
  if (net_.weather().orders_differ)
    base::swap_elements(length <= interface::kInlineData ? parcel->packet.data : parcel->data.data(), length,
                        turned_element(packet));
  return parcel;
}

Status SimLink::put(const Packet& packet, const std::byte* data, const std::byte* metadata,
                    Priority level) noexcept {
  if (left_ == 0) net_.cut(*this);
  if (cut_ || broken) return Status::link_ended;
  if (untaken(level) >= window(level)) {
    rings_for_room_ = true;
    return Status::queue_full;
  }
  std::shared_ptr<Parcel> parcel = packed(packet, data);
  parcel->level = level;
  std::copy_n(metadata, std::min<std::size_t>(packet.lead.metadata_length, interface::kCell),
              parcel->metadata.begin());
  parcel->number = next_put_;
  untaken_puts_.insert(next_put_++);
  ++untaken(level);
  --left_;
  ++counters->packets_out;
  counters->bytes_out += packet.lead.length;
  net_.send(other_, std::move(parcel));
  return Status::ok;
}

Status SimLink::put_reply(const Packet& packet, const std::byte* data) noexcept {
  if (cut_ || broken) return Status::link_ended;
  if (untaken_replies_ >= net_.weather().reply_window) {
    rings_for_room_ = true;
    return Status::queue_full;
  }
  std::shared_ptr<Parcel> parcel = packed(packet, data);
  parcel->reply = true;
  ++untaken_replies_;
  net_.send(other_, std::move(parcel));
  return Status::ok;
}

unsigned SimLink::arrive(Core& core, unsigned budget) noexcept {
  unsigned replies = 0;
  while (!replies_.empty() && !broken) {
    const std::shared_ptr<Parcel> parcel = std::move(replies_.front());
    replies_.pop_front();
    if (SimLink* end = other()) {
      --end->untaken_replies_;
      if (std::exchange(end->rings_for_room_, false) && end->arrivals != nullptr) ++*end->arrivals;
    }
    ++replies;
    deposit(core, *parcel);
  }
  unsigned count = 0;
  while (count < budget && !broken) {
    const bool urgent = !urgent_.empty() && (arrived_.empty() || urgent_in_a_row_ < interface::kUrgentInARow);
    if (!urgent && arrived_.empty()) break;
    urgent_in_a_row_ = urgent ? urgent_in_a_row_ + 1 : 0;
    ++count;
    if (take(core, urgent ? urgent_ : arrived_) == Operation::area_write)
      budget -= std::min(budget - count, interface::kAreaPacketCost - 1);
  }
  return count + replies;
}

Operation SimLink::take(Core& core, Arrived& from) noexcept {
  const std::shared_ptr<Parcel> parcel = std::move(from.front());
  from.pop_front();
  ++counters->packets_in;
  counters->bytes_in += parcel->packet.lead.length;
  arriving = parcel->level;
  deposit(core, *parcel);
  if (SimLink* end = other()) {
    --end->untaken(parcel->level);
    end->untaken_puts_.erase(parcel->number);
    // As the doorbell of shared memory: who has found no room is woken, and who waits for what was taken.
    const bool room = std::exchange(end->rings_for_room_, false);
    const bool taken = end->taken_wanted != 0 && end->taken_count() >= end->taken_wanted;
    if ((room || taken) && end->arrivals != nullptr) ++*end->arrivals;
  }
  return parcel->packet.lead.operation;
}

void SimLink::deposit(Core& core, const Parcel& parcel) noexcept {
  const interface::Lead& lead = parcel.packet.lead;
  // There is no ring here to continue in.
  if ((parcel.reply ? invalid_reply(lead) : invalid(lead, payload_limit(parcel.level))) != nullptr ||
      lead.operation == Operation::continue_ring || invalid_element(lead) != nullptr) {
    broken = true;
    core.note_broken(*this);
    return;
  }
  // As over shared memory: like the one before, in fewer steps.
  interface::Words words;
  std::memcpy(&words, &parcel.packet, sizeof words);
  const std::uint64_t kind = words.word[interface::kLeadWord];
  if ((interface::is_short_write(kind) && core.deposit_cached(*this, words)) ||
      (interface::is_put(kind) && core.put_cached(*this, words))) {
    return;
  }
  Payload payload;
  payload.metadata = parcel.metadata.data();
  if (lead.length > interface::kInlineData) {
    // In two runs, as where a ring wraps.
    payload.first = parcel.data.data();
    payload.first_length = net_.chance().between(1, lead.length);
    payload.second = payload.first + payload.first_length;
  }
  const Refusal refusal =
      element_fits(parcel.packet) ? core.deposit(*this, parcel.packet, payload) : Refusal::misaligned;
  if (refusal != Refusal::none) core.refuse(*this, refusal, parcel.packet);
}

}  // namespace hamlyn::sim
