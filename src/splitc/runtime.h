#pragma once
// A rank's run-time: its segment (control block and heap), the imports of all others, and what it waits for.
// The machines beneath look at memory alone: meeting.h, heap_book.h.
//
// One thread. What a rank waits for is written into its control block by the others: it looks, spinning for a
// moment, then yields the processor between looks, and then sleeps as Segment::wait_until does. Who writes by
// stores says `changed` behind what somebody may wait for. A store of the language into a mapped heap says
// nothing: a rank that waits for stores, and whose heap others may have mapped, looks a thousand times a
// second while it sleeps.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/namespaces.h"
#include "hamlyn/job/job.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/splitc.h"
#include "hamlyn/values/error.h"
#include "splitc/heap_book.h"
#include "splitc/meeting.h"
#include "splitc/shared_word.h"
#include "splitc/splitc_wire.h"

namespace hamlyn::internal_::splitc {

using hamlyn::splitc::ProgramOptions;

class ViWay;

class Runtime {
 public:
  Runtime(Interface& interface, const JobPlace& place, const ProgramOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Calls of users. Those that are not noexcept throw Error.
  void end();

  void read(std::uint64_t word, void* into, std::size_t bytes);
  void write(std::uint64_t word, const void* from, std::size_t bytes);
  void store(std::uint64_t word, const void* from, std::size_t bytes);
  std::uint64_t fetch(std::uint64_t word, const Fetch& fetch);
  void update(std::uint64_t word, const Fetch& fetch);
  std::byte* local(std::uint64_t word, std::size_t bytes) noexcept;
  std::uint64_t word_of(const void* mine) const;
  std::uint64_t make_word(std::uint32_t owner, std::uint64_t place) const noexcept {
    return mark_ << kMarkShift | std::uint64_t{owner & (kMostRanks - 1)} << kPlaceBits | (place & kPlaces);
  }

  void get(std::uint64_t word, std::span<std::byte> into, const Strides* strides, Batch* batch);
  void put(std::uint64_t word, std::span<const std::byte> from, Batch* batch);
  void bulk_put(std::uint64_t word, std::span<const std::byte> from, const Strides* strides, Batch* batch);
  bool done(Batch* batch);
  void sync(Batch* batch);
  // Forgets a batch that goes though some of it is under way.
  void forget(Batch& batch) noexcept;
  void forget_asks() noexcept;

  void bulk_read(std::uint64_t word, std::span<std::byte> into, const Strides* strides);
  void bulk_write(std::uint64_t word, std::span<const std::byte> from, const Strides* strides);
  void bulk_store(std::uint64_t word, std::span<const std::byte> from, const Strides* strides,
                  std::uint64_t counter);

  void begin(Kind kind, std::uint32_t root, std::uint64_t size, const void* piece, std::size_t bytes);
  bool is_over();
  void finish();
  const std::byte* gather(Kind kind, std::uint32_t root, const void* mine, std::size_t bytes);
  void wait_for(const std::uint64_t& mine, std::uint64_t at_least);
  void store_sync(std::size_t bytes);
  void all_store_sync();

  void poll();
  // Keeps the exception that is being handled, which nobody waits for, unless an earlier one is kept.
  void keep_thrown() noexcept {
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }
  // Throws what was kept, once.
  void tell_thrown() {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
  void call(std::uint32_t who, std::uint32_t function, const std::byte* arguments, std::byte* result);

  std::uint64_t allocate(std::size_t count, std::size_t bytes);
  void deallocate(std::uint64_t word);
  std::uint64_t allocate_everywhere(std::size_t count, std::size_t bytes);
  void deallocate_everywhere(std::uint64_t word);
  // Whether that pointer is of this program, and not of one that has ended.
  bool has_made(std::uint64_t word) const noexcept { return mark_of(word) == mark_; }

  bool same_host(std::uint32_t other) const {
    if (other >= ranks_) throw_outside(other, ranks_, "rank");
    return peers_[other].interface >> 48 == peers_[rank_].interface >> 48;  // of a node's interfaces
  }
  bool failed() const noexcept { return failure_.has_value(); }
  // Null: the program goes over segments.
  ViWay* vi() noexcept { return vi_.get(); }

 private:
  static constexpr std::size_t kRow = 64;
  static constexpr std::size_t kSmall = 48;      // bytes of a store or a get that may leave with others
  static constexpr std::uint32_t kLooks = 4096;  // reads between two looks at who lives
  // Questions to one rank, so long as the first of them is under way: its terminus forgets how one ended when
  // 63 more were asked.
  static constexpr std::uint64_t kAsks = 60;
  static constexpr std::chrono::nanoseconds kForEver = std::chrono::nanoseconds::max();

  // A get or a fence that is under way.
  struct Ask {
    std::uint64_t number = 0;  // of the question
    bool fence = false, over = false;
    RemoteHandle handle;
    Batch* batch = nullptr;
  };
  // Another rank.
  struct Peer {
    std::unique_ptr<Import> import;
    std::uint64_t interface = 0;
    std::uint64_t link = 0;   // serial number of the import's link
    bool puts = false;        // that no fence has asked about
    std::uint64_t sent = 0;   // calls there
    std::uint64_t taken = 0;  // calls from there
    std::uint64_t asked = 0;  // questions: reads, fetches, fences
    // Gets and fences of which the end was not noted yet, the oldest first: a ring.
    std::unique_ptr<std::array<Ask, kAsks>> asks;
    std::uint64_t first_ask = 0, end_of_asks = 0;
    Ask& ask(std::uint64_t number) noexcept { return (*asks)[number % kAsks]; }
  };
  // Small stores to one rank that have not left.
  struct Row {
    std::uint32_t rank = 0;
    std::size_t count = 0;
    std::array<std::array<std::byte, kSmall>, kRow> data;
    std::array<PutMessage, kRow> messages;
  };
  // Small gets that have not left: as many bytes each, from places at one distance, into memory without gaps.
  // The whole run leaves as one question, and the batch counts it as one.
  struct GetRun {
    std::uint32_t rank = 0;
    std::uint32_t count = 0, chunk = 0;
    std::uint64_t place = 0, stride = 0;
    std::byte* into = nullptr;
    Batch* batch = nullptr;
    // Whether it has become longer by that one.
    bool takes(std::uint32_t other, std::uint64_t at, std::span<std::byte> room, const Batch* of) noexcept;
  };
  // Names what is waited for. Functions that others call do not run while `replies` are.
  enum class Waits { messages, stores, replies };

  // --- beginning and end (runtime.cc)
  std::vector<Told> tell_each_other(std::uint64_t heap);
  void check_told(std::uint32_t rank, const Told& told) const;
  void open_heaps(const std::vector<Told>& all);
  void open(std::uint32_t rank);
  void met(Status status, const char* doing);

  // --- errors (errors.cc)
  [[noreturn]] void refuse(ErrorCode code, const std::string& text) const;
  [[noreturn]] void fail(ErrorCode code, const std::string& text);
  std::optional<RankEnd> first_end(bool surely);
  [[noreturn]] void fail_gone(std::uint32_t rank);
  [[noreturn]] void fail_ended(const std::string& otherwise, bool surely = false);
  // Throws for the status of an operation at that rank.
  [[noreturn]] void fail_by(Status status, std::uint32_t rank);
  void go_on() const {
    if (failure_) throw *failure_;
  }
  void outside_of_calls(const char* what) const {
    if (in_call_) refuse_in_call(what);
  }
  [[noreturn]] void refuse_in_call(const char* what) const;
  // Rank of a pointer to so many bytes; throws unless it leads into a heap.
  std::uint32_t rank_of_good(std::uint64_t word, std::size_t bytes, const Strides* strides = nullptr) const;
  [[noreturn]] void refuse_pointer(std::uint64_t word, std::size_t bytes) const;
  std::string name_of(std::uint32_t rank) const;

  // --- waiting
  // Sets the view that loads and stores have, after all that may have let another rank run.
  void resume() noexcept { here = &view_; }
  // Loads and stores go the short way unless a function that was called runs, or the program has failed.
  void set_view() noexcept { view_.words = in_call_ || failure_ ? 0 : view_.bytes - kWord + 1; }
  void wait(base::FunctionRef<bool()> ready, Waits waits = Waits::messages);
  bool sleep(base::FunctionRef<bool()> ready, Waits waits);
  Status wait_over_segments(base::FunctionRef<bool()> ready, Waits waits);
  Status wait_over_vi(base::FunctionRef<bool()> ready, Waits waits);
  bool spin(base::FunctionRef<bool()> ready, Waits waits);
  // Looks for what has come, unless nothing comes by packets. Whether that was a message of a VI.
  bool run() {
    if (vi_ != nullptr) return poll_vi();
    if (!all_mapped_) interface_.run();
    return false;
  }
  void give_way();
  // Throws if a rank has ended.
  void look();
  std::optional<std::uint32_t> who_has_ended() noexcept;
  // Looks who lives, now and then: each read, and each poll or access the long way, counts.
  void look_if_due() {
    if (view_.looks != 0 && --view_.looks != 0) return;
    view_.looks = kLooks;
    look();
  }

  // --- sending
  // Null: loads and stores do not reach that rank's segment.
  std::byte* base(std::uint32_t rank) const noexcept {
    std::byte* const memory = heaps_[rank].memory;
    return memory == nullptr ? nullptr : memory - view_.first;
  }
  void reach_segment(std::uint32_t rank, std::byte* base) noexcept {
    heaps_[rank].first = make_word(rank, view_.first);
    heaps_[rank].memory = base + view_.first;
  }
  Import& import(std::uint32_t rank) noexcept { return *peers_[rank].import; }
  // Lets small stores and gets leave.
  void leave() {
    if (row_.count != 0) send_row();
    if (run_.count != 0) send_run();
  }
  void send_row();
  void expect(Status status, std::uint32_t rank) {
    resume();
    if (status != Status::ok) fail_by(status, rank);
  }
  // Writes `data` there, and then a word behind it, for somebody who may wait for that.
  void tell(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> data,
            std::uint64_t word_place, std::uint64_t word);
  // The word of that rank's block that says how much this one has stored there.
  SignalWord stored_there(std::uint32_t rank) const noexcept {
    return {.offset = other_at(rank_), .value = heaps_[rank].bytes};
  }
  std::uint64_t stored_here() const noexcept;

  // --- under way (split_phase.cc)
  // Notes further questions, for which there is room.
  void note_question(std::uint32_t rank, std::uint64_t questions = 1);
  // Questions of a read: each 64 KiB is one, and a word that it begins inside of. Parts of a scattered one
  // are not counted: all that is under way is noted first.
  static std::uint64_t questions_of(std::uint64_t place, std::size_t bytes, const Strides* strides) noexcept {
    return strides != nullptr ? kAsks : bytes / 65536 + 1 + (place % 8 != 0 ? 1 : 0);
  }
  void get_small(std::uint32_t rank, std::uint64_t place, std::span<std::byte> into, Batch* batch);
  void send_run();
  Ask& new_ask(std::uint32_t rank, Batch* batch);
  void wait_for(std::uint32_t rank, Ask& ask);
  void wait_before(std::uint32_t rank, std::uint64_t end);
  bool look_at(std::uint32_t rank, Ask& ask);
  void ended(std::uint32_t rank, Ask& ask, Status status);
  void drop_over(Peer& peer) noexcept;
  void ask_fences();
  static bool wanted(const Ask& ask, const Batch* batch) noexcept {
    return batch == nullptr || ask.batch == batch || (ask.fence && batch->puts_);
  }
  template <class Try>
  void until_taken(std::uint32_t rank, Try attempt);

  // --- calls (calls.cc)
  bool asked() const noexcept {
    return more_calls_ || word_at(own_) != calls_seen_ ||
           (held_calls_ && handled_over_vi() != handled_when_held_);
  }
  void serve() {
    if (!asked()) return;
    take_calls();
    leave();  // what the functions stored
  }
  void take_calls();
  void take_calls_of(std::uint32_t rank);
  void answer(std::uint32_t rank, const Request& request);
  Done run(const Request& request, Reply& reply);
  void send_call(std::uint32_t who, Request& request);

  // --- over VI (over_vi.cc). Each begins something, and waits for credits alone; `under_way` counts it,
  // unless that is null
  void connect_vis(const std::vector<Told>& all);
  bool poll_vi();   // handles one message, if one has come
  void drain_vi();  // and all
  [[noreturn]] void fail_breach();
  void wait_for_credit(std::uint32_t rank);
  void left(std::uint32_t rank, bool whole);
  void ask_for(std::uint32_t rank, std::uint64_t place, std::span<std::byte> into, const Strides* strides,
               std::uint32_t* under_way);
  void ask_to_write(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> from,
                    const Strides* strides, std::uint32_t* under_way);
  void send_stores(std::uint32_t rank, std::uint64_t place, std::span<const std::byte> from,
                   const Strides* strides);
  void send_count(std::uint32_t rank, std::uint64_t place);
  void ask_to_operate(std::uint32_t rank, std::uint64_t place, const Fetch& fetch, std::uint64_t* before,
                      std::uint32_t* under_way);
  // Waits until all that was asked of that rank is answered.
  void wait_for_answers(std::uint32_t rank);
  bool all_answered() noexcept;
  static std::uint32_t* counter_of(Batch* batch) noexcept {
    if (batch == nullptr) return nullptr;
    return &batch->gets_;
  }
  // Whether all has been handled here that ranks had sent before they came to the meeting.
  bool has_handled_all() const noexcept;
  // Requests that were sent to that rank; 0 if there is no VI.
  std::uint64_t sent_to(std::uint32_t rank) const noexcept;
  // Whether so many of that rank's were handled, modulo 2^32; if there is no VI, yes.
  bool has_handled(std::uint32_t rank, std::uint32_t behind) const noexcept;
  std::uint64_t handled_over_vi() const noexcept;  // of all ranks

  Interface& interface_;
  Job job_;
  const std::uint32_t rank_, ranks_;
  const bool guarded_;
  Segment segment_;
  std::byte* const own_;
  Here view_;
  const std::unique_ptr<Heap[]> heaps_;
  std::vector<Peer> peers_;
  std::vector<std::uint64_t> others_;  // interfaces of all other ranks
  std::unique_ptr<ViWay> vi_;          // null: over segments
  std::uint64_t mark_ = 0;
  bool all_mapped_ = false;
  bool crowded_ = false;  // more ranks here than processors
  std::optional<Error> failure_;
  bool in_call_ = false;
  std::uint64_t calls_seen_ = 0;  // of Head::calls
  bool more_calls_ = false;       // some were left for the next look
  bool held_calls_ = false;       // some wait for what was sent before them
  std::uint64_t handled_when_held_ = 0;
  std::exception_ptr thrown_;  // where nobody waited for it; of several the first
  bool ended_ = false;
  HeapBook book_;
  Meeting meeting_;
  std::vector<std::byte> gathered_;
  std::uint64_t waited_for_ = 0;  // bytes stored here that some call has waited for
  Row row_;
  GetRun run_;
};

// Run-time of the program that there is. Throws Error: invalid_argument: there is none.
Runtime& runtime();

}  // namespace hamlyn::internal_::splitc
