// Refusals, and what a rank says of others that have ended.
#include "library/no_link.h"
#include "splitc/runtime.h"
#include "splitc/strided.h"

namespace hamlyn::internal_::splitc {
namespace {

using namespace std::chrono_literals;

// For `hamlyn run` to tell which rank has ended, and how: where one may have, and where one surely has.
constexpr std::chrono::milliseconds kTelling = 500ms, kSurelyTelling = 10s;

}  // namespace

void throw_outside(std::size_t index, std::size_t size, const char* what) {
  throw Error(ErrorCode::invalid_argument, std::string(what) + " " + std::to_string(index) + " of " +
                                               std::to_string(size) + " that there are");
}

void throw_block(std::size_t block, std::size_t size) {
  throw Error(ErrorCode::invalid_argument, "blocks of " + std::to_string(block) + " elements, of " +
                                               std::to_string(size) +
                                               " in all: 1 at least, and no more than heaps hold");
}

std::string Runtime::name_of(std::uint32_t rank) const { return "rank " + std::to_string(rank); }

void Runtime::refuse(ErrorCode code, const std::string& text) const { throw Error(code, text); }

void Runtime::fail(ErrorCode code, const std::string& text) {
  failure_.emplace(code, text);
  set_view();
  forget_asks();
  throw *failure_;
}

// Waits for `hamlyn run` to tell. The first rank that has ended is the cause: others may have ended for it.
std::optional<RankEnd> Runtime::first_end(bool surely) {
  RankEnd first;
  const bool told = job_.ended(first, surely ? kSurelyTelling : kTelling) == Status::ok;
  resume();
  return told ? std::optional(first) : std::nullopt;
}

// The link with that rank has ended.
void Runtime::fail_gone(std::uint32_t rank) {
  const LinkReason why = interface_.why(peers_[rank].interface).reason;
  const std::uint64_t now = library::link_now(interface_, peers_[rank].interface).serial;
  std::string text = "the link with " + name_of(rank) + " has ended";
  if (why != LinkReason::none)
    text += std::string(" (") + name(why) + ")";
  else if (now != 0 && now != peers_[rank].link)
    text += " (and was made anew)";
  fail_ended(text, why == LinkReason::died);
}

// `otherwise` is said if nobody tells which rank has ended, and how. `surely`: one has.
void Runtime::fail_ended(const std::string& otherwise, bool surely) {
  const auto first = first_end(surely);
  const std::string text =
      first ? name_of(first->rank) + " has ended with status " + std::to_string(first->status) : otherwise;
  fail(ErrorCode::peer_died, text + ", and the program cannot go on without it");
}

void Runtime::fail_by(Status status, std::uint32_t rank) {
  switch (status) {
    case Status::link_ended:
    case Status::stale:
      fail_gone(rank);
    case Status::forked:
      refuse(ErrorCode::forked, "a forked child is no rank of the program");
    case Status::cancelled:
      fail(ErrorCode::cancelled, "a wait was cancelled");
    default:
      // The heap's import belongs to one link. Over any later link with that rank the owner refuses it.
      if (library::link_now(interface_, peers_[rank].interface).serial != peers_[rank].link) fail_gone(rank);
      fail(ErrorCode::not_permitted, std::string(name(status)) + ": " + name_of(rank) + " refuses it");
  }
}

void Runtime::refuse_in_call(const char* what) const {
  refuse(ErrorCode::invalid_argument,
         std::string(what) + " inside a function that another rank has called: nothing may wait there");
}

std::uint32_t Runtime::rank_of_good(std::uint64_t word, std::size_t bytes, const Strides* strides) const {
  go_on();
  const std::uint64_t from = place_of(word) - view_.first;
  if (mark_of(word) != mark_ || rank_of(word) >= ranks_ || from > view_.bytes ||
      !fits(view_.bytes - from, bytes, strides))
    refuse_pointer(word, bytes);
  return rank_of(word);
}

void Runtime::refuse_pointer(std::uint64_t word, std::size_t bytes) const {
  if (word == 0) refuse(ErrorCode::invalid_argument, "a null global pointer was used");
  if (mark_of(word) != mark_ || rank_of(word) >= ranks_)
    refuse(ErrorCode::invalid_argument,
           "a global pointer of another job, or of a program that has ended, was used");
  refuse(ErrorCode::invalid_argument,
         "a global pointer leads out of the heap of " + name_of(rank_of(word)) + ": " +
             std::to_string(bytes) + " bytes at " +
             std::to_string(static_cast<std::int64_t>(place_of(word) - view_.first)) + " of " +
             std::to_string(view_.bytes));
}

}  // namespace hamlyn::internal_::splitc
