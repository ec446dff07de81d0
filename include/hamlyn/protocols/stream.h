#pragma once
// Streams (paper 0, section 3.3): one way, from one sender to one receiver, in order, nothing lost. Records
// are received in place and released when they are done with; or taken as plain bytes, as from a socket. The
// receiver's memory bounds how far the sender may be ahead.
//
// The end is told by name. closed: the sender has closed, or the receiver, in good order. abandoned: the
// other side's object went without closing. link_ended: its process died, stalled or left, within a
// millisecond or two of it. broken: it said what no honest sender says. A receiver hears of the end after
// every record that had come whole.
//
// Threads: any thread may use any stream; of one object one `read`, one `write` and one loop at a time. Those
// who receive of one stream agree on who releases what: a record takes all before it along, whoever has them.
// Owner: who made it; its manager outlives it. A record's bytes are the receiver's, and the sender's again
// when they are released.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/receiver.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/seed.h"

namespace hamlyn {

// A record, which stays in its place in the receiver's memory until it is released. An honest sender does
// not touch it any more; a hostile one can: copy what must not change between two looks. A value.
class Record {
 public:
  Record() = default;
  // For receivers.
  Record(std::span<std::byte> bytes, std::uint64_t number) : bytes_(bytes), number_(number) {}

  // In place; `text` is the same as characters.
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::uint64_t number() const noexcept { return number_; }  // of the stream's: 1, 2, ...

 private:
  std::span<std::byte> bytes_;
  std::uint64_t number_ = 0;
};

struct StreamOptions {
  std::size_t first = std::size_t{64} << 10;  // bytes of buffer to begin with, and
  std::size_t most = std::size_t{4} << 20;    // at most; no record is longer. Whole multiples of 64, to 2^30
  std::uint32_t parcels = 64;                 // messages unreleased at a time, a power of two from 4 to 4096
};

// Has one sender at a time.
class StreamReceiver : public Receiver {
 public:
  // How it is made.
  using Options = StreamOptions;

  // For one stream after the other.
  explicit StreamReceiver(Manager& manager) : StreamReceiver(manager, Options{}) {}
  // Throws Error: invalid_argument (sizes), out_of_memory, forked.
  StreamReceiver(Manager& manager, const Options& options);
  // A sender that is there is told `closed`: its receiver wants no more. It hears `abandoned` if it finds the
  // receiver's memory gone before that news has come. What it had sent and nobody received is lost either
  // way; only `close` waits until the sender has stopped.
  ~StreamReceiver() override;

  // For one sender, once. A further one takes the place of the last, which is stale then; after the end, and
  // when all records were taken, the next stream begins with it. Throws Error(invalid_argument): a sender is
  // there; forked.
  [[nodiscard]] Seed make_seed();

  // Waits for the next record. ok; timed_out (0: one look), cancelled, forked; invalid: inside
  // process_arrival, with a time-out; or how the stream has ended: closed, abandoned, link_ended, broken.
  Status receive(Record& out, std::chrono::nanoseconds timeout) noexcept;
  Status receive(Record& out) noexcept { return receive(out, std::chrono::nanoseconds::max()); }
  // Gives back this record and all before it: their memory is the sender's again. ok; invalid: there is no
  // such record; forked.
  Status release(const Record& record) noexcept;

  // As bytes: waits for some, copies up to `into.size()` of them, releases what was read. `count`: how
  // many, 0 at the end of the stream and when there are none. Records and bytes of one stream should not
  // be mixed. As `receive`.
  Status read(std::span<std::byte> into, std::size_t& count, std::chrono::nanoseconds timeout) noexcept;

  // Wants no more: what has come and was not received is dropped, the sender is told `closed`. What was
  // received stays until it is released. Waits until the sender has stopped, or gone: ok. timed_out: it may
  // still send, into memory that nobody reads; also cancelled.
  Status close(std::chrono::nanoseconds timeout = std::chrono::seconds{10}) noexcept;

  std::uint64_t sender() const noexcept;  // its interface, as the node attests; 0: there was none yet

  class Iterator;
  // for (const Record& record : receiver): waits for each, releases it with the next turn, ends when the
  // stream is closed. `begin` and `end` are for that loop. Throws Error: peer_died, for any other end;
  // cancelled, forked.
  Iterator begin();
  std::default_sentinel_t end() const noexcept { return {}; }

 protected:
  // An override calls this function, too.
  void process_arrival(const Notification& arrival) override;
  // Whether the one who has come with the seed may send. If not, it is told `peer_refused`, and the seed
  // stays good. Called as process_arrival is.
  virtual bool admit(std::uint64_t sender) noexcept;

 private:
  struct Inside;
  Status take(Record& out) noexcept;

  std::unique_ptr<Inside> inside_;
  Record current_;  // of read
  std::size_t position_ = 0;
};

// Iterator of the loop over a stream.
class StreamReceiver::Iterator {
 public:
  // The standard asks these of an input iterator, with `difference_type`.
  using value_type = Record;
  using difference_type = std::ptrdiff_t;

  // Waits for the first record. Throws Error, and so do the steps: peer_died, cancelled, forked.
  explicit Iterator(StreamReceiver& receiver) : receiver_(&receiver) { advance(); }
  const Record& operator*() const noexcept { return record_; }
  Iterator& operator++() {
    // Cannot fail but in a forked child, which `advance` tells, and where somebody has released it already.
    static_cast<void>(receiver_->release(record_));
    advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& at, std::default_sentinel_t) noexcept { return at.over_; }

 private:
  void advance();

  StreamReceiver* receiver_;
  Record record_;
  bool over_ = false;
};

inline StreamReceiver::Iterator StreamReceiver::begin() { return Iterator(*this); }

// A small record that finds none under way leaves at once. Those that come close behind it are put together,
// and leave when enough have gathered, at `flush`, at `close`, before this thread waits for anything of the
// same manager, and in any case after a while: whatever the program does then, they arrive.
class StreamSender {
 public:
  // For `linger`: small records leave when enough have gathered, at `flush`, at `close` and before a wait.
  static constexpr std::chrono::nanoseconds kOnlyOnFlush = std::chrono::nanoseconds::max();

  struct Options {
    std::size_t together = 8192;  // bytes that small records are gathered in, 2048 to 65536
    // How long the first of them waits for company before the interface thread lets it leave: up to twice
    // that, and up to sixteen times where the program stops in the midst of a dense stream. To a second, or
    // kOnlyOnFlush. 0: every record leaves at once.
    std::chrono::nanoseconds linger = std::chrono::microseconds{50};
    std::chrono::nanoseconds timeout = std::chrono::seconds{10};  // for the opening, where that waits
  };

  // Begins to open the stream, and waits for nobody. The opening goes on while any thread runs the manager.
  // May stand inside process_arrival. Throws Error: seed_invalid, seed_wrong_kind, invalid_argument (sizes),
  // out_of_memory, forked.
  StreamSender(Manager& manager, const Seed& seed, Begin) : StreamSender(manager, seed, Options{}, kBegin) {}
  StreamSender(Manager& manager, const Seed& seed, const Options& options, Begin);
  // Begins, and waits as `open` does, up to `options.timeout`. Throws Error: what either throws.
  StreamSender(Manager& manager, const Seed& seed) : StreamSender(manager, seed, Options{}) {}
  StreamSender(Manager& manager, const Seed& seed, const Options& options)
      : StreamSender(manager, seed, options, kBegin) {
    open(options.timeout);
  }
  // Without close: what was not flushed may be lost, the receiver is told `abandoned`. One that is not open
  // yet is given up, without a wait: a receiver that agrees later has an abandoned stream.
  ~StreamSender();
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  // Waits until the receiver's program has looked, and agreed (0: one look). ok: it is open; timed_out,
  // cancelled: it goes on opening; forked; invalid: inside process_arrival, with a time-out. Any other is
  // final, and why there will be no stream: refused (by the receiver or the node, or the seed is no good),
  // link_ended, or how the receiver has ended it. `open` says more.
  Status opened(std::chrono::nanoseconds timeout) noexcept;
  // Waits as `opened` does. Throws Error unless it is open: timed_out, cancelled: may be called again;
  // seed_used, seed_stale, seed_forged, peer_refused, peer_died, forked; invalid_argument: inside
  // process_arrival, with a time-out.
  void open(std::chrono::nanoseconds timeout);

  // Sends a record, which may be empty. Returns when the buffer is free: waits for room and for memory of
  // the receiver's, up to `timeout` until it begins (0: one look). ok; timed_out, cancelled,
  // too_long: nothing was sent; or how the stream has ended: closed, abandoned, link_ended, broken.
  // connecting: the time is over and the stream is not open yet; or, as `opened` says, it never will be.
  // invalid: inside process_arrival it may not wait. Cancelled in the middle of a long record that the
  // receiving side does not take within half a second: `cancelled`, and the stream has ended, `abandoned`
  // at both sides.
  Status send(std::span<const std::byte> data, std::chrono::nanoseconds timeout) noexcept;
  Status send(std::span<const std::byte> data) noexcept {
    return send(data, std::chrono::nanoseconds::max());
  }
  Status send(std::string_view text,
              std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept {
    return send(std::as_bytes(std::span{text}), timeout);
  }

  // With one copy instead of two, made by the receiving side: a record of a send buffer area's (its header
  // says who can read all of that area then), which a tag from 0 to 7 names as in a terminus. Returns as
  // soon as it has begun: the bytes stay as they are until `wait(handle)`, `flush` or `close` has said ok. As
  // `send`; also invalid, out_of_bounds, as Terminus::send_gathered. The area stays as long, or else the
  // stream ends, `abandoned`.
  Status bind(std::uint32_t tag, SendBufferArea& area);
  Status send(const Piece& piece, SendHandle& handle, std::chrono::nanoseconds timeout) noexcept;
  Status send(const Piece& piece, SendHandle& handle) noexcept {
    return send(piece, handle, std::chrono::nanoseconds::max());
  }
  // Waits until the bytes of that piece are free. ok; timed_out (0: one look), cancelled; or how the stream
  // has ended, and they may still be read.
  Status wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept;
  Status wait(SendHandle handle) noexcept { return wait(handle, std::chrono::nanoseconds::max()); }

  // As bytes, of any number: they are cut into records as it suits. As `send` without a time; if it is not
  // ok, some may have been sent.
  Status write(std::span<const std::byte> data) noexcept;

  // All that was sent so far is on its way, and arrives if the receiver lives, whatever becomes of this side.
  // As `send`.
  Status flush(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max()) noexcept;
  // Nothing more will be sent. Waits until the receiver has everything in its memory, and has seen that it
  // has: ok. Otherwise as `send`; after timed_out it may be called again.
  Status close(std::chrono::nanoseconds timeout = std::chrono::seconds{10}) noexcept;

  // How the stream has ended, as far as this side knows; ok: it has not.
  Status end() const noexcept;

 private:
  struct Inside;
  std::size_t longest() const noexcept;
  Status send_or_wait(std::span<const std::byte> data, std::chrono::nanoseconds timeout) noexcept;
  [[noreturn]] void throw_unopened(Status status);
  void say_end() noexcept;
  Status await_leaving(SendHandle handle, std::uint32_t sequence) noexcept;
  Status why_over(Status status) noexcept;
  template <class Which>
  Status wait_for(Which which, std::optional<std::chrono::steady_clock::time_point> deadline) noexcept;
  template <class Step>
  Status drive(Step step, std::chrono::nanoseconds timeout) noexcept;

  Manager& manager_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace hamlyn
