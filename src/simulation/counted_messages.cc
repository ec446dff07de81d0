// Messages to metadata entries, in every mode and of every size: each comes whole and once, or is told to
// have failed because of a fault.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "simulation/operations.h"
#include "simulation/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 12;
constexpr std::size_t kRegion = 4096;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;

struct Message {
  Process* from;
  Process* to;
  std::uint32_t entry;
  std::vector<std::byte> data, metadata;
  interface::Terminus* terminus;
  SendHandle handle;
  bool acknowledged;
  bool may_be_lost;
};

class CountedMessages final : public Operation {
 public:
  explicit CountedMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Receiver {
    Area* area;
    OwnedSlot* slot;
    OperationKind kind;
    std::unique_ptr<Message> messages[kEntries];  // on their way to the entry, or null
    // What was read there and must stay as it is until the entry is armed again.
    std::vector<std::byte> kept[kEntries];
    std::vector<std::uint32_t> to_arm;
    bool taken[kEntries] = {};  // by a message, until armed again
  };

  void take_message(Process& process, Receiver& receiver, const Notification& n);
  void over(Receiver& receiver, std::uint32_t entry) {
    settled_.push_back(std::move(receiver.messages[entry]));
  }

  World& world_;
  std::map<std::uint64_t, Receiver> receivers_;
  std::vector<std::unique_ptr<Message>> settled_;  // received or failed; senders may still ask
};

void CountedMessages::come(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const auto mode = static_cast<Mode>(world_.chance().below(3));
  receiver.kind = mode == Mode::guarded    ? OperationKind::message
                  : mode == Mode::paranoid ? OperationKind::message_paranoid
                                           : OperationKind::message_one_shot;
  receiver.area = &process.make_area(kEntries * kStride);
  receiver.slot =
      &process.make_slot(*this, *receiver.area, {.mode = mode, .entries = kEntries}, world_.chance());
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    receiver.area->guard(entry * kStride + kRegion);
    if (mode != Mode::guarded) receiver.slot->arm(entry, {entry * kStride, kRegion});
  }
}

void CountedMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  Process* to = world_.any_other(from);
  if (to == nullptr) return;
  Receiver& receiver = receivers_[to->number()];
  const auto entry = static_cast<std::uint32_t>(chance.below(kEntries));
  if (receiver.taken[entry]) return;
  auto message = std::make_unique<Message>();
  message->from = &from;
  message->to = to;
  message->entry = entry;
  message->terminus = &from.terminus(chance);
  const std::uint64_t length = chance.one_in(2) ? chance.below(80) : chance.below(kRegion + 1);
  message->data = pattern(length, chance.next());
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  const Ticket ticket = receiver.slot->ticket(entry);
  // In a guarded slot the ticket's bounds are the slot's; elsewhere they are the entry's.
  const std::uint64_t offset = ticket.bound > kRegion ? entry * kStride : 0;
  message->acknowledged = chance.one_in(3);
  const SendOptions options{
      .offset = offset, .metadata = message->metadata, .acknowledged = message->acknowledged};
  const Status status = message->terminus->send(ticket, message->data, options, &message->handle);
  world_.note(from, "sends % bytes to entry % of process %: status %",
              {length, entry, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(receiver.kind, status);
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a send was answered with something else");
  message->may_be_lost = world_.unsure(from, *to);
  world_.begun(receiver.kind);
  if (status == Status::link_ended) {
    demand(message->may_be_lost, "a link that lives says that it has ended");
    ++world_.counts.failed;
    return;
  }
  receiver.taken[entry] = true;
  receiver.messages[entry] = std::move(message);
}

void CountedMessages::notified(Process& process, const Notification& n) {
  Receiver& receiver = receivers_[process.number()];
  const std::unique_ptr<Message>& message = receiver.messages[n.entry];
  demand(message != nullptr, "a message came, or failed, that nobody sent");
  demand(message->from->number() == n.peer, "a message came from somebody else");
  if (n.kind == Notification::Kind::message) {
    take_message(process, receiver, n);
  } else {
    demand(message->may_be_lost, "an entry failed whose link lives");
    world_.note(process, "is told that the message in entry % has failed", {n.entry});
    ++world_.counts.failed;
    receiver.kept[n.entry].clear();
  }
  over(receiver, n.entry);
  receiver.to_arm.push_back(n.entry);
}

void CountedMessages::take_message(Process& process, Receiver& receiver, const Notification& n) {
  const Message& message = *receiver.messages[n.entry];
  demand(same(receiver.slot->bytes(n), message.data), "a message is not intact");
  demand(same(receiver.slot->metadata(n.entry), message.metadata), "its metadata is not intact");
  demand(receiver.slot->entry(n.entry).accumulator == 0, "an accumulator is not back at zero");
  world_.note(process, "receives % bytes in entry % from process %", {n.length, n.entry, n.peer});
  const std::span<const std::byte> region(receiver.area->data() + n.entry * kStride, kRegion);
  receiver.kept[n.entry].assign(region.begin(), region.end());
  ++world_.counts.completed;
}

void CountedMessages::step(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  for (const std::uint32_t entry : receiver.to_arm) {
    const std::vector<std::byte>& kept = receiver.kept[entry];
    demand(kept.empty() || std::equal(kept.begin(), kept.end(), receiver.area->data() + entry * kStride),
           "bytes changed in an entry that takes nothing");
    demand(receiver.slot->arm(entry) == Status::ok, "an entry that was read cannot be armed");
    receiver.taken[entry] = false;
  }
  receiver.to_arm.clear();
}

void CountedMessages::may_lose(Process& from, Process& to) {
  for (const auto& message : receivers_[to.number()].messages) {
    if (message != nullptr && message->from == &from) message->may_be_lost = true;
  }
  // It has arrived, but its acknowledgement may be lost.
  for (const auto& message : settled_) {
    if (message->acknowledged && message->from == &from && message->to == &to) message->may_be_lost = true;
  }
}

// An entry that has heard nothing of its message will not hear of it.
void CountedMessages::link_over(Process& from, Process& to) {
  Receiver& receiver = receivers_[to.number()];
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    const std::unique_ptr<Message>& message = receiver.messages[entry];
    if (message == nullptr || message->from != &from) continue;
    if (from.alive && message->terminus->status(message->handle) == Status::pending) continue;
    if (receiver.slot->entry(entry).state != interface::EntryState::armed) continue;
    demand(message->may_be_lost, "a message is lost though its link lives");
    ++world_.counts.failed;
    over(receiver, entry);
    receiver.taken[entry] = false;
  }
}

void CountedMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto receiver = receivers_.find(to.number());
  if (receiver == receivers_.end()) return;
  for (const auto& message : receiver->second.messages) {
    if (message != nullptr && message->from == &from)
      kinds.set(static_cast<std::size_t>(receiver->second.kind));
  }
}

void CountedMessages::check_rest() {
  for (auto& [number, receiver] : receivers_) {
    for (const auto& message : receiver.messages) {
      if (message == nullptr || !message->to->alive || !message->from->alive) continue;
      demand(message->may_be_lost, "a message was lost though its link lived");
    }
  }
  for (const auto& message : settled_) {
    if (!message->from->alive) continue;
    const Status status = message->terminus->status(message->handle);
    demand(status != Status::pending, "a message is pending for ever");
    demand(status == Status::ok || message->may_be_lost, "a send failed though its link lived");
  }
}

}  // namespace

std::unique_ptr<Operation> make_counted_messages(World& world) {
  return std::make_unique<CountedMessages>(world);
}

}  // namespace hamlyn::simulation
