// Messages to metadata entries, in every mode and of every size: each comes whole and once, or is told to
// have failed because of a fault. Some are taken back: what their sender then does with the buffer is never
// seen, and what had left comes to nothing, unless it was all. Some are of numbers, which come turned over
// where the byte orders differ.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/entry_slot.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 12;
constexpr std::size_t kRegion = 4096;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;
constexpr std::uint64_t kPatience = 3000;  // of a receiver, with a message that was taken back

struct Message {
  Process* from;
  Process* to;
  std::uint32_t entry;
  OperationKind kind;
  std::vector<std::byte> data, metadata;
  std::vector<std::byte> buffer;  // what is sent, if it is another
  interface::Terminus* terminus;
  SendHandle handle;
  bool acknowledged;
  bool may_be_lost;
  bool cancelled = false;
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
  void take_failure(Process& process, Receiver& receiver, const Notification& n);
  void take_back(Message& message);
  void over(Receiver& receiver, std::uint32_t entry) {
    settled_.push_back(std::move(receiver.messages[entry]));
  }

  World& world_;
  std::map<std::uint64_t, Receiver> receivers_;
  std::vector<std::unique_ptr<Message>> settled_;  // received or failed; senders may still ask
  std::vector<Message*> to_take_back_;
};

void CountedMessages::come(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const auto mode = static_cast<Mode>(world_.chance().below(3));
  receiver.kind = mode == Mode::guarded    ? OperationKind::message
                  : mode == Mode::paranoid ? OperationKind::message_paranoid
                                           : OperationKind::message_one_shot;
  const EntrySlot made = make_entry_slot(world_, *this, process, mode, kEntries, kRegion);
  receiver.area = made.area;
  receiver.slot = made.slot;
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
  const std::uint32_t element = any_element(chance);
  std::uint64_t length = chance.one_in(2) ? chance.below(80) : chance.below(kRegion + 1);
  if (element != 0) length -= length % element;
  message->data = pattern(length, chance.next());
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  const Ticket ticket = receiver.slot->ticket(entry);
  // In a guarded slot the ticket's bounds are the slot's; elsewhere they are the entry's.
  const std::uint64_t offset = ticket.bound > kRegion ? entry * kStride : 0;
  message->acknowledged = chance.one_in(3);
  const bool to_take_back = chance.one_in(5);
  message->kind = to_take_back                             ? OperationKind::message_cancelled
                  : element != 0 && world_.orders_differ() ? OperationKind::message_turned
                                                           : receiver.kind;
  const bool has_buffer = to_take_back || element != 0;
  if (has_buffer) message->buffer = message->data;
  world_.as_it_comes(message->data, element);
  const SendOptions options{.offset = offset,
                            .metadata = message->metadata,
                            .acknowledged = message->acknowledged,
                            .element = element};
  const Status status = message->terminus->send(ticket, has_buffer ? message->buffer : message->data, options,
                                                &message->handle);
  world_.note(from, "sends % bytes to entry % of process %: status %",
              {length, entry, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(message->kind, status);
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a send was answered with something else");
  message->may_be_lost = world_.unsure(from, *to);
  world_.begun(message->kind);
  if (status == Status::link_ended) {
    demand(message->may_be_lost, "a link that lives says that it has ended");
    ++world_.counts.failed;
    return;
  }
  receiver.taken[entry] = true;
  if (to_take_back && status == Status::pending) to_take_back_.push_back(message.get());
  receiver.messages[entry] = std::move(message);
}

// If it still can be. The buffer is used for something else at once.
void CountedMessages::take_back(Message& message) {
  if (message.terminus->status(message.handle) != Status::pending) return;
  demand(message.terminus->cancel(message.handle) == Status::ok, "a message cannot be taken back");
  demand(message.terminus->status(message.handle) == Status::cancelled,
         "a message that was taken back does not say so");
  world_.note(*message.from, "takes back its message to entry % of process %",
              {message.entry, message.to->number()});
  message.cancelled = true;
  std::fill(message.buffer.begin(), message.buffer.end(), std::byte{0xEE});
  Receiver& receiver = receivers_[message.to->number()];
  const bool known = receiver.messages[message.entry].get() != &message;
  if (known || !message.to->alive) return;
  // Whether anything of it is on its way its receiver does not know. But what has begun must come to an end
  // by itself.
  if (receiver.slot->entry(message.entry).state == interface::EntryState::armed)
    demand(receiver.slot->fail_at(message.entry, world_.now() + kPatience) == Status::ok,
           "an armed entry takes no deadline");
}

void CountedMessages::notified(Process& process, const Notification& n) {
  Receiver& receiver = receivers_[process.number()];
  const std::unique_ptr<Message>& message = receiver.messages[n.entry];
  demand(message != nullptr, "a message came, or failed, that nobody sent");
  demand(message->from->number() == n.peer || n.failure() == Failure::timed_out,
         "a message came from somebody else");
  if (n.kind == Notification::Kind::message) {
    take_message(process, receiver, n);
  } else {
    take_failure(process, receiver, n);
  }
  over(receiver, n.entry);
  receiver.to_arm.push_back(n.entry);
}

void CountedMessages::take_failure(Process& process, Receiver& receiver, const Notification& n) {
  const Message& message = *receiver.messages[n.entry];
  if (n.failure() == Failure::link_ended) {
    demand(message.may_be_lost, "an entry failed whose link lives");
  } else {
    demand(message.cancelled, "an entry failed though nobody has taken its message back");
    // The rest of it may come late, with the key of before.
    process.keys_changed |= receiver.slot->record().mode != Mode::guarded;
  }
  world_.note(process, "is told that the message in entry % has failed, for cause %", {n.entry, n.word});
  ++world_.counts.failed;
  receiver.kept[n.entry].clear();
}

void CountedMessages::take_message(Process& process, Receiver& receiver, const Notification& n) {
  const Message& message = *receiver.messages[n.entry];
  // All of one that is to be acknowledged may have left.
  demand(!message.cancelled || message.acknowledged, "a message came that was taken back");
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
  std::erase_if(to_take_back_, [&](Message* message) {
    if (message->from != &process || !world_.chance().one_in(2)) return false;
    take_back(*message);
    return true;
  });
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
    demand(message->may_be_lost || message->cancelled, "a message is lost though its link lives");
    ++world_.counts.failed;
    demand(receiver.slot->fail_at(entry, interface::Deadlines::kNever) == Status::ok,
           "an armed entry keeps its deadline");
    over(receiver, entry);
    receiver.taken[entry] = false;
  }
}

void CountedMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto receiver = receivers_.find(to.number());
  if (receiver == receivers_.end()) return;
  for (const auto& message : receiver->second.messages) {
    if (message != nullptr && message->from == &from) kinds.set(static_cast<std::size_t>(message->kind));
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
    demand(status == Status::ok || message->may_be_lost || message->cancelled,
           "a send failed though its link lived");
  }
}

}  // namespace

std::unique_ptr<Operation> make_counted_messages(World& world) {
  return std::make_unique<CountedMessages>(world);
}

}  // namespace hamlyn::simulation
