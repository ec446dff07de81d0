#pragma once
// The desk of a job, without waiting: who is in it, who has come to the meeting that goes on, and who has
// ended.
//
// Meetings have numbers, and each rank comes to one after the other. One goes on at a time, `round_`:
// - it is over for all at once: all have come, or it fails;
// - a rank that comes late to one that has failed is told so when it comes, with why the last one did;
// - what the last one that did not fail has gathered stays until the next one: no rank can be further back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/job/job.h"

namespace hamlyn::internal_::job {

// Kind of a meeting, the same for all its ranks.
enum class Kind : std::uint8_t {
  barrier,
  values,  // each gives as many bytes as all others
  bytes,   // each gives as many as it likes
  count,   // (how many there are)
};
enum class Outcome : std::uint8_t {
  met,
  ended,     // a rank that never came has ended
  disagree,  // two ranks do different things
};

class Desk {
 public:
  static constexpr std::size_t kPiece = 7680;              // of what was gathered, at a time
  static constexpr std::uint32_t kNoBytes = 0xffff'ffffu;  // in the place of a length: the rank has ended

  // How a meeting ended, for a rank that waits.
  struct Told {
    std::uint32_t rank = 0;
    std::uint64_t round = 0;
    Outcome outcome = Outcome::met;
    std::uint64_t bytes = 0;  // gathered
    std::string_view words;   // of a failure: good until the next call
  };

  explicit Desk(std::uint32_t size) : ranks_(size) {}

  // Lets a rank in, in the place of another process that was in as this rank. Null, or why not.
  const char* join(std::uint32_t rank, bool go_on);
  // Has a rank in no more. A meeting that it had come to goes on without it having come.
  void leave(std::uint32_t rank) noexcept;
  // A rank comes to its next meeting. Null, or why that cannot be.
  const char* meet(std::uint32_t rank, Kind kind, std::span<const std::byte> block);
  // Takes who is to be told of a meeting that is over.
  std::optional<Told> take_told() noexcept;
  // Up to kPiece bytes of what meeting `round` has gathered; none: it was not the last one, or there are no
  // more.
  std::span<const std::byte> gathered(std::uint64_t round, std::uint64_t offset) const noexcept;

  // Takes note of a rank that has ended, once.
  void ended(std::uint32_t rank, std::uint32_t status);
  // The ranks that have ended after the first `known`.
  std::span<const RankEnd> ends(std::size_t known) const noexcept {
    return std::span(ends_).subspan(std::min(known, ends_.size()));
  }
  bool goes_on(std::uint32_t rank) const noexcept { return ranks_[rank].go_on; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  struct Rank {
    bool joined = false, go_on = false, ended = false;
    bool came = false;       // to the meeting that goes on, and gave this
    std::uint64_t next = 0;  // the meeting that it comes to next, or has come to
    std::vector<std::byte> block;
  };

  void settle();
  void gather();
  void fail(Outcome outcome, std::string words);
  void next(Outcome outcome);
  std::optional<std::uint32_t> who_never_comes() const noexcept;

  std::vector<Rank> ranks_;
  std::vector<RankEnd> ends_;
  std::uint64_t round_ = 0;             // that goes on
  Kind kind_ = Kind::barrier;           // of that one, once somebody has come
  std::size_t length_ = 0;              // of its values
  std::optional<std::uint32_t> first_;  // who came first
  std::optional<std::uint64_t> met_;    // the last one that did not fail
  std::vector<std::byte> gathered_;     // by that one
  Outcome failed_ = Outcome::met;       // how the last one that failed did
  std::string words_;                   // and why
  std::vector<Told> told_;              // the first to be told last
};

}  // namespace hamlyn::internal_::job
