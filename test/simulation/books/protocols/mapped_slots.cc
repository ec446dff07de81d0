// Mapped slots: senders who have them mapped store their messages there, and only the notification is a
// packet; others send theirs as packets, to the same entries. Words are added to by both, and by the owner.
// Owners take the memory away under those who have it mapped: who finds his mapping current has used what the
// owner uses, and who does not has touched nothing.
#include <algorithm>
#include <deque>
#include <list>
#include <optional>

#include "hamlyn/core/mapped_slot.h"
#include "test/simulation/books/protocols/own_slot.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kRoom = 960;    // of each
constexpr std::size_t kBytes = 4096;  // the words stand behind the entries
constexpr std::size_t kWords = 8;
constexpr std::size_t kInPacket = 16;  // what is no longer stands in the packet itself
constexpr std::uint64_t kContent = std::uint64_t{11} << 56;

constexpr std::size_t place_of(std::size_t word) { return kEntries * kRoom + word * sizeof(std::uint64_t); }

struct Board;

struct Message {
  std::uint64_t sender = 0;
  Board* board = nullptr;
  std::uint64_t number = 0;
  std::size_t length = 0;
  bool in_place = false;  // stored, and
  std::uint64_t age = 0;  // so often had the memory been taken away by then
  bool taken = false;     // by its owner
  bool lost = false;      // its sender was told so, or has given up; or its entry takes others
};

struct Entry {
  Ticket ticket;
  Message* message = nullptr;  // for which it waits
};

struct Board {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  bool all_write = false;
  Ticket ticket;               // for words, and for mapping
  std::byte* bytes = nullptr;  // null: it has gone
  bool gone = false;           // before the run's end
  std::uint64_t age = 0;       // so often was its memory taken away
  Entry entries[kEntries];
  std::uint64_t sure[kWords] = {};    // what was added,
  std::uint64_t unsure[kWords] = {};  // and may have been
  std::uint64_t word(std::size_t nth) const {
    std::uint64_t word;
    std::memcpy(&word, bytes + place_of(nth), sizeof word);
    return word;
  }
};

std::vector<std::byte> content(const Message& message) {
  return numbered(message.number, message.length, kContent);
}

class MappedSlots final : public Book {
 public:
  explicit MappedSlots(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;
  // Whether it may never come.
  bool excused(const Message& message) const {
    const Board& board = *message.board;
    return message.lost || board.gone || (message.in_place && message.age != board.age) ||
           stage.may_be_lost(message.sender, board.owner) || !stage.host.inhabitant(message.sender).alive ||
           !stage.host.inhabitant(board.owner).alive;
  }
  void check_words(const Board& board) {
    for (std::size_t i = 0; i != kWords; ++i) {
      stage.demand(board.word(i) >= board.sure[i], "something was not added");
      stage.demand(board.word(i) <= board.sure[i] + board.unsure[i],
                   "something was added twice, or elsewhere");
    }
  }

  Stage& stage;
  std::deque<Board> boards;
  std::deque<Message> messages;
};

// --- the owner

class Owner {
 public:
  Owner(MappedSlots& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Owner() { go(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!slot_) return make();
    take();
    book_.check_words(*board_);
    const std::uint64_t dice = chance.below(100);
    if (dice < 25) {
      add(chance.below(kWords), chance.between(1, 9));
    } else if (dice < 45) {
      reclaim(static_cast<std::uint32_t>(chance.below(kEntries)));
    } else if (dice < 60) {
      slot_.wait(stage_, [this](const Notification& arrival) { hear(arrival); });
    } else if (dice < 70) {
      revoke();
    } else if (dice < 71) {
      go();
    }
  }
  bool take() {
    return slot_.take(stage_, [this](const Notification& arrival) { hear(arrival); });
  }

 private:
  void make() {
    board_ = &book_.boards.emplace_back();
    board_->number = book_.boards.size();
    board_->owner = stage_.me();
    board_->all_write = !stage_.chance().one_in(4);
    slot_.make(manager_.interface(), 16, kBytes, {.entries = kEntries, .fast = false, .fetches = true},
               board_->all_write ? Sharing::mapped_read_write : Sharing::mapped_read_only);
    board_->bytes = slot_.area().bytes().data();
    board_->ticket = slot_->ticket();
    for (std::uint32_t i = 0; i != kEntries; ++i) board_->entries[i].ticket = slot_->ticket(i);
    stage_.host.note("has board %", {board_->number});
  }
  void add(std::size_t word, std::uint64_t number) {
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(board_->bytes + place_of(word)))
        .fetch_add(number);
    board_->sure[word] += number;
  }
  // Who has it mapped keeps the pages of before; the bytes are the same.
  void revoke() {
    const std::vector<std::byte> before(board_->bytes, board_->bytes + kBytes);
    slot_.area().revoke();
    ++board_->age;
    stage_.host.note("takes the memory of board % away", {board_->number});
    stage_.demand(slot_.area().bytes().data() == board_->bytes && same(slot_.area().bytes(), before),
                  "an area has moved, or has other bytes, when its memory was taken away");
  }
  void hear(const Notification& arrival) {
    const bool told = arrival.kind == Notification::Kind::message;
    if (!told && arrival.kind != Notification::Kind::failed) return;
    Message* const message = std::exchange(board_->entries[arrival.entry].message, nullptr);
    stage_.demand(message != nullptr, "a message came to a board that nobody sent");
    if (!stage_.alive() || message == nullptr) return;
    stage_.host.note("hears of message % of process %", {message->number, message->sender});
    if (told) {
      stage_.demand(arrival.peer == message->sender, "a message to a board came from somebody else");
      stage_.demand(same(slot_->bytes(arrival), content(*message)),
                    "a message on a board is not what was sent");
      message->taken = true;
      ++stage_.counts.completed;
    } else {
      const bool gone = arrival.failure() == Failure::link_ended && stage_.may_have_gone(message->sender);
      const bool given_up = arrival.failure() == Failure::abandoned && message->lost;
      stage_.demand(gone || given_up, "an entry of a board has failed for nothing");
      message->lost = true;
    }
    stage_.demand(slot_->arm(arrival.entry) == Status::ok, "an entry that was read cannot be armed");
    board_->entries[arrival.entry].ticket = slot_->ticket(arrival.entry);
  }
  // Of a message that will not come.
  void reclaim(std::uint32_t number) {
    Entry& entry = board_->entries[number];
    if (entry.message == nullptr || !book_.excused(*entry.message)) return;
    if (slot_->disarm(number) != Status::ok) return;  // it has come, and was not read yet
    std::exchange(entry.message, nullptr)->lost = true;
    stage_.demand(slot_->arm(number) == Status::ok, "an entry that was disarmed cannot be armed");
    entry.ticket = slot_->ticket(number);
  }
  void go() {
    if (!slot_) return;
    if (stage_.alive()) book_.check_words(*board_);
    board_->gone = !stage_.ending;
    board_->bytes = nullptr;
    slot_.go();
  }

  MappedSlots& book_;
  Stage& stage_;
  Manager& manager_;
  OwnSlot slot_;
  Board* board_ = nullptr;
};

// --- those who send there, and have it mapped, or not

class User {
 public:
  User(MappedSlots& book, Manager& manager)
      : sends_(book.stage),
        book_(book),
        stage_(book.stage),
        manager_(manager),
        terminus_(manager.interface(), {.entries = 1}) {}
  ~User() {
    for (const Sending& each : sending_) each.message->lost |= !each.message->taken;
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  void act() {
    collect();
    sim::Generator& chance = stage_.chance();
    const std::uint64_t dice = chance.below(100);
    if (dice < 15) {
      map();
    } else if (dice < 60) {
      for (std::uint64_t count = chance.between(1, 4); count != 0; --count) send();
    } else if (dice < 75) {
      look();
    } else if (dice < 90) {
      add_there();
    } else if (dice < 97) {
      add_from_afar();
    } else if (mapped_) {
      mapped_.reset();
    }
  }
  // False: nothing of it is under way.
  bool collect() {
    std::erase_if(sending_, [&](const Sending& each) { return is_over(each); });
    return !sending_.empty();
  }

 private:
  struct Sending {
    Message* message;
    SendHandle handle;
    std::vector<std::byte> data;
    std::unique_ptr<Doing> doing;
  };

  Board* any_board() { return any_of_others(book_.boards, stage_); }
  bool may_have_gone(const Board& board) { return board.gone || stage_.may_have_gone(board.owner); }

  void map() {
    Board* const board = any_board();
    if (board == nullptr) return;
    mapped_.reset();
    ++stage_.counts.operations;
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::mapping, board->owner);
    try {
      mapped_ = std::make_unique<MappedSlot>(manager_.interface(), board->ticket,
                                             std::chrono::milliseconds{stage_.chance().between(1, 3)});
    } catch (const Error& error) {
      ++stage_.counts.failed;
      const ErrorCode code = error.code();
      return stage_.demand(code == ErrorCode::timed_out || may_have_gone(*board), "a board cannot be mapped",
                           code);
    }
    mapped_board_ = board;
    stage_.host.note("has board % mapped", {board->number});
    stage_.demand(mapped_->can_write() == board->all_write && mapped_->bytes().size() == kBytes &&
                      mapped_->writable().size() == (board->all_write ? kBytes : 0),
                  "a mapping is of another kind, or size");
    // Its memory may have been taken away since it was shown.
    mapped_age_ = mapped_->current() ? board->age : kNever;
    look();
  }
  // Whether it is, as its owner would say.
  bool is_current() const { return mapped_board_->bytes != nullptr && mapped_age_ == mapped_board_->age; }
  void look() {
    if (!mapped_) return;
    const bool current = mapped_->current();
    stage_.demand(current == is_current(), "a mapping is current, or is not, and does not say so");
    if (current && stage_.alive())
      stage_.demand(same(mapped_->bytes(), {mapped_board_->bytes, kBytes}),
                    "a mapping that is current shows something else than its owner has");
  }
  void add_there() {
    if (!mapped_ || !mapped_->can_write()) return look();
    sim::Generator& chance = stage_.chance();
    Board& board = *mapped_board_;
    const std::size_t word = chance.below(kWords);
    const std::uint64_t number = chance.between(1, 9);
    const bool there = is_current();
    mapped_->word<std::uint64_t>(place_of(word)).fetch_add(number);
    if (there) board.sure[word] += number;
    if (board.bytes != nullptr) book_.check_words(board);
    look();
  }
  void add_from_afar() {
    Board* const board = any_board();
    if (board == nullptr) return;
    sim::Generator& chance = stage_.chance();
    const std::size_t word = chance.below(kWords);
    const std::uint64_t number = chance.between(1, 9);
    board->unsure[word] += number;
    const Outcome outcome = terminus_.fetch(board->ticket, {.operand = number}, {.offset = place_of(word)},
                                            stage_.a_while() + std::chrono::microseconds{100});
    if (outcome.status == Status::ok) {
      board->unsure[word] -= number;
      board->sure[word] += number;
      return;
    }
    stage_.demand(outcome.status == Status::timed_out || may_have_gone(*board),
                  "nothing can be added to a board", outcome.status);
  }
  // To an entry that waits for nobody.
  void send() {
    sim::Generator& chance = stage_.chance();
    Board* const board = mapped_ && !chance.one_in(4) ? mapped_board_ : any_board();
    if (board == nullptr || board->gone) return;
    const auto number = static_cast<std::uint32_t>(chance.below(kEntries));
    Entry& entry = board->entries[number];
    if (entry.message != nullptr) return;
    Message& message = book_.messages.emplace_back();
    message.sender = stage_.me();
    message.board = board;
    message.number = book_.messages.size();
    message.length = chance.one_in(3) ? chance.between(8, 40) : chance.between(8, kRoom);
    message.age = board->age;
    Sending& sending = sending_.emplace_back();
    sending.message = &message;
    sending.data = content(message);
    entry.message = &message;
    // Who has it mapped stores it, and it is there at once.
    const bool stores = mapped_ && mapped_board_ == board && mapped_->can_write() && is_current() &&
                        message.length > kInPacket;
    ++stage_.counts.operations;
    const Status status =
        terminus_.send(entry.ticket, sending.data, {.offset = number * kRoom}, &sending.handle);
    stage_.host.note("sends message % to board %: status %",
                     {message.number, board->number, static_cast<std::uint64_t>(status)});
    if (status != Status::ok && status != Status::pending) {
      message.lost = true;
      entry.message = nullptr;
      ++stage_.counts.failed;
      stage_.met(stores ? OperationKind::stored_message : OperationKind::board_message, status);
      sending_.pop_back();
      return stage_.demand(status == Status::queue_full || may_have_gone(*board),
                           "a message to a board was answered as it cannot be", status);
    }
    message.in_place = board->bytes != nullptr && message.length > kInPacket &&
                       same({board->bytes + number * kRoom, message.length}, sending.data);
    // (A link that was made anew knows nothing of it.)
    stage_.demand(message.in_place || !stores || may_have_gone(*board), "a message was not stored at once");
    sending.doing = std::make_unique<Doing>(
        stage_, stores ? OperationKind::stored_message : OperationKind::board_message, board->owner);
  }
  bool is_over(const Sending& sending) {
    Message& message = *sending.message;
    const Status status = terminus_.status(sending.handle);
    if (status == Status::pending) return false;
    if (status != Status::ok) {
      const bool as_it_can = status == Status::link_ended || status == Status::refused;  // the link was
      stage_.demand(as_it_can && may_have_gone(*message.board), "a message to a board has ended as it cannot",
                    status);
      message.lost |= !message.taken;
      ++stage_.counts.failed;
    }
    return message.taken || book_.excused(message);
  }

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  const Sends sends_;
  MappedSlots& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<MappedSlot> mapped_;
  Board* mapped_board_ = nullptr;
  std::uint64_t mapped_age_ = kNever;
  std::list<Sending> sending_;
  Terminus terminus_;  // the first to go: it reads what is sent
};

class MappedPart final : public Part {
 public:
  MappedPart(MappedSlots& book, Manager& manager)
      : book_(book), stage_(book.stage), manager_(manager), owner_(book, manager) {}

  void act() override {
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 45) return owner_.act();
    if (dice == 99) return user_.reset();
    if (!user_) user_.emplace(book_, manager_);
    user_->act();
  }
  bool stop_sending() override {
    if (user_ && user_->collect() && stage_.alive()) return true;
    user_.reset();
    return false;
  }
  bool take_all() override { return owner_.take(); }

 private:
  MappedSlots& book_;
  Stage& stage_;
  Manager& manager_;
  Owner owner_;
  std::optional<User> user_;
};

std::unique_ptr<Part> MappedSlots::come(Manager& manager) {
  return std::make_unique<MappedPart>(*this, manager);
}

void MappedSlots::check() {
  for (const Message& message : messages)
    stage.host.demand(message.taken || excused(message), "a message to a board has not come");
}

}  // namespace

std::unique_ptr<Book> make_mapped_slots(Stage& stage) { return std::make_unique<MappedSlots>(stage); }

}  // namespace hamlyn::simulation
