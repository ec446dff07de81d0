#pragma once
// Segments (paper 4, chapters 3 and 4): a process exports a piece of its memory, under a name or by a ticket;
// others import it and read, write and swap in it without its help. Data moves without control; control moves
// only when asked for. docs/remote-memory.md explains the model to someone who never read the thesis.
//
// Threads: any thread may use any object; each is destroyed by one, while no other uses it. Fork: a forked
// child has neither (Status::forked); it may go on reading the descriptors.
// Owner: who made it; the interface outlives it. Memory of the caller's stays the caller's.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/not_mapped.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/protection.h"
#include "hamlyn/values/put.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

namespace internal_::segment {
class Descriptors;
class NameClaim;
}  // namespace internal_::segment

// How it is exported.
struct SegmentOptions {
  // Registered until the segment goes: others import it by this name ([A-Za-z0-9._-], 1 to 64 characters).
  // Empty: an anonymous one, for results of one's own reads, or for those who are given its ticket.
  std::string name = {};
  // Zeroed memory, made here, has so many. It begins at a page: an offset says how what stands there is
  // aligned. For the mapped kinds whole pages are made; importers see so many bytes of them.
  std::size_t bytes = 0;
  // Instead: memory that is there already and stays the caller's, whole pages. Of the mapped kinds it is
  // moved, and nobody may touch it while the segment is made, nor while it goes (see MessageArea).
  std::span<std::byte> memory = {};
  // guarded: every access comes through this process's interface. mapped_read_only: importers of this host
  // read by loads, which need nobody's processor. mapped_read_write: those of this user write and swap so,
  // too. One kind for all importers.
  Sharing sharing = Sharing::guarded;
  Protection protection = {};              // who may import it, besides what tickets say
  Control control = Control::conditional;  // whether records tell of what importers do
  std::uint32_t places = 16;               // notifications of one importer that may stand here unread
  std::size_t records = 1024;              // of all importers together
  std::uint32_t hold = 65536;  // bytes of writes that may wait while a part of it is inhibited or not pinned
};

// One record for the exporter.
struct SegmentRecord {
  // Kinds of record.
  enum class Kind : std::uint32_t {
    written = 1,      // data has landed
    held = 2,         // data waits: that part is inhibited or not pinned; `take_held` gives it
    read = 3,         // what a read of one's own that asked for it has brought is here
    read_failed = 4,  // the same, but it was not done
    got = 5,          // importers have read this
    swapped = 6,      // importers have done fetch-and-ops or compare-and-swaps here
  };
  Kind kind = Kind::written;  // what it tells of
  // Operations that it stands for: 1 that asked for it; of writes that asked and had to wait, all that have
  // landed since the last; or, under `always`, of all since the last of the kind the pieces that they came
  // in, for a long one comes in several.
  std::uint32_t count = 0;
  std::uint64_t offset = 0;  // of the first byte, from the segment's
  std::uint64_t length = 0;  // from the first byte of them to behind the last
  std::uint64_t peer = 0;    // the importer's interface; 0: several
};

// One of this process's own.
class Segment {
 public:
  // Exports it. Throws Error: name_taken, name_invalid, quota_names, quota_bytes, invalid_argument (sizes,
  // memory that is not whole pages or cannot be moved), out_of_memory, node_unreachable, forked.
  Segment(Interface& interface, const SegmentOptions& options);
  ~Segment();  // unexports it: what importers do from here on is answered `stale`
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // All of it, at the same address until it goes.
  std::span<std::byte> bytes() noexcept { return area_.bytes(); }
  // A word of it, aligned: atomic against its partners, every importer's operations and other threads here.
  template <Plain Word>
  std::atomic_ref<Word> at(std::size_t offset) {
    check_word(offset, sizeof(Word));
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(bytes().data() + offset));
  }
  // For those who are to import it without a name. A value: send it, store it.
  Ticket ticket() const;

  // Takes it back from everybody: imports are `stale` from here on, and mappings see nothing new (nobody
  // may write it meanwhile, not even threads of this process). The name leads to the new generation, which
  // may be imported at once. Throws Error: out_of_memory, forked, and of its name as Interface::publish.
  void revoke();
  // Other rights from here on. Those who have it mapped keep it until `revoke`. Throws Error: forked, and
  // of its name as Interface::publish; std::bad_alloc.
  void protect(const Protection& protection);
  // As Slot::set_control, `inhibit` and `release`.
  Status set_control(Control control) noexcept { return slot_.set_control(control); }
  Status inhibit() noexcept { return slot_.inhibit(); }
  Status release() noexcept { return slot_.release(); }
  // As Slot::pin and `unpin`, and pins it in real memory as well, as far as the system lets.
  Status pin(std::size_t offset, std::size_t length) noexcept;
  Status unpin(std::size_t offset, std::size_t length) noexcept;

  // The next record, if there is one; runs the interface when there is none.
  [[nodiscard]] std::optional<SegmentRecord> poll() noexcept;
  // Waits for it. ok, timed_out, cancelled, forked.
  Status wait(SegmentRecord& out, std::chrono::nanoseconds timeout) noexcept;
  // The oldest write that waits, its data to `into`: as Slot::take_held.
  Status take_held(HeldPut& held, std::span<std::byte> into) noexcept { return slot_.take_held(held, into); }
  // Waits until `done(word)` of the 8-byte word at `offset`. It looks whenever something lands here: a write,
  // a signal, a fetch; of a mapped segment a `write_signal` or `fetch` of an importer, or its `changed`.
  // Other stores wake nobody, those of this process neither: say `changed` behind them. `done` looks at the
  // number, and calls nothing of these objects. `peer`, if not 0: whoever is to change the word, an
  // interface. ok; timed_out, cancelled, forked; out_of_bounds; misaligned; link_ended: there is no link with
  // `peer`.
  template <class Done>
  Status wait_until(std::size_t offset, Done done, std::chrono::nanoseconds timeout,
                    std::uint64_t peer = 0) noexcept {
    std::size_t which = 0;
    return wait_until_any({&offset, 1}, which, done, timeout, peer);
  }
  // As above; link_ended: there is no link with one of `peers`, interfaces.
  template <class Done>
  Status wait_until(std::size_t offset, Done done, std::chrono::nanoseconds timeout,
                    std::span<const std::uint64_t> peers) noexcept {
    std::size_t which = 0;
    return wait_for_words({&offset, 1}, which, caller_of<Done>(), &done, timeout, peers);
  }
  // Waits until `done(word)` of any of the words at `offsets`; `which` is the first of them. Also invalid:
  // there are none.
  template <class Done>
  Status wait_until_any(std::span<const std::size_t> offsets, std::size_t& which, Done done,
                        std::chrono::nanoseconds timeout, std::uint64_t peer = 0) noexcept {
    return wait_for_words(offsets, which, caller_of<Done>(), &done, timeout, {&peer, peer != 0 ? 1u : 0u});
  }
  // Has whoever waits for words of it look, threads here and importers: behind stores of this process.
  void changed() noexcept;

  // Descriptors for select, poll, epoll, read, O_ASYNC, dup, and for children that inherit them (paper 4,
  // section 4.2.5): each read gives one record, and waits for none (EAGAIN). Of `control_descriptor` a
  // SegmentRecord, of `data_descriptor` a HeldPut and its data behind it. Once one of them was asked for,
  // records come here, and not by `poll` and `wait`. After this process's death what stands in them can still
  // be read, and then the end of the file. Owned by the segment; dup them to keep them. Throws Error: system,
  // out_of_memory, forked.
  int control_descriptor();
  int data_descriptor();

  Interface& interface() noexcept { return interface_; }
  // Slot that the segment is made of. It goes with the segment.
  Slot& slot() noexcept { return slot_; }

 private:
  friend class internal_::segment::Descriptors;
  friend class Import;  // whose reads land in it

  static MessageArea make_area(Interface& interface, const SegmentOptions& options);
  static Slot::Options slot_options(const SegmentOptions& options);
  Status find_word(std::size_t offset, std::size_t bytes) const noexcept;
  void check_word(std::size_t offset, std::size_t bytes) const;
  using CallDone = bool (*)(const void*, std::uint64_t);
  template <class Done>
  static CallDone caller_of() noexcept {
    return [](const void* what, std::uint64_t value) {
      return static_cast<bool>((*static_cast<const Done*>(what))(value));
    };
  }
  Status wait_for_words(std::span<const std::size_t> offsets, std::size_t& which, CallDone done,
                        const void* what, std::chrono::nanoseconds timeout,
                        std::span<const std::uint64_t> peers) noexcept;
  internal_::segment::Descriptors& descriptors();
  void publish();

  Interface& interface_;
  const std::string name_;
  std::unique_ptr<internal_::segment::NameClaim> claim_;  // of it; goes when it is not registered any more
  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
  Protection protection_;
  std::mutex mutex_;  // of its registration, and of the making of descriptors
  std::unique_ptr<internal_::segment::Descriptors> descriptors_;
};

struct WriteOptions {
  bool notify = false;               // tell the exporter, if its Control lets
  const Strides* strides = nullptr;  // WRITEV: scattered in up to three dimensions
  std::uint32_t element = 0;         // see PutOptions
};

struct ReadOptions {
  bool notify = false;               // tell of it in the segment where it lands, by a record, when it is over
  const Strides* strides = nullptr;  // gathered from up to three dimensions, as WRITEV scatters
  bool tell_exporter = false;        // tell the exporter, if its Control lets
};

struct FetchOptions {
  bool notify = false;  // tell the exporter, if its Control lets
};

// Word that says of data that it has landed.
struct SignalWord {
  std::size_t offset = 0;      // in its segment, a multiple of `bytes`
  std::uint64_t value = 0;     // for a word of 4 bytes the low half counts
  Signal how = Signal::set;    // `value` is put to the word, or added to it
  std::uint32_t bytes = 8;     // of the word, 4 or 8
  class Import* in = nullptr;  // another segment of the same process, where it stands; null: that of the data
};

// One of another process.
class Import {
 public:
  struct Options {
    // Says what it will be used for: read_write, read_only (no writes, fetches and swaps) or write_only (no
    // reads, fetches, swaps and waits for words), whose other operations are `refused`. Who has not the
    // rights for all of that is not_permitted: with the right to read alone say read_only.
    Access access = Access::read_write;
    bool map = true;  // whether to map it if that may be
    // For the name, and for the owner's answer, where the constructor waits for them.
    std::chrono::milliseconds timeout{5000};
  };

  // Begins to import the segment of that name, as soon as somebody registers it, or that ticket, and waits
  // for nobody. Name, link and mapping are asked for while the program does other work; each look at it
  // (`opened`, an operation, a question of `wait_any`) takes it as far as it has come. Throws Error:
  // invalid_argument, seed_wrong_kind (the ticket), out_of_memory, forked.
  Import(Interface& interface, std::string_view name, Begin) : Import(interface, name, Options{}, kBegin) {}
  Import(Interface& interface, std::string_view name, const Options& options, Begin);
  Import(Interface& interface, const Ticket& ticket, Begin) : Import(interface, ticket, Options{}, kBegin) {}
  Import(Interface& interface, const Ticket& ticket, const Options& options, Begin);
  // Imports the segment of that name, for which it waits as Interface::lookup does, or that ticket. Throws
  // Error: what `open` throws, all within `options.timeout`; name_unknown with a time of 0.
  Import(Interface& interface, std::string_view name) : Import(interface, name, Options{}) {}
  Import(Interface& interface, std::string_view name, const Options& options);
  Import(Interface& interface, const Ticket& ticket) : Import(interface, ticket, Options{}) {}
  Import(Interface& interface, const Ticket& ticket, const Options& options)
      : Import(interface, ticket, options, kBegin) {
    open(options.timeout);
  }
  // One that is not open yet is given up, without a wait.
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;

  // Waits until it is open (0: one look). ok: it is; timed_out, cancelled: it goes on opening, and so it does
  // after no_place: as many segments of that process are in use here as may be; forked. Any other is final,
  // and why it never will be: refused, stale (it has gone), link_ended, no_buffer (no memory). `open` says
  // more.
  Status opened(std::chrono::nanoseconds timeout) noexcept;
  // Waits as `opened` does. Throws Error unless it is open: timed_out, cancelled: may be called again, also
  // after out_of_memory for want of openings; not_permitted (outside the rights), seed_wrong_kind (no segment
  // is registered there), seed_stale (it has gone), peer_died, node_unreachable, out_of_memory, forked.
  void open(std::chrono::nanoseconds timeout);

  // Bytes; 0 until it is open.
  std::size_t size() const noexcept { return is_open() ? ticket_.bound : 0; }
  // How reads and writes are done: by loads, by stores (`writes_by_stores`), or by packets. Until it is open:
  // false.
  bool reads_by_loads() const noexcept { return is_open() && loads(); }
  bool writes_by_stores() const noexcept { return is_open() && stores(); }
  // Why it is reached by packets; none: it is mapped. Until it is open: opening.
  NotMapped not_mapped() const noexcept;
  // Whether the exporter was a process of this host when it was imported.
  bool is_near() const noexcept { return is_open() && near_; }

  // Operations on one that is not open yet: those with a time wait for that, too; others are answered
  // `connecting`. `connecting` is also the answer if it never will be, as `opened` says.
  //
  // All of these return `stale` once the segment was revoked, unexported, or exported anew, and never touch a
  // successor; link_ended, from then on always, once it is known that its process has gone, of a mapped one
  // once the link has ended; refused if its rights do not allow it; out_of_bounds. An operation and a
  // revocation, or a death, at the same time may go either way.
  //
  // WRITE (paper 4, section 3.3). ok: the data is on its way, and the buffer free; `flush` says whether it
  // has landed. pending: as ok, but the buffer is in use until `status(*handle)` says otherwise. queue_full,
  // no_place, connecting (it is opened anew): nothing was done; `run` and try again, or use the waiting one.
  // Aligned words of 4 and 8 bytes change at one moment each.
  Status write(std::size_t offset, std::span<const std::byte> data, const WriteOptions& options = {},
               SendHandle* handle = nullptr) noexcept;
  // Writes, and returns when the buffer is free. Also timed_out, cancelled.
  Status write(std::size_t offset, std::span<const std::byte> data, std::chrono::nanoseconds timeout,
               const WriteOptions& options = {}) noexcept;
  // Writes a row, each of up to 48 bytes, in its order; `sent` is how many have left. Costs less than one by
  // one: whether the exporter sleeps is looked at once. As `write`; also too_long.
  Status write_row(std::span<const PutMessage> row, std::size_t& sent) noexcept;
  // Status of a write: pending, ok, link_ended, cancelled.
  Status status(SendHandle handle) const noexcept { return terminus_.status(handle); }
  // Waits until all that was written here has landed, and says whether it has. refused: some of it was;
  // `refusal` says why. link_ended: the link has ended with what may be lost; `why` says why. By packets it
  // asks the exporter's interface each time, also if nothing was written since: a round trip, which wakes an
  // exporter that sleeps. Of one that `writes_by_stores` it is a fence of the processor, and asks only behind
  // signals and updates that went by packets.
  Status flush(std::chrono::nanoseconds timeout) noexcept;
  Refusal refusal() const noexcept { return refusal_.load(std::memory_order_relaxed); }
  WhyNoLink why() const noexcept;
  // Asks what `flush` asks, and does not wait: `pending`, and `outcome(*handle)` or `wait` tells how it ends,
  // with its cause and `why()`. ok: nothing is under way, of a mapped one. queue_full, connecting: it was not
  // asked, since something has not left yet; `run` and try again. invalid: no handle.
  Status begin_flush(RemoteHandle* handle) noexcept;
  // Flushes several imports of one interface, all of which are asked at once: takes as long as the slowest,
  // for up to 64; of more, each 64. Returns ok, or what the first that was not ok is answered; `each`, if not
  // empty, is as long as `imports`, and told what each one is. Also invalid: none may be null, or of another
  // interface. None of them is destroyed meanwhile.
  static Status flush(std::span<Import* const> imports, std::chrono::nanoseconds timeout,
                      std::span<Status> each = {}) noexcept;
  // Writes, and waits until it has landed with all that was written here before: `write` and `flush` in one,
  // and to another host in one frame where it fits. Also timed_out, cancelled: it may have landed, or land
  // later, and the buffer is free.
  Status write_flushed(std::size_t offset, std::span<const std::byte> data, std::chrono::nanoseconds timeout,
                       const WriteOptions& options = {}) noexcept;
  // Change that `write_signal` makes to the word.
  using Signal = hamlyn::Signal;
  // Put with signal: `data`, and when all of it has landed, and all that was written here before, `value`
  // is put to, or added to, the 8-byte word at `signal`. The exporter's `wait_until` sees it. Returns when
  // that is on its way. As the waiting `write`; also misaligned.
  Status write_signal(std::size_t offset, std::span<const std::byte> data, std::size_t signal,
                      std::uint64_t value, Signal how, std::chrono::nanoseconds timeout) noexcept {
    return write_signal(offset, data, {.offset = signal, .value = value, .how = how}, timeout);
  }
  // Data may be scattered, the word may have 4 bytes, and it may stand in another segment of the exporter's
  // process, imported by the same interface. It is added to as `fetch` adds, at one moment. In another
  // segment it is refused, too, while writes wait where the data lands; `flush` of that import answers for
  // it. Also invalid: a word of another size, or a segment of another process.
  Status write_signal(std::size_t offset, std::span<const std::byte> data, const SignalWord& signal,
                      std::chrono::nanoseconds timeout, const WriteOptions& options = {}) noexcept;

  // READ into memory, up to any length; words as above. With `strides` it is gathered from so many chunks,
  // which stand behind one another in `into`; words are whole then if offset, chunks and strides are
  // multiples of them. The data lands in `into` itself. Any number of threads read at once.
  // ok; timed_out, cancelled, forked: then some of it may have come.
  Status read(std::size_t offset, std::span<std::byte> into, std::chrono::nanoseconds timeout,
              const ReadOptions& options = {}) noexcept;
  // Reads again and again until `enough(into)`, a function of the caller's that returns a bool and does not
  // throw, says so of the data. timed_out: in that time it has not.
  template <class Enough>
  Status read_until(std::size_t offset, std::span<std::byte> into, Enough enough,
                    std::chrono::nanoseconds timeout) noexcept
      requires(std::is_invocable_r_v<bool, const Enough&, std::span<const std::byte>>) {
    const auto call = [](const void* what, std::span<const std::byte> data) noexcept {
      return static_cast<bool>((*static_cast<const Enough*>(what))(data));
    };
    return read_until_enough(offset, into, call, &enough, timeout);
  }
  // Waits until `done(word)` of the 8-byte word at `offset`, asleep: the exporter's interface tells of a
  // change. The exporter's own stores are told of by `Segment::changed`, those of importers as to
  // `Segment::wait_until`. Of values that come and go at once some may not be seen. At most 8 threads wait so
  // by one link; others look twenty times a second. ok; timed_out, cancelled, forked; misaligned. Needs the
  // right to read.
  template <class Done>
  Status wait_until(std::size_t offset, Done done, std::chrono::nanoseconds timeout) noexcept {
    const auto call = [](const void* what, std::uint64_t value) {
      return static_cast<bool>((*static_cast<const Done*>(what))(value));
    };
    return wait_for_word(offset, call, &done, timeout);
  }
  // Has whoever waits for words of it look, here or there: behind stores into a mapped segment.
  // `write_signal` and `fetch` do it themselves; of a guarded segment nothing is to be done. Never waits. ok;
  // forked; connecting, stale, refused: nobody can be told.
  Status changed() noexcept;
  // READ into a segment of one's own, up to 64 KiB: `pending`, and `outcome` tells how it ends. Of a mapped
  // segment it is `ok` at once, and nobody is told. no_place: too many records stand in that segment.
  Status read(std::size_t offset, Segment& into, std::size_t at, std::size_t length,
              RemoteHandle* handle) noexcept {
    return read(offset, into, at, length, {}, handle);
  }
  Status read(std::size_t offset, Segment& into, std::size_t at, std::size_t length,
              const ReadOptions& options, RemoteHandle* handle) noexcept;
  // READ into memory, up to 64 KiB, without a wait: `pending`, and the memory is in use until `outcome` says
  // otherwise, `cancel` was called, or the import has gone: declare it before the import, so that it goes
  // afterwards. Of a mapped segment ok at once. As many may be under way as Interface::Options::requests
  // says, from any thread, beside reads that wait. queue_full, connecting: nothing was asked; `run` and try
  // again. invalid: no handle, or `notify`; too_long.
  Status read(std::size_t offset, std::span<std::byte> into, RemoteHandle* handle,
              const ReadOptions& options = {}) noexcept;
  // Nothing of that read lands in memory from here on. ok; or how it has ended before.
  Status cancel(RemoteHandle handle) noexcept;
  // How it stands with one of those: as Terminus::outcome. `wait` waits until it is over; also timed_out,
  // cancelled. invalid: more than 63 operations of this import have begun since, or so many fewer as stayed
  // under way; it is over, its memory free, and nobody knows how it ended.
  Outcome outcome(RemoteHandle handle) const noexcept;
  Outcome wait(RemoteHandle handle, std::chrono::nanoseconds timeout) noexcept;

  // Fetch-and-op and compare-and-swap on an aligned word of 4 or 8 bytes. The outcome's value is what stood
  // there before. After link_ended nobody knows whether it was done; after timed_out and cancelled neither,
  // and it may still be done (docs/remote-memory.md; hamlyn/segment/sure_swap.h has a swap that can be
  // asked). One that notifies goes by a packet, mapped or not. no_place: it is not done.
  Outcome fetch(std::size_t offset, const Fetch& fetch, std::chrono::nanoseconds timeout,
                const FetchOptions& options = {}) noexcept;
  // Fetch without an answer: what stood there is not wanted. Leaves as a write does, behind earlier ones, and
  // counts for no limit. ok: it is on its way, and `flush` says whether it was done. timed_out, cancelled,
  // and others: it was not asked for.
  Status update(std::size_t offset, const Fetch& fetch, std::chrono::nanoseconds timeout,
                const FetchOptions& options = {}) noexcept;
  // Compares and swaps 8 bytes, as `fetch`: the word becomes `desired` if it is `expected`.
  Outcome compare_and_swap(std::size_t offset, std::uint64_t expected, std::uint64_t desired,
                           std::chrono::nanoseconds timeout, const FetchOptions& options = {}) noexcept {
    return fetch(offset, {.op = FetchOp::compare_and_swap, .operand = desired, .compare = expected}, timeout,
                 options);
  }
  // One value: `load` as the waiting `read`, `store` as `write` without a handle.
  template <Plain Word>
  Status load(std::size_t offset, Word& out, std::chrono::nanoseconds timeout) noexcept {
    return read(offset, std::as_writable_bytes(std::span(&out, 1)), timeout);
  }
  template <Plain Word>
  Status store(std::size_t offset, const Word& value, const WriteOptions& options = {}) noexcept {
    return write(offset, std::as_bytes(std::span(&value, 1)), options);
  }

  // Reads by loads: the memory itself; empty if it is not mapped. It may change at any time; what was read is
  // good if `current` says so afterwards. In a forked child there is neither.
  std::span<const std::byte> mapped() const noexcept {
    return reads_by_loads() ? mapped_->bytes().subspan(ticket_.base, ticket_.bound)
                            : std::span<const std::byte>{};
  }
  [[nodiscard]] bool current() const noexcept { return !reads_by_loads() || mapped_->current(); }
  // Mapping of the segment, or null. It goes with the import.
  MappedSlot* mapping() noexcept { return reads_by_loads() ? mapped_.get() : nullptr; }

  // Runs the interface once.
  bool run() noexcept { return interface_.run(); }
  Interface& interface() noexcept { return interface_; }
  // Ticket that it was made with; of one by name that of the name, once it is open.
  const Ticket& ticket() const noexcept { return ticket_; }

 private:
  struct Found;
  static Found look_up(Interface& interface, std::string_view name, const Options& options);
  Import(Interface& interface, const Found& found);

  // The opening (import_open.cc).
  struct Opening;
  static constexpr std::uint8_t kOpen = 1, kRead = 2, kWrite = 4, kUpdate = kRead | kWrite;
  Import(Interface& interface, const Options& options);
  Status go_on() noexcept;
  bool advance();
  void begin_to_confirm(const Ticket& ticket);
  bool confirmed();
  bool mapped_or_not();
  void finish() noexcept;
  // Pairs with Import::go_on: what the opening has found is there.
  std::uint8_t open_for() const noexcept { return open_for_.load(std::memory_order_acquire); }
  bool is_open() const noexcept { return open_for() != 0; }
  bool loads() const noexcept { return mapped_ != nullptr; }
  bool stores() const noexcept { return mapped_ != nullptr && mapped_->can_write(); }
  // ok: operations of that kind may be done, for which this waits if it is not open yet; `timeout` is what is
  // left then. connecting: it is not open; refused: it is not for that.
  Status may(std::uint8_t use, std::chrono::nanoseconds& timeout) noexcept {
    return (open_for() & use) == use ? Status::ok : may_not(use, timeout);
  }
  Status may(std::uint8_t use) noexcept {
    std::chrono::nanoseconds none{0};
    return may(use, none);
  }
  Status may_not(std::uint8_t use, std::chrono::nanoseconds& timeout) noexcept;

  Status store_by_mapping(std::size_t offset, std::span<const std::byte> data,
                          const WriteOptions& options) noexcept;
  bool never_told() noexcept;
  Status check_fetch(std::size_t offset, const Fetch& fetch) const noexcept;
  Status flush_mapped() noexcept;
  bool must_fence() const noexcept;
  // `left`: what had left when the fence was asked for.
  Status flushed(const Outcome& outcome, std::uint32_t left, std::chrono::nanoseconds timeout) noexcept;
  std::uint32_t left() const noexcept { return left_.load(std::memory_order_acquire); }
  Status store_signal(const SignalWord& signal) noexcept;
  static constexpr std::uint32_t kTold = std::uint32_t{1} << 16;
  void note_why(WhyNoLink why) noexcept;
  static Status ended(const Outcome& outcome) noexcept;
  // Memory that the ticket opens, mapped.
  std::byte* memory() const noexcept {
    return const_cast<std::byte*>(mapped_->bytes().data()) + ticket_.base;
  }
  Status check_place(std::size_t offset, std::size_t length, const Strides* strides) const noexcept;
  Status load_by_mapping(std::size_t offset, std::span<std::byte> into, const Strides* strides) noexcept;
  Status read_word_part(std::size_t offset, std::span<std::byte> into,
                        std::chrono::nanoseconds timeout) noexcept;
  Status read_until_enough(std::size_t offset, std::span<std::byte> into,
                           bool (*enough)(const void* what, std::span<const std::byte> data) noexcept,
                           const void* what, std::chrono::nanoseconds timeout) noexcept;
  Status wait_for_word(std::size_t offset, bool (*done)(const void*, std::uint64_t), const void* what,
                       std::chrono::nanoseconds timeout) noexcept;
  bool seen_by_mapping(std::size_t offset, bool (*done)(const void*, std::uint64_t), const void* what,
                       std::uint64_t& seen) noexcept;

  Interface& interface_;
  Ticket ticket_;  // with `mapped_` and `near_` the opening's until it is open
  Terminus terminus_;
  std::unique_ptr<Opening> opening_;
  std::unique_ptr<MappedSlot> mapped_;
  // Mapped: so much has left by packets that a flush answers for, and so much of it was answered for.
  std::atomic<std::uint32_t> left_{0}, answered_{0};
  std::atomic<Refusal> refusal_{Refusal::none};
  std::atomic<std::uint32_t> why_{0};        // a reason, and kTold
  std::atomic<std::uint64_t> seen_last_{0};  // a word that `wait_until` has ended with
  std::atomic<std::uint8_t> open_for_{0};    // what it may be used for; nothing until it is open
  bool near_ = false;
};

}  // namespace hamlyn
