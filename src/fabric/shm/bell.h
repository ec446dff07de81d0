#pragma once
// Watch and doorbell (design, section 7): a sender rings only when the receiver sleeps, and only once per
// sleep. Checked by test/model/ and, over every order of the machine's stores, by the explorer in
// test/memory/.
//
//   sender:   publish; fence; w = watch; if w != 0 and w != last: last = w; ring
//   sleeper:  v = doorbell; watch = ++epoch; fence; look everywhere; nothing? sleep while doorbell == v;
//   watch = 0
#include <cstdint>

#include "base/memory.h"

namespace hamlyn::shm {

inline constexpr std::uint32_t kWantsRoom = 1;  // in a watch word: wakes for room, too

template <class Memory = base::RealMemory>
class Bell {
 public:
  // `watch`: the peer's word; `doorbell`: our own, which is 0, and is only ever written here.
  void reset(const std::uint32_t* watch, std::uint32_t* doorbell) noexcept {
    watch_ = watch;
    doorbell_ = doorbell;
    rung_ = 0;
  }

  // To be called after something was published. True: wake whoever sleeps on the doorbell.
  bool must_ring(bool only_room = false) noexcept {
    Memory::fence();  // pairs with Sleeper::armed: one of the two sees the other
    const std::uint32_t watch = Memory::load_relaxed(*watch_);
    if (watch == 0 || watch == last_) [[likely]]
      return false;
    if (only_room && (watch & kWantsRoom) == 0) return false;
    last_ = watch;
    // Read in Sleeper::arm, before the fence there: whoever takes the new value for the old one is behind our
    // fence, and sees what was published.
    Memory::store_relaxed(*doorbell_, ++rung_);
    return true;
  }

 private:
  const std::uint32_t* watch_ = nullptr;
  std::uint32_t* doorbell_ = nullptr;
  std::uint32_t last_ = 0;
  std::uint32_t rung_ = 0;  // what the doorbell says
};

// One link's part of falling asleep.
template <class Memory = base::RealMemory>
struct Sleeper {
  // Then: armed(), a look at every link, and a sleep on the doorbell with the value returned.
  static std::uint32_t arm(const std::uint32_t& doorbell, std::uint32_t& watch,
                           std::uint32_t epoch) noexcept {
    const std::uint32_t value = Memory::load_relaxed(doorbell);  // written in must_ring
    Memory::store_relaxed(watch, epoch);                         // read in must_ring, behind both fences
    return value;
  }
  // Behind the last arm.
  static void armed() noexcept { Memory::fence(); }  // pairs with Bell::must_ring: one of us sees the other
  static void disarm(std::uint32_t& watch) noexcept { Memory::store_relaxed(watch, std::uint32_t{0}); }
};

}  // namespace hamlyn::shm
