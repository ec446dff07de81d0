// A program's beginning and end, and what a rank waits by.
#include "splitc/runtime.h"

#include <unistd.h>

#include <utility>

#include "base/memory.h"
#include "base/random.h"
#include "library/no_link.h"
#include "library/setting.h"
#include "library/wait/futex.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "splitc/functions.h"
#include "splitc/settings.h"
#include "splitc/vi/way.h"

namespace hamlyn::internal_::splitc {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;    // for all ranks to begin
constexpr unsigned kSpins = 2000;  // looks before a rank yields its processor, if each has one
constexpr unsigned kCrowdedSpins = 20;
constexpr unsigned kMostSpins = 1 << 16;  // before it looks who lives, whoever sends it messages meanwhile
constexpr unsigned kYields = 50;
constexpr auto kStoreSlice = 1ms;  // between two looks at stores into mapped heaps, which wake nobody
constexpr auto kMoment = 1us;

std::uint64_t heap_bytes(const ProgramOptions& options) {
  const std::uint64_t rounded = (options.heap + kPage - 1) / kPage * kPage;
  if (options.heap == 0 || options.heap > kPlaces / 2)
    throw Error(ErrorCode::invalid_argument,
                "a heap of " + std::to_string(options.heap) + " bytes: 1 to " + std::to_string(kPlaces / 2));
  return rounded;
}

bool is_guarded(const ProgramOptions& options) { return options.guarded || over_of(options) == Over::vi; }

SegmentOptions segment_options(std::uint32_t ranks, const ProgramOptions& options) {
  return {.bytes = heap_at(ranks) + heap_bytes(options),
          .sharing = is_guarded(options) ? Sharing::guarded : Sharing::mapped_read_write,
          .control = Control::never,
          .places = 1,
          .records = 16};
}

// Throws unless that is a rank of a program, and before anything is made or joined for it.
const JobPlace& checked(const JobPlace& place, const ProgramOptions& options) {
  static_cast<void>(heap_bytes(options));
  const std::uint32_t credits = credits_of(options);
  if (over_of(options) == Over::vi && place.size > ViWay::most_ranks(credits))
    throw Error(ErrorCode::invalid_argument, "over VI, with " + std::to_string(credits) +
                                                 " credits, there may be " +
                                                 std::to_string(ViWay::most_ranks(credits)) +
                                                 " ranks, and not " + std::to_string(place.size));
  if (place.size == 0 || place.size >= kMostRanks || place.rank >= place.size)
    throw Error(ErrorCode::invalid_argument, "a place in a job: rank " + std::to_string(place.rank) + " of " +
                                                 std::to_string(place.size) + "; of 1 to " +
                                                 std::to_string(kMostRanks - 1));
  return place;
}

JobOptions going_on() { return {.go_on = true}; }  // who waits for a rank that ends throws, and says which

}  // namespace

Runtime::Runtime(Interface& interface, const JobPlace& place, const ProgramOptions& options)
    : interface_(interface),
      job_(interface, checked(place, options), going_on()),
      rank_(job_.rank()),
      ranks_(job_.size()),
      guarded_(is_guarded(options)),
      segment_(interface, segment_options(ranks_, options)),
      own_(segment_.bytes().data()),
      heaps_(std::make_unique<Heap[]>(kMostRanks)),
      peers_(ranks_),
      book_(heap_bytes(options)),
      meeting_(own_, rank_, ranks_) {
  crowded_ = library::simulation != nullptr ||  // there each has the one thread in turn
             std::int64_t{place.size_here} > ::sysconf(_SC_NPROCESSORS_ONLN);
  view_ = {.first = heap_at(ranks_),
           .bytes = heap_bytes(options),
           .rank = rank_,
           .ranks = ranks_,
           .looks = kLooks,
           .heaps = heaps_.get(),
           .runtime = this};
  for (std::uint32_t rank = 0; rank != kMostRanks; ++rank) heaps_[rank].first = out_of_reach(rank);
  try {
    if (over_of(options) == Over::vi) vi_ = std::make_unique<ViWay>(interface_, ranks_, credits_of(options));
    open_heaps(tell_each_other(heap_bytes(options)));
  } catch (...) {
    if (here == &view_) here = &nobody;  // looking for the cause has set it
    throw;
  }
  set_view();
  resume();
}

Runtime::~Runtime() {
  if (here == &view_) here = &nobody;
}

std::vector<Told> Runtime::tell_each_other(std::uint64_t heap) {
  const Told own{.guarded = guarded_,
                 .over_vi = vi_ != nullptr,
                 .credits = vi_ != nullptr ? vi_->credits() : 0,
                 .heap = heap,
                 .functions = hash_of_functions(),
                 .mark = base::random_key() >> kMarkShift | 1,
                 .interface = interface_.id(),
                 .ticket = segment_.ticket(),
                 .session = vi_ != nullptr ? vi_->session() : 0,
                 .door = vi_ != nullptr ? vi_->door() : Ticket{}};
  std::vector<Told> all;
  met(job_.all_gather(own, all, kPatience), "they begin");
  mark_ = all[0].mark & 0xffff;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    check_told(rank, all[rank]);
    peers_[rank].interface = all[rank].interface;
    if (rank != rank_) others_.push_back(all[rank].interface);
    if (rank != rank_)
      peers_[rank].import =
          std::make_unique<Import>(interface_, all[rank].ticket, Import::Options{.map = !guarded_}, kBegin);
  }
  return all;
}

// Throws unless that rank is of the same program, begun in the same way.
void Runtime::check_told(std::uint32_t rank, const Told& told) const {
  const auto differ = [&](const char* what, std::uint64_t there, std::uint64_t own) {
    if (there != own)
      refuse(ErrorCode::invalid_argument, name_of(rank) + " has " + what + " " + std::to_string(there) +
                                              ", and this one, " + std::to_string(rank_) + ", " +
                                              std::to_string(own));
  };
  if (told.version == 0)  // of one that has ended there are zeros
    refuse(ErrorCode::peer_died, name_of(rank) + " has ended before all had begun");
  if (told.version != kWireVersion)
    refuse(ErrorCode::version_mismatch, name_of(rank) + " was built with another version of the library");
  if (told.over_vi != (vi_ != nullptr))
    refuse(ErrorCode::invalid_argument, name_of(rank) + " goes over " + (vi_ != nullptr ? "segments" : "vi") +
                                            ", and this one, " + std::to_string(rank_) + ", over " +
                                            (vi_ != nullptr ? "vi" : "segments"));
  if (vi_ != nullptr) differ("credits", told.credits, vi_->credits());
  if (vi_ != nullptr && told.door.interface != told.interface)
    refuse(ErrorCode::invalid_argument, name_of(rank) + " shows a NIC that is not its own");
  differ("a heap of bytes", told.heap, view_.bytes);
  differ("for guarded", told.guarded, guarded_);
  if (told.functions != hash_of_functions())
    refuse(ErrorCode::invalid_argument, name_of(rank) + " is another program than " + name_of(rank_));
}

void Runtime::open_heaps(const std::vector<Told>& told) {
  reach_segment(rank_, own_);
  std::uint8_t mapped = 1;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
    if (rank != rank_) {
      open(rank);
      if (import(rank).size() != segment_.bytes().size())
        refuse(ErrorCode::invalid_argument, name_of(rank) + " shows a heap of another size than it said");
      if (import(rank).writes_by_stores())
        reach_segment(rank, import(rank).mapping()->writable().data());
      else
        mapped = 0;
    }
    if (base(rank) != nullptr)
      heaps_[rank].stored = reinterpret_cast<std::uint64_t*>(base(rank) + other_at(rank_));
  }
  if (vi_ != nullptr) connect_vis(told);
  std::vector<std::uint8_t> all;
  met(job_.all_gather(mapped, all, kPatience), "they have each other's heaps");
  all_mapped_ = std::ranges::all_of(all, [](std::uint8_t each) { return each == 1; });
}

void Runtime::open(std::uint32_t rank) {
  try {
    import(rank).open(kPatience);
    peers_[rank].link = library::link_now(interface_, peers_[rank].interface).serial;
  } catch (const Error& error) {
    fail_ended("the heap of " + name_of(rank) + " was not opened: " + error.what());
  }
}

// Throws unless all ranks have met at the beginning.
void Runtime::met(Status status, const char* doing) {
  if (status == Status::ok) return;
  const std::string text = std::string("the ranks did not meet when ") + doing + ": ";
  if (status == Status::refused) refuse(ErrorCode::invalid_argument, text + job_.why());
  if (status == Status::timed_out) refuse(ErrorCode::timed_out, text + "not all have come");
  if (status == Status::link_ended) fail_ended("a rank, or the command that has started all, has ended");
  refuse(ErrorCode::cancelled, text + name(status));
}

void Runtime::end() {
  if (ended_) return;
  sync(nullptr);
  begin(Kind::end, 0, 0, nullptr, 0);
  finish();
  ended_ = true;
  // No heap goes while a rank still looks whether all have come.
  static_cast<void>(job_.barrier(kPatience));
  resume();
}

// --- waiting

void Runtime::wait(base::FunctionRef<bool()> ready, Waits waits) {
  while (!spin(ready, waits)) {
    const std::uint64_t before = handled_over_vi();
    do {
      if (sleep(ready, waits)) return;
    } while (crowded_ || handled_over_vi() == before);  // more may follow what has come
  }
}

// Looks for a moment, and for another one behind each message of a VI.
bool Runtime::spin(base::FunctionRef<bool()> ready, Waits waits) {
  const unsigned spins = crowded_ ? kCrowdedSpins : kSpins;
  for (unsigned looks = 0, all = 0; looks != spins && all != kMostSpins; ++looks, ++all) {
    if (ready()) return true;
    if (waits != Waits::replies) serve();
    if (all_mapped_)
      base::pause();
    else if (run() && !crowded_)
      looks = 0;
  }
  for (unsigned looks = 0; looks != kYields; ++looks) {
    if (ready()) return true;
    if (waits != Waits::replies) serve();
    static_cast<void>(run());
    library::yield();
    resume();
  }
  return false;
}

// Lets others run, and time pass, where there are more ranks than processors: who asks again and again would
// keep them from what it asks for.
void Runtime::give_way() {
  if (!crowded_) return;
  const Status status = interface_.wait_any([] { return false; }, kMoment);
  library::yield();
  resume();
  if (status != Status::timed_out) fail_by(status, rank_);
}

// Sleeps until something has changed. Returns whether it is ready.
bool Runtime::sleep(base::FunctionRef<bool()> ready, Waits waits) {
  const Status status = vi_ != nullptr ? wait_over_vi(ready, waits) : wait_over_segments(ready, waits);
  resume();
  const bool looks = status == Status::ok || status == Status::timed_out || status == Status::link_ended;
  if (!looks) fail_by(status, rank_);
  if (vi_ != nullptr && vi_->breach()) fail_breach();
  if (waits != Waits::replies) serve();
  if (ready()) return true;
  const auto rank = who_has_ended();
  // Its last words may have come before its end was noticed.
  if (!rank || ready()) return rank.has_value();
  fail_gone(*rank);
}

Status Runtime::wait_over_segments(base::FunctionRef<bool()> ready, Waits waits) {
  std::uint32_t rank = 0;
  while (rank != ranks_ && (rank == rank_ || guarded_ || !same_host(rank))) ++rank;
  const bool unheard = waits == Waits::stores && rank != ranks_;  // some come by another's own stores
  const std::chrono::nanoseconds time = unheard ? std::chrono::nanoseconds(kStoreSlice) : kForEver;
  return segment_.wait_until(
      0, [&](std::uint64_t) { return ready() || asked(); }, time, std::span<const std::uint64_t>(others_));
}

std::optional<std::uint32_t> Runtime::who_has_ended() noexcept {
  if (vi_ != nullptr && vi_->first_ended()) return vi_->first_ended();
  library::Waiting& waiting = interface_.waiting();
  const library::Lock lock(waiting);
  if (!lock) return std::nullopt;
  for (std::uint32_t rank = 0; rank != ranks_; ++rank)
    if (rank != rank_ && !waiting.linked(lock.held(), peers_[rank].interface)) return rank;
  return std::nullopt;
}

void Runtime::look() {
  if (const auto rank = who_has_ended()) fail_gone(*rank);
}

}  // namespace hamlyn::internal_::splitc
