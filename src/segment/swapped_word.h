#pragma once
// A word that many swap, and each of them finds out whether it has (hamlyn/segment/sure_swap.h): the state of
// one of them, which knows no import. Whoever calls gives the way to the words, which may lose an operation,
// or do one late or twice.
#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "base/namespaces.h"
#include "hamlyn/values/remote.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::segment {

class SwappedWord {
 public:
  static constexpr std::uint32_t kMostMembers = 255;

  // An operation on the word of 8 bytes at `offset`: read it, or put `desired` there if it is `expected`.
  struct Operation {
    std::size_t offset = 0;
    bool swaps = false;
    std::uint64_t expected = 0, desired = 0;
  };
  using Words = base::FunctionRef<Outcome(const Operation&)>;

  SwappedWord(std::size_t offset, std::uint32_t members, std::uint32_t who) noexcept
      : offset_(offset), members_(members), who_(who) {}

  // As those of SureSwap.
  Status swap(Words words, std::uint32_t expected, std::uint32_t desired,
              std::uint32_t* found = nullptr) noexcept;
  Status settle(Words words, std::uint32_t* found = nullptr) noexcept;
  Status load(Words words, std::uint32_t& value) noexcept;
  bool settled() const noexcept { return !open_; }

 private:
  std::size_t place_of(std::uint32_t who) const noexcept { return offset_ + sizeof(std::uint64_t) * who; }
  Status told(Status status, std::uint32_t* found) const noexcept;
  Status look(Words words) noexcept;
  Status write_down(Words words, std::uint64_t word) noexcept;
  Status begin(Words words) noexcept;
  Status attempt(Words words, bool again) noexcept;

  const std::size_t offset_;
  const std::uint32_t members_, who_;
  bool begun_ = false;
  std::uint32_t number_ = 0;  // of the last of one's own swaps that was done
  std::uint64_t seen_ = 0;    // the word as it was last seen
  bool open_ = false;         // nobody knows yet whether it is done:
  std::uint64_t from_ = 0, to_ = 0;
};

}  // namespace hamlyn::internal_::segment
