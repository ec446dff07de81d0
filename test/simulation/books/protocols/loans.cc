// Loans: a pool in each process, lent to several receivers. Each is told once, reads what was written while
// it has it, and in the end every buffer is free again, whoever has died.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "hamlyn/protocols/loan.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::size_t kNumber = 8;  // a loan begins with its number
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

// An offer of a receiver, and what was lent to whoever grew from it.
struct Shelf {
  std::uint64_t number = 0;
  std::uint64_t receiver = 0;
  std::uint64_t sender = 0;
  unsigned tries = 0;
  bool denied = false;    // the receiver did not want somebody
  bool replaced = false;  // by another offer, or its receiver has gone
  bool opened = false;
  bool let_go = false;   // its sender has gone
  bool revoked = false;  // or its pool was
  std::size_t sent = 0;
  std::size_t received = 0;
  struct Told {
    std::size_t place;  // in the order of sending, from 1 on
    bool received;
  };
  std::map<std::uint64_t, Told> told;  // by the loan's number
  std::size_t last = 0;                // the place of the last that was received
  std::optional<Status> end;
};

// What one buffer holds at a time.
struct Filling {
  std::uint64_t pool = 0;  // its process
  std::uint32_t length = 0;
  bool withdrawn = false;  // by force: whoever has it may read anything
};

class Loans final : public Book {
 public:
  explicit Loans(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;

  std::vector<std::byte> content(std::uint64_t number) const {
    return numbered(number, fillings[number].length, 991);
  }

  Stage& stage;
  Offers offers;
  std::deque<Shelf> shelves;
  std::deque<Filling> fillings;
};

// --- the receiver

class Shelves final : public LoanReceiver {
 public:
  Shelves(Manager& manager, const Options& options, Stage& stage)
      : LoanReceiver(manager, options), stage_(stage) {}
  ~Shelves() override { retire(); }
  Shelf* shelf = nullptr;

 private:
  bool admit(std::uint64_t) noexcept override {
    if (!stage_.chance().one_in(6)) return true;
    shelf->denied = true;
    return false;
  }
  Stage& stage_;
};

class Borrowing {
 public:
  Borrowing(Loans& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Borrowing() { go(); }
  Borrowing(const Borrowing&) = delete;
  Borrowing& operator=(const Borrowing&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!receiver_) {
      receiver_ = std::make_unique<Shelves>(
          manager_, LoanReceiver::Options{.places = static_cast<std::uint32_t>(chance.between(1, 16))},
          stage_);
    }
    const std::uint64_t dice = chance.below(100);
    if (shelf_ == nullptr || shelf_->end) {
      offer();
    } else if (dice < 1) {
      offer();  // also while a sender is there
    } else if (dice < 60) {
      receive(chance.one_in(2) ? stage_.a_while() : std::chrono::nanoseconds{0});
    } else if (dice < 95) {
      give_back();
    } else if (dice < 96) {
      go();
    }
  }
  // What came in the end is given back, too.
  bool take_all() {
    bool any = false;
    while (receiver_ && shelf_ != nullptr && !shelf_->end && receive(std::chrono::nanoseconds{0})) any = true;
    while (!held_.empty()) give_back();
    return any || (receiver_ && shelf_ != nullptr && shelf_->opened && !shelf_->end);
  }

 private:
  struct Held {
    Borrowed borrowed;
    std::uint64_t number;
    const Shelf* shelf;
    std::unique_ptr<Doing> doing;
  };

  void offer() {
    if (shelf_ != nullptr) shelf_->replaced = true;
    shelf_ = &book_.shelves.emplace_back();
    shelf_->number = book_.shelves.size();
    shelf_->receiver = stage_.me();
    stage_.host.note("offers shelf %", {shelf_->number});
    receiver_->shelf = shelf_;
    book_.offers.add({receiver_->make_seed(), stage_.me(), shelf_});
  }
  bool receive(std::chrono::nanoseconds timeout) {
    Borrowed borrowed;
    const Status status = receiver_->receive(borrowed, timeout);
    if (status == Status::timed_out) return false;
    if (status != Status::ok) return ended(status), false;
    ++stage_.counts.completed;
    ++shelf_->received;
    std::uint64_t number = kUnknown;
    if (borrowed.bytes().size() >= kNumber) std::memcpy(&number, borrowed.bytes().data(), kNumber);
    // One that was taken back by force may hold anything by now.
    if (borrowed.current()) {
      const auto told = shelf_->told.find(number);
      const bool known = told != shelf_->told.end();
      stage_.demand(known, "a loan came that was not lent to this receiver");
      if (!known || !stage_.alive()) return true;
      stage_.demand(!std::exchange(told->second.received, true), "a loan was told twice");
      stage_.demand(told->second.place > shelf_->last, "loans came out of their order");
      shelf_->last = told->second.place;
      stage_.host.note("borrows % of shelf %", {number, shelf_->number});
    } else {
      number = kUnknown;
    }
    held_.push_back({std::move(borrowed), number, shelf_,
                     std::make_unique<Doing>(stage_, OperationKind::loan, shelf_->sender)});
    check(held_.back());
    return true;
  }
  void check(const Held& held) {
    if (held.number == kUnknown) return;
    const Filling& filling = book_.fillings[held.number];
    const bool taken_back = filling.withdrawn || held.shelf->replaced || held.shelf->revoked;
    if ((taken_back || stage_.may_have_gone(filling.pool)) && !held.borrowed.current()) return;
    const std::vector<std::byte> wanted = book_.content(held.number);
    const std::size_t length = std::min(held.borrowed.bytes().size(), wanted.size());
    stage_.demand(same(held.borrowed.bytes().first(length), std::span(wanted).first(length)),
                  "a loan is not what was lent, or was used again");
  }
  void give_back() {
    if (held_.empty()) return;
    const auto which = static_cast<std::ptrdiff_t>(stage_.chance().below(held_.size()));
    check(held_[static_cast<std::size_t>(which)]);
    stage_.host.note("gives back %", {held_[static_cast<std::size_t>(which)].number});
    held_.erase(held_.begin() + which);
  }
  void ended(Status how) {
    if (shelf_->end || !stage_.alive()) return;
    shelf_->end = how;
    stage_.host.note("is told the end of shelf %: %", {shelf_->number, static_cast<std::uint64_t>(how)});
    if (how == Status::closed) {
      stage_.demand(shelf_->let_go || shelf_->revoked || shelf_->tries != 0, "loans were closed by nobody");
      const bool lost = shelf_->sender != 0 && stage_.may_be_lost(shelf_->sender, stage_.me());
      if (!lost) stage_.demand(shelf_->received == shelf_->sent, "loans are lost");
    } else {
      stage_.demand(how == Status::link_ended, "loans have ended as they cannot", how);
      stage_.demand(shelf_->sender == 0 || stage_.may_have_gone(shelf_->sender), "a link ended for nothing");
    }
  }
  void go() {
    if (shelf_ != nullptr && !stage_.ending) shelf_->replaced = true;
    shelf_ = nullptr;
    receiver_.reset();
    for (const Held& each : held_) check(each);  // still readable
    held_.clear();
  }

  Loans& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<Shelves> receiver_;
  Shelf* shelf_ = nullptr;
  std::deque<Held> held_;
};

// --- the pool

class Lending {
 public:
  Lending(Loans& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Lending() { go(); }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!pool_) make();
    const std::uint64_t dice = chance.below(100);
    if (senders_.empty() || dice < 6) {
      if (senders_.size() < 3) grow();
    } else if (dice < 30) {
      take();
    } else if (dice < 75) {
      send();
    } else if (dice < 92) {
      let_go_of_one();
    } else if (dice < 94) {
      withdraw();
    } else if (dice < 96) {
      drop(chance.below(senders_.size()));
    } else if (dice < 97) {
      revoke();
    }
  }
  void finish() {
    loans_.clear();
    while (!senders_.empty()) drop(0);
  }
  // Those who have something of it give it back, or are dead.
  bool all_is_back() {
    if (!pool_) return true;
    manager_.poll();
    return pool_->free_buffers() == buffers_;
  }

 private:
  struct Sender {
    Sender(LoanPool& pool, const Seed& seed, const LoanSender::Options& options, Shelf& to, Stage& stage)
        : sends(stage), sender(pool, seed, options), shelf(to) {}
    Sends sends;
    LoanSender sender;
    Shelf& shelf;
  };
  struct Lent {
    Loan loan;
    std::uint64_t number;
    std::vector<Shelf*> told;
  };

  void make() {
    sim::Generator& chance = stage_.chance();
    const std::vector<LoanClass> classes = {{256, static_cast<std::uint32_t>(chance.between(1, 6))},
                                            {5000, static_cast<std::uint32_t>(chance.between(1, 4))}};
    buffers_ = classes[0].count + classes[1].count;
    pool_ = std::make_unique<LoanPool>(manager_, classes);
  }
  void grow() {
    const Offer* const offer = book_.offers.any(stage_);
    if (offer == nullptr) return;
    Shelf& shelf = *static_cast<Shelf*>(offer->about);
    const Seed seed = offer->seed;
    ++shelf.tries;
    LoanSender::Options options;
    options.most = static_cast<std::uint32_t>(stage_.chance().between(1, 8));
    options.timeout = std::chrono::nanoseconds{stage_.chance().below(5'000'000)};
    std::unique_ptr<Sender> sender;
    const Sends sends(stage_);
    try {
      const Doing doing(stage_, OperationKind::loan_opening, shelf.receiver);
      sender = std::make_unique<Sender>(*pool_, seed, options, shelf, stage_);
    } catch (const Error& error) {
      return not_grown(shelf, error.code());
    }
    stage_.demand(!std::exchange(shelf.opened, true), "two senders of loans grew from one seed");
    shelf.sender = stage_.me();
    stage_.host.note("lends to shelf %", {shelf.number});
    senders_.push_back(std::move(sender));
  }
  void not_grown(const Shelf& shelf, ErrorCode code) {
    stage_.host.note("cannot lend to shelf %: %", {shelf.number, static_cast<std::uint64_t>(code)});
    const bool gone = shelf.replaced || stage_.may_have_gone(shelf.receiver);
    switch (code) {
      case ErrorCode::timed_out:
        return;
      case ErrorCode::seed_used:
        return stage_.demand(shelf.tries > 1 || gone, "a seed is used that nobody used");
      case ErrorCode::peer_died:
      case ErrorCode::quota_links:
      case ErrorCode::seed_stale:
      case ErrorCode::seed_forged:
        return stage_.demand(gone, "a receiver of loans refused", code);
      case ErrorCode::peer_refused:
        return stage_.demand(shelf.denied || gone, "a receiver of loans refused", code);
      default:
        stage_.demand(false, "loans cannot be sent", code);
    }
  }
  void take() {
    sim::Generator& chance = stage_.chance();
    Loan loan;
    const std::size_t bytes = chance.between(kNumber, chance.one_in(2) ? 256 : 5000);
    const Status status =
        chance.one_in(2) ? pool_->take(bytes, loan) : pool_->take(bytes, loan, stage_.a_while());
    if (status != Status::ok)
      return stage_.demand(status == Status::no_buffer || status == Status::timed_out, "no buffer", status);
    const std::uint64_t number = book_.fillings.size();
    book_.fillings.push_back({stage_.me(), static_cast<std::uint32_t>(bytes), false});
    const std::vector<std::byte> content = book_.content(number);
    std::ranges::copy(content, loan.bytes().begin());
    loans_.push_back({std::move(loan), number, {}});
  }
  void send() {
    if (loans_.empty()) return;
    sim::Generator& chance = stage_.chance();
    Lent& lent = loans_[chance.below(loans_.size())];
    Sender& to = *senders_[chance.below(senders_.size())];
    if (std::ranges::find(lent.told, &to.shelf) != lent.told.end()) {
      const Status again = to.sender.send(lent.loan);
      return stage_.demand(again != Status::ok, "a loan was lent to one receiver twice", again);
    }
    const std::size_t length = chance.between(kNumber, lent.loan.bytes().size());
    ++stage_.counts.operations;
    // It may be received before this returns.
    to.shelf.told.emplace(lent.number, Shelf::Told{++to.shelf.sent, false});
    const Status status = chance.one_in(2) ? to.sender.send(lent.loan, length)
                                           : to.sender.send(lent.loan, length, stage_.a_while());
    if (status == Status::ok) {
      stage_.host.note("lends % to shelf %", {lent.number, to.shelf.number});
      return lent.told.push_back(&to.shelf);
    }
    to.shelf.told.erase(lent.number);
    --to.shelf.sent;
    ++stage_.counts.failed;
    stage_.met(OperationKind::loan, status);
    const bool closed = to.shelf.replaced || to.shelf.revoked || to.shelf.let_go;
    const bool gone = closed || stage_.may_have_gone(to.shelf.receiver);
    const bool later = status == Status::no_buffer || status == Status::no_place ||
                       status == Status::queue_full || status == Status::timed_out;
    stage_.demand(later || (closed && status == Status::closed) || (gone && status == Status::link_ended),
                  "a loan was answered as it cannot be", status);
    if (!later) std::erase_if(senders_, [&](const auto& each) { return each.get() == &to; });
  }
  void let_go_of_one() {
    if (loans_.empty()) return;
    loans_.erase(loans_.begin() + static_cast<std::ptrdiff_t>(stage_.chance().below(loans_.size())));
  }
  // By force. What it held is in it still, under another number.
  void withdraw() {
    if (loans_.empty()) return;
    Lent& lent = loans_[stage_.chance().below(loans_.size())];
    book_.fillings[lent.number].withdrawn = true;
    lent.loan.withdraw();
    for (Shelf* const each : lent.told) each->told.erase(lent.number);
    stage_.demand(lent.loan.holders() == 0, "a loan that was withdrawn is held");
    loans_.erase(loans_.begin() + (&lent - loans_.data()));
  }
  void revoke() {
    for (Lent& each : loans_) book_.fillings[each.number].withdrawn = true;
    for (const auto& each : senders_) each->shelf.revoked = true;
    for (Filling& each : book_.fillings) each.withdrawn |= each.pool == stage_.me();
    pool_->revoke();
    loans_.clear();
    while (!senders_.empty()) drop(0);
  }
  void drop(std::size_t which) {
    senders_[which]->shelf.let_go = true;
    stage_.host.note("drops shelf %", {senders_[which]->shelf.number});
    senders_.erase(senders_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  void go() {
    loans_.clear();
    while (!senders_.empty()) drop(0);
    pool_.reset();
  }

  Loans& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<LoanPool> pool_;
  std::uint32_t buffers_ = 0;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<Lent> loans_;
};

class LoanPart final : public Part {
 public:
  LoanPart(Loans& book, Manager& manager)
      : stage_(book.stage), lending_(book, manager), borrowing_{{book, manager}, {book, manager}} {}
  void act() override {
    sim::Generator& chance = stage_.chance();
    if (chance.one_in(2)) {
      borrowing_[chance.below(2)].act();
    } else {
      lending_.act();
    }
  }
  bool stop_sending() override {
    lending_.finish();
    return false;
  }
  bool take_all() override {
    bool more = !lending_.all_is_back();
    for (Borrowing& each : borrowing_) more |= each.take_all();
    return more;
  }

 private:
  Stage& stage_;
  Lending lending_;
  Borrowing borrowing_[2];
};

std::unique_ptr<Part> Loans::come(Manager& manager) { return std::make_unique<LoanPart>(*this, manager); }

void Loans::check() {
  for (const Shelf& shelf : shelves) {
    const bool lived = stage.host.inhabitant(shelf.receiver).alive;
    if (!shelf.opened || !lived || shelf.replaced) continue;
    stage.host.demand(shelf.end.has_value(), "a receiver of loans was never told of their end");
  }
}

}  // namespace

std::unique_ptr<Book> make_loans(Stage& stage) { return std::make_unique<Loans>(stage); }

}  // namespace hamlyn::simulation
