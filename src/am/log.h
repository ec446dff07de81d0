#pragma once
// Logs of what a side has sent and the other has not said to be over, oldest first: messages, with the room
// that they take, until they are done; and requests, with all that is to be said if they come back, until
// their credits are back.
#include <array>
#include <cstdint>
#include <vector>

#include "am/am_wire.h"
#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::am {

// Numbered from 0 on; a row in a circle that grows.
template <class Record>
class Log {
 public:
  // Number of the next one, and of the oldest that is not over.
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t over() const noexcept { return over_; }
  std::uint32_t outstanding() const noexcept { return static_cast<std::uint32_t>(posted_ - over_); }

  // False: there are as many as there may be. Throws std::bad_alloc.
  bool make_room() {
    if (outstanding() < places_.size()) [[likely]]
      return true;
    if (places_.size() >= kMostOutstanding) return false;
    std::vector<Record> more(places_.empty() ? 8 : places_.size() * 2);
    for (std::uint64_t number = over_; number != posted_; ++number)
      more[number & (more.size() - 1)] = places_[number & (places_.size() - 1)];
    places_.swap(more);
    return true;
  }
  // The next one's record, when there is room.
  Record& next() noexcept {
    HAMLYN_ASSERT(outstanding() < places_.size(), "room was made for it");
    return places_[posted_ & (places_.size() - 1)];
  }
  void post() noexcept { ++posted_; }
  const Record& oldest() const noexcept { return places_[over_ & (places_.size() - 1)]; }
  // One that is over: good until the next is posted.
  const Record& over(std::uint64_t number) const noexcept {
    HAMLYN_ASSERT(number < over_, "it is over");
    return places_[number & (places_.size() - 1)];
  }
  void drop_oldest() noexcept {
    HAMLYN_ASSERT(outstanding() != 0, "only what was posted is over");
    ++over_;
  }

 private:
  std::vector<Record> places_;
  std::uint64_t posted_ = 0, over_ = 0;
};

// A message.
struct Record {
  std::uint32_t taken = 0;  // of the way's room
  std::uint8_t ring = 0;    // of which
};

// A request.
struct Asked {
  Kind kind{};
  HandlerNumber handler = 0;
  std::uint8_t count = 0;
  std::uint32_t index = 0;  // of the translation
  std::uint64_t offset = 0, length = 0;
  std::array<std::int32_t, kMostArguments> arguments;  // not written beyond `count`
};

}  // namespace hamlyn::internal_::am
