#include "fabric/sim/sim_link.h"

#include <algorithm>

#include "interface/deposit.h"

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

Status SimLink::put(const Packet& packet, const std::byte* data, const std::byte* metadata) noexcept {
  if (cut_ || broken) return Status::link_ended;
  if (untaken_ >= net_.weather().window) return Status::queue_full;
  auto parcel = std::make_shared<Parcel>();
  parcel->packet = packet;
  const std::size_t length = packet.lead.length;
  if (length <= interface::kInlineData) {
    std::copy_n(data, length, parcel->packet.data);
  } else {
    parcel->data.assign(data, data + length);
  }
  std::copy_n(metadata, std::min<std::size_t>(packet.lead.metadata_length, interface::kCell),
              parcel->metadata.begin());
  parcel->number = next_put_;
  untaken_puts_.insert(next_put_++);
  ++untaken_;
  ++counters->packets_out;
  counters->bytes_out += length;
  net_.send(other_, std::move(parcel));
  return Status::ok;
}

Status SimLink::put_reply(const Packet& packet) noexcept {
  if (cut_ || broken) return Status::link_ended;
  if (untaken_replies_ >= net_.weather().reply_window) return Status::queue_full;
  auto parcel = std::make_shared<Parcel>();
  parcel->packet = packet;
  parcel->reply = true;
  ++untaken_replies_;
  net_.send(other_, std::move(parcel));
  return Status::ok;
}

unsigned SimLink::arrive(Core& core, unsigned budget) noexcept {
  while (!replies_.empty() && !broken) {
    const std::shared_ptr<Parcel> parcel = std::move(replies_.front());
    replies_.pop_front();
    if (SimLink* end = other()) --end->untaken_replies_;
    deposit(core, *parcel);
  }
  unsigned count = 0;
  while (count < budget && !arrived_.empty() && !broken) {
    const std::shared_ptr<Parcel> parcel = std::move(arrived_.front());
    arrived_.pop_front();
    ++count;
    ++counters->packets_in;
    counters->bytes_in += parcel->packet.lead.length;
    deposit(core, *parcel);
    if (parcel->packet.lead.operation == Operation::area_write)
      budget -= std::min(budget - count, interface::kAreaPacketCost - 1);
    if (SimLink* end = other()) {
      --end->untaken_;
      end->untaken_puts_.erase(parcel->number);
    }
  }
  return count;
}

void SimLink::deposit(Core& core, const Parcel& parcel) noexcept {
  const interface::Lead& lead = parcel.packet.lead;
  // There is no ring here to continue in.
  if ((parcel.reply ? invalid_reply(lead) : invalid(lead, payload_limit())) != nullptr ||
      lead.operation == Operation::continue_ring) {
    broken = true;
    core.note_broken(*this);
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
  const Refusal refusal = core.deposit(*this, parcel.packet, payload);
  if (refusal != Refusal::none) core.refuse(*this, refusal, parcel.packet.slot);
}

}  // namespace hamlyn::sim
