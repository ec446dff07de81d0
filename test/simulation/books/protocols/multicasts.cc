// Multicasts to entries of several processes: who is said to have it has all of it in his memory by then, who
// is said to have refused it never gets it, and everybody on the list is one of those, or is waited for, or
// has failed because of a fault. Recipients take their entries back, and go; senders stop in the middle.
#include <algorithm>
#include <deque>
#include <optional>

#include "hamlyn/core/multicast.h"
#include "test/simulation/books/protocols/own_slot.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 4;  // of a process
constexpr std::size_t kRoom = 1536;    // of each
constexpr std::size_t kMost = 6;       // recipients of a message
constexpr std::uint64_t kContent = std::uint64_t{7} << 60;

struct Board;

// A message, for one of its recipients.
struct Copy {
  std::uint64_t sender = 0;
  Board* board = nullptr;
  std::uint64_t message = 0;
  std::size_t length = 0;
  bool landed = false;
  bool taken = false;    // by its recipient
  bool revoked = false;  // by its recipient, before it had landed
  bool refused = false;  // as its sender was told
  bool stopped = false;  // its sender waits no more
  bool over = false;     // its sender knows how it stands
};

struct Place {
  Ticket ticket;
  std::optional<Ticket> former;  // revoked
  Copy* copy = nullptr;          // for which it waits, or that stands there
};

struct Board {
  std::uint64_t owner = 0;
  std::byte* bytes = nullptr;  // null: it has gone
  Place places[kEntries];
  bool gone = false;
};

class Multicasts final : public Book {
 public:
  explicit Multicasts(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;

  Stage& stage;
  std::deque<Board> boards;
  std::deque<Copy> copies;
  std::uint64_t messages = 0;
};

std::vector<std::byte> content(const Copy& copy) { return numbered(copy.message, copy.length, kContent); }

// Whether all of it stands there now, or has before.
bool has_landed(Copy& copy, std::uint32_t entry) {
  if (!copy.landed && copy.board->bytes != nullptr && copy.board->places[entry].copy == &copy)
    copy.landed = same({copy.board->bytes + entry * kRoom, copy.length}, content(copy));
  return copy.landed;
}

// --- the recipient

class Recipient {
 public:
  Recipient(Multicasts& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Recipient() { go(); }
  Recipient(const Recipient&) = delete;
  Recipient& operator=(const Recipient&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!slot_) return make();
    take();
    const std::uint64_t dice = chance.below(100);
    if (dice < 20) {
      reclaim(static_cast<std::uint32_t>(chance.below(kEntries)), chance.one_in(8));
    } else if (dice < 30) {
      slot_.wait(stage_, [this](const Notification& arrival) { hear(arrival); });
    } else if (dice < 31) {
      go();
    }
  }
  bool take() {
    return slot_.take(stage_, [this](const Notification& arrival) { hear(arrival); });
  }

 private:
  void make() {
    slot_.make(manager_.interface(), 16, kEntries * kRoom,
               {.mode = Mode::paranoid_one_shot, .entries = kEntries, .fast = false});
    board_ = &book_.boards.emplace_back();
    board_->owner = stage_.me();
    board_->bytes = slot_.area().bytes().data();
    for (std::uint32_t entry = 0; entry != kEntries; ++entry) arm(entry);
  }
  // False: something stands there that was not taken.
  bool arm(std::uint32_t entry) {
    if (slot_->arm(entry, {entry * kRoom, kRoom}) != Status::ok) return false;
    board_->places[entry].ticket = slot_->ticket(entry);
    board_->places[entry].copy = nullptr;
    return true;
  }
  void hear(const Notification& arrival) {
    const bool told = arrival.kind == Notification::Kind::message;
    if (!told && arrival.kind != Notification::Kind::failed) return;
    Copy* const copy = board_->places[arrival.entry].copy;
    stage_.demand(copy != nullptr, "a multicast came that nobody sent");
    if (!stage_.alive() || copy == nullptr) return;
    if (told) {
      taken(*copy, arrival);
    } else {
      failed(*copy, arrival);
    }
    stage_.demand(arm(arrival.entry), "an entry that was read cannot be armed");
  }
  void taken(Copy& copy, const Notification& arrival) {
    stage_.host.note("takes multicast % of process %", {copy.message, copy.sender});
    stage_.demand(!copy.refused, "a multicast came of which it was said that it was refused");
    stage_.demand(arrival.peer == copy.sender, "a multicast came from somebody else");
    stage_.demand(same(slot_->bytes(arrival), content(copy)), "a multicast is not what was sent");
    copy.landed = copy.taken = true;
    ++stage_.counts.completed;
  }
  void failed(const Copy& copy, const Notification& arrival) {
    switch (arrival.failure()) {
      case Failure::link_ended:
        return stage_.demand(stage_.may_have_gone(copy.sender), "a link ended for nothing");
      case Failure::abandoned:
        return stage_.demand(copy.stopped, "a multicast was abandoned that nobody has stopped");
      default:
        stage_.demand(false, "an entry has failed as it cannot");
    }
  }
  // Takes back what was promised to somebody, at any moment, or when he has given up.
  void reclaim(std::uint32_t entry, bool any) {
    Place& place = board_->places[entry];
    const bool waits = place.copy != nullptr && !place.copy->over && !place.copy->stopped;
    if (waits ? !any : place.copy == nullptr) return;
    const Ticket former = place.ticket;
    Copy& copy = *place.copy;
    stage_.demand(slot_->revoke(entry) == Status::ok, "an entry cannot be revoked");
    if (!arm(entry)) return;
    stage_.host.note("revokes what multicast % was sent to", {copy.message});
    copy.revoked = true;
    place.former = former;
  }
  // Nothing more lands then; what has landed was promised to have.
  void go() {
    if (!slot_) return;
    if (stage_.ending) take();  // one whose sender has stopped may have been late
    slot_.end();
    for (std::uint32_t entry = 0; entry != kEntries; ++entry) {
      if (board_->places[entry].copy != nullptr) has_landed(*board_->places[entry].copy, entry);
    }
    board_->bytes = nullptr;
    board_->gone = !stage_.ending;
    slot_.go();
  }

  Multicasts& book_;
  Stage& stage_;
  Manager& manager_;
  OwnSlot slot_;
  Board* board_ = nullptr;
};

// --- the sender

class Sender {
 public:
  Sender(Multicasts& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), multicast_(manager.interface(), kMost) {}
  ~Sender() {
    for (const Member& member : members_) member.copy->stopped |= !member.copy->over;
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Whether somebody is still waited for.
  bool waits() {
    const Multicast::Count count = multicast_.count();
    stage_.demand(count.delivered + count.failed + count.waiting == members_.size(),
                  "a multicast counts another number than its list has");
    stage_.demand(count.delivered >= delivered_ && count.failed >= failed_, "a multicast counts backwards");
    for (std::size_t i = 0; i != members_.size(); ++i) look_at(i);
    stage_.demand(count.delivered <= delivered_ && count.failed <= failed_,
                  "a multicast counts somebody of whom it says something else");
    return delivered_ + failed_ != members_.size() && stage_.alive();
  }
  void send() {
    sim::Generator& chance = stage_.chance();
    if (waits()) return;
    std::vector<Member> chosen = choose();
    if (chosen.empty()) return;
    members_ = std::move(chosen);
    delivered_ = failed_ = 0;
    data_ = content(*members_.front().copy);
    std::vector<Ticket> tickets;
    for (const Member& member : members_) tickets.push_back(member.ticket);
    stage_.counts.operations += members_.size();
    const Status status = multicast_.send(tickets, data_);
    stage_.host.note("sends multicast % to %: status %",
                     {book_.messages, members_.size(), static_cast<std::uint64_t>(status)});
    stage_.demand(status == Status::ok, "a multicast cannot be sent", status);
    if (chance.one_in(2)) wait();
  }
  void wait() {
    const Status status = multicast_.wait(stage_.a_while());
    stage_.demand(status == Status::ok || status == Status::timed_out, "a multicast cannot be waited for",
                  status);
    const bool more = waits();
    stage_.demand(status != Status::ok || !more, "a multicast has been waited for, and waits");
  }
  // The data is the sender's own again, and nobody gets any of what it writes there.
  void stop() {
    for (const Member& member : members_) member.copy->stopped |= !member.copy->over;
    multicast_.stop();
    stage_.host.note("stops multicast %", {members_.empty() ? 0 : members_.front().copy->message});
    stage_.demand(!waits(), "a multicast that was stopped waits");
    std::ranges::fill(data_, std::byte{0xEE});
  }

 private:
  struct Member {
    Copy* copy;
    std::uint32_t entry;
    Ticket ticket;
    std::unique_ptr<Doing> doing;  // null: it is over
  };

  // Entries that are free, of any others; now and then one that was revoked.
  std::vector<Member> choose() {
    sim::Generator& chance = stage_.chance();
    std::vector<Member> members;
    ++book_.messages;
    const std::size_t length = chance.one_in(3) ? chance.between(8, kRoom) : chance.between(8, 64);
    for (std::uint64_t tries = chance.between(1, 2 * kMost); tries != 0 && members.size() != kMost; --tries) {
      if (book_.boards.empty()) break;
      // Mostly of those that are there.
      const std::size_t back = chance.below(std::min<std::size_t>(book_.boards.size(), 8));
      Board& board = book_.boards[book_.boards.size() - 1 - back];
      const auto entry = static_cast<std::uint32_t>(chance.below(kEntries));
      const bool former = chance.one_in(16);
      Place& place = board.places[entry];
      if (board.owner == stage_.me() || (former ? !place.former : place.copy != nullptr)) continue;
      Copy& copy = book_.copies.emplace_back();
      copy.sender = stage_.me();
      copy.board = &board;
      copy.message = book_.messages;
      copy.length = length;
      copy.revoked = former;
      if (!former) place.copy = &copy;
      members.push_back({&copy, entry, former ? *place.former : place.ticket,
                         std::make_unique<Doing>(stage_, OperationKind::multicast, board.owner)});
    }
    return members;
  }
  void look_at(std::size_t number) {
    Member& member = members_[number];
    Copy& copy = *member.copy;
    const Status status = copy.over ? Status::pending : multicast_.status(number);
    if (status == Status::pending || !stage_.alive()) return;
    copy.over = true;
    member.doing.reset();
    ++(status == Status::ok ? delivered_ : failed_);
    if (status != Status::ok) ++stage_.counts.failed;
    stage_.host.note("hears of multicast % to process %: status %",
                     {copy.message, copy.board->owner, static_cast<std::uint64_t>(status)});
    const bool gone = stage_.may_have_gone(copy.board->owner);
    switch (status) {
      case Status::ok:
        return stage_.demand(has_landed(copy, member.entry), "a multicast is delivered, and has not landed");
      case Status::refused:
        copy.refused = true;
        stage_.demand(!copy.taken, "a multicast is refused, and was received");
        return stage_.demand(copy.revoked || copy.board->gone || gone, "a multicast was refused for nothing");
      case Status::link_ended:
        return stage_.demand(gone, "a link ended for nothing");
      case Status::cancelled:
        return stage_.demand(copy.stopped, "a multicast was cancelled by nobody");
      default:
        stage_.demand(false, "a multicast has ended as it cannot", status);
    }
  }

  const Sends sends_;
  Multicasts& book_;
  Stage& stage_;
  std::vector<std::byte> data_;
  std::vector<Member> members_;
  std::size_t delivered_ = 0, failed_ = 0;
  Multicast multicast_;  // the first to go: it reads the data
};

class MulticastPart final : public Part {
 public:
  MulticastPart(Multicasts& book, Manager& manager)
      : book_(book), stage_(book.stage), manager_(manager), recipient_(book, manager) {}

  void act() override {
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 45) return recipient_.act();
    if (!sender_) sender_.emplace(book_, manager_);
    if (dice < 75) {
      sender_->send();
    } else if (dice < 94) {
      sender_->wait();
    } else if (dice < 98) {
      sender_->stop();
    } else {
      sender_.reset();
    }
  }
  bool stop_sending() override {
    if (sender_ && sender_->waits()) return true;
    sender_.reset();
    return false;
  }
  bool take_all() override { return recipient_.take(); }

 private:
  Multicasts& book_;
  Stage& stage_;
  Manager& manager_;
  Recipient recipient_;
  std::optional<Sender> sender_;
};

std::unique_ptr<Part> Multicasts::come(Manager& manager) {
  return std::make_unique<MulticastPart>(*this, manager);
}

void Multicasts::check() {
  for (const Copy& copy : copies) {
    const bool there = !copy.board->gone && stage.host.inhabitant(copy.board->owner).alive;
    if (there && copy.landed) stage.host.demand(copy.taken, "a multicast has landed, and nobody was told");
  }
}

}  // namespace

std::unique_ptr<Book> make_multicasts(Stage& stage) { return std::make_unique<Multicasts>(stage); }

}  // namespace hamlyn::simulation
