#pragma once
// What a receiver gives to those who scribble: slots in memory that nobody else uses, so that all that they
// may do with a good ticket hurts no letter.
#include "test/chaos/stage.h"

namespace hamlyn::chaos {

class Sandbox {
 public:
  static constexpr std::uint32_t kEntries = 4;

  Sandbox(Stage& stage, Interface& interface);

  // Takes what has come, and arms what was filled. Whenever the receiver has a moment.
  void rake() noexcept;

 private:
  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
};

}  // namespace hamlyn::chaos
