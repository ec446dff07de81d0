#include "segment/swapped_word.h"

namespace hamlyn::internal_::segment {

namespace {

constexpr std::uint32_t kNumbers = (1u << 24) - 1;  // a mask: they come again
constexpr std::uint32_t kFar = 1u << 23;            // what is further on was before
constexpr std::uint32_t kOften = (1u << 20) - 1;

std::uint64_t word_of(std::uint32_t value, std::uint32_t who, std::uint32_t number) noexcept {
  return value | std::uint64_t{number} << 32 | std::uint64_t{who} << 56;
}
std::uint32_t value_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
std::uint32_t number_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32) & kNumbers;
}
std::uint32_t who_in(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 56); }
std::uint32_t next(std::uint32_t number) noexcept { return (number + 1) & kNumbers; }
bool reached(std::uint64_t written, std::uint32_t number) noexcept {
  return ((static_cast<std::uint32_t>(written) - number) & kNumbers) < kFar;
}

}  // namespace

Status SwappedWord::told(Status status, std::uint32_t* found) const noexcept {
  if (found != nullptr && (status == Status::ok || status == Status::not_ready)) *found = value_of(seen_);
  return status;
}

Status SwappedWord::swap(Words words, std::uint32_t expected, std::uint32_t desired,
                         std::uint32_t* found) noexcept {
  if (open_ || who_ == 0 || who_ > members_ || members_ > kMostMembers) return Status::invalid;
  Status status = begin(words);
  // The words that were seen of others may be old, and their numbers have come round since.
  if (status == Status::ok && (who_in(seen_) != who_ || value_of(seen_) != expected)) status = look(words);
  while (status == Status::ok) {
    if (value_of(seen_) != expected) return told(Status::not_ready, found);
    status = write_down(words, seen_);
    if (status != Status::ok) return status;
    from_ = seen_;
    to_ = word_of(desired, who_, next(number_));
    open_ = true;
    status = attempt(words, false);
    if (status != Status::not_ready) return told(status, found);
    status = Status::ok;  // the value may be the same, and its swapper another
  }
  return status;
}

Status SwappedWord::settle(Words words, std::uint32_t* found) noexcept {
  if (open_) return told(attempt(words, true), found);
  const Status status = look(words);
  return told(status == Status::ok ? Status::not_ready : status, found);
}

Status SwappedWord::load(Words words, std::uint32_t& value) noexcept { return told(look(words), &value); }

Status SwappedWord::look(Words words) noexcept {
  const Outcome outcome = words({.offset = offset_});
  if (outcome.status == Status::ok) seen_ = outcome.value;
  return outcome.status;
}

// Writes down that the swap that has made this word was done.
Status SwappedWord::write_down(Words words, std::uint64_t word) noexcept {
  const std::uint32_t who = who_in(word), number = number_of(word);
  // One's own is known to oneself; now and then it is written down, so that it stays near what is there.
  if (who == 0 || (who == who_ && (number & kOften) != 0)) return Status::ok;
  if (who > members_) return Status::invalid;  // no user of this word has put that there
  // Never back to an older one: whatever comes late finds another number than it expects.
  for (Outcome written = words({.offset = place_of(who)});;) {
    if (written.status != Status::ok) return written.status;
    if (reached(written.value, number)) return Status::ok;
    const std::uint64_t before = written.value;
    written = words({place_of(who), true, before, number});
    if (written.status == Status::ok && written.value == before) return Status::ok;
  }
}

// An earlier user of the number `who` may have begun one more than is known: that number is not used again.
Status SwappedWord::begin(Words words) noexcept {
  if (begun_) return Status::ok;
  const Status status = look(words);
  if (status != Status::ok) return status;
  for (Outcome written = words({.offset = place_of(who_)});;) {
    if (written.status != Status::ok) return written.status;
    number_ = static_cast<std::uint32_t>(written.value) & kNumbers;
    if (who_in(seen_) == who_ && !reached(number_, number_of(seen_))) number_ = number_of(seen_);
    number_ = next(number_);
    const std::uint64_t before = written.value;
    written = words({place_of(who_), true, before, number_});
    begun_ = written.status == Status::ok && written.value == before;
    if (begun_) return Status::ok;
  }
}

// For the first time or again.
Status SwappedWord::attempt(Words words, bool again) noexcept {
  const Outcome outcome = words({offset_, true, from_, to_});
  // (stale: in mapped memory it was perhaps done before that was left.)
  const bool known = outcome.status != Status::link_ended && outcome.status != Status::timed_out &&
                     outcome.status != Status::cancelled && outcome.status != Status::stale;
  if (outcome.status != Status::ok) {
    open_ = again || !known;
    return outcome.status;
  }
  seen_ = outcome.value;
  bool done = seen_ == from_ || seen_ == to_;
  if (!done && again) {  // it has not, or somebody has replaced it since
    const Outcome written = words({.offset = place_of(who_)});
    if (written.status != Status::ok) return written.status;
    done = reached(written.value, number_of(to_));
  }
  open_ = false;
  if (!done) return Status::not_ready;
  number_ = number_of(to_);
  if (seen_ == from_) seen_ = to_;
  return Status::ok;
}

}  // namespace hamlyn::internal_::segment
