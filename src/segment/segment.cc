#include "hamlyn/segment/segment.h"

#include <algorithm>

#include "hamlyn/segment/versioned.h"
#include "hamlyn/values/seed.h"
#include "interface/remote/remote.h"
#include "library/control/name_claims.h"
#include "library/memory/wiring.h"
#include "library/wait/waiting.h"
#include "library/wait/word_wait.h"
#include "library/with_memory.h"
#include "segment/descriptors.h"
#include "segment/segments.h"

namespace hamlyn {

using library::Deadline;

namespace {

SeedKind kind_of(Sharing sharing) noexcept {
  switch (sharing) {
    case Sharing::mapped_read_only:
      return SeedKind::readable_segment;
    case Sharing::mapped_read_write:
      return SeedKind::shared_segment;
    default:
      return SeedKind::segment;
  }
}

[[noreturn]] void throw_taken(const std::string& name) {
  throw Error(ErrorCode::name_taken, "this process has registered " + name + " already");
}

// Whether it was registered by this interface, which would take the place of it.
bool is_own(Interface& interface, const std::string& name) {
  try {
    Registrant who;
    static_cast<void>(
        interface.lookup(name, std::chrono::milliseconds{0}, &who));  // who has it is the question
    return who.interface == interface.id();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::name_unknown && error.code() != ErrorCode::not_permitted) throw;
    return false;
  }
}

Rights rights_of(const Protection& protection) noexcept {
  constexpr std::uint32_t kGroup = 0060, kOthers = 0006;
  const bool everyone = (protection.mode & kOthers) != 0 || !protection.users.empty();
  return {.group = (protection.mode & kGroup) != 0, .everyone = everyone};
}

// Before a mutex that in a forked child a thread of the parent's may have.
void refuse_forked(Interface& interface) {
  if (interface.waiting().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
}

// A segment whose rights could not be set would be open to everybody.
void protect_slot(Slot& slot, const Protection& protection) {
  if (slot.protect(protection) != Status::ok)
    throw Error(ErrorCode::forked, "a forked child cannot say who may use a segment");
}

}  // namespace

// Keeps a name, so that no two segments of one interface have it, also while they are made.
class segment::NameClaim {
 public:
  NameClaim(Interface& interface, const std::string& name) : interface_(interface), name_(name) {
    refuse_forked(interface);
    if (!library::name_claims(interface).take(name)) throw_taken(name);
  }
  ~NameClaim() {
    if (!interface_.waiting().forked()) library::name_claims(interface_).give_back(name_);
  }
  NameClaim(const NameClaim&) = delete;
  NameClaim& operator=(const NameClaim&) = delete;

 private:
  Interface& interface_;
  const std::string name_;
};

MessageArea Segment::make_area(Interface& interface, const SegmentOptions& options) {
  if (options.memory.empty() && options.bytes == 0)
    throw Error(ErrorCode::invalid_argument,
                "a segment has no size: give SegmentOptions::bytes, or memory of your own");
  if (options.memory.empty()) return {interface, options.bytes, options.sharing};
  if (options.bytes != 0 && options.bytes != options.memory.size())
    throw Error(ErrorCode::invalid_argument, "the memory of a segment has another size than the segment");
  return {interface, options.memory, options.sharing};
}

Slot::Options Segment::slot_options(const SegmentOptions& options) {
  return {.bound = options.bytes,
          .fast = false,
          .places = options.places,
          .fetches = true,
          .gets = interface::kGetLimit,
          .puts = true,
          .hold = options.hold};
}

Segment::Segment(Interface& interface, const SegmentOptions& options) try
    : interface_(interface),
      name_(options.name),
      claim_(name_.empty() ? nullptr : std::make_unique<segment::NameClaim>(interface, name_)),
      area_(make_area(interface, options)),
      queue_(interface, options.records),
      slot_(area_, queue_, slot_options(options)),
      protection_(options.protection) {
  protect_slot(slot_, protection_);
  if (set_control(options.control) != Status::ok)
    throw Error(ErrorCode::invalid_argument,
                "a segment has one of the controls that hamlyn/values/put.h names");
  if (!name_.empty() && is_own(interface, name_)) throw_taken(name_);
  publish();
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a segment");
}

Segment::~Segment() {
  descriptors_.reset();
  if (name_.empty() || interface_.waiting().forked()) return;
  try {
    interface_.withdraw(name_);
  } catch (const std::exception&) {
    // The node has gone: its successor does not hear of the name from us any more. Or there is no memory to
    // ask it: then the name leads to what is no more until this process ends.
  }
}

void Segment::publish() {
  if (!name_.empty()) interface_.publish(name_, ticket(), rights_of(protection_));
}

Ticket Segment::ticket() const {
  Ticket ticket = slot_.ticket();
  ticket.purpose = static_cast<std::uint32_t>(kind_of(area_.sharing()));
  return ticket;
}

void Segment::revoke() {
  refuse_forked(interface_);
  const std::lock_guard guard(mutex_);
  slot_.change_key();
  if (area_.sharing() != Sharing::guarded) area_.revoke();
  publish();
}

void Segment::protect(const Protection& protection) {
  refuse_forked(interface_);
  const std::lock_guard guard(mutex_);
  protect_slot(slot_, protection);
  protection_ = protection;
  publish();
}

// A process that maps the segment reads what is there, pinned or not.
Status Segment::pin(std::size_t offset, std::size_t length) noexcept {
  if (area_.sharing() != Sharing::guarded) return Status::invalid;
  const Status status = slot_.pin(offset, length);
  if (status == Status::ok && length != 0) area_.wiring_->lock(bytes().subspan(offset, length));
  return status;
}

Status Segment::unpin(std::size_t offset, std::size_t length) noexcept {
  if (area_.sharing() != Sharing::guarded) return Status::invalid;
  const Status status = slot_.unpin(offset, length);
  if (status == Status::ok && length != 0) area_.wiring_->unlock(bytes().subspan(offset, length));
  return status;
}

// --- control

std::optional<SegmentRecord> Segment::poll() noexcept {
  // Refused packets may bring news without end: as much is passed over as may have stood there.
  for (std::size_t left = queue_.capacity(); left != 0; --left) {
    const std::optional<Notification> next = queue_.poll();
    if (!next) break;
    if (const auto record = segment::record_of(*next)) return record;
  }
  return std::nullopt;
}

Status Segment::wait(SegmentRecord& out, std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.waiting(), queue_.calls());
  const auto ready = [&](const library::Locked& locked) {
    Notification next;
    for (;;) {
      if (const Status status = queue_.take(locked, next); status != Status::ok) return status;
      const auto record = segment::record_of(next);
      if (!record) continue;  // news of refused packets
      out = *record;
      return Status::ok;
    }
  };
  return queue_.wait(call, ready, timeout);
}

Status Segment::find_word(std::size_t offset, std::size_t size) const noexcept {
  const std::size_t bound = const_cast<Slot&>(slot_).bytes().size();
  if (offset > bound || size > bound - offset) return Status::out_of_bounds;
  return offset % size == 0 ? Status::ok : Status::misaligned;
}

void Segment::check_word(std::size_t offset, std::size_t size) const {
  const Status status = find_word(offset, size);
  if (status == Status::ok) return;
  const std::string word = "a word of " + std::to_string(size) + " bytes at offset " + std::to_string(offset);
  throw Error(ErrorCode::invalid_argument,
              word + (status == Status::misaligned
                          ? ": the offset must be a multiple of its size"
                          : " does not lie inside the segment's " +
                                std::to_string(const_cast<Slot&>(slot_).bytes().size()) + " bytes"));
}

Status Segment::wait_for_words(std::span<const std::size_t> offsets, std::size_t& which, CallDone done,
                               const void* what, std::chrono::nanoseconds timeout,
                               std::span<const std::uint64_t> peers) noexcept {
  if (offsets.empty()) return Status::invalid;
  for (const std::size_t offset : offsets) {
    if (const Status wrong = find_word(offset, sizeof(std::uint64_t)); wrong != Status::ok) return wrong;
  }
  std::byte* const base = area_.bytes().data();
  const auto is_done = [&](std::size_t offset) {
    // Pairs with Import::write_signal, here or in a put: whoever finds the word finds the data.
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(base + offset));
    return done(what, word.load(std::memory_order_acquire));
  };
  library::Waiting& waiting = interface_.waiting();
  library::PendingCall call(waiting, queue_.calls());
  const auto ready = [&](const library::Locked& locked) {
    const auto found = std::ranges::find_if(offsets, is_done);
    which = static_cast<std::size_t>(found - offsets.begin());
    if (found != offsets.end()) return Status::ok;
    const auto linked = [&](std::uint64_t peer) { return waiting.linked(locked, peer); };
    return std::ranges::all_of(peers, linked) ? Status::pending : Status::link_ended;
  };
  const Deadline deadline = library::deadline_in(timeout);
  if (area_.sharing() != Sharing::mapped_read_write) return waiting.until(call, ready, deadline);
  // While this thread spins, nobody who stores need call.
  const Deadline spun = library::deadline_in(std::min<std::chrono::nanoseconds>(timeout, library::kSpin));
  const Status status = waiting.until(call, ready, spun);
  if (status != Status::timed_out) return status;
  const library::WordWait others_call(slot_);
  return waiting.until(call, ready, deadline);
}

void Segment::changed() noexcept { library::words_changed(slot_); }

// --- descriptors

segment::Descriptors& Segment::descriptors() {
  // An heir may read them.
  if (interface_.waiting().forked() && descriptors_ != nullptr) return *descriptors_;
  refuse_forked(interface_);
  const std::lock_guard guard(mutex_);
  if (descriptors_ == nullptr)
    descriptors_ = library::with_memory(
        "descriptors", [&] { return std::make_unique<segment::Descriptors>(*this, queue_); });
  return *descriptors_;
}

int Segment::control_descriptor() { return descriptors().control(); }
int Segment::data_descriptor() { return descriptors().data(); }

}  // namespace hamlyn
