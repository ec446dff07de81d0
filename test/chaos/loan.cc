// Loans: letters that are read where their sender wrote them, and given back late.
#include <cstring>
#include <deque>
#include <optional>

#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

class LoanCourier final : public Courier {
 public:
  LoanCourier(Stage& stage, Manager& manager)
      : Courier(stage, manager.interface()), pool_(manager, {{4096, 8}, {kLongestLetter, 4}}) {}

 private:
  std::uint64_t open() override {
    const Seed seed{partners_ticket(partner())};
    sender_.emplace(pool_, seed);
    return seed.ticket.interface;
  }
  void shut() noexcept override { sender_.reset(); }
  std::size_t longest() const noexcept override { return kLongestLetter; }

  Answer post(std::span<std::byte> letter, std::uint32_t) override {
    Loan loan;
    const Status taken = pool_.take(letter.size(), loan, kStep);
    if (sender_->end() != Status::ok) return Answer::ended;
    if (taken == Status::timed_out) return Answer::not_taken;
    if (taken != Status::ok) return answer_of(taken, Answer::accepted);
    std::memcpy(loan.bytes().data(), letter.data(), letter.size());
    const Status status = sender_->send(loan, letter.size(), kStep);
    return status == Status::timed_out ? Answer::not_taken : answer_of(status, Answer::accepted);
  }

  LoanPool pool_;
  std::optional<LoanSender> sender_;
};

class Shelf {
 public:
  Shelf(Stage& stage, Manager& manager) : stage_(stage), manager_(manager), receiver_(manager) {}

  bool publish() { return change_door(stage_, manager_, receiver_.make_seed()); }

  // False: the sender has gone.
  bool take() {
    Borrowed borrowed;
    const Status status = receiver_.receive(borrowed, kStep / 10);
    if (status == Status::ok) {
      stage_.ledger().receive(stage_.seat(), borrowed.bytes(), false);
      held_.push_back(std::move(borrowed));
    }
    while (held_.size() > stage_.chance(4)) held_.pop_front();
    if (status == Status::ok || status == Status::timed_out) return true;
    if (status != Status::closed && status != Status::link_ended)
      stage_.fault(std::string("loans end as ") + name(status));
    return false;
  }

 private:
  Stage& stage_;
  Manager& manager_;
  LoanReceiver receiver_;
  std::deque<Borrowed> held_;
};

}  // namespace

int lend(Stage& stage) {
  Manager manager(stage.manager_options());
  stage.enter(manager.interface());
  return LoanCourier(stage, manager).run();
}

int borrow(Stage& stage) {
  Manager manager(stage.manager_options());
  Sandbox sandbox(stage, manager.interface());
  Shelf shelf(stage, manager);
  stage.enter(manager.interface());
  bool published = shelf.publish();
  while (published && !stage.leaving()) {
    if (!shelf.take()) published = shelf.publish();
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
