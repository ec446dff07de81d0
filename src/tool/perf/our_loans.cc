// Loans, as programs use them: through a manager each, polled.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"
#include "tool/perf/touch.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

using namespace std::chrono_literals;

constexpr PartyOptions kParty{.bytes = 64, .entries = 1};

// One side of an exchange of loans. Each has the next one in its hands before it needs it.
class LoanEnds {
 public:
  LoanEnds(Party& party, Room&, std::size_t bytes)
      : bytes_(bytes), pool_(manager_, {{bytes, 64}}), receiver_(manager_) {
    const Seed own = receiver_.make_seed(), theirs = exchange(party, own);
    // One after the other, as whoever opens waits for who looks.
    const bool first = own.ticket.interface < theirs.ticket.interface;
    if (first) sender_.emplace(pool_, theirs);
    while (receiver_.sender() == 0 && !early_) early_ = receiver_.receive(borrowed_, 0ns) == Status::ok;
    if (!first) sender_.emplace(pool_, theirs);
    take();
  }
  void send(std::uint64_t) {
    while (sender_->send(loan_) != Status::ok) expect(sender_->end() == Status::ok, "a loan was not sent");
    take();
  }
  // Nobody looks at the data: what is measured is that it could be read.
  void receive(std::uint64_t) {
    if (std::exchange(early_, false)) return;
    Status status;
    do {
      status = receiver_.receive(borrowed_, 0ns);
    } while (status == Status::timed_out);
    expect(status == Status::ok && borrowed_.bytes().size() == bytes_, "a loan was not received");
  }
  void finish() {}

 private:
  void take() { expect(pool_.take(bytes_, loan_) == Status::ok, "loans do not come back"); }

  const std::size_t bytes_;
  Manager manager_;
  LoanPool pool_;
  LoanReceiver receiver_;
  std::optional<LoanSender> sender_;
  Loan loan_;
  Borrowed borrowed_;
  bool early_ = false;  // what it has came with the opening
};

void lend_all(Party& party, std::size_t bytes) {
  Manager manager;
  LoanPool pool{manager, {{bytes, kWindow}}};
  LoanSender sender{pool, {party.take_tickets(1).front()}};
  Loan loan;
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    while (pool.take(bytes, loan) != Status::ok) {
      expect(sender.end() == Status::ok, "the receiver of loans has gone");
      hamlyn_rest(1);
    }
    hamlyn_fill(loan.bytes().data(), bytes, i);
    expect(sender.send(loan, bytes, 10s) == Status::ok, "a loan was not sent");
  }
  loan.let_go();
  while (sender.held() != 0 && sender.end() == Status::ok) hamlyn_rest(1);
}

void borrow_all(Party& party, Room& room, std::size_t bytes) {
  Manager manager;
  LoanReceiver receiver{manager};
  const Ticket seed = receiver.make_seed().ticket;
  party.hand_over(std::span{&seed, 1});
  std::uint64_t start = 0;
  {
    Borrowed borrowed;
    for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
      if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
      Status status;
      do {
        status = receiver.receive(borrowed, 0ns);
      } while (status == Status::timed_out);
      expect(status == Status::ok, "the sender of loans has gone");
      expect(hamlyn_read_all(borrowed.bytes().data(), bytes) == hamlyn_filled_sum(bytes, i),
             "a loan was read that is not the one lent");
    }
  }
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
  Borrowed none;
  expect(receiver.receive(none, 10s) == Status::closed, "loans have not ended");
}

}  // namespace

Meter loan_latency(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) { return to_and_fro<LoanEnds>(cores, {}, kParty, bytes); };
  return {.name = "shm.loan." + std::to_string(bytes) + ".oneway", .round = round, .single_operations = true};
}

Meter touched_loan_bandwidth(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_parties(
        cores, 1, kParty, [bytes](Party& party, Room&) { lend_all(party, bytes); }, kParty,
        [bytes](Party& party, Room& room) { borrow_all(party, room, bytes); });
  };
  return {.name = "shm.loan.touched." + std::to_string(bytes) + ".bandwidth", .round = round};
}

}  // namespace hamlyn::tool::perf
