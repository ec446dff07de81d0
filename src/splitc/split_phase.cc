// Gets and puts, which are begun by one call and waited for by another.
#include <algorithm>
#include <utility>

#include "splitc/runtime.h"
#include "splitc/strided.h"
#include "splitc/vi/way.h"

namespace hamlyn::internal_::splitc {
namespace {

constexpr std::size_t kPiece = 65536;                                // that a get without a wait brings
constexpr std::uint64_t kMostStride = (std::uint64_t{1} << 32) - 1;  // that a question can say

bool for_want_of_room(Status status) noexcept {
  return status == Status::queue_full || status == Status::connecting || status == Status::no_place;
}

}  // namespace

// Tries until there is room: the oldest that was begun there is waited for first.
template <class Try>
void Runtime::until_taken(std::uint32_t rank, Try attempt) {
  Status status = attempt();
  Peer& peer = peers_[rank];
  while (for_want_of_room(status)) {
    drop_over(peer);
    if (peer.first_ask != peer.end_of_asks && peer.ask(peer.first_ask).handle.sequence != 0) {
      wait_for(rank, peer.ask(peer.first_ask));
      status = attempt();
      continue;
    }
    const auto taken = [&] { return !for_want_of_room(status = attempt()); };
    if (const Status waited = interface_.wait_any(taken, kForEver); waited != Status::ok) status = waited;
  }
  resume();
  if (status != Status::ok && status != Status::pending) fail_by(status, rank);
}

void Runtime::note_question(std::uint32_t rank, std::uint64_t questions) {
  Peer& peer = peers_[rank];
  peer.asked += questions;
  // Half of them at once: whoever waits for each by itself waits for each.
  while (peer.first_ask != peer.end_of_asks && peer.asked - peer.ask(peer.first_ask).number >= kAsks)
    wait_before(rank, peer.first_ask + (peer.end_of_asks - peer.first_ask + 1) / 2);
}

// Waits for those before `end`, the last first: most of the others are over then.
void Runtime::wait_before(std::uint32_t rank, std::uint64_t end) {
  Peer& peer = peers_[rank];
  for (std::uint64_t i = end; i-- != peer.first_ask;)
    if (Ask& ask = peer.ask(i); !look_at(rank, ask)) wait_for(rank, ask);
  drop_over(peer);
}

Runtime::Ask& Runtime::new_ask(std::uint32_t rank, Batch* batch) {
  Peer& peer = peers_[rank];
  if (peer.asks == nullptr) peer.asks = std::make_unique<std::array<Ask, kAsks>>();
  note_question(rank);
  Ask& ask = peer.ask(peer.end_of_asks++);
  ask = Ask{};
  ask.number = peer.asked;
  ask.batch = batch;
  if (batch != nullptr) ++batch->gets_;
  return ask;
}

void Runtime::drop_over(Peer& peer) noexcept {
  while (peer.first_ask != peer.end_of_asks && peer.ask(peer.first_ask).over) ++peer.first_ask;
}

void Runtime::ended(std::uint32_t rank, Ask& ask, Status status) {
  ask.over = true;
  if (Batch* const batch = std::exchange(ask.batch, nullptr)) --batch->gets_;
  if (status != Status::ok) fail_by(status, rank);
}

void Runtime::wait_for(std::uint32_t rank, Ask& ask) {
  const Outcome outcome = import(rank).wait(ask.handle, kForEver);
  resume();
  ended(rank, ask, outcome.status);
}

// Looks whether it is over.
bool Runtime::look_at(std::uint32_t rank, Ask& ask) {
  if (ask.over) return true;
  const Outcome outcome = import(rank).outcome(ask.handle);
  if (outcome.status == Status::pending) return false;
  ended(rank, ask, outcome.status);
  return true;
}

// --- small gets

bool Runtime::GetRun::takes(std::uint32_t other, std::uint64_t at, std::span<std::byte> room,
                            const Batch* of) noexcept {
  if (count == 0 || count == kRow || rank != other || batch != of || chunk != room.size()) return false;
  const std::uint64_t further = at - place;
  if (room.data() != into + std::size_t{count} * chunk) return false;
  const bool second = count == 1 && further >= chunk && further <= kMostStride;
  if (!second && (count == 1 || further != count * stride)) return false;
  if (second) stride = further;
  ++count;
  return true;
}

// The first one leaves at once, so that it is under way while its rank computes. Those behind it are kept
// until it is over or the next one is of no use beside them.
void Runtime::get_small(std::uint32_t rank, std::uint64_t place, std::span<std::byte> into, Batch* batch) {
  if (run_.takes(rank, place, into, batch)) return;
  leave();
  run_ = {.rank = rank,
          .count = 1,
          .chunk = static_cast<std::uint32_t>(into.size()),
          .place = place,
          .into = into.data(),
          .batch = batch};
  if (batch != nullptr) ++batch->gets_;
  Peer& peer = peers_[rank];
  if (peer.first_ask == peer.end_of_asks || look_at(rank, peer.ask(peer.end_of_asks - 1))) send_run();
}

void Runtime::send_run() {
  const GetRun run = std::exchange(run_, {});
  if (run.batch != nullptr) --run.batch->gets_;  // the question counts from here on
  const Strides strides{.chunk = run.chunk, .x_chunks = run.count, .x_stride = run.stride};
  const bool scattered = run.count > 1 && run.stride != run.chunk;
  const std::span<std::byte> into(run.into, std::size_t{run.count} * run.chunk);
  Ask& ask = new_ask(run.rank, run.batch);
  until_taken(run.rank, [&] {
    return import(run.rank).read(run.place, into, &ask.handle, {.strides = scattered ? &strides : nullptr});
  });
}

void Runtime::get(std::uint64_t word, std::span<std::byte> into, const Strides* strides, Batch* batch) {
  const std::uint32_t rank = rank_of_good(word, into.size(), strides);
  look_if_due();
  if (rank != rank_) outside_of_calls("a get");  // its memory would be in use when the function has returned
  if (base(rank) != nullptr) return gather_from(into, base(rank) + place_of(word), strides);
  if (vi_ != nullptr) return ask_for(rank, place_of(word), into, strides, counter_of(batch));
  if (strides == nullptr && into.size() <= kSmall) return get_small(rank, place_of(word), into, batch);
  if (strides != nullptr && into.size() > kPiece) return bulk_read(word, into, strides);
  leave();
  for (std::size_t done = 0; done != into.size();) {
    const auto piece = into.subspan(done, std::min(kPiece, into.size() - done));
    Ask& ask = new_ask(rank, batch);
    until_taken(rank, [&] {
      return import(rank).read(place_of(word) + done, piece, &ask.handle, {.strides = strides});
    });
    done += piece.size();
  }
}

void Runtime::put(std::uint64_t word, std::span<const std::byte> from, Batch* batch) {
  const std::uint32_t rank = rank_of_good(word, from.size());
  look_if_due();
  if (base(rank) != nullptr) return scatter_to(base(rank) + place_of(word), from, nullptr);
  if (vi_ != nullptr) return ask_to_write(rank, place_of(word), from, nullptr, counter_of(batch));
  leave();
  expect(import(rank).write(place_of(word), from, kForEver), rank);
  peers_[rank].puts = true;
  if (batch != nullptr) batch->puts_ = true;
}

void Runtime::bulk_put(std::uint64_t word, std::span<const std::byte> from, const Strides* strides,
                       Batch* batch) {
  const std::uint32_t rank = rank_of_good(word, from.size(), strides);
  look_if_due();
  if (rank != rank_) outside_of_calls("a bulk_put");  // its source would be in use, as a get's memory
  if (base(rank) != nullptr) return scatter_to(base(rank) + place_of(word), from, strides);
  if (vi_ != nullptr) return ask_to_write(rank, place_of(word), from, strides, counter_of(batch));
  leave();
  SendHandle handle;  // a fence answers for it: none is taken while some of it has not left
  until_taken(rank, [&] { return import(rank).write(place_of(word), from, {.strides = strides}, &handle); });
  peers_[rank].puts = true;
  if (batch != nullptr) batch->puts_ = true;
}

// Asks each rank that was written to whether all of it has landed.
void Runtime::ask_fences() {
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    if (!peers_[rank].puts) continue;
    Ask& ask = new_ask(rank, nullptr);
    ask.fence = true;
    until_taken(rank, [&] {
      const Status status = import(rank).begin_flush(&ask.handle);
      ask.over = status == Status::ok;
      return status;
    });
    peers_[rank].puts = false;
  }
}

void Runtime::sync(Batch* batch) {
  go_on();
  outside_of_calls("sync");
  if (vi_ != nullptr)
    return wait([&] { return batch != nullptr ? batch->gets_ == 0 : all_answered(); }, Waits::replies);
  leave();
  if (batch == nullptr || batch->puts_) ask_fences();
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    Peer& peer = peers_[rank];
    for (std::uint64_t i = peer.end_of_asks; i-- != peer.first_ask;)
      if (Ask& ask = peer.ask(i); wanted(ask, batch) && !look_at(rank, ask)) wait_for(rank, ask);
    drop_over(peer);
  }
  if (batch != nullptr) batch->puts_ = false;
}

void Runtime::forget(Batch& batch) noexcept {
  if (vi_ != nullptr) vi_->forget(&batch.gets_);
}

bool Runtime::done(Batch* batch) {
  go_on();
  outside_of_calls("a question of what is under way");
  look_if_due();
  leave();
  static_cast<void>(run());
  give_way();
  if (vi_ != nullptr) return batch != nullptr ? batch->gets_ == 0 : all_answered();
  if (batch == nullptr || batch->puts_) ask_fences();
  bool all = true;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    Peer& peer = peers_[rank];
    for (std::uint64_t i = peer.first_ask; i != peer.end_of_asks; ++i)
      if (Ask& ask = peer.ask(i); wanted(ask, batch)) all = look_at(rank, ask) && all;
    drop_over(peer);
  }
  if (batch != nullptr && all) batch->puts_ = false;
  return all;
}

// Nothing lands any more: the memory that gets were to land in goes while an exception is under way.
void Runtime::forget_asks() noexcept {
  if (vi_ != nullptr) vi_->forget();
  if (run_.batch != nullptr) run_.batch->gets_ = 0;
  run_ = {};
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    Peer& peer = peers_[rank];
    for (; peer.first_ask != peer.end_of_asks; ++peer.first_ask) {
      Ask& ask = peer.ask(peer.first_ask);
      if (!ask.over && ask.handle.sequence != 0) static_cast<void>(import(rank).cancel(ask.handle));
      if (ask.batch != nullptr) ask.batch->gets_ = 0;
    }
  }
}

// --- whole arrays

void Runtime::bulk_read(std::uint64_t word, std::span<std::byte> into, const Strides* strides) {
  const std::uint32_t rank = rank_of_good(word, into.size(), strides);
  look_if_due();
  if (rank != rank_) outside_of_calls("a read of another rank's memory");
  if (base(rank) != nullptr) return gather_from(into, base(rank) + place_of(word), strides);
  if (vi_ != nullptr) {
    ask_for(rank, place_of(word), into, strides, nullptr);
    return wait_for_answers(rank);
  }
  leave();
  note_question(rank, questions_of(place_of(word), into.size(), strides));
  expect(import(rank).read(place_of(word), into, kForEver, {.strides = strides}), rank);
}

void Runtime::bulk_write(std::uint64_t word, std::span<const std::byte> from, const Strides* strides) {
  const std::uint32_t rank = rank_of_good(word, from.size(), strides);
  look_if_due();
  if (rank != rank_) outside_of_calls("a write of another rank's memory");
  if (base(rank) != nullptr) return scatter_to(base(rank) + place_of(word), from, strides);
  if (vi_ != nullptr) {
    ask_to_write(rank, place_of(word), from, strides, nullptr);
    return wait_for_answers(rank);
  }
  leave();
  note_question(rank);
  expect(import(rank).write_flushed(place_of(word), from, kForEver, {.strides = strides}), rank);
}

void Runtime::bulk_store(std::uint64_t word, std::span<const std::byte> from, const Strides* strides,
                         std::uint64_t counter) {
  const std::uint32_t rank = rank_of_good(word, from.size(), strides);
  look_if_due();
  if (counter != 0 && (rank_of_good(counter, sizeof counter) != rank || place_of(counter) % 8 != 0))
    refuse(ErrorCode::invalid_argument, "a counter is an aligned word in the heap where the data goes");
  const std::uint64_t place = place_of(word);
  if (base(rank) != nullptr) {
    scatter_to(base(rank) + place, from, strides);
    count(heaps_[rank], from.size());
    if (counter == 0) return;
    // Pairs with Runtime::wait_for at that rank.
    const std::atomic_ref<std::uint64_t> there(
        *reinterpret_cast<std::uint64_t*>(base(rank) + place_of(counter)));
    there.fetch_add(1, std::memory_order_release);
    if (rank != rank_) static_cast<void>(import(rank).changed());
    return;
  }
  if (vi_ != nullptr) {
    send_stores(rank, place, from, strides);
    if (counter != 0) send_count(rank, place_of(counter));
    return;
  }
  leave();
  if (counter != 0)
    expect(
        import(rank).write_signal(place, from, {.offset = place_of(counter), .value = 1, .how = Signal::add},
                                  kForEver, {.strides = strides}),
        rank);
  heaps_[rank].bytes += from.size();
  const auto data = counter == 0 ? from : std::span<const std::byte>{};
  expect(import(rank).write_signal(place, data, stored_there(rank), kForEver,
                                   {.strides = data.empty() ? nullptr : strides}),
         rank);
}

}  // namespace hamlyn::internal_::splitc
