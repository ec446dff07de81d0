// Acknowledgements of delivery (paper 1, section 2.4: the sender needs to know that the recipients have got a
// message). A message asks for one by its first packet; the receiving interface answers, as a reply, when the
// whole message has landed, or when it will not; of a durable area, when it is in the file. Both ends bound
// how many are outstanding per link, so that there is always room to note one (design, section 4).
#include <algorithm>

#include "base/assert.h"
#include "interface/core.h"
#include "interface/deposit.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Refusal Core::deposit_acknowledged(Link& link, const Packet& packet, const Payload& payload) noexcept {
  Acknowledgements& owed = link.acknowledgements;
  if (owed.promised_count + owed.due_count == kAcknowledgementLimit) return Refusal::over_budget;
  if (is_posted(packet)) return deposit_posted_acknowledged(link, packet, payload);
  SlotRecord& slot = slot_of(slots_, packet.slot);
  Refusal cause = check_acknowledged(slots_, packet);
  if (cause == Refusal::none) cause = deposit_counted<false>(link, slot, packet, payload, packet.lead.length);
  const std::uint32_t message = message_of(packet.word);
  Acknowledgements::Promise promise{packet.slot, packet.entry, message, false, nullptr, {}};
  if (cause == Refusal::none &&
      (slot.entries[packet.entry].state == EntryState::filling || await_sync(promise))) {
    HAMLYN_ASSERT(owed.promised_count + owed.due_count < kAcknowledgementLimit,
                  "deposit_acknowledged has refused what is over it");
    owed.promised[owed.promised_count++] = promise;  // when the rest has come, or the file is written
  } else {
    acknowledge(link, message, cause == Refusal::none ? landed(packet.slot) : cause);
  }
  return cause;
}

void Core::acknowledge(Link& link, std::uint32_t message, Refusal cause) noexcept {
  Acknowledgements& owed = link.acknowledgements;
  HAMLYN_ASSERT(owed.due_count < kAcknowledgementLimit, "promises and dues are bounded together");
  owed.due[owed.due_count++] = {message, cause};  // there is room: promises and dues are bounded together
  link.replies_due = replies_due_ = true;
}

// The entry's message is complete, or will not be.
// Only who fills it was promised anything.
void Core::settle_promises(std::uint32_t slot, std::uint32_t entry, Refusal cause) noexcept {
  Link* const link = link_of_serial(slots_[slot].entries[entry].link);
  if (link != nullptr) settle_promises(*link, slot, entry, cause);
}

void Core::settle_promises(Link& link, std::uint32_t slot, std::uint32_t entry, Refusal cause) noexcept {
  Acknowledgements& owed = link.acknowledgements;
  for (std::uint32_t i = 0; i < owed.promised_count;) {
    Acknowledgements::Promise& promise = owed.promised[i];
    if (promise.store != nullptr || promise.slot != slot || (promise.entry != entry && entry != kNoEntry) ||
        (cause == Refusal::none && await_sync(promise))) {
      ++i;
      continue;
    }
    const std::uint32_t message = promise.message;
    promise = owed.promised[--owed.promised_count];
    acknowledge(link, message, cause == Refusal::none ? landed(slot) : cause);
  }
}

void Core::break_promises(std::uint32_t slot) noexcept {
  for (Link* link : links()) settle_promises(*link, slot, kNoEntry, Refusal::stale_generation);
}

bool Core::send_acknowledgements(Link& link) noexcept {
  Acknowledgements& owed = link.acknowledgements;
  std::uint32_t sent = 0;
  while (sent < owed.due_count) {
    Packet reply{};
    reply.lead.operation = Operation::delivered;
    reply.word = owed.due[sent].message;
    reply.delta = static_cast<std::uint32_t>(owed.due[sent].cause);
    if (link.put_reply(reply, nullptr) != Status::ok) break;
    ++sent;
  }
  HAMLYN_ASSERT(sent <= owed.due_count, "no more left than were due");
  std::copy(owed.due.begin() + sent, owed.due.begin() + owed.due_count, owed.due.begin());
  owed.due_count -= sent;
  return owed.due_count == 0;
}

// At the sender.
Refusal Core::take_delivered(Link& link, const Packet& packet) noexcept {
  const auto message = static_cast<std::uint32_t>(packet.word);
  if (packet.word != message || !link.acknowledgements.await_no_more(message)) return Refusal::unasked_reply;
  const Refusal cause = packet.delta < static_cast<std::uint32_t>(Refusal::count)
                            ? static_cast<Refusal>(packet.delta)
                            : Refusal::malformed;
  for (Terminus* terminus : termini_) terminus->delivered(link, message, cause);
  surroundings_.settled();
  return Refusal::none;
}

}  // namespace hamlyn::internal_::interface
