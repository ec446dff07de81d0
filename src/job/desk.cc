#include "job/desk.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace hamlyn::internal_::job {
namespace {

std::string number(std::uint32_t rank) { return "rank " + std::to_string(rank); }

std::string name(Kind kind, std::size_t length) {
  switch (kind) {
    case Kind::barrier:
      return "a barrier";
    case Kind::values:
      return "an all-gather of values of " + std::to_string(length) + " bytes";
    case Kind::bytes:
    case Kind::count:
      break;
  }
  return "an all-gather of bytes";
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

const char* Desk::join(std::uint32_t rank, bool go_on) {
  if (rank >= ranks_.size()) return "the job has no such rank";
  Rank& one = ranks_[rank];
  if (one.ended) return "that rank has ended";
  if (one.joined) leave(rank);
  one.joined = true;
  one.go_on = go_on;
  return nullptr;
}

void Desk::leave(std::uint32_t rank) noexcept {
  Rank& one = ranks_[rank];
  one.joined = one.came = false;
  one.block.clear();
  if (first_ == rank) {
    const auto other = std::ranges::find_if(ranks_, &Rank::came);
    first_.reset();
    if (other != ranks_.end()) first_ = static_cast<std::uint32_t>(other - ranks_.begin());
  }
  std::erase_if(told_, [&](const Told& told) { return told.rank == rank; });
}

const char* Desk::meet(std::uint32_t rank, Kind kind, std::span<const std::byte> block) {
  if (rank >= ranks_.size() || !ranks_[rank].joined) return "that rank is not in the job";
  if (kind >= Kind::count || block.size() > Job::kMostBytes) return "there is no such meeting";
  Rank& one = ranks_[rank];
  if (one.ended) return "that rank has ended";
  if (one.came) return "that rank is in a meeting already";
  if (one.next < round_) {  // that one has failed before this rank came
    HAMLYN_ASSERT(!met_ || one.next > *met_, "without a rank that lives no meeting ends well");
    told_.push_back({rank, one.next++, failed_, 0, words_});
    return nullptr;
  }
  const std::size_t length = kind == Kind::values ? block.size() : 0;
  if (!first_) {
    first_ = rank;
    kind_ = kind;
    length_ = length;
  }
  one.came = true;
  one.block.assign(block.begin(), block.end());
  if (kind != kind_ || length != length_)
    fail(Outcome::disagree, number(*first_) + " is in " + name(kind_, length_) + ", " + number(rank) +
                                " in " + name(kind, length));
  else
    settle();
  return nullptr;
}

std::optional<Desk::Told> Desk::take_told() noexcept {
  if (told_.empty()) return std::nullopt;
  const Told out = told_.back();
  told_.pop_back();
  return out;
}

std::span<const std::byte> Desk::gathered(std::uint64_t round, std::uint64_t offset) const noexcept {
  if (met_ != round || offset >= gathered_.size()) return {};
  const std::span<const std::byte> rest = std::span(gathered_).subspan(offset);
  return rest.first(std::min(rest.size(), kPiece));
}

void Desk::ended(std::uint32_t rank, std::uint32_t status) {
  HAMLYN_ASSERT(rank < ranks_.size() && !ranks_[rank].ended, "who has started it tells of its end once");
  ends_.push_back({rank, status});
  ranks_[rank].ended = true;
  if (first_) settle();
}

// A rank that has ended, and without which those that are left do not go on.
std::optional<std::uint32_t> Desk::who_never_comes() const noexcept {
  const auto never = std::ranges::find_if(ranks_, [](const Rank& one) { return one.ended && !one.came; });
  const bool without = std::ranges::all_of(ranks_, [](const Rank& one) { return one.ended || one.go_on; });
  if (never == ranks_.end() || without) return std::nullopt;
  return static_cast<std::uint32_t>(never - ranks_.begin());
}

void Desk::settle() {
  if (const auto never = who_never_comes())
    return fail(Outcome::ended, number(*never) + " has ended, and did not come");
  if (!std::ranges::all_of(ranks_, [](const Rank& one) { return one.ended || one.came; })) return;
  gather();
  met_ = round_;
  next(Outcome::met);
}

void Desk::gather() {
  gathered_.clear();
  if (kind_ == Kind::barrier) return;
  for (const Rank& one : ranks_) {
    if (kind_ == Kind::bytes) {
      const std::uint32_t length = one.came ? static_cast<std::uint32_t>(one.block.size()) : kNoBytes;
      append(gathered_, std::as_bytes(std::span(&length, 1)));
      append(gathered_, one.block);
    } else {
      append(gathered_, one.block);
      if (!one.came) gathered_.resize(gathered_.size() + length_);
    }
  }
}

void Desk::fail(Outcome outcome, std::string words) {
  failed_ = outcome;
  words_ = std::move(words);
  next(outcome);
}

void Desk::next(Outcome outcome) {
  for (std::uint32_t rank = 0; rank != ranks_.size(); ++rank) {
    Rank& one = ranks_[rank];
    if (one.came) {
      const bool met = outcome == Outcome::met;
      told_.push_back({rank, round_, outcome, met ? gathered_.size() : 0, met ? std::string_view{} : words_});
    }
    if (one.came) one.next = round_ + 1;
    one.came = false;
    one.block.clear();
  }
  first_.reset();
  ++round_;
}

}  // namespace hamlyn::internal_::job
