#include "test/chaos/courier.h"

#include <fmt/core.h>

namespace hamlyn::chaos {

using namespace std::chrono_literals;

Answer Courier::answer_of(Status status, Answer done) noexcept {
  stage_.ledger().seats[stage_.seat()].last.store(status);
  switch (status) {
    case Status::ok:
      return done;
    case Status::queue_full:
    case Status::no_place:
    case Status::not_ready:
    case Status::no_buffer:
      return Answer::not_taken;
    case Status::refused:
      return Answer::refused;
    case Status::timed_out:
      return Answer::unknown;
    default:  // also `connecting`: there was a link
      return Answer::ended;
  }
}

Ticket Courier::partners_ticket(std::uint32_t seat) {
  while (true) {
    try {
      return interface_.lookup(Stage::name_of(seat), kStep);
    } catch (const Error& error) {
      const bool not_yet = error.code() == ErrorCode::timed_out || error.code() == ErrorCode::name_unknown;
      if (!not_yet || stage_.resting()) throw;
    }
  }
}

void Courier::connect(Terminus& terminus, const Ticket& ticket) {
  const Status status = terminus.connect(ticket, 10s);
  if (status != Status::ok) throw Error(ErrorCode::peer_died, name(status));
}

int Courier::run() {
  bool opened = false;
  std::uint64_t peer = 0;
  while (!stage_.leaving()) {
    if (stage_.resting()) {
      stage_.rest();
      continue;
    }
    try {
      if (!opened) peer = open();
      opened = true;
    } catch (const Error& error) {
      ++stage_.ledger().errors[static_cast<std::size_t>(error.code())];
      shut();
      stage_.breathe();
      continue;
    }
    Book book(stage_.ledger(), stage_.seat(), partner(), peer);
    if (book.full()) {  // the receiver that was found is not there any more, or all accounts are in use
      stage_.breathe();
      shut();
      opened = false;
    } else if (const End end = fill(book); end != End::none) {
      if (end == End::told) book.close(Closed::by_end);
      shut();
      opened = false;
    }
  }
  shut();
  return 0;
}

// Until the account is full, or the way has ended.
Courier::End Courier::fill(Book& book) {
  gathered_.clear();
  while (!book.full() && !stage_.resting()) {
    for (std::uint64_t burst = stage_.chance(1, 32); burst != 0 && !book.full(); --burst) {
      if (const End end = send_one(book); end != End::none) return end;
    }
    if (stage_.chance(4) == 0 && settle(book) != End::none) return End::told;
    stage_.breathe();
  }
  return settle(book);
}

Courier::End Courier::send_one(Book& book) {
  const std::uint32_t number = book.next();
  letter_.resize(stage_.some_length(longest()));
  write_letter(letter_, book.letter(letter_.size()));
  book.about_to_send();
  Answer answer = Answer::not_taken;
  while (answer == Answer::not_taken && !stage_.leaving()) {
    answer = post(letter_, book.account());
    if (answer == Answer::not_taken) stage_.breathe();
  }
  switch (answer) {
    case Answer::accepted:
      if (gathers()) gathered_.push_back(number);
      book.go_on(gathers() ? Said::tried : Said::accepted);
      return End::none;
    case Answer::delivered:
      book.go_on(Said::delivered);
      return End::none;
    case Answer::refused:
      book.go_on(Said::refused);
      return End::none;
    case Answer::stale:
      book.go_on(Said::refused);
      return End::stale;
    case Answer::unknown:
    case Answer::not_taken:
      book.go_on(Said::tried);
      return End::none;
    case Answer::ended:
      break;
  }
  return End::told;
}

Courier::End Courier::settle(Book& book) {
  const Answer answer = flush();
  if (answer == Answer::ended) return End::told;
  if (answer != Answer::accepted && answer != Answer::delivered) return End::none;
  const Said said = answer == Answer::accepted ? Said::accepted : Said::delivered;
  for (const std::uint32_t number : gathered_) book.say(number, said);
  gathered_.clear();
  return End::none;
}

}  // namespace hamlyn::chaos
