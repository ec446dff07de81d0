// The opening of an import: its name, the owner's consent, and the mapping, in steps of which none waits.
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/longest_time.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/values/seed.h"
#include "interface/deposit.h"
#include "library/control/pending_name.h"
#include "library/no_link.h"
#include "library/opening.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

SeedKind kind_of(const Ticket& ticket) noexcept { return static_cast<SeedKind>(ticket.purpose); }

void check_segment(const Ticket& ticket) {
  if (const char* why = invalid(ticket))
    throw Error(ErrorCode::invalid_argument, std::string("the ticket: ") + why);
  if (kind_of(ticket) < SeedKind::segment || !ticket.fast())
    throw Error(ErrorCode::seed_wrong_kind, "that is no segment");
}

[[noreturn]] void throw_not_opened(Status status, Refusal cause) {
  if (status == Status::link_ended)
    throw Error(ErrorCode::peer_died, "the exporter's process has ended, or its link has");
  if (status == Status::forked)
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (cause == Refusal::not_permitted)
    throw Error(ErrorCode::not_permitted, "the segment's protection does not let this user in");
  throw Error(ErrorCode::seed_stale,
              std::string(cause == Refusal::bad_key ? "the ticket has a wrong key: "
                                                    : "the segment has gone, or was revoked: ") +
                  name(cause));
}

// Whether there is nothing to be had yet.
bool for_now(Status status) noexcept {
  return status == Status::pending || status == Status::connecting || status == Status::queue_full ||
         status == Status::no_place;
}

}  // namespace

// How far it is. Guarded by `mutex`.
struct Import::Opening {
  enum class Stage : std::uint8_t { naming, confirming, asking_why, mapping, over };

  explicit Opening(const Options& options) : access(options.access), map(options.map) {}

  const Access access;
  const bool map;
  std::mutex mutex;
  Stage stage = Stage::naming;
  std::optional<library::PendingName> name;
  Terminus::Confirmation confirmation;
  RemoteHandle why;  // a fence, whose answer says why the owner did not confirm
  NotMapped not_mapped = NotMapped::not_asked;
  bool full = false;                    // as many slots of that process are open as may be
  std::unique_ptr<MappedSlot> mapping;  // not open yet, or not looked at
  std::exception_ptr failure;           // it was in vain
};

Import::Import(Interface& interface, const Options& options)
    : interface_(interface),
      terminus_(interface, {.entries = 64}),
      opening_(std::make_unique<Opening>(options)) {
  if (options.access > Access::write_only)
    throw Error(ErrorCode::invalid_argument,
                "an import has one of the accesses that hamlyn/values/mode.h names");
}

Import::Import(Interface& interface, std::string_view name, const Options& options, Begin) try
    : Import(interface, options) {
  opening_->name.emplace(interface, name);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("an import");
}

Import::Import(Interface& interface, const Ticket& ticket, const Options& options, Begin) try
    : Import(interface, options) {
  check_segment(ticket);
  begin_to_confirm(ticket);
  static_cast<void>(go_on());  // asks for the link; `opened` says how it stands
} catch (const std::bad_alloc&) {
  library::throw_no_memory("an import");
}

// The record found under a name, and what is left of the time to open it.
struct Import::Found {
  Ticket ticket;
  Options options;
};

Import::Found Import::look_up(Interface& interface, std::string_view name, const Options& options) {
  library::Patience patience(base::within_clock(options.timeout));
  patience.deadline();  // it runs from here on
  Found found{interface.lookup(name, options.timeout), options};
  found.options.timeout = std::chrono::ceil<std::chrono::milliseconds>(patience.left());
  return found;
}

Import::Import(Interface& interface, std::string_view name, const Options& options)
    : Import(interface, look_up(interface, name, options)) {}

Import::Import(Interface& interface, const Found& found) : Import(interface, found.ticket, found.options) {}

Import::~Import() = default;

// --- the waits

Status Import::opened(std::chrono::nanoseconds timeout) noexcept {
  library::Waiting& waiting = interface_.waiting();
  if (waiting.forked()) return Status::forked;
  if (is_open()) return Status::ok;
  const auto ready = [&] { return go_on(); };
  const std::uint32_t cancels = waiting.cancels();
  Status status = ready();
  if (status == Status::pending) status = waiting.until(ready, library::deadline_in(timeout), cancels);
  if (status != Status::timed_out) return status;
  const std::lock_guard guard(opening_->mutex);
  return opening_->full ? Status::no_place : status;
}

void Import::open(std::chrono::nanoseconds timeout) try {
  const Status status = opened(timeout);
  if (status == Status::no_place)
    throw Error(ErrorCode::out_of_memory,
                "as many slots and segments of the exporter's process are in use here as may be: 256");
  std::exception_ptr failure;
  std::uint64_t exporter = 0;
  if (status != Status::ok && status != Status::forked) {
    const std::lock_guard guard(opening_->mutex);
    failure = opening_->failure;
    exporter = ticket_.interface;
  }
  if (failure == nullptr && exporter != 0)
    library::throw_if_no_link("the segment was not opened", interface_, exporter);
  library::check_opened("the segment was not opened", status, [&] { return failure; });
} catch (const std::bad_alloc&) {
  library::throw_no_memory("an import");
}

Status Import::may_not(std::uint8_t use, std::chrono::nanoseconds& timeout) noexcept {
  if (!is_open()) {
    library::Patience patience(timeout);
    if (timeout > std::chrono::nanoseconds{0}) patience.deadline();  // it runs from here on
    const Status status = opened(timeout);
    if (status == Status::forked || status == Status::cancelled) return status;
    if (status != Status::ok) return Status::connecting;
    timeout = patience.left();
  }
  return (open_for() & use) == use ? Status::ok : Status::refused;
}

// --- the steps

// Goes on as far as can be. pending: not yet; ok; otherwise why it never will be open.
Status Import::go_on() noexcept {
  Opening& opening = *opening_;
  const std::lock_guard guard(opening.mutex);
  if (opening.failure == nullptr && !is_open()) {
    try {
      if (!advance()) return Status::pending;
      finish();
    } catch (const std::exception&) {
      opening.failure = std::current_exception();
      opening.mapping.reset();
    }
  }
  return opening.failure == nullptr ? Status::ok : library::status_of(opening.failure);
}

// True: all of it is done. Throws Error: it is in vain.
bool Import::advance() {
  using Stage = Opening::Stage;
  Opening& opening = *opening_;
  if (opening.stage == Stage::naming) {
    if (!opening.name->done()) return false;
    const Ticket found = opening.name->take();
    opening.name.reset();
    check_segment(found);
    begin_to_confirm(found);
  }
  if (opening.stage == Stage::confirming && !confirmed()) return false;
  if (opening.stage == Stage::asking_why) {
    if (opening.why.sequence == 0) {
      const Status asked = terminus_.fence(ticket_, {}, &opening.why);
      if (asked != Status::pending && for_now(asked)) return false;
      if (asked != Status::pending) throw_not_opened(asked, Refusal::none);
    }
    const Outcome why = terminus_.outcome(opening.why);
    if (why.status == Status::pending) return false;
    throw_not_opened(why.status, why.cause);
  }
  return opening.stage == Stage::over || mapped_or_not();
}

void Import::begin_to_confirm(const Ticket& ticket) {
  ticket_ = ticket;
  opening_->confirmation = terminus_.begin_confirm(ticket);
  opening_->stage = Opening::Stage::confirming;
}

// The owner's interface says whether the slot is good, and the rights are looked at. True: it can be gone on
// from there.
bool Import::confirmed() {
  using Stage = Opening::Stage;
  Opening& opening = *opening_;
  const Status status = terminus_.try_confirm(ticket_, opening.confirmation);
  opening.full = status == Status::no_place;
  if (for_now(status)) return false;
  if (status != Status::ok)
    library::throw_if_no_link("the segment was not opened", interface_, ticket_.interface);
  if (status == Status::refused) {
    opening.stage = Stage::asking_why;
    return true;
  }
  if (status != Status::ok) throw_not_opened(status, Refusal::none);
  const Opened opened = terminus_.opened(ticket_);
  if (!opened.gets && !opened.puts)
    throw_not_opened(Status::stale, Refusal::stale_generation);  // taken back since
  const bool reads = opening.access != Access::write_only, writes = opening.access != Access::read_only;
  if ((reads && !opened.gets) || (writes && !opened.puts))
    throw Error(ErrorCode::not_permitted, "the segment's protection does not let this user do that");
  near_ = terminus_.linked_near(ticket_);
  if (!near_) library::throw_if_no_link("the segment was not opened", interface_, ticket_.interface);
  opening.stage = Stage::over;
  if (!opening.map) return true;
  opening.not_mapped = !near_                                  ? NotMapped::other_host
                       : kind_of(ticket_) == SeedKind::segment ? NotMapped::not_shown
                       : !opened.gets                          ? NotMapped::no_rights
                                                               : NotMapped::opening;
  if (opening.not_mapped != NotMapped::opening) return true;
  opening.mapping = std::make_unique<MappedSlot>(interface_, ticket_, kBegin);
  opening.stage = Stage::mapping;
  return true;
}

// True: the memory is mapped, or never will be, and is reached by packets.
bool Import::mapped_or_not() {
  Opening& opening = *opening_;
  if (opening.mapping->opened({}) == Status::timed_out) return false;
  opening.stage = Opening::Stage::over;
  std::unique_ptr<MappedSlot> mapping = std::move(opening.mapping);
  try {
    mapping->open({});
  } catch (const Error& error) {
    // A segment of another host, or another user's shared one.
    if (error.code() != ErrorCode::not_permitted) throw;
    const NotMapped why = mapping->not_mapped();
    opening.not_mapped = why == NotMapped::opening ? NotMapped::unsaid : why;
    return true;
  }
  // A ticket may say anything, and so may the exporter of where its slot begins; by packets it sees to it. A
  // word across two lines would hold up every processor.
  const std::span<const std::byte> there = mapping->bytes();
  const auto words_whole = [&] {
    return reinterpret_cast<std::uintptr_t>(there.data() + ticket_.base) % sizeof(std::uint64_t) == 0;
  };
  const bool good = interface::inside(ticket_.base, ticket_.bound, there.size()) && words_whole();
  opening.not_mapped = good ? NotMapped::none : NotMapped::misplaced;
  if (good) mapped_ = std::move(mapping);
  return true;
}

NotMapped Import::not_mapped() const noexcept {
  if (!is_open()) return NotMapped::opening;
  const std::lock_guard guard(opening_->mutex);
  return opening_->not_mapped;
}

// From here on any thread may use it.
void Import::finish() noexcept {
  const Access access = opening_->access;
  std::uint8_t uses = kOpen;
  if (access != Access::write_only) uses |= kRead;
  if (access != Access::read_only) uses |= kWrite;
  open_for_.store(uses, std::memory_order_release);  // pairs with open_for()
}

}  // namespace hamlyn
