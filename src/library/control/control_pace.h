#pragma once
// How much the control thread does for other users at a time: so many events in a millisecond, half of them
// for one user. What is over waits in its socket; the process's own user and its threads do not wait.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class ControlPace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds kWindow{1};
  static constexpr unsigned kOfAll = 16;  // events: a link's socket that is read, or its end
  static constexpr unsigned kOfUser = 8;
  static constexpr unsigned kIntroduction = 2;  // counts as so many

  explicit ControlPace(std::uint32_t own) noexcept : own_(own) {}

  // Whether an event of that user is to be served now. False: it was put off.
  bool may(std::uint32_t uid, Time now) noexcept {
    if (uid == own_ || uid == 0) return true;
    begin(now);
    const bool room = sum_ < kOfAll && of(uid) < kOfUser;
    put_off_ |= !room;
    return room;
  }
  // Whether something of anybody may be.
  bool may(Time now) noexcept {
    begin(now);
    put_off_ |= sum_ >= kOfAll;
    return sum_ < kOfAll;
  }
  void spend(std::uint32_t uid, unsigned events) noexcept {
    if (uid == own_ || uid == 0) return;
    sum_ += events;
    of(uid) += events;
  }
  // How long what was put off has to wait; nothing was: 0.
  std::chrono::nanoseconds wait(Time now) const noexcept {
    const Time until = since_ + kWindow;
    return put_off_ && until > now ? until - now : std::chrono::nanoseconds{0};
  }

 private:
  struct User {
    std::uint32_t uid = 0;
    unsigned events = 0;
  };

  void begin(Time now) noexcept {
    if (now - since_ < kWindow) return;
    since_ = now;
    sum_ = 0;
    put_off_ = false;
    users_ = {};
  }
  // There is a row for each that an event was served of.
  unsigned& of(std::uint32_t uid) noexcept {
    std::size_t row = 0;
    while (row + 1 < users_.size() && users_[row].events != 0 && users_[row].uid != uid) ++row;
    users_[row].uid = uid;
    return users_[row].events;
  }

  const std::uint32_t own_;
  Time since_{};
  unsigned sum_ = 0;
  bool put_off_ = false;
  std::array<User, kOfAll + kIntroduction> users_{};
};

}  // namespace hamlyn::internal_::library
