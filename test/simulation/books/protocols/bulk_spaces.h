#pragma once
// Space that was made for one message: who has it takes that message, whole, and no second one. Receivers
// withdraw spaces, full and empty; senders try again, and give up.
#include <list>
#include <optional>

#include "hamlyn/core/bulk.h"
#include "test/simulation/books/protocols/bulk_offers.h"

namespace hamlyn::simulation {

struct Space {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  std::uint64_t sender = 0;  // 0: nobody has asked for it
  Ticket offer;
  std::size_t bytes = 0;
  std::size_t length = 0;  // of what was sent
  bool delivered = false;  // as its sender was told
  bool received = false;
  bool refused = false;  // likewise
  bool over = false;     // its sender knows what became of it, or has given up
  bool gone = false;
};

inline std::vector<std::byte> content(const Space& space) {
  return pattern(space.length, kBulkContent + space.number);
}

struct Spaces {
  void check() {
    for (const Space& space : all) {
      if (space.sender == 0 || space.gone || may_never_come(stage, space.sender, space.owner)) continue;
      if (space.delivered) stage.host.demand(space.received, "what was delivered into a space has not come");
    }
  }

  Stage& stage;
  std::deque<Space> all;
};

class SpaceReceiver {
 public:
  SpaceReceiver(Spaces& book, NotificationQueue& queue) : book_(book), stage_(book.stage), queue_(queue) {}
  ~SpaceReceiver() {
    for (const Held& held : held_) held.space->gone = !stage_.ending;
  }
  SpaceReceiver(const SpaceReceiver&) = delete;
  SpaceReceiver& operator=(const SpaceReceiver&) = delete;

  void offer() {
    if (held_.size() == kSpaces) return withdraw();
    Space& space = book_.all.emplace_back();
    space.number = book_.all.size();
    space.owner = stage_.me();
    space.bytes = stage_.chance().between(1, kMostBulk);
    Held& held = held_.emplace_back(&space, std::make_unique<BulkSpace>(queue_, space.bytes));
    space.offer = held.memory->offer();
  }
  bool takes(const Notification& arrival) {
    const auto held =
        std::ranges::find_if(held_, [&](const Held& each) { return each.memory->holds(arrival); });
    if (held == held_.end()) return false;
    Space& space = *held->space;
    if (arrival.kind == Notification::Kind::message) {
      stage_.host.note("has what was sent into space %", {space.number});
      stage_.demand(space.sender != 0 && arrival.peer == space.sender, "space was filled by nobody");
      stage_.demand(!std::exchange(space.received, true), "a space took a second message");
      stage_.demand(!space.refused, "what was refused has come");
      stage_.demand(same(held->memory->bytes(arrival), content(space)), "a space has not what was sent");
      ++stage_.counts.completed;
    } else {
      stage_.demand(stage_.may_have_gone(space.sender) || space.over, "a space has failed for nothing");
      drop(held);
    }
    return true;
  }

 private:
  struct Held {
    Held(Space* which, std::unique_ptr<BulkSpace> what) : space(which), memory(std::move(what)) {}
    Space* space;
    std::unique_ptr<BulkSpace> memory;
  };

  // The oldest. One that has its message has it for long enough for a second one to come.
  void withdraw() { drop(held_.begin()); }
  void drop(std::list<Held>::iterator held) {
    held->space->gone = true;
    held_.erase(held);
  }

  Spaces& book_;
  Stage& stage_;
  NotificationQueue& queue_;
  static constexpr std::size_t kSpaces = 3;
  std::list<Held> held_;
};

class SpaceSender {
 public:
  SpaceSender(Spaces& book, Manager& manager)
      : sends_(book.stage),
        book_(book),
        stage_(book.stage),
        terminus_(manager.interface(), {.entries = stage_.chance().between(1, 2)}) {}
  ~SpaceSender() {
    for (const Sending& each : sending_) each.space->over = true;
  }
  SpaceSender(const SpaceSender&) = delete;
  SpaceSender& operator=(const SpaceSender&) = delete;

  void send() {
    collect();  // an entry of the terminus that is used again says nothing of what it had before
    sim::Generator& chance = stage_.chance();
    if (chance.one_in(4)) return send_again();
    Space* const space = any_offered(stage_, book_.all);
    if (space == nullptr) return;
    space->length = chance.below(space->bytes + 1);
    Sending& sending = sending_.emplace_back();
    sending.space = space;
    sending.data = content(*space);
    sending.acknowledged = chance.one_in(2);
    if (begin(sending)) space->sender = stage_.me();
  }
  // False: nothing is under way.
  bool collect() {
    std::erase_if(sending_, [&](Sending& sending) { return is_over(sending); });
    return !sending_.empty();
  }

 private:
  struct Sending {
    Space* space = nullptr;
    std::vector<std::byte> data;
    SendHandle handle;
    bool acknowledged = false;
    bool again = false;
    bool left = false;  // its handle says so
    std::optional<Doing> doing;
  };

  // Into space that has had its message.
  void send_again() {
    for (std::size_t back = 0; back != std::min<std::size_t>(book_.all.size(), 12); ++back) {
      Space& space = book_.all[book_.all.size() - 1 - back];
      if (space.sender != stage_.me() || !(space.received || space.delivered)) continue;
      Sending& sending = sending_.emplace_back();
      sending.space = &space;
      sending.data = pattern(std::min<std::size_t>(space.bytes, 100), stage_.chance().next());
      sending.acknowledged = sending.again = true;
      begin(sending);
      return;
    }
  }
  // False: it was not taken.
  bool begin(Sending& sending) {
    Space& space = *sending.space;
    const Status status =
        terminus_.send(space.offer, sending.data, {.acknowledged = sending.acknowledged}, &sending.handle);
    stage_.host.note("sends % bytes into space %: status %",
                     {sending.data.size(), space.number, static_cast<std::uint64_t>(status)});
    if (status != Status::ok && status != Status::pending) {
      stage_.met(OperationKind::bulk, status);
      stage_.demand(
          status == Status::queue_full || (status == Status::link_ended && stage_.may_have_gone(space.owner)),
          "a space was filled with another answer", status);
      sending_.pop_back();
      return false;
    }
    ++stage_.counts.operations;
    sending.doing.emplace(stage_, OperationKind::bulk, space.owner);
    return true;
  }
  bool is_over(Sending& sending) {
    Space& space = *sending.space;
    const Status status = sending.left ? Status::ok : terminus_.status(sending.handle);
    const bool gone = stage_.may_have_gone(space.owner);
    switch (status) {
      case Status::pending:
        return false;
      case Status::ok:
        stage_.demand(!sending.again, "a space has taken a second message");
        sending.left = true;
        if (sending.acknowledged) space.delivered = true;
        if (!sending.acknowledged && !space.received && !space.gone &&
            !may_never_come(stage_, stage_.me(), space.owner))
          return false;
        break;
      case Status::refused:
        stage_.demand(sending.again || space.gone || gone, "what was sent into a space was refused");
        if (!sending.again) {
          stage_.demand(!space.received, "what was refused has come");
          space.refused = true;
        }
        ++stage_.counts.failed;
        break;
      case Status::link_ended:
        stage_.demand(gone, "a link ended for nothing");
        ++stage_.counts.failed;
        break;
      default:
        stage_.demand(false, "what was sent into a space has ended as it cannot", status);
    }
    if (!sending.again) space.over = true;
    return true;
  }

  const Sends sends_;
  Spaces& book_;
  Stage& stage_;
  std::list<Sending> sending_;
  Terminus terminus_;  // the first to go: it reads what is sent
};

}  // namespace hamlyn::simulation
