#include "test/chaos/judge.h"

#include <fmt/core.h>

namespace hamlyn::chaos {
namespace {

constexpr std::uint32_t kPatience = 30'000;   // ms for what was accepted to come
constexpr std::uint32_t kStalled = 5'000;     // the same, if its link may have ended
constexpr std::uint32_t kGrace = 2'000;       // ms for the driver to find whose end it was
constexpr std::uint32_t kQuarantine = 3'000;  // ms for what was tried

std::uint32_t seat_of(std::uint64_t sender) { return static_cast<std::uint32_t>((sender >> 32) - 1); }

void mark(Account& account, bool for_long) noexcept {
  account.untouched = false;
  if (for_long) account.stalled = true;
}

bool promised(Said said) { return said == Said::accepted || said == Said::delivered; }

}  // namespace

void Judge::look(std::uint32_t passed, const std::function<bool(std::uint32_t)>& held) {
  for (std::uint32_t i = 0; i < kAccounts; ++i) {
    Account& account = ledger_.accounts[i];
    Case& its = cases_[i];
    if (account.sender == 0) continue;
    if (its.state == State::open) {
      const bool over = sender_gone(account) || account.closed != Closed::not_yet;
      if (!over) continue;
      if (!account.open) {  // its sender was killed while it opened it
        free(account);
        continue;
      }
      if (held(account.to) || held(seat_of(account.sender))) account.untouched = false;
      if (!receiver_gone(account)) {
        if (!held(account.to)) its.waited += passed;
        if (its.waited < patience_with(account)) continue;
      }
      judge(account);
      its = {State::judged, 0};
    } else {
      if (!held(account.to)) its.waited += passed;
      if (its.waited < kQuarantine) continue;
      free(account);
      its = {};
    }
  }
}

bool Judge::sender_gone(const Account& account) const noexcept {
  const std::uint64_t sender = account.sender;
  return ledger_.seats[seat_of(sender)].life != static_cast<std::uint32_t>(sender);
}

bool Judge::receiver_gone(const Account& account) const noexcept {
  return ledger_.seats[account.to].life != account.to_life;
}

std::uint32_t Judge::patience_with(const Account& account) const noexcept {
  if (!complete(account)) return account.stalled ? kStalled : kPatience;
  return ended_by_nobody(account) ? kGrace : 0;
}

bool Judge::ended_by_nobody(const Account& account) const noexcept {
  return account.closed == Closed::by_end && account.untouched;
}

bool Judge::complete(const Account& account) const noexcept {
  for (std::uint32_t i = 0; i < kLetters; ++i) {
    if (promised(account.said[i]) && account.times[i] == 0) return false;
  }
  return true;
}

void Judge::judge(Account& account) {
  Tally& tally = ledger_.tally;
  const bool told = account.closed == Closed::by_end;
  const bool no_receiver = receiver_gone(account);
  const std::uint32_t from = seat_of(account.sender);
  const auto wrong = [&](const char* what, std::uint32_t number) {
    ledger_.fault(fmt::format("{} from seat {} ({}) to seat {}: account {} serial {} number {}", what, from,
                              ledger_.seats[from].role.data(), account.to.load(),
                              &account - ledger_.accounts.data(), account.serial.load(), number));
  };
  if (ended_by_nobody(account) && !no_receiver)
    wrong(fmt::format("a way ended though nobody was hurt ({}),", name(ledger_.seats[from].last)).c_str(), 0);
  if (told) ++tally.ends;
  for (std::uint32_t i = 0; i < kLetters; ++i) {
    const Said said = account.said[i];
    const bool came = account.times[i] != 0;
    if (came) ++tally.received, ++came_[from];
    if (promised(said)) ++tally.letters;
    if (said == Said::delivered) ++tally.delivered;
    if (said == Said::tried) ++tally.unknown;
    if (said == Said::refused) ++tally.refused;
    if (said == Said::refused && came) wrong("a letter came though it was refused,", i);
    if (!promised(said) || came) continue;
    // The sender may be told of the end only when it sends the next, in another account.
    if (no_receiver || ((told || account.stalled) && said == Said::accepted)) {
      ++tally.excused;
    } else {
      wrong(fmt::format("a letter is lost ({}{}),",
                        told ? "its sender was told of an end" : "of no end was told",
                        account.untouched ? ", nobody was hurt" : "")
                .c_str(),
            i);
      break;
    }
  }
}

void Judge::free(Account& account) noexcept {
  account.serial = ++ledger_.serials;  // what comes of it from here on is late
  account.open = false;
  account.closed = Closed::not_yet;
  account.next = 0;
  for (auto& said : account.said) said = Said::nothing;
  for (auto& times : account.times) times = 0;
  account.sender = 0;
}

void Judge::hurt(std::uint32_t seat, bool for_long) noexcept {
  for (Account& account : ledger_.accounts) {
    const std::uint64_t sender = account.sender;
    if (sender != 0 && (seat_of(sender) == seat || account.to == seat)) mark(account, for_long);
  }
}

void Judge::hurt_all(bool for_long) noexcept {
  for (Account& account : ledger_.accounts) mark(account, for_long);
}

bool Judge::all_over() const noexcept {
  for (std::uint32_t i = 0; i < kAccounts; ++i) {
    if (ledger_.accounts[i].sender != 0 && cases_[i].state == State::open) return false;
  }
  return true;
}

}  // namespace hamlyn::chaos
