// Messages to metadata entries, in every mode and of every size: each comes whole and once, or is told to
// have failed because of a fault. Some are taken back: what their sender then does with the buffer is never
// seen, and what had left comes to nothing, unless it was all. Some are of numbers, which come turned over
// where the byte orders differ.
#include <algorithm>
#include <memory>
#include <vector>

#include "test/simulation/books/message_book.h"
#include "test/simulation/books/operations.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 12;
constexpr std::size_t kRegion = 4096;      // of an entry
constexpr std::uint64_t kPatience = 3000;  // of a inbox, with a message that was taken back

struct Message : BookedMessage {
  std::vector<std::byte> buffer;  // what is sent, if it is another
};

class CountedMessages final : public MessageBook<Message> {
 public:
  explicit CountedMessages(World& world) : MessageBook(world, kEntries, kRegion) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void check_rest() override;

 private:
  void take_message(Process& process, Inbox& inbox, const Notification& n);
  void take_failure(Process& process, Inbox& inbox, const Notification& n);
  void take_back(Message& message);

  std::vector<Message*> to_take_back_;
};

void CountedMessages::come(Process& process) { open(process, static_cast<Mode>(world_.chance().below(3))); }

void CountedMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  auto message = address(from);
  if (message == nullptr) return;
  OwnedSlot& slot = *inboxes_[message->to->number()].slot;
  message->terminus = &from.terminus(chance);
  const std::uint32_t element = any_element(chance);
  std::uint64_t length = chance.one_in(2) ? chance.below(80) : chance.below(kRegion + 1);
  if (element != 0) length -= length % element;
  message->data = pattern(length, chance.next());
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  const Ticket ticket = slot.ticket(message->entry);
  message->acknowledged = chance.one_in(3);
  const bool to_take_back = chance.one_in(5);
  const Mode mode = slot.record().mode;
  message->kind = to_take_back                             ? OperationKind::message_cancelled
                  : element != 0 && world_.orders_differ() ? OperationKind::message_turned
                  : mode == Mode::guarded                  ? OperationKind::message
                  : mode == Mode::paranoid                 ? OperationKind::message_paranoid
                                                           : OperationKind::message_one_shot;
  const bool has_buffer = to_take_back || element != 0;
  if (has_buffer) message->buffer = message->data;
  world_.as_it_comes(message->data, element);
  const SendOptions options{.offset = offset_of(ticket),
                            .metadata = message->metadata,
                            .acknowledged = message->acknowledged,
                            .element = element};
  const Status status = message->terminus->send(ticket, has_buffer ? message->buffer : message->data, options,
                                                &message->handle);
  world_.note(from, "sends % bytes to entry % of process %: status %",
              {length, message->entry, message->to->number(), static_cast<std::uint64_t>(status)});
  message->may_be_lost = world_.unsure(from, *message->to);
  Message* const sent = enter(std::move(message), status);
  if (sent != nullptr && to_take_back && status == Status::pending) to_take_back_.push_back(sent);
}

// If it still can be. The buffer is used for something else at once.
void CountedMessages::take_back(Message& message) {
  if (message.terminus->status(message.handle) != Status::pending) return;
  demand(message.terminus->cancel(message.handle) == Status::ok, "a message cannot be taken back");
  demand(message.terminus->status(message.handle) == Status::cancelled,
         "a message that was taken back does not say so");
  world_.note(*message.from, "takes back its message to entry % of process %",
              {message.entry, message.to->number()});
  message.taken_back = true;
  std::fill(message.buffer.begin(), message.buffer.end(), std::byte{0xEE});
  if (message.told || !message.to->alive) return;
  OwnedSlot& slot = *inboxes_[message.to->number()].slot;
  // Whether anything of it is on its way its receiver does not know. But what has begun must come to an end
  // by itself.
  if (slot.entry(message.entry).state == interface::EntryState::armed)
    demand(slot.fail_at(message.entry, world_.now() + kPatience) == Status::ok,
           "an armed entry takes no deadline");
}

void CountedMessages::notified(Process& process, const Notification& n) {
  Inbox& inbox = inboxes_[process.number()];
  const std::unique_ptr<Message>& message = inbox.messages[n.entry];
  demand(message != nullptr, "a message came, or failed, that nobody sent");
  demand(message->from->number() == n.peer || n.failure() == Failure::timed_out,
         "a message came from somebody else");
  if (n.kind == Notification::Kind::message) {
    take_message(process, inbox, n);
  } else {
    take_failure(process, inbox, n);
  }
  over_until_armed(inbox, n.entry);
}

void CountedMessages::take_failure(Process& process, Inbox& inbox, const Notification& n) {
  const Message& message = *inbox.messages[n.entry];
  if (n.failure() == Failure::link_ended) {
    demand(message.may_be_lost, "an entry failed whose link lives");
  } else {
    demand(message.taken_back, "an entry failed though nobody has taken its message back");
    // The rest of it may come late, with the key of before.
    process.keys_changed |= inbox.slot->record().mode != Mode::guarded;
  }
  world_.note(process, "is told that the message in entry % has failed, for cause %", {n.entry, n.word});
  ++world_.counts.failed;
  inbox.kept[n.entry].clear();
}

void CountedMessages::take_message(Process& process, Inbox& inbox, const Notification& n) {
  const Message& message = *inbox.messages[n.entry];
  // All of one that is to be acknowledged may have left.
  demand(!message.taken_back || message.acknowledged, "a message came that was taken back");
  check_landed(inbox, message, inbox.slot->bytes(n));
  world_.note(process, "receives % bytes in entry % from process %", {n.length, n.entry, n.peer});
  keep(inbox, n.entry);
  ++world_.counts.completed;
}

void CountedMessages::step(Process& process) {
  arm_again(inboxes_[process.number()]);
  std::erase_if(to_take_back_, [&](Message* message) {
    if (message->from != &process || !world_.chance().one_in(2)) return false;
    take_back(*message);
    return true;
  });
}

void CountedMessages::check_rest() {
  check_lost();
  for (const auto& message : settled_) {
    if (!message->from->alive) continue;
    const Status status = message->terminus->status(message->handle);
    demand(status != Status::pending, "a message is pending for ever");
    demand(status == Status::ok || message->may_be_lost || message->taken_back,
           "a send failed though its link lived");
  }
}

}  // namespace

std::unique_ptr<Operation> make_counted_messages(World& world) {
  return std::make_unique<CountedMessages>(world);
}

}  // namespace hamlyn::simulation
