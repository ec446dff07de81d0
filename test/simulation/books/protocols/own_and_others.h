#pragma once
// What a process does that has something for others, and uses what somebody else has.
#include <optional>

#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

template <class Its, class Owner, class User>
class OwnAndOthers final : public Part {
 public:
  OwnAndOthers(Its& book, Manager& manager)
      : book_(book), stage_(book.stage), manager_(manager), owner_(book, manager) {}

  void act() override {
    if (stage_.chance().one_in(3)) return owner_.act();
    if (!user_) user_.emplace(book_, manager_);
    user_->act();
  }
  bool stop_sending() override {
    user_.reset();
    return false;
  }
  bool take_all() override { return owner_.take(); }

 private:
  Its& book_;
  Stage& stage_;
  Manager& manager_;
  Owner owner_;
  std::optional<User> user_;
};

}  // namespace hamlyn::simulation
