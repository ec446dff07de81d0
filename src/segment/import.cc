#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/copy.h"
#include "base/fence.h"
#include "base/generation.h"
#include "base/longest_time.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/values/seed.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"
#include "interface/packets/put_packet.h"
#include "library/no_link.h"
#include "library/wait/futex.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "segment/segments.h"

namespace hamlyn {

namespace {

// For the exporter to say whether a segment is good still, when it says that writes were lost.
constexpr std::chrono::milliseconds kConfirm{100};

bool is_stale(Refusal cause) noexcept {
  return cause == Refusal::bad_slot || cause == Refusal::stale_generation || cause == Refusal::bad_key;
}

// A mapping does not exist in a forked child.
bool forked(Interface& interface) noexcept { return interface.waiting().forked(); }

// The notification that tells the exporter of data that were stored or loaded there.
PutOptions told_of(std::size_t offset, std::size_t bytes, const Strides* strides, Touched touched) noexcept {
  const std::uint64_t reach = strides != nullptr ? interface::span_of(*strides) : bytes;
  return {.offset = offset, .notify = true, .stored = reach, .touched = touched};
}

// Part of a read that one get brings.
struct Part {
  std::size_t offset;  // in the segment
  std::size_t length;
  Strides strides;
  bool cuts_word;  // it begins behind the begin of a word, and ends with the word at the latest
};

bool is_run(const Strides& strides) noexcept { return strides.x_chunks == 1 && strides.y_chunks == 1; }

Part next_part(std::size_t offset, std::size_t bytes, std::size_t done, const Strides* strides) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  interface::StridedRange range {
    .offset = done, .length = std::min<std::size_t>(bytes - done, interface::kGetLimit), .strides = {}
  };
  if (strides != nullptr) range = interface::part_of(*strides, done, interface::kGetLimit);
  const std::size_t at = offset + range.offset, skew = is_run(range.strides) ? at % kWord : 0;
  const std::size_t length = skew == 0 ? range.length : std::min<std::size_t>(range.length, kWord - skew);
  return {at, length, range.strides, skew != 0};
}

}  // namespace

// Whether the exporter can never be told. Then nothing may be done through the mapping, for that cannot be
// undone.
bool Import::never_told() noexcept {
  const Opened opened = terminus_.opened(ticket_);
  return (opened.puts || opened.gets) && !opened.told;
}

// --- writing

Status Import::store_by_mapping(std::size_t offset, std::span<const std::byte> data,
                                const WriteOptions& options) noexcept {
  if (forked(interface_)) return Status::forked;
  const Status wrong = check_place(offset, data.size(), options.strides);
  if (wrong != Status::ok) return wrong;
  if (options.notify && never_told()) return Status::refused;
  const std::size_t chunk = options.strides != nullptr ? options.strides->chunk : data.size();
  if (!interface::is_element(options.element)) return Status::invalid;
  if (!interface::element_divides(options.element, chunk, ticket_.base + offset)) return Status::misaligned;
  if (const Status how = mapped_->status(); how != Status::ok) return how;
  for (std::size_t at = 0; at != data.size(); at += chunk) {
    const std::size_t place = options.strides != nullptr ? interface::place_of(*options.strides, at) : 0;
    base::copy_to_shared(memory() + offset + place, data.data() + at, chunk);
  }
  return mapped_->status();
}

Status Import::write(std::size_t offset, std::span<const std::byte> data, const WriteOptions& options,
                     SendHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  if (const Status status = may(kWrite); status != Status::ok) return status;
  const PutOptions put{
      .offset = offset, .notify = options.notify, .element = options.element, .strides = options.strides};
  if (!stores()) return terminus_.put(ticket_, data, put, handle);
  // Data by stores; control, if it is wanted, by a packet behind them.
  const Status status = store_by_mapping(offset, data, options);
  return status == Status::ok && options.notify
             ? terminus_.put(ticket_, {}, told_of(offset, data.size(), options.strides, Touched::written))
             : status;
}

Status Import::write(std::size_t offset, std::span<const std::byte> data, std::chrono::nanoseconds timeout,
                     const WriteOptions& options) noexcept {
  if (const Status status = may(kWrite, timeout); status != Status::ok) return status;
  const PutOptions put{
      .offset = offset, .notify = options.notify, .element = options.element, .strides = options.strides};
  if (!stores()) return terminus_.put(ticket_, data, put, timeout);
  const Status status = store_by_mapping(offset, data, options);
  if (status != Status::ok || !options.notify) return status;
  return terminus_.put(ticket_, {}, told_of(offset, data.size(), options.strides, Touched::written), timeout);
}

Status Import::write_row(std::span<const PutMessage> row, std::size_t& sent) noexcept {
  sent = 0;
  if (const Status status = may(kWrite); status != Status::ok) return status;
  if (!stores()) return terminus_.put_row(ticket_, row, sent);
  for (; sent != row.size(); ++sent) {
    if (row[sent].data.size() > interface::kPutInline) return Status::too_long;
    const Status status = store_by_mapping(row[sent].offset, row[sent].data, {});
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

Outcome Import::outcome(RemoteHandle handle) const noexcept {
  Outcome outcome = terminus_.outcome(handle);
  outcome.status = ended(outcome);
  return outcome;
}

Outcome Import::wait(RemoteHandle handle, std::chrono::nanoseconds timeout) noexcept {
  Outcome outcome = terminus_.wait_outcome(handle, timeout);
  outcome.status = ended(outcome);
  return outcome;
}

Status Import::ended(const Outcome& outcome) noexcept {
  if (outcome.status != Status::refused) return outcome.status;
  return is_stale(outcome.cause) ? Status::stale : Status::refused;
}

void Import::note_why(WhyNoLink why) noexcept {
  why_.store(static_cast<std::uint32_t>(why.reason) | (why.told ? kTold : 0), std::memory_order_relaxed);
}

WhyNoLink Import::why() const noexcept {
  const std::uint32_t why = why_.load(std::memory_order_relaxed);
  return {static_cast<LinkReason>(why & ~kTold), (why & kTold) != 0};
}

Status Import::flush_mapped() noexcept {
  if (forked(interface_)) return Status::forked;
  base::Generation<>::stored();
  const Status how = mapped_->status();
  if (how == Status::link_ended) note_why(interface_.why(ticket_.interface));
  return how;
}

// Whether a fence must be asked: what is mapped has signals and updates that went by packets, if any.
bool Import::must_fence() const noexcept {
  return !stores() || left() != answered_.load(std::memory_order_relaxed);
}

// Returns what an import says whose fence has ended so.
Status Import::flushed(const Outcome& outcome, std::uint32_t left,
                       std::chrono::nanoseconds timeout) noexcept {
  if (stores()) {
    // A thread that was asked for less at the same time has the next flush ask once too often.
    if (outcome.status == Status::ok) answered_.store(left, std::memory_order_relaxed);
    if (const Status how = flush_mapped(); how != Status::ok) return how;
  }
  Status how = ended(outcome);
  if (how == Status::link_ended) note_why(outcome.why());
  // Its protection was changed, and writes that were on their way may be lost; nobody has taken it back.
  if (how == Status::stale &&
      terminus_.confirm(ticket_, std::min<std::chrono::nanoseconds>(timeout, kConfirm)) == Status::ok)
    how = Status::refused;
  if (outcome.status == Status::refused) refusal_.store(outcome.cause, std::memory_order_relaxed);
  return how;
}

Status Import::flush(std::chrono::nanoseconds timeout) noexcept {
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  if (!must_fence()) return flush_mapped();
  const std::uint32_t before = left();
  return flushed(terminus_.flush(ticket_, timeout), before, timeout);
}

Status Import::write_flushed(std::size_t offset, std::span<const std::byte> data,
                             std::chrono::nanoseconds timeout, const WriteOptions& options) noexcept {
  if (const Status status = may(kWrite, timeout); status != Status::ok) return status;
  if (stores()) {
    library::Patience patience(timeout);
    if (options.notify) patience.deadline();
    const Status status = write(offset, data, timeout, options);
    return status == Status::ok ? flush(patience.left()) : status;
  }
  const PutOptions put{
      .offset = offset, .notify = options.notify, .element = options.element, .strides = options.strides};
  return flushed(terminus_.put_flushed(ticket_, data, put, timeout), left(), timeout);
}

Status Import::begin_flush(RemoteHandle* handle) noexcept {
  if (handle == nullptr) return Status::invalid;
  *handle = {};
  if (const Status status = may(kOpen); status != Status::ok) return status;
  if (!must_fence()) return flush_mapped();
  return terminus_.fence(ticket_, {}, handle);
}

Status Import::flush(std::span<Import* const> imports, std::chrono::nanoseconds timeout,
                     std::span<Status> each) noexcept {
  if (!each.empty() && each.size() != imports.size()) return Status::invalid;
  for (const Import* import : imports) {
    if (import == nullptr || &import->interface_ != &imports.front()->interface_) return Status::invalid;
  }
  if (imports.size() == 1) {
    const Status how = imports.front()->flush(timeout);
    if (!each.empty()) each.front() = how;
    return how;
  }
  library::Patience patience(timeout);
  if (!imports.empty()) patience.deadline();  // of all together
  Status all = Status::ok;
  for (std::size_t done = 0; done != imports.size();) {
    const auto some = imports.subspan(done, std::min(Terminus::kFlushes, imports.size() - done));
    std::array<Terminus::Flush, Terminus::kFlushes> flushes;
    std::array<std::uint32_t, Terminus::kFlushes> left{};
    std::array<Status, Terminus::kFlushes> unopened{};
    for (std::size_t i = 0; i != some.size(); ++i) {
      std::chrono::nanoseconds rest = patience.left();
      unopened[i] = some[i]->may(kOpen, rest);
      left[i] = some[i]->left();
      if (unopened[i] == Status::ok && some[i]->must_fence())
        flushes[i] = {&some[i]->terminus_, &some[i]->ticket_, {}};
    }
    Terminus::flush(std::span(flushes).first(some.size()), patience.left());
    for (std::size_t i = 0; i != some.size(); ++i) {
      const Status how = flushes[i].terminus != nullptr
                             ? some[i]->flushed(flushes[i].outcome, left[i], patience.left())
                         : unopened[i] == Status::ok ? some[i]->flush_mapped()
                                                     : unopened[i];
      if (all == Status::ok) all = how;
      if (!each.empty()) each[done + i] = how;
    }
    done += some.size();
  }
  return all;
}

// Stores the word, and calls the exporter if somebody waits there.
Status Import::store_signal(const SignalWord& signal) noexcept {
  // Pairs with Segment::wait_for_words: the data was stored before.
  std::byte* const place = memory() + signal.offset;
  const auto change = [&]<class Word>(Word value) {
    const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(place));
    if (signal.how == Signal::set) {
      word.store(value, std::memory_order_release);
    } else {
      word.fetch_add(value, std::memory_order_release);
    }
  };
  if (signal.bytes == sizeof(std::uint64_t)) {
    change(signal.value);
  } else {
    change(static_cast<std::uint32_t>(signal.value));
  }
  static_cast<void>(changed());  // it is done, whatever comes of that
  return mapped_->status();
}

// The data was stored before. A packet, even an empty one, wakes whoever waits there.
Status Import::changed() noexcept {
  if (const Status status = may(kOpen); status != Status::ok) return status;
  if (!stores()) return Status::ok;
  if (forked(interface_)) return Status::forked;
  std::uint64_t call = 0;
  if (!mapped_->must_call(call)) return Status::ok;
  const Status status = terminus_.call_owner(ticket_);
  if (status == Status::ok) mapped_->called(call);
  return status;
}

Status Import::write_signal(std::size_t offset, std::span<const std::byte> data, const SignalWord& signal,
                            std::chrono::nanoseconds timeout, const WriteOptions& options) noexcept {
  Import& to = signal.in != nullptr ? *signal.in : *this;
  if (signal.how != Signal::set && signal.how != Signal::add) return Status::invalid;
  if (signal.bytes != sizeof(std::uint64_t) && signal.bytes != sizeof(std::uint32_t)) return Status::invalid;
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  if (const Status status = to.may(kOpen, timeout); status != Status::ok) return status;
  if (to.ticket_.interface != ticket_.interface || &to.interface_ != &interface_) return Status::invalid;
  if (signal.offset % signal.bytes != 0) return Status::misaligned;
  const std::size_t bound = to.ticket_.bound;
  if (signal.offset > bound || signal.bytes > bound - signal.offset) return Status::out_of_bounds;
  if ((open_for() & to.open_for() & kWrite) == 0) return Status::refused;
  library::Patience patience(timeout);
  const auto narrow = static_cast<std::uint32_t>(signal.value);
  const auto value = signal.bytes == sizeof narrow ? std::as_bytes(std::span(&narrow, 1))
                                                   : std::as_bytes(std::span(&signal.value, 1));
  const PutOptions as_signal{.offset = signal.offset, .signal = signal.how};
  const bool short_one = data.size() <= interface::kPutInline && options.strides == nullptr &&
                         options.element == 0 && !options.notify;
  if (!short_one) patience.deadline();
  if (short_one && !stores() && &to == this)
    return terminus_.put_with_signal(ticket_, data, offset, value, as_signal, timeout);
  const Status status = write(offset, data, timeout, options);
  if (status != Status::ok) return status;
  if (stores())
    return to.stores() ? to.store_signal(signal)
                       : to.terminus_.put(to.ticket_, value, as_signal, patience.left());
  if (&to == this) return terminus_.put(ticket_, value, as_signal, patience.left());
  const Status sent =
      to.terminus_.put_signal_of(to.ticket_, value, as_signal, terminus_, ticket_, patience.left());
  to.left_.fetch_add(1, std::memory_order_release);
  return sent;
}

// --- reading

Status Import::load_by_mapping(std::size_t offset, std::span<std::byte> into,
                               const Strides* strides) noexcept {
  if (forked(interface_)) return Status::forked;
  const std::size_t chunk = strides != nullptr ? strides->chunk : into.size();
  for (std::size_t at = 0; at != into.size(); at += chunk) {
    const std::size_t place = strides != nullptr ? interface::place_of(*strides, at) : 0;
    base::copy_from_shared(into.data() + at, memory() + offset + place, chunk);
  }
  return mapped_->status();
}

// Reads bytes of one word that do not begin it. The whole word is asked for: an answer cuts none.
Status Import::read_word_part(std::size_t offset, std::span<std::byte> into,
                              std::chrono::nanoseconds timeout) noexcept {
  std::array<std::byte, sizeof(std::uint64_t)> word;
  const std::size_t skew = offset % sizeof word;
  const std::span<std::byte> asked = std::span(word).first(skew + into.size());
  const Outcome outcome = terminus_.get(ticket_, asked, {.offset = offset - skew}, timeout);
  if (outcome.status == Status::ok) std::memcpy(into.data(), word.data() + skew, into.size());
  return ended(outcome);
}

Status Import::check_place(std::size_t offset, std::size_t length, const Strides* strides) const noexcept {
  const std::size_t bound = ticket_.bound;
  if (offset > bound || length > bound - offset) return Status::out_of_bounds;
  return strides == nullptr ? Status::ok : interface::check_strides(*strides, length, offset, bound);
}

Status Import::read(std::size_t offset, std::span<std::byte> into, std::chrono::nanoseconds timeout,
                    const ReadOptions& options) noexcept {
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  const Strides* const strides = options.strides;
  const Status wrong = check_place(offset, into.size(), strides);
  if (wrong != Status::ok) return wrong;
  if ((open_for() & kRead) == 0) return Status::refused;
  const PutOptions told = told_of(offset, into.size(), strides, Touched::read);
  const bool tells = options.tell_exporter && !into.empty();
  if (loads()) {
    const Status status = load_by_mapping(offset, into, strides);
    return status == Status::ok && tells ? terminus_.put(ticket_, {}, told, timeout) : status;
  }
  if (forked(interface_)) return Status::forked;
  library::Patience patience(timeout);
  if (strides != nullptr || into.size() > interface::kGetLimit) patience.deadline();  // of all parts together
  for (std::size_t done = 0; done != into.size();) {
    const Part part = next_part(offset, into.size(), done, strides);
    const std::span<std::byte> to = into.subspan(done, part.length);
    const bool whole = part.length == into.size() && !part.cuts_word;
    const Status status =
        part.cuts_word ? read_word_part(part.offset, to, patience.left())
                       : ended(terminus_.get(ticket_, to,
                                             {.offset = part.offset,
                                              .strides = is_run(part.strides) ? nullptr : &part.strides,
                                              .notify = tells && whole},
                                             patience.left()));
    if (status != Status::ok || whole) return status;
    done += part.length;
  }
  // Tells of all parts together.
  return tells ? terminus_.put(ticket_, {}, told, patience.left()) : Status::ok;
}

Status Import::read_until_enough(std::size_t offset, std::span<std::byte> into,
                                 bool (*enough)(const void* what, std::span<const std::byte> data) noexcept,
                                 const void* what, std::chrono::nanoseconds timeout) noexcept {
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  library::Patience patience(timeout);
  if (!loads()) patience.deadline();  // a load takes no time that counts
  for (;;) {
    const Status status = read(offset, into, patience.left());
    if (status != Status::ok || enough(what, into)) return status;
    patience.deadline();
    if (patience.left() <= std::chrono::nanoseconds{0}) return Status::timed_out;
    if (loads()) library::yield();  // who writes there may need this processor
  }
}

// Looks for as long as a wake-up costs.
bool Import::seen_by_mapping(std::size_t offset, bool (*done)(const void*, std::uint64_t), const void* what,
                             std::uint64_t& seen) noexcept {
  constexpr unsigned kLooks = 128;
  // Pairs with whoever stores it behind data.
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory() + offset));
  for (unsigned looks = 0; looks != kLooks; ++looks) {
    seen = word.load(std::memory_order_acquire);
    if (done(what, seen)) return true;
    base::pause();
  }
  return false;
}

Status Import::wait_for_word(std::size_t offset, bool (*done)(const void*, std::uint64_t), const void* what,
                             std::chrono::nanoseconds timeout) noexcept {
  std::uint64_t seen = 0;
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  const Status wrong = check_place(offset, sizeof seen, nullptr);
  if (wrong != Status::ok) return wrong;
  if (offset % sizeof seen != 0) return Status::misaligned;
  if ((open_for() & kRead) == 0) return Status::refused;
  if (forked(interface_)) return Status::forked;
  library::Patience patience(timeout);
  if (loads()) {
    if (seen_by_mapping(offset, done, what, seen)) return mapped_->status();
  } else {
    // Mostly it is as it was when a thread waited last: then no read is needed.
    seen = seen_last_.load(std::memory_order_relaxed);
    if (done(what, seen)) {
      const Status status = load(offset, seen, patience.left());
      if (status != Status::ok || done(what, seen)) return status;
    }
  }
  do {
    patience.deadline();
    const Outcome outcome = terminus_.watch(ticket_, offset, seen, patience.left());
    if (outcome.status == Status::queue_full) {  // others have all places, perhaps for as long as this waits
      if (const Status status = load(offset, seen, patience.left()); status != Status::ok) return status;
      continue;
    }
    if (outcome.status != Status::ok) return ended(outcome);
    seen = outcome.value;
  } while (!done(what, seen));
  seen_last_.store(seen, std::memory_order_relaxed);
  return loads() ? mapped_->status() : Status::ok;
}

Status Import::read(std::size_t offset, Segment& into, std::size_t at, std::size_t length,
                    const ReadOptions& options, RemoteHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  if (const Status status = may(kRead); status != Status::ok) return status;
  if (!loads()) {
    if (length == 0) return check_place(offset, 0, options.strides);
    RemoteOptions asked{
        .offset = offset, .word = 1, .strides = options.strides, .notify = options.tell_exporter};
    if (options.notify) asked.queue = &into.queue_;
    return terminus_.get(ticket_, into.slot(), at, length, asked, handle);
  }
  const auto own = into.bytes();
  if (at > own.size() || length > own.size() - at) return Status::out_of_bounds;
  const Status wrong = check_place(offset, length, options.strides);
  if (wrong != Status::ok) return wrong;
  const Status status = load_by_mapping(offset, own.subspan(at, length), options.strides);
  if (status != Status::ok || !options.tell_exporter || length == 0) return status;
  return terminus_.put(ticket_, {}, told_of(offset, length, options.strides, Touched::read));
}

Status Import::read(std::size_t offset, std::span<std::byte> into, RemoteHandle* handle,
                    const ReadOptions& options) noexcept {
  if (handle == nullptr || options.notify) return Status::invalid;
  *handle = {};
  if (const Status status = may(kOpen); status != Status::ok) return status;
  const Status wrong = check_place(offset, into.size(), options.strides);
  if (wrong != Status::ok) return wrong;
  if ((open_for() & kRead) == 0) return Status::refused;
  if (into.empty()) return Status::ok;
  if (!loads())
    return terminus_.get(ticket_, into,
                         {.offset = offset, .strides = options.strides, .notify = options.tell_exporter},
                         handle);
  const Status status = load_by_mapping(offset, into, options.strides);
  if (status != Status::ok || !options.tell_exporter) return status;
  return terminus_.put(ticket_, {}, told_of(offset, into.size(), options.strides, Touched::read));
}

Status Import::cancel(RemoteHandle handle) noexcept {
  const Status how = outcome(handle).status;
  if (how != Status::pending) return how;
  terminus_.give_up(handle);
  return Status::ok;
}

// --- words

Status Import::check_fetch(std::size_t offset, const Fetch& fetch) const noexcept {
  const bool known = fetch.op >= FetchOp::add && fetch.op <= FetchOp::compare_and_swap;
  if (!known || (fetch.bytes != 4 && fetch.bytes != 8)) return Status::invalid;
  const std::size_t bound = ticket_.bound;
  if (offset > bound || fetch.bytes > bound - offset) return Status::out_of_bounds;
  if (offset % fetch.bytes != 0) return Status::misaligned;
  return (open_for() & kUpdate) == kUpdate ? Status::ok : Status::refused;
}

Status Import::update(std::size_t offset, const Fetch& fetch, std::chrono::nanoseconds timeout,
                      const FetchOptions& options) noexcept {
  if (const Status status = may(kOpen, timeout); status != Status::ok) return status;
  const Status wrong = check_fetch(offset, fetch);
  if (wrong != Status::ok) return wrong;
  if (stores() && !options.notify) return this->fetch(offset, fetch, timeout).status;
  const Status sent = terminus_.fetch_unanswered(
      ticket_, fetch, {.offset = offset, .answered = false, .fenced = true, .notify = options.notify},
      timeout);
  left_.fetch_add(1, std::memory_order_release);
  return sent;
}

Outcome Import::fetch(std::size_t offset, const Fetch& fetch, std::chrono::nanoseconds timeout,
                      const FetchOptions& options) noexcept {
  if (const Status status = may(kOpen, timeout); status != Status::ok) return {status, Refusal::none, 0};
  const Status wrong = check_fetch(offset, fetch);
  if (wrong != Status::ok) return {wrong, Refusal::none, 0};
  // One that the exporter is told of goes by a packet, mapped or not: it is done and told of, or neither.
  if (stores() && !options.notify) {
    if (forked(interface_)) return {Status::forked, Refusal::none, 0};
    if (const Status how = mapped_->status(); how != Status::ok) return {how, Refusal::none, 0};
    const std::uint64_t before = interface::apply_fetch(fetch, memory() + offset);
    static_cast<void>(changed());  // it is done, whatever comes of that
    return {mapped_->status(), Refusal::none, before};
  }
  Outcome outcome = terminus_.fetch(ticket_, fetch, {.offset = offset, .notify = options.notify}, timeout);
  outcome.status = ended(outcome);
  return outcome;
}

}  // namespace hamlyn
