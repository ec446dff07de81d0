#include "hamlyn/c/rr.h"

#include <fcntl.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <memory>

#include "c/rr_swap.h"
#include "c/rr_table.h"
#include "c/status.h"
#include "library/setting.h"
#include "library/wait/futex.h"

using namespace hamlyn;
using hamlyn::c::Exported;
using hamlyn::c::Imported;
using hamlyn::c::swap_value;
using hamlyn::c::Two;
using hamlyn::c::word_of;

static_assert(sizeof(rr_record) == sizeof(SegmentRecord) &&
              offsetof(rr_record, offset) == offsetof(SegmentRecord, offset) &&
              offsetof(rr_record, peer) == offsetof(SegmentRecord, peer));
static_assert(sizeof(rr_held) == sizeof(HeldPut) && offsetof(rr_held, notify) == offsetof(HeldPut, notify));
static_assert(RR_WRITTEN == static_cast<int>(SegmentRecord::Kind::written) &&
              RR_WAITS == static_cast<int>(SegmentRecord::Kind::held) &&
              RR_READ == static_cast<int>(SegmentRecord::Kind::read) &&
              RR_READ_FAILED == static_cast<int>(SegmentRecord::Kind::read_failed) &&
              RR_GOT == static_cast<int>(SegmentRecord::Kind::got) &&
              RR_SWAPPED == static_cast<int>(SegmentRecord::Kind::swapped));
static_assert(RR_NOINTR == static_cast<int>(Control::never) && RR_INTR == static_cast<int>(Control::always) &&
              RR_CINTR == static_cast<int>(Control::conditional));

namespace {

// For room in the work queue, answers, and what a link needs to be made. A link whose other side takes
// nothing for so long has ended anyway.
constexpr std::chrono::seconds kPatience{10};
library::Clock::time_point patience_from_now() noexcept { return library::Clock::now() + kPatience; }
constexpr std::uint32_t kCell = 40;  // ten words
constexpr std::uint32_t kPiece = 65536;

// --- the process's own

struct Process {
  explicit Process(const Process* parent) : table(parent == nullptr ? nullptr : &parent->table) {}
  Interface interface {
    { .dead = kPatience }
  };  // nobody can ask for another one
  c::RrTable table;
};

// Made at first use, and never destroyed: nobody knows which thread uses it last. The compare_exchange that
// sets `current` pairs with the loads of all other threads: whoever sees it sees what it leads to.
std::atomic<Process*> current{nullptr};
std::atomic<Process*> parents{nullptr};  // a forked child's: of no use but for its numbers

// From the program's start on: a child that is forked at the moment at which this is done would wait for the
// thread that does it.
[[maybe_unused]] const int children_begin_anew = pthread_atfork(nullptr, nullptr, [] {
  if (Process* const parent = current.exchange(nullptr)) parents.store(parent);
});

// Null: there is none yet.
Process* made() noexcept {
  if (library::simulation != nullptr) return static_cast<Process*>(library::simulation->own().get());
  return current.load(std::memory_order_acquire);
}

Process& process() {
  if (Process* const own = made()) return *own;
  if (library::simulation != nullptr) {
    library::simulation->own() = std::make_shared<Process>(nullptr);
    return *made();
  }
  auto fresh = std::make_unique<Process>(parents.load());
  Process* other = nullptr;
  if (!current.compare_exchange_strong(other, fresh.get(), std::memory_order_acq_rel)) return *other;
  return *fresh.release();
}

// --- errno

int error_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::node_unreachable:
      return ENETDOWN;
    case ErrorCode::node_not_trusted:
      return EPERM;
    case ErrorCode::version_mismatch:
      return EPROTO;
    case ErrorCode::quota_interfaces:
    case ErrorCode::node_full:
    case ErrorCode::quota_links:
    case ErrorCode::quota_bytes:
    case ErrorCode::quota_names:
      return EDQUOT;
    case ErrorCode::name_taken:
      return EEXIST;
    case ErrorCode::name_unknown:
      return ENOENT;
    case ErrorCode::name_invalid:
    case ErrorCode::invalid_argument:
    case ErrorCode::seed_invalid:
      return EINVAL;
    case ErrorCode::not_permitted:
    case ErrorCode::seed_forged:
      return EACCES;
    case ErrorCode::timed_out:
      return ETIMEDOUT;
    case ErrorCode::cancelled:
      return ECANCELED;
    case ErrorCode::out_of_memory:
      return ENOMEM;
    case ErrorCode::system:
      return EIO;
    case ErrorCode::forked:
      return EBADF;
    case ErrorCode::disk_full:
      return ENOSPC;
    case ErrorCode::seed_wrong_kind:
      return EPROTOTYPE;
    case ErrorCode::seed_used:
      return EBUSY;
    case ErrorCode::seed_stale:
      return ESTALE;
    case ErrorCode::peer_refused:
      return ECONNREFUSED;
    case ErrorCode::peer_died:
      return ECONNRESET;
  }
  return EIO;
}

int error_of(Status status, Refusal cause) noexcept {
  switch (status) {
    case Status::queue_full:
    case Status::no_place:
    case Status::connecting:
    case Status::timed_out:
      return ETIMEDOUT;  // it waited for that long
    case Status::cancelled:
      return ECANCELED;
    case Status::link_ended:
      return ECONNRESET;
    case Status::refused:
      if (cause == Refusal::not_pinned || cause == Refusal::inhibited) return EAGAIN;
      return cause == Refusal::hold_full ? ENOBUFS : EACCES;
    case Status::too_long:
      return EMSGSIZE;
    case Status::out_of_bounds:
      return EFAULT;
    case Status::no_buffer:
      return ENOBUFS;
    case Status::forked:
      return EBADF;
    case Status::stale:
      return ESTALE;
    default:
      return EINVAL;
  }
}

int fail(int error) noexcept {
  errno = error;
  return -1;
}
char* fail_address(int error) noexcept {
  errno = error;
  return reinterpret_cast<char*>(std::intptr_t{-1});
}
int answer(Status status, Refusal cause = Refusal::none) noexcept {
  return status == Status::ok || status == Status::pending ? 0 : fail(error_of(status, cause));
}

// Runs `work`, and returns what it throws as errno; 0: nothing.
template <class Work>
int error_in(const char* call, Work work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    c::caught(call);
    return error_of(error.code());
  } catch (const std::bad_alloc&) {
    c::caught(call);
    return ENOMEM;
  } catch (const std::exception&) {
    c::caught(call);
    return EIO;
  }
}

// --- what numbers mean

// Null, and errno: there is no such segment.
c::RrTable::Owned find(int segment) noexcept {
  Process* const own = made();
  return own == nullptr ? c::RrTable::Owned{} : own->table.find(segment);
}
std::shared_ptr<Exported> exported(int segment) noexcept {
  auto found = find(segment).first;
  if (found == nullptr) errno = EBADF;
  return found;
}
std::shared_ptr<Imported> imported(int segment, bool reads, bool writes) noexcept {
  auto found = find(segment).second;
  if (found == nullptr || (reads && found->access == Access::write_only) ||
      (writes && found->access == Access::read_only)) {
    errno = EBADF;
    return nullptr;
  }
  return found;
}

char* address_of(Exported& of) noexcept { return reinterpret_cast<char*>(of.segment.bytes().data()); }

bool inside(std::uint64_t offset, std::uint64_t length, std::size_t size) noexcept {
  return offset <= size && length <= size - offset;
}

// Gives what was made a number.
int add(Process& own, c::RrTable::Owned made) {
  const int number = own.table.add(std::move(made));
  if (number < 0) throw Error(ErrorCode::quota_names, "2048 segments are open");
  return number;
}

// --- bodies of calls

struct Part {
  std::size_t offset = 0, length = 0;
};

// 0, or errno.
int part_of(Exported& of, const char* from, int length, Part& part) noexcept {
  if (length < 0) return EINVAL;
  if (length == 0) return 0;
  const auto base = reinterpret_cast<std::uintptr_t>(address_of(of));
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (address < base || !inside(address - base, static_cast<std::size_t>(length), of.segment.bytes().size()))
    return EFAULT;
  part = {address - base, static_cast<std::size_t>(length)};
  return 0;
}

// Starts it; waits while there is no room to.
Status start_read(Imported& source, Segment& into, std::size_t from, std::size_t to, std::size_t length,
                  const ReadOptions& options, RemoteHandle& handle) noexcept {
  const auto end = patience_from_now();
  for (bool refused = false;;) {
    const Status status = source.import.read(from, into, to, length, options, &handle);
    const bool later =
        status == Status::queue_full || status == Status::connecting || status == Status::no_place;
    if (!later || library::Clock::now() > end) return status;
    if (status == Status::connecting) {
      if (refused) return Status::link_ended;
      // `refused` says that there will be no link, or that the segment has gone: the read that finds a link
      // says which.
      const Status linked = source.link.connect(source.import.ticket(), kPatience);
      refused = linked == Status::refused;
      if (!refused && linked != Status::ok) return linked;
    } else if (!source.import.run()) {
      library::yield();
    }
  }
}

// -1, and errno: a read that was begun before has not been done, as is known by now.
int told_of_reads(Imported& source) noexcept {
  const Outcome failure = source.reads.first_failure(source.import);
  return answer(failure.status, failure.cause);
}

int read_block(int remote, int local, std::uint32_t from, std::uint32_t to, std::uint32_t count) noexcept {
  const auto source = imported(remote, true, false);
  if (source == nullptr) return -1;
  const auto landing = exported(local);
  if (landing == nullptr) return -1;
  std::uint64_t at = to & ~RR_NOTIFY, place = from & ~RR_NOTIFY;
  if (!inside(at, count, landing->segment.bytes().size())) return fail(EFAULT);
  if (told_of_reads(*source) != 0) return -1;
  const Control control = landing->control.load(std::memory_order_relaxed);
  const bool notify =
      control == Control::always || (control == Control::conditional && (to & RR_NOTIFY) != 0);
  for (std::uint32_t left = count; left != 0;) {
    const std::uint32_t length = std::min(left, kPiece);
    const bool last = length == left;
    const ReadOptions options{.notify = notify && last, .tell_exporter = (from & RR_NOTIFY) != 0 && last};
    RemoteHandle handle;
    const Status status = start_read(*source, landing->segment, place, at, length, options, handle);
    if (status != Status::pending) return answer(status);
    if (!last) {
      const Outcome outcome = source->import.wait(handle, kPatience);
      if (outcome.status != Status::ok) return answer(outcome.status, outcome.cause);
    } else if (!notify) {
      source->reads.add(handle);
    }
    left -= length;
    place += length;
    at += length;
  }
  return 0;
}

int write_block(int segment, std::uint32_t offset, const void* data, std::uint32_t count) noexcept {
  const auto target = imported(segment, false, true);
  if (target == nullptr || told_of_reads(*target) != 0) return -1;
  const std::span bytes(static_cast<const std::byte*>(data), count);
  const WriteOptions options{.notify = (offset & RR_NOTIFY) != 0};
  return answer(target->import.write(offset & ~RR_NOTIFY, bytes, kPatience, options));
}

Outcome swap_there(Imported& target, std::uint32_t at, std::uint32_t expected, Two desired, Two& result) {
  const FetchOptions options{.notify = (at & RR_NOTIFY) != 0};
  const auto swap = [&](std::uint64_t hoped, std::uint64_t wanted) {
    return target.import.compare_and_swap(at & ~RR_NOTIFY, hoped, wanted, kPatience, options);
  };
  const std::uint32_t guess = target.nonce.load(std::memory_order_relaxed);
  const Outcome outcome = swap_value(swap, expected, desired, guess, result, patience_from_now());
  target.nonce.store(result.nonce, std::memory_order_relaxed);
  return outcome;
}

Outcome swap_here(Exported& target, std::uint32_t at, std::uint32_t expected, Two desired, Two& result) {
  const auto word = target.segment.at<std::uint64_t>(at);
  const auto swap = [&](std::uint64_t hoped, std::uint64_t wanted) {
    word.compare_exchange_strong(hoped, wanted);
    return Outcome{Status::ok, Refusal::none, hoped};
  };
  return swap_value(swap, expected, desired, 0, result, patience_from_now());
}

bool word_inside(Exported& of, std::uint32_t offset) noexcept {
  return inside(offset, sizeof(Two), of.segment.bytes().size());
}

}  // namespace

// --- segments of one's own

char* rr_export(const char* name, int size, int prot, int* segment, char* addr) {
  if (segment == nullptr || size <= 0 || (prot & ~0777) != 0) return fail_address(EINVAL);
  char* made = nullptr;
  const int error = error_in(__func__, [&] {
    SegmentOptions options{.name = name == nullptr ? "" : name};
    options.protection.mode = static_cast<std::uint32_t>(prot);
    const auto bytes = static_cast<std::size_t>(size);
    if (addr == nullptr) {
      options.bytes = bytes;
    } else {
      options.memory = {reinterpret_cast<std::byte*>(addr), bytes};
    }
    Process& own = process();
    auto fresh = std::make_shared<Exported>(own.interface, options);
    made = address_of(*fresh);
    *segment = add(own, {std::move(fresh), nullptr});
  });
  return error == 0 ? made : fail_address(error);
}

int rr_cleanexport(int segment) {
  if (exported(segment) == nullptr) return -1;
  made()->table.remove(segment);
  return 0;
}

char* rr_remap(int segment, char* unpin, int unl, char* pin, int nl) {
  const auto own = exported(segment);
  if (own == nullptr) return fail_address(EBADF);
  Part out, in;
  if (const int wrong = part_of(*own, unpin, unl, out)) return fail_address(wrong);
  if (const int wrong = part_of(*own, pin, nl, in)) return fail_address(wrong);
  Status status = Status::ok;
  if (out.length != 0) status = own->segment.unpin(out.offset, out.length);
  if (status == Status::ok && in.length != 0) status = own->segment.pin(in.offset, in.length);
  return status == Status::ok ? address_of(*own) : fail_address(error_of(status, Refusal::none));
}

char* rr_setprot(int segment, int prot) {
  const auto own = exported(segment);
  if (own == nullptr) return fail_address(EBADF);
  if ((prot & ~0777) != 0) return fail_address(EINVAL);
  const int error =
      error_in(__func__, [&] { own->segment.protect({.mode = static_cast<std::uint32_t>(prot)}); });
  return error == 0 ? address_of(*own) : fail_address(error);
}

int mprot(int segment) {
  const auto own = exported(segment);
  return own == nullptr ? -1 : answer(own->segment.inhibit());
}

int munprot(int segment) {
  const auto own = exported(segment);
  return own == nullptr ? -1 : answer(own->segment.release());
}

int rr_setintr(int segment, int notify) {
  const auto own = exported(segment);
  if (own == nullptr) return -1;
  if (notify < RR_NOINTR || notify > RR_CINTR) return fail(EINVAL);
  const auto control = static_cast<Control>(notify);
  own->control.store(control, std::memory_order_relaxed);
  return answer(own->segment.set_control(control));
}

int rr_getfd(int segment, int type) {
  const auto own = exported(segment);
  if (own == nullptr) return -1;
  if (type != RR_CONTROL && type != RR_DATA) return fail(EINVAL);
  int descriptor = -1;
  const int error = error_in(__func__, [&] {
    descriptor = type == RR_CONTROL ? own->segment.control_descriptor() : own->segment.data_descriptor();
  });
  return error == 0 ? descriptor : fail(error);
}

// --- segments of others

int rr_import(const char* name, int access) {
  if (name == nullptr || (access != O_RDONLY && access != O_WRONLY && access != O_RDWR)) return fail(EINVAL);
  int number = -1;
  const int error = error_in(__func__, [&] {
    Process& own = process();
    const Import::Options options{.access = access == O_RDONLY   ? Access::read_only
                                            : access == O_WRONLY ? Access::write_only
                                                                 : Access::read_write,
                                  .map = false,
                                  .timeout = kPatience};
    const Ticket ticket = own.interface.lookup(name);
    number = add(own, {nullptr, std::make_shared<Imported>(own.interface, ticket, options)});
  });
  return error == 0 ? number : fail(error);
}

int rr_cleanimport(int segment) {
  if (imported(segment, false, false) == nullptr) return -1;
  const auto gone = made()->table.remove(segment).second;
  if (gone == nullptr) return fail(EBADF);
  const Status status = gone->access == Access::read_only ? Status::ok : gone->import.flush(kPatience);
  return status != Status::ok ? answer(status, gone->import.refusal()) : told_of_reads(*gone);
}

// --- the instructions

int rwi(int segment, std::uint32_t offset, std::uint32_t word0, std::uint32_t word1, std::uint32_t word2,
        std::uint32_t word3, std::uint32_t word4, std::uint32_t word5, std::uint32_t word6,
        std::uint32_t word7, std::uint32_t word8, std::uint32_t word9) {
  const std::uint32_t words[] = {word0, word1, word2, word3, word4, word5, word6, word7, word8, word9};
  static_assert(sizeof words == kCell);
  return write_block(segment, offset, words, kCell);
}

int rwblk(int segment, std::uint32_t offset, std::uint32_t count, const void* data) {
  if (data == nullptr && count != 0) return fail(EINVAL);
  return write_block(segment, offset, data, count);
}

int rri(int remote, int local, std::uint32_t from, std::uint32_t to) {
  return read_block(remote, local, from, to, kCell);
}

int rrblk(int remote, int local, std::uint32_t from, std::uint32_t to, std::uint32_t count) {
  return read_block(remote, local, from, to, count);
}

int rrcsi(int remote, int local, std::uint32_t at, std::uint32_t to, std::uint32_t expected,
          std::uint32_t desired, std::uint32_t nonce) {
  const auto result = exported(local);
  if (result == nullptr) return -1;
  if (to % sizeof(Two) != 0 || at % sizeof(Two) != 0) return fail(EINVAL);
  if (!word_inside(*result, to)) return fail(EFAULT);
  Two found;
  Outcome outcome;
  if (const auto own = find(remote).first) {
    const std::uint32_t here = at & ~RR_NOTIFY;  // nobody is told of what is done at home
    if (!word_inside(*own, here)) return fail(EFAULT);
    outcome = swap_here(*own, here, expected, {desired, nonce}, found);
  } else {
    const auto target = imported(remote, true, true);
    if (target == nullptr || told_of_reads(*target) != 0) return -1;
    outcome = swap_there(*target, at, expected, {desired, nonce}, found);
  }
  if (outcome.status != Status::ok) return answer(outcome.status, outcome.cause);
  // Its partner is the user's: who looks there for the answer.
  result->segment.at<std::uint64_t>(to).store(word_of(found), std::memory_order_release);
  return 0;
}
