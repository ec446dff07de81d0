#pragma once
// Lanes of one process (vi/lane.h), and what is heard by them.
//
// One thread calls. What it polls it handles before it polls again.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/namespaces.h"
#include "vi/lane_nic.h"

namespace hamlyn::internal_::vi {

class Lanes {
 public:
  // `places`: of the queue of notifications. Throws Error, std::bad_alloc.
  Lanes(Interface& interface, std::size_t places) : nic_(interface, places) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Where other NICs say that they want to be connected.
  Ticket door() const { return nic_.door(); }

  // Makes a lane, which goes before this object does, by `forget` first. Throws Error, std::bad_alloc.
  std::unique_ptr<Lane> make(void* owner, const LaneSize& size) {
    nic_.make_room_for(size);
    auto out = std::make_unique<Lane>(nic_.roots(), owner, 0, size);
    nic_.know(out->in(), *out);
    return out;
  }
  void forget(const Lane& lane) noexcept { nic_.forget(lane); }

  struct Event {
    enum class Kind : std::uint8_t { nothing, message, ended };
    Kind kind = Kind::nothing;
    Lane* lane = nullptr;
    const Descriptor* receive = nullptr;  // of a message
  };
  // Runs the interface if nothing stands here. False: nothing has come.
  bool poll(Event& next) noexcept {
    nic_.begin_look();
    next = {};
    if (!nic_.stands()) {
      Notification heard;
      if (nic_.queue().poll_posted(heard) != 0) {
        const Taken taken = nic_.hear(heard);
        if (taken.result == Result::success) next = event_of(taken);
        return true;
      }
      nic_.rest();
    }
    Taken taken;
    if (!nic_.take_standing(taken)) return false;
    next = event_of(taken);
    return true;
  }
  // Something was sent, whose answer is not expected at the next look.
  void note_sent() noexcept { nic_.note_sent(); }
  // The receive of a message that was handled is posted anew: several at once, or behind what was sent.
  void free_later(const Lane& lane, std::uint32_t place) noexcept { nic_.post_later(lane, place); }
  // Broken off here, which nothing else tells of: whoever waits looks again.
  void lose(const Lane& lane) noexcept { nic_.lose(lane); }
  // Takes the sends that are over.
  void reap() noexcept { nic_.reap(); }
  // Lets leave what is to be said to other NICs. True: something has not left.
  bool step() noexcept {
    nic_.step();
    return nic_.machine().restless();
  }

  // So many lanes of that size have their completions stand in the queues at once.
  static constexpr std::uint32_t most(const LaneSize& lane) noexcept {
    return kMostQueueEntries / std::max(lane.receives, lane.sends);
  }

 private:
  Event event_of(const Taken& taken) const noexcept {
    Lane* const lane = nic_.lane_of(taken.vi);
    if (lane == nullptr) return {};
    if (taken.result == Result::success) return {Event::Kind::message, lane, taken.descriptor};
    return {taken.result == Result::not_reachable ? Event::Kind::ended : Event::Kind::nothing, lane};
  }

  LaneNic nic_;
};

}  // namespace hamlyn::internal_::vi
