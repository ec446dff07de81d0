#pragma once
// Logs of what a side has sent and the other has not said to be over, oldest first: messages, with the room
// that they take, until they are done; and requests, with all that is to be said if they come back, until
// their credits are back.
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

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

  bool has_room() const noexcept { return outstanding() < places_; }
  // False: there are as many as there may be. Throws std::bad_alloc.
  bool make_room() {
    if (has_room()) return true;
    if (places_ >= kMostOutstanding) return false;
    const std::uint32_t more_places = places_ == 0 ? 8 : places_ * 2;
    auto more = std::make_unique<Record[]>(more_places);
    for (std::uint64_t number = over_; number != posted_; ++number)
      more[number & (more_places - 1)] = at(number);
    records_ = std::move(more);
    places_ = more_places;
    return true;
  }
  // The next one's record, when there is room.
  Record& next() noexcept {
    HAMLYN_ASSERT(has_room(), "room was made for it");
    return at(posted_);
  }
  void post() noexcept { ++posted_; }
  const Record& oldest() const noexcept { return at(over_); }
  // One that is over: good until the next is posted.
  const Record& over(std::uint64_t number) const noexcept {
    HAMLYN_ASSERT(number < over_, "it is over");
    return at(number);
  }
  void drop_oldest() noexcept {
    HAMLYN_ASSERT(outstanding() != 0, "only what was posted is over");
    ++over_;
  }

 private:
  Record& at(std::uint64_t number) const noexcept { return records_[number & (places_ - 1)]; }

  std::unique_ptr<Record[]> records_;
  std::uint32_t places_ = 0;
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
