// Messages to posted buffers, of every size: each comes whole and once, into a buffer that was posted and
// that nothing else has, in the order of its terminus, whether or not links keep one; or it is refused for
// want of a buffer. Every buffer comes back to its owner once: with a message, failed, or taken back. Some
// messages are taken back, too, and some slots halt.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/operations.h"
#include "test/simulation/books/owned_posted_slot.h"
#include "test/simulation/books/process.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kBuffers = 10;  // that a process has
constexpr std::uint32_t kMost = 8;      // that may be posted
constexpr std::size_t kRegion = 4096;   // of a buffer
constexpr std::size_t kStride = kRegion + Area::kGuard;

struct Message {
  Process* from = nullptr;
  Process* to = nullptr;
  std::vector<std::byte> data,
      buffer;  // as it was sent; and what is sent, that may be used for something else
  interface::Terminus* terminus = nullptr;
  SendHandle handle;
  Status status = Status::pending;  // as its sender knows it
  bool acknowledged = false;
  bool to_take_back = false;
  bool may_be_lost = false;
  bool came = false;
};

// The buffers of a process.
struct Inbox {
  Area* area = nullptr;
  OwnedPostedSlot* slot = nullptr;
  std::array<bool, kBuffers> posted{};
  std::array<interface::Terminus*, 2> termini{};
  std::map<const interface::Terminus*, std::uint64_t> last;  // message that came of each
  bool halted = false;

  std::span<std::byte> bytes(std::uint64_t buffer) {
    return std::span(area->bytes()).subspan(buffer * kStride, kRegion);
  }
};

class PostedMessages final : public Operation {
 public:
  explicit PostedMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void check(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process&, Process&) override {}
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  void post(Process& process, Inbox& inbox, std::uint64_t buffer);
  void take(Process& process, Inbox& inbox, const Notification& n);

  World& world_;
  std::map<std::uint64_t, Inbox> inboxes_;          // by process
  std::vector<std::unique_ptr<Message>> messages_;  // by the word that they have
};

void PostedMessages::come(Process& process) {
  sim::Generator& chance = world_.chance();
  Inbox& inbox = inboxes_[process.number()];
  inbox.area = &process.make_area(kBuffers * kStride);
  for (std::uint64_t i = 0; i != kBuffers; ++i) inbox.area->guard(i * kStride + kRegion);
  inbox.slot = &process.make_posted_slot(*this, {.buffers = kMost, .halts = chance.one_in(3)}, chance);
  const Priority second = chance.one_in(4) ? Priority::urgent : Priority::normal;
  inbox.termini = {&process.make_terminus(chance.between(1, 8)),
                   &process.make_terminus(chance.between(1, 8), second)};
  // Senders cannot know what is posted, nor, where packets overtake one another, how many buffers a link
  // fills.
  process.excused.insert({Refusal::no_buffer, Refusal::too_long, Refusal::over_budget});
}

void PostedMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  Process* const to = world_.any_other(from);
  if (to == nullptr) return;
  auto message = std::make_unique<Message>();
  message->from = &from;
  message->to = to;
  message->terminus = inboxes_[from.number()].termini[chance.below(2)];
  const std::uint64_t length = chance.one_in(2) ? chance.below(60) : chance.below(kRegion + 1);
  message->data = message->buffer = pattern(length, chance.next());
  message->acknowledged = chance.one_in(2);
  message->to_take_back = chance.one_in(6);
  const std::uint64_t word = messages_.size();
  const Ticket ticket = inboxes_[to->number()].slot->ticket();
  const Status status = message->terminus->send_posted(
      ticket, message->buffer, word, {.acknowledged = message->acknowledged}, &message->handle);
  world_.note(from, "sends message % of % bytes to a buffer of process %: status %",
              {word, length, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(OperationKind::posted, status);
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a send was answered with something else");
  world_.begun(OperationKind::posted);
  message->may_be_lost = world_.unsure(from, *to);
  demand(status != Status::link_ended || message->may_be_lost, "a link that lives says that it has ended");
  message->status = status;
  messages_.push_back(std::move(message));
}

void PostedMessages::post(Process& process, Inbox& inbox, std::uint64_t buffer) {
  sim::Generator& chance = world_.chance();
  const std::size_t length = chance.one_in(4) ? chance.below(kRegion + 1) : kRegion;
  std::vector<std::span<std::byte>> pieces;
  for (std::size_t at = 0; at != length;) {
    const bool last = pieces.size() + 1 == interface::kPostedPieces || chance.one_in(2);
    const std::size_t bytes = last ? length - at : chance.below(length - at + 1);
    pieces.push_back(inbox.bytes(buffer).subspan(at, bytes));
    at += bytes;
  }
  const Status status = inbox.slot->post(pieces, buffer);
  const auto posted = static_cast<std::size_t>(std::ranges::count(inbox.posted, true));
  demand(
      status == Status::ok || (status == Status::queue_full && posted + inbox.slot->record().unread >= kMost),
      "a buffer cannot be posted");
  world_.note(process, "posts buffer % of % bytes: status %",
              {buffer, length, static_cast<std::uint64_t>(status)});
  inbox.posted[buffer] = status == Status::ok;
}

void PostedMessages::step(Process& process) {
  sim::Generator& chance = world_.chance();
  Inbox& inbox = inboxes_[process.number()];
  if (inbox.halted && chance.one_in(2)) {
    inbox.slot->resume();
    inbox.halted = false;
  }
  for (std::uint64_t buffer = 0; buffer != kBuffers; ++buffer) {
    if (!inbox.posted[buffer] && chance.one_in(2)) post(process, inbox, buffer);
  }
  std::uint64_t number;
  if (chance.one_in(8) && inbox.slot->take_back(number) == Status::ok) {
    demand(number < kBuffers && inbox.posted[number], "a buffer was taken back that was not posted");
    inbox.posted[number] = false;
  }
  for (const auto& message : messages_) {
    if (message->from != &process || !message->to_take_back || message->status != Status::pending) continue;
    if (!chance.one_in(2)) continue;
    if (message->terminus->status(message->handle) == Status::pending &&
        message->terminus->cancel(message->handle) == Status::ok) {
      message->status = Status::cancelled;
      std::ranges::fill(message->buffer, std::byte{0xEE});
    }
  }
}

// Before its entry in the work queue is another message's.
void PostedMessages::check(Process& process) {
  for (const auto& message : messages_) {
    if (message->from == &process && process.alive && message->status == Status::pending)
      message->status = message->terminus->status(message->handle);
  }
}

void PostedMessages::take(Process& process, Inbox& inbox, const Notification& n) {
  demand(n.word < messages_.size(), "a message came that nobody sent");
  Message& message = *messages_[n.word];
  demand(message.from->number() == n.peer && message.to == &process, "a message came from somebody else");
  demand(!message.came, "a message came twice");
  demand(message.status != Status::cancelled || message.acknowledged, "a message came that was taken back");
  message.came = true;
  demand(same(inbox.bytes(n.offset).first(n.length), message.data), "a message is not intact");
  const auto [last, first] = inbox.last.emplace(message.terminus, n.word);
  demand(first || last->second < n.word, "a message overtook another of its terminus");
  last->second = n.word;
  world_.note(process, "receives message % in buffer %", {n.word, n.offset});
  ++world_.counts.completed;
}

void PostedMessages::notified(Process& process, const Notification& n) {
  Inbox& inbox = inboxes_[process.number()];
  if (n.kind == Notification::Kind::halted) {
    demand(inbox.slot->record().posted->halts(), "a slot has halted that does not");
    inbox.halted = true;
    return;
  }
  demand(n.offset < kBuffers && inbox.posted[n.offset], "a buffer is told of that was not posted");
  inbox.posted[n.offset] = false;
  if (n.kind == Notification::Kind::message) return take(process, inbox, n);
  demand(n.kind == Notification::Kind::failed &&
             (n.failure() == Failure::link_ended || n.failure() == Failure::abandoned),
         "a buffer failed for a cause that it cannot have");
  world_.note(process, "is told that buffer % has failed, for cause %", {n.offset, n.word});
  ++world_.counts.failed;
}

void PostedMessages::may_lose(Process& from, Process& to) {
  for (const auto& message : messages_) {
    if (message->from == &from && message->to == &to &&
        (!message->came || message->status == Status::pending))
      message->may_be_lost = true;
  }
}

void PostedMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  for (const auto& message : messages_) {
    if (message->from == &from && message->to == &to && message->status == Status::pending)
      kinds.set(static_cast<std::size_t>(OperationKind::posted));
  }
}

void PostedMessages::check_rest() {
  for (const auto& message : messages_) {
    if (!message->from->alive) continue;
    demand(message->status != Status::pending, "a message is pending for ever");
    demand(message->status != Status::link_ended || message->may_be_lost,
           "a send failed though its link lived");
    if (!message->acknowledged || !message->to->alive || message->may_be_lost) continue;
    demand(message->status != Status::ok || message->came, "a message is said to have come that has not");
    demand(message->status != Status::refused || !message->came, "a message came that was refused");
  }
  for (auto& [number, inbox] : inboxes_) {
    if (!world_.process(number).alive) continue;
    demand(inbox.slot->record().posted->filling().empty(), "a buffer waits for a message that nobody sends");
    demand(inbox.slot->posted() == static_cast<std::uint32_t>(std::ranges::count(inbox.posted, true)),
           "a buffer has not come back");
  }
}

}  // namespace

std::unique_ptr<Operation> make_posted_messages(World& world) {
  return std::make_unique<PostedMessages>(world);
}

}  // namespace hamlyn::simulation
