// Groups: members on any processes, shares that are split among helpers on others, deadlines, and senders
// that give up. Each group is told of once, whole or failed for a reason that there was; and while its count
// has not come back to zero nothing is told.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kRegion = 4096;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;

// A share, wherever it has got to, and what became of it.
struct Part {
  Process* holder;
  Share share;
  std::vector<std::byte> data;
  interface::Terminus* terminus = nullptr;  // once it was sent
  SendHandle handle;
};

struct Group {
  std::vector<std::unique_ptr<Part>> parts;
  std::uint64_t deadline;
  bool may_fail = false;  // a link that had to do with it is over, or a sender has given up
  bool given_up = false;
};

class Groups final : public Operation {
 public:
  explicit Groups(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process&, Process&) override {}
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Receiver {
    Process* process;
    Area* area;
    OwnedSlot* slot;
    std::unique_ptr<Group> groups[kEntries];
  };

  void begin(Receiver& receiver, std::uint32_t entry);
  void divide(Receiver& receiver, Group& group, std::size_t index);
  void send(Receiver& receiver, Group& group, Part& part);
  void give_up(Receiver& receiver, Group& group, Part& part);
  void check_whole(Receiver& receiver, const Group& group, const Notification& n);

  World& world_;
  std::map<std::uint64_t, Receiver> receivers_;
  std::vector<std::unique_ptr<Group>> over_;  // senders may still read their data
};

void Groups::come(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const auto mode = static_cast<Mode>(world_.chance().below(3));
  receiver.process = &process;
  receiver.area = &process.make_area(kEntries * kStride);
  receiver.slot =
      &process.make_slot(*this, *receiver.area, {.mode = mode, .entries = kEntries}, world_.chance());
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    receiver.area->guard(entry * kStride + kRegion);
    demand(receiver.slot->disarm(entry) == Status::ok, "an entry that nobody has used cannot be disarmed");
  }
}

void Groups::start(Process& process) {
  Receiver& receiver = receivers_[process.number()];
  const auto entry = static_cast<std::uint32_t>(world_.chance().below(kEntries));
  if (receiver.groups[entry] == nullptr) begin(receiver, entry);
}

// The owner gives each member a part of the entry's region, and its share to whoever it is.
void Groups::begin(Receiver& receiver, std::uint32_t entry) {
  sim::Generator& chance = world_.chance();
  const auto members = static_cast<std::uint32_t>(chance.between(1, 5));
  GroupShares shares = receiver.slot->arm_group(entry, members, {entry * kStride, kRegion});
  demand(shares.left() == members, "an entry that was read cannot be armed for a group");
  auto group = std::make_unique<Group>();
  const std::uint64_t patience = chance.one_in(4) ? chance.between(50, 2000) : chance.between(20000, 40000);
  group->deadline = world_.now() + patience;
  demand(receiver.slot->fail_at(entry, group->deadline) == Status::ok, "a group has no deadline");
  const std::size_t base = receiver.slot->record().mode == Mode::guarded ? entry * kStride : 0;
  for (std::uint32_t i = 0; i < members; ++i) {
    Process* holder = nullptr;  // or, rarely, somebody who never sends
    for (int tries = 0; tries < 4 && holder == nullptr; ++tries) holder = world_.any_other(*receiver.process);
    auto part = std::make_unique<Part>();
    part->holder = holder;
    demand(shares.next(part->share, {base + i * (kRegion / members), chance.below(kRegion / members + 1)}) ==
               Status::ok,
           "a member gets no share");
    group->parts.push_back(std::move(part));
  }
  world_.note(*receiver.process, "waits in entry % for a group of %", {entry, members});
  world_.begun(OperationKind::share);
  receiver.groups[entry] = std::move(group);
}

// A holder hands a piece of its share to a helper on another process.
void Groups::divide(Receiver& receiver, Group& group, std::size_t index) {
  sim::Generator& chance = world_.chance();
  Part& part = *group.parts[index];
  Process* helper = &world_.any();
  if (!helper->alive || helper == receiver.process) return;
  auto piece = std::make_unique<Part>();
  const std::uint64_t bytes = chance.below(part.share.ticket.bound + 1);
  demand(part.share.split(bytes, piece->share) == Status::ok, "a share cannot be split");
  piece->holder = helper;
  group.parts.push_back(std::move(piece));
}

void Groups::step(Process& process) {
  sim::Generator& chance = world_.chance();
  process.core().expire(world_.now());
  for (auto& [number, receiver] : receivers_) {
    for (const auto& group : receiver.groups) {
      if (group == nullptr || !receiver.process->alive) continue;
      for (std::size_t i = 0; i < group->parts.size(); ++i) {
        Part& part = *group->parts[i];
        if (part.holder != &process || &process == receiver.process) continue;
        if (part.terminus == nullptr) {
          if (group->parts.size() < 10 && chance.one_in(5)) divide(receiver, *group, i);
          if (!chance.one_in(4)) send(receiver, *group, *group->parts[i]);
        } else if (chance.one_in(40)) {
          give_up(receiver, *group, part);
        }
      }
    }
  }
}

void Groups::send(Receiver& receiver, Group& group, Part& part) {
  sim::Generator& chance = world_.chance();
  interface::Terminus& terminus = part.holder->terminus(chance);
  if (part.data.size() != part.share.ticket.bound)
    part.data = pattern(part.share.ticket.bound, chance.next());
  const Status status = terminus.send(part.share, part.data, {}, &part.handle);
  world_.note(*part.holder, "sends % bytes of a share to process %: status %",
              {part.data.size(), receiver.process->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::queue_full) return world_.met(OperationKind::share, status);
  demand(status == Status::ok || status == Status::pending || status == Status::link_ended,
         "a share was answered with something else");
  part.terminus = &terminus;
  if (status == Status::link_ended || world_.unsure(*part.holder, *receiver.process)) group.may_fail = true;
}

// In mid-message its receiver is told; if nothing had left, only the deadline tells.
void Groups::give_up(Receiver& receiver, Group& group, Part& part) {
  if (part.terminus->status(part.handle) != Status::pending) return;
  demand(part.terminus->cancel(part.handle) != Status::invalid, "a share that is pending is not known");
  world_.note(*part.holder, "gives a share up for process %", {receiver.process->number()});
  group.given_up = true;
}

void Groups::notified(Process& process, const Notification& n) {
  Receiver& receiver = receivers_[process.number()];
  demand(receiver.groups[n.entry] != nullptr, "a group was told of twice");
  Group& group = *receiver.groups[n.entry];
  if (n.kind == Notification::Kind::message) {
    check_whole(receiver, group, n);
    ++world_.counts.completed;
  } else {
    world_.note(process, "is told that the group in entry % has failed, for cause %", {n.entry, n.word});
    switch (n.failure()) {
      case Failure::link_ended:
        demand(group.may_fail, "a group failed whose links live");
        break;
      case Failure::abandoned:
        demand(group.given_up, "a group failed that nobody gave up");
        break;
      case Failure::timed_out:
        demand(world_.now() >= group.deadline, "a group failed before its time");
        break;
      default:
        demand(false, "a group failed though its shares are right");
    }
    ++world_.counts.failed;
    process.keys_changed |= receiver.slot->record().mode != Mode::guarded;
  }
  over_.push_back(std::move(receiver.groups[n.entry]));
}

void Groups::check_whole(Receiver& receiver, const Group& group, const Notification& n) {
  world_.note(*receiver.process, "has the group in entry %, % bytes", {n.entry, n.length});
  demand(receiver.slot->entry(n.entry).accumulator == 0, "an accumulator is not back at zero");
  std::uint64_t sum = 0;
  for (const auto& part : group.parts) {
    demand(part->terminus != nullptr, "a group is complete though a share was not sent");
    const std::byte* const at = receiver.area->data() + part->share.ticket.base;
    demand(std::equal(part->data.begin(), part->data.end(), at), "a member's bytes are not intact");
    sum += part->data.size();
  }
  demand(n.length == sum, "a group has another length than its parts");
}

void Groups::may_lose(Process& from, Process& to) {
  for (const auto& group : receivers_[to.number()].groups) {
    if (group == nullptr) continue;
    for (const auto& part : group->parts)
      group->may_fail |= part->holder == &from && part->terminus != nullptr;
  }
}

void Groups::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto receiver = receivers_.find(to.number());
  if (receiver == receivers_.end()) return;
  for (const auto& group : receiver->second.groups) {
    if (group == nullptr) continue;
    for (const auto& part : group->parts) {
      if (part->holder == &from && part->terminus != nullptr)
        kinds.set(static_cast<std::size_t>(OperationKind::share));
    }
  }
}

// The deadlines of the groups whose members never sent are all that is left.
void Groups::check_rest() {
  for (auto& [number, receiver] : receivers_) {
    if (!receiver.process->alive) continue;
    for (std::uint32_t entry = 0; entry < kEntries; ++entry)
      demand(receiver.groups[entry] == nullptr, "a group was never told of");
  }
}

}  // namespace

std::unique_ptr<Operation> make_groups(World& world) { return std::make_unique<Groups>(world); }

}  // namespace hamlyn::simulation
