// Reads, writes and stores as messages by the VI of two ranks (paper 2, section 6), which the other rank
// handles when it polls or waits.
#include "library/wait/deadline.h"
#include "library/wait/waiting.h"
#include "splitc/runtime.h"
#include "splitc/vi/pieces.h"
#include "splitc/vi/way.h"

namespace hamlyn::internal_::splitc {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;  // for all VIs to be connected

}  // namespace

void Runtime::connect_vis(const std::vector<Told>& all) {
  const std::uint64_t bytes = view_.bytes;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank)
    if (rank != rank_)
      vi_->connect(rank_, rank, all[rank].session, all[rank].door,
                   {own_, view_.first, bytes, own_ + other_at(rank)});
  ViWay::Connecting now;
  const auto look = [&] {
    const bool more = vi_->drain();
    now = vi_->connecting();
    return now.over || more;
  };
  library::Patience patience(kPatience);
  static_cast<void>(patience.deadline());  // from here on
  Status status = Status::ok;
  do {
    status = interface_.wait_any(look, patience.left());
  } while (status == Status::ok && !now.over);
  resume();
  if (vi_->breach()) fail_breach();
  if (status == Status::ok && !now.rank) return;
  if (status == Status::ok) fail_gone(*now.rank);
  if (status != Status::timed_out) fail_by(status, rank_);
  fail_ended(now.rank ? "the VI to " + name_of(*now.rank) + " was not connected in time"
                      : "a rank was not told in time that its VI is connected");
}

void Runtime::fail_breach() {
  const ViWay::Breach breach = *vi_->breach();
  fail(ErrorCode::not_permitted, name_of(breach.rank) + " has sent " + words_of(breach.rule) +
                                     ", and the program cannot go on with it");
}

void Runtime::drain_vi() {
  vi_->drain();
  if (vi_->breach()) fail_breach();
}

bool Runtime::poll_vi() {
  const bool heard = vi_->poll();
  if (vi_->breach()) [[unlikely]]
    fail_breach();
  return heard;
}

// Also for what has been handled here: more may follow, and is looked for.
Status Runtime::wait_over_vi(base::FunctionRef<bool()> ready, Waits waits) {
  const std::uint64_t before = handled_over_vi();
  const auto look = [&] {
    return vi_->drain() || vi_->breach() || vi_->first_ended() || handled_over_vi() != before || ready() ||
           (waits != Waits::replies && asked());
  };
  return interface_.wait_any(look, kForEver);
}

void Runtime::wait_for_credit(std::uint32_t rank) {
  ViWay::To& to = vi_->with(rank);
  if (!to.may_ask()) wait([&] { return to.may_ask(); }, Waits::replies);
}

std::uint64_t Runtime::sent_to(std::uint32_t rank) const noexcept {
  return vi_ != nullptr && rank != rank_ ? vi_->with(rank).sent() : 0;
}

bool Runtime::has_handled(std::uint32_t rank, std::uint32_t behind) const noexcept {
  if (vi_ == nullptr || rank == rank_) return true;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(vi_->with(rank).handled()) - behind) >= 0;
}

std::uint64_t Runtime::handled_over_vi() const noexcept { return vi_ != nullptr ? vi_->handled() : 0; }

void Runtime::left(std::uint32_t rank, bool whole) {
  if (!whole) fail_gone(rank);
}

void Runtime::ask_for(std::uint32_t rank, std::uint64_t place, std::span<std::byte> into,
                      const Strides* strides, std::uint32_t* under_way) {
  for_each_piece(place, into.size(), strides, [&](const Piece& piece) {
    wait_for_credit(rank);
    left(rank, vi_->with(rank).read(piece, into.data() + piece.at, under_way));
    if (under_way != nullptr) ++*under_way;
  });
}

void Runtime::ask_to_write(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> from,
                           const Strides* strides, std::uint32_t* under_way) {
  for_each_piece(place, from.size(), strides, [&](const Piece& piece) {
    wait_for_credit(rank);
    left(rank, vi_->with(rank).write(piece, from.data() + piece.at, under_way));
    if (under_way != nullptr) ++*under_way;
  });
}

void Runtime::send_stores(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> from,
                          const Strides* strides) {
  for_each_piece(place, from.size(), strides, [&](const Piece& piece) {
    wait_for_credit(rank);
    left(rank, vi_->with(rank).store(piece, from.data() + piece.at));
    heaps_[rank].bytes += piece.bytes();
  });
}

void Runtime::send_count(std::uint32_t rank, std::uint64_t place) {
  wait_for_credit(rank);
  left(rank, vi_->with(rank).count(place));
}

void Runtime::ask_to_operate(std::uint32_t rank, std::uint64_t place, const Fetch& fetch,
                             std::uint64_t* before, std::uint32_t* under_way) {
  wait_for_credit(rank);
  left(rank, vi_->with(rank).fetch(place, fetch, reinterpret_cast<std::byte*>(before), under_way));
  if (under_way != nullptr) ++*under_way;
}

void Runtime::wait_for_answers(std::uint32_t rank) {
  const ViWay::To& to = vi_->with(rank);
  const std::uint64_t all = to.asked();
  wait([&] { return to.answered() >= all; }, Waits::replies);
}

bool Runtime::all_answered() noexcept {
  for (std::uint32_t rank = 0; rank != ranks_; ++rank)
    if (rank != rank_ && vi_->with(rank).answered() != vi_->with(rank).asked()) return false;
  return true;
}

bool Runtime::has_handled_all() const noexcept {
  if (vi_ == nullptr) return true;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    if (rank == rank_) continue;
    const Line line = meeting_.line(rank);
    if (line.doing != meeting_.doing()) return true;  // they disagree: that is to be told
    if (vi_->with(rank).handled() < line.behind) return false;
  }
  return true;
}

}  // namespace hamlyn::internal_::splitc
