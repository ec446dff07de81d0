// Messages of which their receiver wants to hear once for several (notify_after): the last of so many is
// told, and the entries of the others have theirs by then, whole. Failures are told each, and do not count.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/entry_slot.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 8;
constexpr std::size_t kRegion = 1024;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;

struct Message {
  Process* from;
  Process* to;
  std::uint32_t entry;
  std::vector<std::byte> data, metadata;
  interface::Terminus* terminus;
  SendHandle handle;
  bool may_be_lost;
};

class MergedMessages final : public Operation {
 public:
  explicit MergedMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  bool end(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Receiver {
    Area* area = nullptr;
    OwnedSlot* slot = nullptr;
    std::unique_ptr<Message> messages[kEntries];
    bool taken[kEntries] = {};  // by a message, until armed again
    std::vector<std::uint32_t> to_arm;
    std::uint32_t row = 0;     // messages of which one will be told; 0: each is
    std::uint32_t before = 0;  // notifications that stand in the queue from before the row
  };

  void begin_row(Process& process, std::uint32_t messages);
  bool end_row(Process& process);
  // Those that have come and were not told.
  std::vector<std::uint32_t> silent(const Receiver& receiver) const;
  void take_message(Process& process, std::uint32_t entry);
  void free_entry(Receiver& receiver, std::uint32_t entry);

  World& world_;
  std::map<std::uint64_t, Receiver> receivers_;
  std::vector<std::unique_ptr<Message>> settled_;  // senders may still read their data
};

void MergedMessages::come(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const auto mode = static_cast<Mode>(world_.chance().below(3));
  const EntrySlot made = make_entry_slot(world_, *this, process, mode, kEntries, kRegion);
  receiver.area = made.area;
  receiver.slot = made.slot;
  begin_row(process, static_cast<std::uint32_t>(world_.chance().between(2, 5)));
}

void MergedMessages::begin_row(Process& process, std::uint32_t messages) {
  Receiver& receiver = receivers_[process.number()];
  receiver.row = messages;
  receiver.before = 0;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry)
    receiver.before += receiver.slot->entry(entry).state == interface::EntryState::complete;
  receiver.slot->notify_after(messages);
  world_.note(process, "wants to hear once of % messages", {messages});
}

std::vector<std::uint32_t> MergedMessages::silent(const Receiver& receiver) const {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    if (receiver.messages[entry] != nullptr &&
        receiver.slot->entry(entry).state == interface::EntryState::read)
      entries.push_back(entry);
  }
  return entries;
}

void MergedMessages::start(Process& from) {
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
  message->data = pattern(chance.below(chance.one_in(2) ? 17 : kRegion + 1), chance.next());
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  message->may_be_lost = world_.unsure(from, *to);
  const Ticket ticket = receiver.slot->ticket(entry);
  const std::uint64_t offset = ticket.bound > kRegion ? entry * kStride : 0;
  const Status status = message->terminus->send(
      ticket, message->data, {.offset = offset, .metadata = message->metadata}, &message->handle);
  world_.note(from, "sends % bytes, to be told of with others, to entry % of process %: status %",
              {message->data.size(), entry, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(OperationKind::merged, status);
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a send was answered with something else");
  world_.begun(OperationKind::merged);
  if (status == Status::link_ended) {
    demand(message->may_be_lost, "a link that lives says that it has ended");
    ++world_.counts.failed;
    return;
  }
  receiver.taken[entry] = true;
  receiver.messages[entry] = std::move(message);
}

void MergedMessages::step(Process& process) {
  sim::Generator& chance = world_.chance();
  Receiver& receiver = receivers_[process.number()];
  for (const std::uint32_t entry : receiver.to_arm) {
    demand(receiver.slot->arm(entry) == Status::ok, "an entry that was read cannot be armed");
    receiver.taken[entry] = false;
  }
  receiver.to_arm.clear();
  // Its patience ends, or it wants to hear of several again.
  if (receiver.row != 0 && chance.one_in(20)) end_row(process);
  if (receiver.row == 0 && chance.one_in(4))
    begin_row(process, static_cast<std::uint32_t>(chance.between(1, 5)));
}

// It looks for itself what has come, and from now on hears of each.
bool MergedMessages::end_row(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const std::vector<std::uint32_t> entries = silent(receiver);
  // If the last has come, its notification stands in the queue, and says so itself.
  std::uint32_t told = 0;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry)
    told += receiver.slot->entry(entry).state == interface::EntryState::complete;
  if (told > receiver.before) return false;
  demand(entries.size() < receiver.row, "all have come, and nobody was told");
  receiver.slot->notify_after(0);
  receiver.row = 0;
  world_.note(process, "wants to hear of each message, and finds %", {entries.size()});
  for (const std::uint32_t entry : entries) take_message(process, entry);
  return true;
}

// Who waits for more than will ever come looks for itself.
bool MergedMessages::end(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  return receiver.row != 0 && !silent(receiver).empty() && end_row(process);
}

void MergedMessages::take_message(Process& process, std::uint32_t entry) {
  Receiver& receiver = receivers_[process.number()];
  const Message& message = *receiver.messages[entry];
  interface::MetadataEntry& metadata = receiver.slot->entry(entry);
  const std::span<const std::byte> bytes(receiver.area->data() + entry * kStride, message.data.size());
  demand(metadata.length == message.data.size() && same(bytes, message.data),
         "a merged message is not intact");
  demand(same(receiver.slot->metadata(entry), message.metadata), "its metadata is not intact");
  demand(metadata.accumulator == 0, "an accumulator is not back at zero");
  world_.note(process, "has % bytes in entry % from process %",
              {message.data.size(), entry, message.from->number()});
  ++world_.counts.completed;
  free_entry(receiver, entry);
}

void MergedMessages::free_entry(Receiver& receiver, std::uint32_t entry) {
  settled_.push_back(std::move(receiver.messages[entry]));
  receiver.to_arm.push_back(entry);
}

void MergedMessages::notified(Process& process, const Notification& n) {
  Receiver& receiver = receivers_[process.number()];
  const std::unique_ptr<Message>& message = receiver.messages[n.entry];
  demand(message != nullptr, "a merged message was told of twice, or nobody sent it");
  demand(message->from->number() == n.peer, "a merged message came from somebody else");
  if (n.kind == Notification::Kind::failed) {
    demand(message->may_be_lost, "an entry failed whose link lives");
    world_.note(process, "is told that the merged message in entry % has failed", {n.entry});
    ++world_.counts.failed;
    return free_entry(receiver, n.entry);
  }
  take_message(process, n.entry);
  if (receiver.row == 0) return;
  if (receiver.before != 0) {
    --receiver.before;
    return;
  }
  // By now the notification's own entry is none of them.
  const std::vector<std::uint32_t> others = silent(receiver);
  demand(others.size() + 1 == receiver.row, "another number of messages was told of than was asked for");
  receiver.row = 0;
  for (const std::uint32_t entry : others) take_message(process, entry);
}

void MergedMessages::may_lose(Process& from, Process& to) {
  for (const auto& message : receivers_[to.number()].messages) {
    if (message != nullptr && message->from == &from) message->may_be_lost = true;
  }
}

// An entry that has heard nothing of its message will not hear of it.
void MergedMessages::link_over(Process& from, Process& to) {
  Receiver& receiver = receivers_[to.number()];
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    const std::unique_ptr<Message>& message = receiver.messages[entry];
    if (message == nullptr || message->from != &from) continue;
    if (from.alive && message->terminus->status(message->handle) == Status::pending) continue;
    if (receiver.slot->entry(entry).state != interface::EntryState::armed) continue;
    demand(message->may_be_lost, "a message is lost though its link lives");
    ++world_.counts.failed;
    settled_.push_back(std::move(receiver.messages[entry]));
    receiver.taken[entry] = false;
  }
}

void MergedMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto receiver = receivers_.find(to.number());
  if (receiver == receivers_.end()) return;
  for (const auto& message : receiver->second.messages) {
    if (message != nullptr && message->from == &from)
      kinds.set(static_cast<std::size_t>(OperationKind::merged));
  }
}

void MergedMessages::check_rest() {
  for (auto& [number, receiver] : receivers_) {
    if (!world_.process(number).alive) continue;
    for (const auto& message : receiver.messages) {
      if (message == nullptr || !message->from->alive) continue;
      demand(message->may_be_lost, "a merged message was lost though its link lived");
    }
  }
  for (const auto& message : settled_) {
    if (!message->from->alive) continue;
    demand(message->terminus->status(message->handle) != Status::pending, "a message is pending for ever");
  }
}

}  // namespace

std::unique_ptr<Operation> make_merged_messages(World& world) {
  return std::make_unique<MergedMessages>(world);
}

}  // namespace hamlyn::simulation
