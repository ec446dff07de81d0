#pragma once
// The base of the books of messages to metadata entries: which message is on its way to which entry, which
// may be lost, and which entries are to be armed again. A book adds how it sends, and what must have come.
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/operation.h"
#include "test/simulation/books/process.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

struct BookedMessage {
  Process* from = nullptr;
  Process* to = nullptr;
  std::uint32_t entry = 0;
  OperationKind kind{};
  std::vector<std::byte> data, metadata;
  interface::Terminus* terminus = nullptr;
  SendHandle handle;
  bool acknowledged = false;
  bool may_be_lost = false;
  bool taken_back = false;  // somebody has asked for that, or bytes of it have gone
  bool told = false;        // its receiver knows what became of it
};

// `Message`: a BookedMessage, with what its book adds.
template <class Message>
class MessageBook : public Operation {
 public:
  // `region`: bytes of an entry.
  MessageBook(World& world, std::uint32_t entries, std::size_t region)
      : world_(world), entries_(entries), region_(region) {}

  void may_lose(Process& from, Process& to) override {
    for (const auto& message : inboxes_[to.number()].messages) {
      if (message != nullptr && message->from == &from) message->may_be_lost = true;
    }
    // A message that has arrived may lose its acknowledgement.
    for (const auto& message : settled_) {
      if (message->acknowledged && message->from == &from && message->to == &to) message->may_be_lost = true;
    }
  }
  // An entry that has heard nothing of its message will not hear of it.
  void link_over(Process& from, Process& to) override {
    Inbox& inbox = inboxes_[to.number()];
    for (std::uint32_t entry = 0; entry < inbox.messages.size(); ++entry) {
      const Message* const message = inbox.messages[entry].get();
      if (message == nullptr || message->from != &from) continue;
      if (from.alive && message->terminus->status(message->handle) == Status::pending) continue;
      if (inbox.slot->entry(entry).state != interface::EntryState::armed) continue;
      demand(message->may_be_lost || message->taken_back, "a message is lost though its link lives");
      ++world_.counts.failed;
      demand(inbox.slot->fail_at(entry, interface::Deadlines::kNever) == Status::ok,
             "an armed entry keeps its deadline");
      over(inbox, entry);
      inbox.taken[entry] = false;
    }
  }
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override {
    const auto inbox = inboxes_.find(to.number());
    if (inbox == inboxes_.end()) return;
    for (const auto& message : inbox->second.messages) {
      if (message != nullptr && message->from == &from) kinds.set(static_cast<std::size_t>(message->kind));
    }
  }

 protected:
  // A process's slot, whose entries take messages in a part of its area each, with guards between those.
  struct Inbox {
    Area* area = nullptr;
    OwnedSlot* slot = nullptr;
    std::vector<std::unique_ptr<Message>> messages;  // by entry: on its way there, or null
    std::vector<bool> taken;                         // by a message, until armed again
    std::vector<std::uint32_t> to_arm;
    // By entry: what was read there and must stay as it is until the entry is armed again.
    std::vector<std::vector<std::byte>> kept;
  };

  std::size_t stride() const { return region_ + Area::kGuard; }

  // Makes the process's inbox, of that mode, and arms it.
  Inbox& open(Process& process, Mode mode) {
    Inbox& inbox = inboxes_[process.number()];
    inbox.area = &process.make_area(entries_ * stride());
    inbox.slot = &process.make_slot(*this, *inbox.area, {.mode = mode, .entries = entries_}, world_.chance());
    inbox.messages.resize(entries_);
    inbox.taken.resize(entries_);
    inbox.kept.resize(entries_);
    for (std::uint32_t entry = 0; entry != entries_; ++entry) {
      inbox.area->guard(entry * stride() + region_);
      if (mode != Mode::guarded)
        demand(inbox.slot->arm(entry, {entry * stride(), region_}) == Status::ok,
               "a new slot's entry cannot be armed");
    }
    return inbox;
  }

  // Begins a message to any entry of anybody; null: that entry is taken.
  std::unique_ptr<Message> address(Process& from) {
    Process* const to = world_.any_other(from);
    if (to == nullptr) return nullptr;
    const auto entry = static_cast<std::uint32_t>(world_.chance().below(entries_));
    if (inboxes_[to->number()].taken[entry]) return nullptr;
    auto message = std::make_unique<Message>();
    message->from = &from;
    message->to = to;
    message->entry = entry;
    return message;
  }
  // In a guarded slot the ticket's bounds are the slot's; elsewhere they are the entry's.
  std::uint64_t offset_of(const Ticket& ticket) const {
    return ticket.bound > region_ ? ticket.entry * stride() : 0;
  }
  // Enters how a send was answered. Returns the message if it is on its way.
  Message* enter(std::unique_ptr<Message> message, Status status) {
    if (status == Status::queue_full) {
      world_.met(message->kind, status);
      return nullptr;
    }
    demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
           "a send was answered with something else");
    world_.begun(message->kind);
    Inbox& inbox = inboxes_[message->to->number()];
    const std::uint32_t entry = message->entry;
    if (status == Status::link_ended) {
      demand(message->may_be_lost, "a link that lives says that it has ended");
      ++world_.counts.failed;
      return nullptr;
    }
    inbox.taken[entry] = true;
    return (inbox.messages[entry] = std::move(message)).get();
  }

  // Checks what stands in the entry of a message that has come.
  void check_landed(const Inbox& inbox, const Message& message, std::span<const std::byte> bytes) const {
    demand(same(bytes, message.data), "a message is not intact");
    demand(same(inbox.slot->metadata(message.entry), message.metadata), "its metadata is not intact");
    demand(inbox.slot->entry(message.entry).accumulator == 0, "an accumulator is not back at zero");
  }
  void keep(Inbox& inbox, std::uint32_t entry) {
    const std::span<const std::byte> region(inbox.area->data() + entry * stride(), region_);
    inbox.kept[entry].assign(region.begin(), region.end());
  }
  void over(Inbox& inbox, std::uint32_t entry) {
    inbox.messages[entry]->told = true;
    settled_.push_back(std::move(inbox.messages[entry]));
  }
  void over_until_armed(Inbox& inbox, std::uint32_t entry) {
    over(inbox, entry);
    inbox.to_arm.push_back(entry);
  }
  // Arms the entries that were read.
  void arm_again(Inbox& inbox) {
    for (const std::uint32_t entry : inbox.to_arm) {
      const std::vector<std::byte>& kept = inbox.kept[entry];
      demand(kept.empty() || std::equal(kept.begin(), kept.end(), inbox.area->data() + entry * stride()),
             "bytes changed in an entry that takes nothing");
      demand(inbox.slot->arm(entry) == Status::ok, "an entry that was read cannot be armed");
      inbox.taken[entry] = false;
    }
    inbox.to_arm.clear();
  }
  // At rest: what has not come was lost with its link.
  void check_lost() const {
    for (const auto& [number, inbox] : inboxes_) {
      for (const auto& message : inbox.messages) {
        if (message == nullptr || !message->to->alive || !message->from->alive) continue;
        demand(message->may_be_lost, "a message was lost though its link lived");
      }
    }
  }

  World& world_;
  std::map<std::uint64_t, Inbox> inboxes_;         // by process
  std::vector<std::unique_ptr<Message>> settled_;  // received or failed; senders may still ask

 private:
  const std::uint32_t entries_;
  const std::size_t region_;
};

}  // namespace hamlyn::simulation
