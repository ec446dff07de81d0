// Short messages without a metadata entry: whoever has a place sends, and whoever has none is told so.
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint64_t kPlaces = 1024;  // of 16 bytes, each for one message at a time
constexpr std::uint64_t kStride = 16;

class FastMessages final : public Operation {
 public:
  explicit FastMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Message {
    Process* from;
    Process* to;
    std::vector<std::byte> data;
    bool may_be_lost;
    bool over = false;
  };

  World& world_;
  std::map<std::uint64_t, OwnedSlot*> slots_;
  std::vector<Message> messages_;  // the word of each is its number here
  std::size_t settled_ = 0;        // those before it are over
};

void FastMessages::come(Process& process) {
  const auto places = static_cast<std::uint32_t>(world_.chance().between(1, 8));
  Area& area = process.make_area(kPlaces * kStride);
  slots_[process.number()] = &process.make_slot(*this, area, {.places = places}, world_.chance());
}

void FastMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  Process* to = world_.any_other(from);
  if (to == nullptr) return;
  const std::vector<std::byte> data = pattern(chance.below(kStride + 1), chance.next());
  const std::uint64_t number = messages_.size();
  const Status status =
      from.termini[0]->send_fast(slots_[to->number()]->ticket(), data, number, number % kPlaces * kStride);
  world_.note(from, "sends fast message % to process %: status %",
              {number, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::ok) {
    world_.begun(OperationKind::fast);
    messages_.push_back({&from, to, data, world_.unsure(from, *to)});
    return;
  }
  world_.met(OperationKind::fast, status);
  demand(status == Status::connecting || status == Status::no_place || status == Status::queue_full ||
             status == Status::link_ended || status == Status::refused,
         "a fast send was answered with something else");
}

void FastMessages::notified(Process& process, const Notification& n) {
  demand(n.fast && n.word < messages_.size(), "a fast message came that nobody sent");
  Message& message = messages_[n.word];
  demand(message.to == &process, "a fast message came to somebody else");
  demand(message.from->number() == n.peer, "a fast message came from somebody else");
  demand(!message.over, "a fast message came twice, or after it was lost");
  demand(same(slots_[process.number()]->bytes(n), message.data), "a fast message is not intact");
  world_.note(process, "receives fast message % from process %", {n.word, n.peer});
  message.over = true;
  while (settled_ != messages_.size() && messages_[settled_].over) ++settled_;
  ++world_.counts.completed;
}

void FastMessages::may_lose(Process& from, Process& to) {
  for (Message& message : messages_) {
    if (message.from == &from && message.to == &to) message.may_be_lost = true;
  }
}

void FastMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  for (std::size_t i = settled_; i != messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (!message.over && message.from == &from && message.to == &to)
      kinds.set(static_cast<std::size_t>(OperationKind::fast));
  }
}

// What stands in the receiver's queue may still be read.
void FastMessages::link_over(Process&, Process&) {}

void FastMessages::check_rest() {
  for (const Message& message : messages_) {
    if (message.over) continue;
    demand(message.may_be_lost || !message.to->alive, "a fast message was lost though its link lived");
    ++world_.counts.failed;
  }
}

}  // namespace

std::unique_ptr<Operation> make_fast_messages(World& world) { return std::make_unique<FastMessages>(world); }

}  // namespace hamlyn::simulation
