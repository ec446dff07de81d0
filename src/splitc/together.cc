// Collectives, and waits for stores.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "splitc/runtime.h"

namespace hamlyn::internal_::splitc {

// Writes data there, and a word behind it; who waits there for the word looks.
void Runtime::tell(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> data,
                   std::uint64_t word_place, std::uint64_t word) {
  if (base(rank) != nullptr) {
    base::copy_to_shared(base(rank) + place, data.data(), data.size());
    set(base(rank) + word_place, word);
    if (rank != rank_) static_cast<void>(import(rank).changed());
    return;
  }
  expect(import(rank).write_signal(place, data, word_place, word, Signal::set, kForEver), rank);
}

void Runtime::begin(Kind kind, std::uint32_t root, std::uint64_t size, const void* piece, std::size_t bytes) {
  const std::uint64_t what = doing(kind, root, size);
  go_on();
  if (in_call_) refuse_in_call(words_of(what).c_str());
  if (root >= ranks_)
    refuse(ErrorCode::invalid_argument, words_of(what) + ": there are " + std::to_string(ranks_) + " ranks");
  if (meeting_.goes_on())
    refuse(ErrorCode::invalid_argument, words_of(what) + " between the two halves of a barrier");
  leave();
  Line line = meeting_.begin(what, piece, bytes);
  const std::uint64_t place = line_at(rank_, line.meeting);
  const std::size_t bytes_of_line = vi_ != nullptr ? kLineBytesOverVi : kLineBytes;
  for (std::uint32_t turn = 1; turn <= ranks_; ++turn) {
    const std::uint32_t to = (rank_ + turn) % ranks_;
    line.stored = heaps_[to].bytes;
    line.behind = sent_to(to);
    const auto all = std::as_bytes(std::span(&line, 1));
    tell(to, place + offsetof(Line, doing), all.subspan(offsetof(Line, doing), bytes_of_line), place,
         line.meeting);
  }
}

bool Runtime::is_over() {
  go_on();
  outside_of_calls("a question whether all have arrived");
  if (!meeting_.goes_on()) refuse(ErrorCode::invalid_argument, "nobody has arrived: say so first");
  poll();
  return meeting_.met() && has_handled_all();
}

void Runtime::finish() {
  go_on();
  outside_of_calls("a wait for all ranks");
  if (!meeting_.goes_on()) refuse(ErrorCode::invalid_argument, "nobody has arrived: say so first");
  wait([&] { return meeting_.met() && has_handled_all(); });
  if (const auto other = meeting_.end())
    fail(ErrorCode::invalid_argument, "ranks disagree: " + name_of(rank_) + " is in " +
                                          words_of(meeting_.doing()) + ", " + name_of(other->rank) + " in " +
                                          words_of(other->doing));
}

const std::byte* Runtime::gather(Kind kind, std::uint32_t root, const void* mine, std::size_t bytes) {
  gathered_.resize(std::max<std::size_t>(gathered_.size(), bytes * ranks_));
  for (std::size_t done = 0; done != bytes;) {
    const std::size_t piece = std::min(kPieceBytes, bytes - done);
    begin(kind, root, bytes, static_cast<const std::byte*>(mine) + done, piece);
    finish();
    for (std::uint32_t rank = 0; rank != ranks_; ++rank)
      std::memcpy(gathered_.data() + rank * bytes + done, meeting_.line(rank).piece.data(), piece);
    done += piece;
  }
  return gathered_.data();
}

// --- stores

std::uint64_t Runtime::stored_here() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) sum += word_at(own_ + other_at(rank));
  return sum;
}

void Runtime::store_sync(std::size_t bytes) {
  go_on();
  outside_of_calls("store_sync");
  leave();
  wait([&] { return stored_here() - waited_for_ >= bytes; }, Waits::stores);
  waited_for_ += bytes;
}

// A line lies behind all that its rank has stored here before: what a rank stores afterwards is for the next
// wait.
void Runtime::all_store_sync() {
  begin(Kind::store_sync, 0, 0, nullptr, 0);
  finish();
  waited_for_ = 0;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) waited_for_ += meeting_.line(rank).stored;
}

void Runtime::wait_for(const std::uint64_t& mine, std::uint64_t at_least) {
  go_on();
  outside_of_calls("a wait for a counter");
  const auto* const at = reinterpret_cast<const std::byte*>(&mine);
  if (const std::uint64_t word = word_of(at); place_of(word) % sizeof mine != 0)
    refuse(ErrorCode::invalid_argument, "a counter that is not aligned");
  leave();
  wait([&] { return word_at(at) >= at_least; }, Waits::stores);
}

}  // namespace hamlyn::internal_::splitc
