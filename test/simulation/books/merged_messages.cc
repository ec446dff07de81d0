// Messages of which their receiver wants to hear once for several (notify_after): the last of so many is
// told, and the entries of the others have theirs by then, whole. Failures are told each, and do not count.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/message_book.h"
#include "test/simulation/books/operations.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 8;
constexpr std::size_t kRegion = 1024;  // of an entry

class MergedMessages final : public MessageBook<BookedMessage> {
 public:
  explicit MergedMessages(World& world) : MessageBook(world, kEntries, kRegion) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  bool end(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void check_rest() override;

 private:
  struct Row {
    std::uint32_t messages = 0;  // of which one will be told; 0: each is
    std::uint32_t before = 0;    // notifications that stand in the queue from before the row
  };

  void begin_row(Process& process, std::uint32_t messages);
  bool end_row(Process& process);
  // Those that have come and were not told.
  std::vector<std::uint32_t> silent(const Inbox& inbox) const;
  void take_message(Process& process, std::uint32_t entry);

  std::map<std::uint64_t, Row> rows_;
};

void MergedMessages::come(Process& process) {
  open(process, static_cast<Mode>(world_.chance().below(3)));
  begin_row(process, static_cast<std::uint32_t>(world_.chance().between(2, 5)));
}

void MergedMessages::begin_row(Process& process, std::uint32_t messages) {
  OwnedSlot& slot = *inboxes_[process.number()].slot;
  Row& row = rows_[process.number()] = {.messages = messages};
  for (std::uint32_t entry = 0; entry < kEntries; ++entry)
    row.before += slot.entry(entry).state == interface::EntryState::complete;
  slot.notify_after(messages);
  world_.note(process, "wants to hear once of % messages", {messages});
}

std::vector<std::uint32_t> MergedMessages::silent(const Inbox& inbox) const {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    if (inbox.messages[entry] != nullptr && inbox.slot->entry(entry).state == interface::EntryState::read)
      entries.push_back(entry);
  }
  return entries;
}

void MergedMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  auto message = address(from);
  if (message == nullptr) return;
  message->kind = OperationKind::merged;
  message->terminus = &from.terminus(chance);
  message->data = pattern(chance.below(chance.one_in(2) ? 17 : kRegion + 1), chance.next());
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  message->may_be_lost = world_.unsure(from, *message->to);
  const Ticket ticket = inboxes_[message->to->number()].slot->ticket(message->entry);
  const Status status = message->terminus->send(
      ticket, message->data, {.offset = offset_of(ticket), .metadata = message->metadata}, &message->handle);
  world_.note(
      from, "sends % bytes, to be told of with others, to entry % of process %: status %",
      {message->data.size(), message->entry, message->to->number(), static_cast<std::uint64_t>(status)});
  enter(std::move(message), status);
}

void MergedMessages::step(Process& process) {
  sim::Generator& chance = world_.chance();
  Row& row = rows_[process.number()];
  arm_again(inboxes_[process.number()]);
  // Its patience ends, or it wants to hear of several again.
  if (row.messages != 0 && chance.one_in(20)) end_row(process);
  if (row.messages == 0 && chance.one_in(4))
    begin_row(process, static_cast<std::uint32_t>(chance.between(1, 5)));
}

// It looks for itself what has come, and from now on hears of each.
bool MergedMessages::end_row(Process& process) {
  Inbox& inbox = inboxes_[process.number()];
  Row& row = rows_[process.number()];
  const std::vector<std::uint32_t> entries = silent(inbox);
  // If the last has come, its notification stands in the queue, and says so itself.
  std::uint32_t told = 0;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry)
    told += inbox.slot->entry(entry).state == interface::EntryState::complete;
  if (told > row.before) return false;
  demand(entries.size() < row.messages, "all have come, and nobody was told");
  inbox.slot->notify_after(0);
  row.messages = 0;
  world_.note(process, "wants to hear of each message, and finds %", {entries.size()});
  for (const std::uint32_t entry : entries) take_message(process, entry);
  return true;
}

// Who waits for more than will ever come looks for itself.
bool MergedMessages::end(Process& process) {
  return rows_[process.number()].messages != 0 && !silent(inboxes_[process.number()]).empty() &&
         end_row(process);
}

void MergedMessages::take_message(Process& process, std::uint32_t entry) {
  Inbox& inbox = inboxes_[process.number()];
  const BookedMessage& message = *inbox.messages[entry];
  demand(inbox.slot->entry(entry).length == message.data.size(), "a merged message has another length");
  check_landed(inbox, message, {inbox.area->data() + entry * stride(), message.data.size()});
  world_.note(process, "has % bytes in entry % from process %",
              {message.data.size(), entry, message.from->number()});
  ++world_.counts.completed;
  over_until_armed(inbox, entry);
}

void MergedMessages::notified(Process& process, const Notification& n) {
  Inbox& inbox = inboxes_[process.number()];
  Row& row = rows_[process.number()];
  const auto& message = inbox.messages[n.entry];
  demand(message != nullptr, "a merged message was told of twice, or nobody sent it");
  demand(message->from->number() == n.peer, "a merged message came from somebody else");
  if (n.kind == Notification::Kind::failed) {
    demand(message->may_be_lost, "an entry failed whose link lives");
    world_.note(process, "is told that the merged message in entry % has failed", {n.entry});
    ++world_.counts.failed;
    return over_until_armed(inbox, n.entry);
  }
  take_message(process, n.entry);
  if (row.messages == 0) return;
  if (row.before != 0) {
    --row.before;
    return;
  }
  // By now the notification's own entry is none of them.
  const std::vector<std::uint32_t> others = silent(inbox);
  demand(others.size() + 1 == row.messages, "another number of messages was told of than was asked for");
  row.messages = 0;
  for (const std::uint32_t entry : others) take_message(process, entry);
}

void MergedMessages::check_rest() {
  check_lost();
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
