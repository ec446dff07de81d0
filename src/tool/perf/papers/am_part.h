#pragma once
// Parts of an active message, for table 3 of paper 2: what the processor does of a request and its reply.
#include <array>
#include <cstddef>

namespace hamlyn::tool::perf::papers {

enum class AmPart {
  keep_books,    // a credit taken, what may come back noted, the word of what is owed
  post,          // the message given to the way: built and posted; over VIs also ends of earlier sends
  look,          // the look that finds a message; over VIs its receive taken, and an earlier one posted anew
  match,         // what came checked and counted, its arguments copied, its credit given back
  recycle_send,  // room of a message that is over
  recycle_receive,  // bytes of a message that was handled
  act,              // its handler called
  count
};
inline constexpr std::size_t kAmParts = static_cast<std::size_t>(AmPart::count);
inline constexpr std::array<const char*, kAmParts> kAmPartNames{
    "keep_books", "post", "look", "match", "recycle_send", "recycle_receive", "act"};

}  // namespace hamlyn::tool::perf::papers
