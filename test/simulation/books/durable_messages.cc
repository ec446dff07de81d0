// Messages to durable areas on slow disks, of which some fail: what a sender is told to be safe is in the
// file, also when its receiver has died since.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 6;
constexpr std::size_t kRegion = 2048;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;
constexpr std::size_t kMostSent = 8;      // by one process at a time
constexpr std::uint64_t kSlowest = 2000;  // of a disk, for one sync

struct Message {
  Process* from;
  Process* to;
  std::uint32_t entry;
  std::vector<std::byte> data;
  SendHandle handle;
  bool may_be_lost;
  bool in_file = false;  // all of it has been there at some time
  bool told = false;     // its sender knows how it ended
};

class DurableMessages final : public Operation {
 public:
  explicit DurableMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Side {
    interface::Terminus* terminus;  // what it sends by
    Area* area;
    OwnedSlot* slot;
    interface::Store store;
    Message* latest[kEntries] = {};  // sent to the entry; the file keeps it until the next has come
    bool taken[kEntries] = {};       // by a message, until armed again
    std::vector<std::uint32_t> to_arm;
    // The disk.
    std::vector<std::byte> file;
    std::vector<interface::StoredRange> ranges;  // of the sync that runs
    bool syncing = false;
    std::uint64_t done_at = 0;
    bool slow = false;
    std::uint64_t syncs_left = 0;  // that do not fail
  };

  void run_disk(Process& process, Side& receiver);
  void end_sync(Process& process, Side& receiver);
  void look_at_sent(Process& process);
  static std::span<const std::byte> in_file(const Side& receiver, const Message& message) {
    return std::span(receiver.file).subspan(message.entry * kStride, message.data.size());
  }

  World& world_;
  std::map<std::uint64_t, Side> sides_;
  std::vector<std::unique_ptr<Message>> messages_;  // all there ever were
};

void DurableMessages::come(Process& process) {
  Side& receiver = sides_[process.number()];
  receiver.terminus = &process.make_terminus(kMostSent);
  receiver.area = &process.make_area(kEntries * kStride);
  receiver.file.resize(receiver.area->size());
  receiver.store.data = receiver.area->data();
  receiver.syncs_left = world_.chance().one_in(4) ? world_.chance().below(6) : ~std::uint64_t{0};
  receiver.slot = &process.make_slot(*this, *receiver.area, {.entries = kEntries}, world_.chance());
  receiver.slot->record().store = &receiver.store;
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) receiver.area->guard(entry * kStride + kRegion);
}

void DurableMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  Process* to = world_.any_other(from);
  if (to == nullptr) return;
  look_at_sent(from);  // before a handle is forgotten
  Side& receiver = sides_[to->number()];
  const auto entry = static_cast<std::uint32_t>(chance.below(kEntries));
  if (receiver.taken[entry]) return;
  auto message = std::make_unique<Message>();
  message->from = &from;
  message->to = to;
  message->entry = entry;
  message->data = pattern(chance.between(16, kRegion), chance.next());
  const SendOptions options{.offset = entry * kStride, .metadata = {}, .acknowledged = true};
  const Status status = sides_[from.number()].terminus->send(receiver.slot->ticket(entry), message->data,
                                                             options, &message->handle);
  world_.note(from, "sends % bytes to durable entry % of process %: status %",
              {message->data.size(), entry, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(OperationKind::durable, status);
  world_.begun(OperationKind::durable);
  message->may_be_lost = world_.unsure(from, *to);
  if (status == Status::link_ended) {
    demand(message->may_be_lost, "a link that lives says that it has ended");
    ++world_.counts.failed;
    return;
  }
  demand(status == Status::pending, "what is to be durable is pending at first");
  receiver.taken[entry] = true;
  receiver.latest[entry] = message.get();
  messages_.push_back(std::move(message));
}

void DurableMessages::notified(Process& process, const Notification& n) {
  Side& receiver = sides_[process.number()];
  const Message* message = receiver.latest[n.entry];
  demand(message != nullptr && receiver.taken[n.entry], "a message came, or failed, that nobody sent");
  if (n.kind == Notification::Kind::message) {
    demand(same(receiver.slot->bytes(n), message->data), "a message is not intact");
  } else {
    demand(message->may_be_lost, "an entry failed whose link lives");
  }
  world_.note(process, "is told of durable entry %", {n.entry});
  receiver.to_arm.push_back(n.entry);
}

void DurableMessages::step(Process& process) {
  Side& receiver = sides_[process.number()];
  run_disk(process, receiver);
  look_at_sent(process);
  // What has landed stays until it is in the file.
  if (receiver.syncing || receiver.store.due) return;
  for (const std::uint32_t entry : receiver.to_arm) {
    demand(receiver.slot->arm(entry) == Status::ok, "an entry that was read cannot be armed");
    receiver.taken[entry] = false;
  }
  receiver.to_arm.clear();
}

void DurableMessages::run_disk(Process& process, Side& receiver) {
  if (receiver.syncing) {
    if (world_.now() >= receiver.done_at) end_sync(process, receiver);
    return;
  }
  if (!receiver.store.due) return;
  receiver.ranges.clear();
  process.core().begin_sync(receiver.store, receiver.ranges);
  receiver.syncing = true;
  const std::uint64_t time = world_.chance().between(1, kSlowest);
  receiver.done_at = world_.now() + time;
  receiver.slow = time > kSlowest / 2;
  world_.note(process, "begins a sync of % messages", {receiver.ranges.size()});
}

void DurableMessages::end_sync(Process& process, Side& receiver) {
  receiver.syncing = false;
  const bool done = receiver.syncs_left != 0;
  if (!done || receiver.slow)
    world_.met(OperationKind::durable, done ? Fault::slow_disk : Fault::disk_failure);
  if (done) {
    --receiver.syncs_left;
    for (const auto& [offset, length] : receiver.ranges)
      std::copy_n(receiver.area->data() + offset, length,
                  receiver.file.begin() + static_cast<std::ptrdiff_t>(offset));
    for (Message* message : receiver.latest) {
      if (message != nullptr) message->in_file |= same(in_file(receiver, *message), message->data);
    }
  }
  process.core().end_sync(receiver.store, done);
  world_.note(process, "ends a sync: %", {done});
}

void DurableMessages::look_at_sent(Process& process) {
  for (const auto& message : messages_) {
    if (message->from != &process || message->told) continue;
    const Status status = sides_[message->from->number()].terminus->status(message->handle);
    if (status == Status::pending) continue;
    message->told = true;
    const Side& receiver = sides_[message->to->number()];
    world_.note(process, "knows of a durable message: status %", {static_cast<std::uint64_t>(status)});
    if (status == Status::ok) {
      demand(message->in_file, "a message was acknowledged that is not in the file");
      ++world_.counts.completed;
      continue;
    }
    demand(status == Status::not_durable ? receiver.store.failed : message->may_be_lost,
           "a send failed though link and disk were well");
    ++world_.counts.failed;
  }
}

void DurableMessages::may_lose(Process& from, Process& to) {
  for (const auto& message : messages_) {
    if (message->from == &from && message->to == &to) message->may_be_lost = true;
  }
}

// An entry that has heard nothing of its message will not hear of it.
void DurableMessages::link_over(Process& from, Process& to) {
  Side& receiver = sides_[to.number()];
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    const Message* message = receiver.latest[entry];
    if (!receiver.taken[entry] || message->from != &from) continue;
    if (from.alive && sides_[message->from->number()].terminus->status(message->handle) == Status::pending)
      continue;
    if (receiver.slot->entry(entry).state != interface::EntryState::armed) continue;
    demand(message->may_be_lost, "a message is lost though its link lives");
    receiver.taken[entry] = false;
  }
}

void DurableMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  for (const auto& message : messages_) {
    if (message->from == &from && message->to == &to && !message->told)
      kinds.set(static_cast<std::size_t>(OperationKind::durable));
  }
}

void DurableMessages::check_rest() {
  for (const auto& message : messages_) {
    demand(message->told || !message->from->alive, "a message to a durable area is pending for ever");
    const Side& receiver = sides_[message->to->number()];
    if (message->in_file && receiver.latest[message->entry] == message.get())
      demand(same(in_file(receiver, *message), message->data), "the file has lost what was safe");
  }
}

}  // namespace

std::unique_ptr<Operation> make_durable_messages(World& world) {
  return std::make_unique<DurableMessages>(world);
}

}  // namespace hamlyn::simulation
