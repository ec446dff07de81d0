#include "test/simulation/books/put_slot.h"

#include <algorithm>

#include "test/simulation/books/violation.h"

namespace hamlyn::simulation {

namespace {

constexpr std::byte kFresh{0xEE};

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t at) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

// All bytes of data are fresh, and all words zero.
void PutSlot::fill() {
  const auto bytes = area_.bytes();
  std::fill(bytes.begin(), bytes.end(), kFresh);
  for (std::uint64_t lane = 0; lane != kBytes; lane += kLane)
    std::memset(bytes.data() + lane, 0, kWords * sizeof(std::uint64_t));
  shadow_.assign(bytes.begin(), bytes.end());
  cover_.assign(kBytes, 0);
}

bool PutSlot::may_write(std::uint64_t number) const {
  if (!guarded) return true;
  for (const Protection::Grant& grant : protection.users) {
    if (grant.uid == number) return grant.write;
  }
  const bool same_group = number % 2 == owner_ % 2;
  return (protection.mode >> (same_group ? 3 : 0) & 2) != 0;
}

void PutSlot::forget(bool for_all) {
  ++forgotten_;
  for (std::size_t i = settled_; i != puts_.size(); ++i) {
    Put& put = puts_[i];
    put.final = true;
    if (!put.whole() && (put.promised || for_all)) put.excused = true;
  }
  trouble_all();
}

void PutSlot::trouble_all() {
  for (std::uint64_t from = 1; from <= kPage / kLane / kLanes; ++from) trouble(from);
}

void PutSlot::taken(std::uint64_t offset, std::uint64_t bytes) {
  if (cover_[offset] == 0) return;
  Put& put = puts_[cover_[offset] - 1];
  put.excused = true;
  put.taken += bytes;
}

// One that is told of by itself has landed, but for what the owner took of it while it waited.
void PutSlot::told(const Notification& notification) {
  told_ += notification.word;
  if (!only_asked_ || notification.word != 1) return;
  for (std::size_t i = settled_; i != puts_.size(); ++i) {
    const Put& put = puts_[i];
    const std::uint64_t begin = put.places.front(), end = put.places.back() + 1;
    if (put.notify && put.from == notification.peer && begin == notification.offset &&
        end - begin == notification.length)
      demand(put.landed + put.taken == put.data.size(), "a put was told of before it was whole");
  }
}

// --- the senders' side

Put* PutSlot::begin(std::uint64_t from, unsigned lane, std::uint64_t page, std::uint64_t at,
                    const std::vector<std::uint64_t>& places, sim::Generator& chance) {
  Put put;
  put.from = from;
  put.lane = lane;
  put.number = puts_.size() + 1;
  for (const std::uint64_t each : places) {
    const std::uint64_t where = place(from, lane, page, at + each);
    if (cover_[where] != 0 && !puts_[cover_[where] - 1].final) return nullptr;
    put.places.push_back(where);
    // Never what stands there already.
    put.data.push_back(shadow_[where] ^ static_cast<std::byte>(chance.between(1, 255)));
  }
  for (const std::uint64_t where : put.places) cover_[where] = static_cast<std::uint32_t>(put.number);
  return &puts_.emplace_back(std::move(put));
}

void PutSlot::cancel_begun() {
  for (const std::uint64_t where : puts_.back().places) cover_[where] = 0;
  puts_.pop_back();
}

void PutSlot::fenced(std::uint64_t from, unsigned lane, std::size_t before, bool promised) {
  for (std::size_t i = 0; i != before; ++i) {
    Put& put = puts_[i];
    if (put.from != from || put.lane != lane) continue;
    put.handed = true;
    if (put.excused) continue;
    put.promised |= promised;
    if (put.final && !put.whole()) settled_ = std::min(settled_, i);
  }
  signals_over_[index(from, lane, set)] = sent_[index(from, lane, set)];
}

void PutSlot::unanswered(std::uint64_t from) {
  for (Put& put : puts_) {
    if (put.from != from || put.whole()) continue;
    put.hushed = true;
    if (put.promised) put.excused = true;
  }
}

void PutSlot::told_lost(std::uint64_t from) {
  for (Put& put : puts_) {
    if (put.from == from && !put.whole()) put.excused = true;
  }
}

void PutSlot::link_over(std::uint64_t from) {
  troubled_[from] = true;
  for (std::size_t i = settled_; i != puts_.size(); ++i) {
    if (puts_[i].from == from && puts_[i].left) puts_[i].handed = true;
  }
  for (unsigned lane = 0; lane != kLanes; ++lane) {
    const std::size_t which = index(from, lane, set);
    signals_over_[which] = sent_[which];
  }
}

void PutSlot::under_way(std::uint64_t from, Kinds& kinds) const {
  for (std::size_t i = settled_; i != puts_.size(); ++i) {
    const Put& put = puts_[i];
    if (put.from == from && !put.final && !put.whole()) kinds.set(static_cast<std::size_t>(put.kind));
  }
  for (unsigned lane = 0; lane != kLanes; ++lane) {
    const auto sent = sent_.find(index(from, lane, set));
    const auto over = signals_over_.find(index(from, lane, set));
    if (open && sent != sent_.end() && (over == signals_over_.end() || over->second < sent->second))
      kinds.set(static_cast<std::size_t>(OperationKind::signal));
  }
}

// --- what is checked

void PutSlot::check(bool empty, bool in_order) {
  const auto bytes = area_.bytes();
  if (std::memcmp(bytes.data(), shadow_.data(), kBytes) != 0) {
    // Signals come last: all that came with them is seen by then.
    for (std::uint64_t at = 0; at != kBytes; at += 8) {
      if (word_at(bytes, at) == word_at(shadow_, at)) continue;
      if (at % kLane >= kWords * 8) {
        for (std::uint64_t i = at; i != at + 8; ++i) see_byte(i);
      }
    }
    for (std::uint64_t at = 0; at != kBytes; at += 8) {
      if (at % kLane < kWords * 8 && word_at(bytes, at) != word_at(shadow_, at)) see_word(at, in_order);
    }
  }
  if (empty) settle();
}

void PutSlot::see_byte(std::uint64_t at) {
  const std::byte now = area_.data()[at];
  if (now == shadow_[at]) return;
  demand(open && !inhibited && !unpinned[at / kPage], "a put has landed where none may land now");
  demand(cover_[at] != 0, "a put has landed that nobody sent here");
  Put& put = puts_[cover_[at] - 1];
  demand(may_write(put.from), "a put has landed of somebody who may not write");
  const auto nth = std::find(put.places.begin(), put.places.end(), at) - put.places.begin();
  demand(!put.final && now == put.data[static_cast<std::size_t>(nth)],
         "a put has landed too late, or with other bytes");
  shadow_[at] = now;
  if (++put.landed != put.data.size()) return;
  const bool tells = control_ == Control::always || (put.notify && control_ != Control::never);
  if (!put.single) return;
  must_tell_ += tells ? 1 : 0;
  put.tells = tells ? 1 : 0;
}

void PutSlot::see_word(std::uint64_t at, bool in_order) {
  const std::uint64_t from = at % kPage / kLane / kLanes + 1;
  const auto lane = static_cast<unsigned>(at / kLane % kLanes);
  const auto word = static_cast<Word>(at % kLane / 8);
  const std::uint64_t before = word_at(shadow_, at), now = word_at(area_.bytes(), at);
  std::memcpy(shadow_.data() + at, area_.data() + at, 8);
  demand(open && !inhibited && !unpinned[at / kPage], "a word was put where nothing may land now");
  demand(may_write(from), "a word was put by somebody who may not write");
  demand(now != 0 && now <= sent(from, lane, word), "a word was put that nobody sent here");
  if (word == set) signals_over_[index(from, lane, set)] = now;
  demand(now > before || (word == clock && !in_order), "puts have overtaken each other");
  if (word != clock) see_signal(from, lane, signals_[index(from, lane, word)][now - 1]);
}

void PutSlot::see_signal(std::uint64_t from, unsigned lane, std::uint64_t before) const {
  for (std::size_t i = settled_; i < before; ++i) {
    const Put& put = puts_[i];
    if (put.from == from && put.lane == lane)
      demand(put.whole() || put.excused || put.hushed || asking(from), "a signal stands before its data");
  }
}

// Nothing waits.
void PutSlot::settle() {
  for (std::size_t i = settled_; i != puts_.size(); ++i) {
    Put& put = puts_[i];
    if (!put.left || !put.handed) continue;
    put.final = true;
    demand(put.whole() || put.excused || !put.promised || asking(put.from),
           "a fence said that a put has landed, or waits, which was lost");
  }
  while (settled_ != puts_.size() && puts_[settled_].final &&
         (puts_[settled_].whole() || puts_[settled_].excused))
    ++settled_;
}

// All that was told has been read.
void PutSlot::check_told() const {
  demand(told_ >= must_tell_, "a put was not told of");
  std::uint64_t may = only_asked_ ? 0 : may_tell_;
  for (const Put& put : puts_) may += only_asked_ && !put.notify ? 0 : put.tells;
  demand(told_ <= may, "more was told of than was put");
}

void PutSlot::check_rest(const std::vector<bool>& alive) const {
  check_told();
  for (const Put& put : puts_)
    demand(put.whole() || put.excused || !alive[put.from], "a put was lost, and nobody was told");
}

}  // namespace hamlyn::simulation
