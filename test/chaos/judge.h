#pragma once
// Conservation. When an account is over, because its sender has closed it or was killed, each letter of it is
// looked at: what was accepted has come once, what was refused has not, and what nobody can know is counted
// as that. Then the account is free again, after a time in which what was on its way may still come.
#include <array>
#include <cstdint>
#include <functional>

#include "test/chaos/ledger.h"

namespace hamlyn::chaos {

class Judge {
 public:
  explicit Judge(Ledger& ledger) : ledger_(ledger) {}

  // Once per tick of `passed` ms of the driver's own time. `held`: whether who sits there was stopped, or
  // killed and is not yet gone.
  void look(std::uint32_t passed, const std::function<bool(std::uint32_t)>& held);
  // Somebody has hurt who sits there; or everybody. `for_long`: by a stop that a link may not survive.
  void hurt(std::uint32_t seat, bool for_long = false) noexcept;
  void hurt_all(bool for_long) noexcept;
  // No account is open.
  bool all_over() const noexcept;
  // Letters that have come of all accounts of who sat there.
  std::uint64_t came(std::uint32_t seat) const noexcept { return came_[seat]; }

 private:
  enum class State : std::uint8_t { open, judged };
  struct Case {
    State state = State::open;
    std::uint32_t waited = 0;  // ms since it was over, or judged
  };

  bool sender_gone(const Account& account) const noexcept;
  bool receiver_gone(const Account& account) const noexcept;
  std::uint32_t patience_with(const Account& account) const noexcept;  // ms
  bool ended_by_nobody(const Account& account) const noexcept;
  bool complete(const Account& account) const noexcept;
  void judge(Account& account);
  void free(Account& account) noexcept;

  Ledger& ledger_;
  std::array<Case, kAccounts> cases_{};
  std::array<std::uint64_t, kSeats> came_{};
};

}  // namespace hamlyn::chaos
