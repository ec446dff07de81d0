// Reads, writes and stores the long way, and operations on words.
#include <cstring>
#include <utility>

#include "base/copy.h"
#include "splitc/runtime.h"
#include "splitc/word_operation.h"

namespace hamlyn::internal_::splitc {

std::byte* Runtime::local(std::uint64_t word, std::size_t bytes) noexcept {
  const std::uint64_t from = place_of(word) - view_.first;
  const bool good =
      mark_of(word) == mark_ && rank_of(word) < ranks_ && from <= view_.bytes && bytes <= view_.bytes - from;
  return good && base(rank_of(word)) != nullptr ? base(rank_of(word)) + place_of(word) : nullptr;
}

std::uint64_t Runtime::word_of(const void* mine) const {
  const auto place = static_cast<std::uint64_t>(static_cast<const std::byte*>(mine) - own_);
  if (place - view_.first >= view_.bytes)
    refuse(ErrorCode::invalid_argument, "an object that is not in this rank's heap has no global pointer");
  return make_word(rank_, place);
}

void Runtime::read(std::uint64_t word, void* into, std::size_t bytes) {
  const std::uint32_t rank = rank_of_good(word, bytes);
  look_if_due();
  if (rank != rank_) outside_of_calls("a read of another rank's memory");
  if (base(rank) != nullptr) {
    base::copy_from_shared(static_cast<std::byte*>(into), base(rank) + place_of(word), bytes);
    return;
  }
  if (vi_ != nullptr) {
    ask_for(rank, place_of(word), {static_cast<std::byte*>(into), bytes}, nullptr, nullptr);
    return wait_for_answers(rank);
  }
  leave();
  note_question(rank, questions_of(place_of(word), bytes, nullptr));
  expect(import(rank).read(place_of(word), {static_cast<std::byte*>(into), bytes}, kForEver), rank);
}

void Runtime::write(std::uint64_t word, const void* from, std::size_t bytes) {
  const std::uint32_t rank = rank_of_good(word, bytes);
  look_if_due();
  if (rank != rank_) outside_of_calls("a write of another rank's memory");
  if (base(rank) != nullptr) {
    base::copy_to_shared(base(rank) + place_of(word), static_cast<const std::byte*>(from), bytes);
    return;
  }
  if (vi_ != nullptr) {
    ask_to_write(rank, place_of(word), {static_cast<const std::byte*>(from), bytes}, nullptr, nullptr);
    return wait_for_answers(rank);
  }
  leave();
  note_question(rank);
  expect(import(rank).write_flushed(place_of(word), {static_cast<const std::byte*>(from), bytes}, kForEver),
         rank);
}

void Runtime::store(std::uint64_t word, const void* from, std::size_t bytes) {
  const std::uint32_t rank = rank_of_good(word, bytes);
  look_if_due();
  const auto* const data = static_cast<const std::byte*>(from);
  if (vi_ != nullptr || base(rank) != nullptr || bytes > kSmall)
    return bulk_store(word, {data, bytes}, nullptr, 0);
  if (row_.count != 0 && row_.rank != rank) send_row();
  row_.rank = rank;
  std::memcpy(row_.data[row_.count].data(), data, bytes);
  row_.messages[row_.count] = {std::span<const std::byte>(row_.data[row_.count]).first(bytes),
                               place_of(word)};
  heaps_[rank].bytes += bytes;
  if (++row_.count == kRow) send_row();
}

// Behind the stores goes how many bytes that makes.
void Runtime::send_row() {
  const std::uint32_t rank = row_.rank;
  auto rest = std::span<const PutMessage>(row_.messages).first(std::exchange(row_.count, 0));
  while (!rest.empty()) {
    std::size_t sent = 0;
    Status status = import(rank).write_row(rest, sent);
    rest = rest.subspan(sent);
    if (status == Status::ok) break;
    // There is no room now: the next one waits for it.
    if (status == Status::queue_full || status == Status::connecting || status == Status::no_place) {
      status = import(rank).write(rest.front().offset, rest.front().data, kForEver);
      rest = rest.subspan(1);
    }
    expect(status, rank);
  }
  expect(import(rank).write_signal(0, {}, stored_there(rank), kForEver), rank);
}

std::uint64_t Runtime::fetch(std::uint64_t word, const Fetch& fetch) {
  const std::uint32_t rank = rank_of_good(word, fetch.bytes);
  look_if_due();
  if (place_of(word) % fetch.bytes != 0)
    refuse(ErrorCode::invalid_argument, "an operation on a word that is not aligned");
  if (rank != rank_) outside_of_calls("an operation on another rank's word");
  if (base(rank) != nullptr) {
    const std::uint64_t before = apply(base(rank) + place_of(word), fetch);
    if (rank != rank_) static_cast<void>(import(rank).changed());  // somebody may wait for the word
    return before;
  }
  if (vi_ != nullptr) {
    std::uint64_t before = 0;
    ask_to_operate(rank, place_of(word), fetch, &before, nullptr);
    wait_for_answers(rank);
    return before;
  }
  leave();
  note_question(rank);
  const Outcome outcome = import(rank).fetch(place_of(word), fetch, kForEver);
  expect(outcome.status, rank);
  return outcome.value;
}

void Runtime::update(std::uint64_t word, const Fetch& fetch) {
  const std::uint32_t rank = rank_of_good(word, fetch.bytes);
  look_if_due();
  if (place_of(word) % fetch.bytes != 0)
    refuse(ErrorCode::invalid_argument, "an operation on a word that is not aligned");
  if (base(rank) != nullptr) {
    apply(base(rank) + place_of(word), fetch);
    if (rank != rank_) static_cast<void>(import(rank).changed());
    return;
  }
  if (vi_ != nullptr) return ask_to_operate(rank, place_of(word), fetch, nullptr, nullptr);
  leave();
  note_question(rank);
  expect(import(rank).update(place_of(word), fetch, kForEver), rank);
  peers_[rank].puts = true;
}

}  // namespace hamlyn::internal_::splitc
