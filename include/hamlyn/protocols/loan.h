#pragma once
// Loans: a large message that is read where its sender has written it, by one receiver or many, without a
// copy. The sender's memory is shown to its receivers read-only (design, section 3: mapped read-only); each
// is told by one packet in fast mode (paper 0, section 2.7), and the buffer comes back when the last of them
// has given it back, or has died. docs/large-data.md says what each side must not trust.
//
// Threads: any may use any of these; of one Loan or one Borrowed one at a time. An object is destroyed when
// no other thread uses it but to wait on it (LoanPool::take, LoanSender::send, LoanReceiver::receive): these
// waits end with `cancelled`. Fork: a forked child has none of it
// (Status::forked), nor the memory.
// Owner: who made it. Loans and senders go before their pool, what is borrowed and all the others before
// their manager; a loan's bytes are the pool's.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hamlyn/protocols/manager.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/seed.h"

namespace hamlyn {

class LoanPool;
class LoanSender;
class LoanReceiver;

namespace internal_::protocols {
struct LoanHolder;
struct LoanLender;
}  // namespace internal_::protocols

// A buffer of a pool, to be filled in place and lent. When it goes, it cannot be lent any more: its memory is
// free when the last of those who were told of it has given it back.
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept;
  Loan& operator=(Loan&& other) noexcept;
  ~Loan() { let_go(); }  // before its pool

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  // As many as were asked for. Once it is lent, what is written here is seen by those who are reading.
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  // How many of those who were told of it have not given it back, as far as is known now.
  std::uint32_t holders() const noexcept;
  // Takes it back by force, from all who have it: their `Borrowed::current` is false from here on. It is as
  // if it had been taken from the pool just now, with the bytes that it has.
  void withdraw() noexcept;
  // As if it went now.
  void let_go() noexcept;

 private:
  friend class LoanPool;
  friend class LoanSender;

  LoanPool* pool_ = nullptr;
  std::uint32_t index_ = 0;
  std::span<std::byte> bytes_;
};

// So many buffers of one size.
struct LoanClass {
  std::size_t bytes = 0;    // of each buffer, 1 to 2^30
  std::uint32_t count = 0;  // of such buffers
};

// One area of memory, cut into buffers. All of it can be read by every process that a sender was grown for.
class LoanPool {
 public:
  // Up to 8 classes, together up to 1024 buffers. Counts in this user's quota of bytes. Throws Error:
  // invalid_argument, quota_bytes, out_of_memory, forked.
  LoanPool(Manager& manager, const std::vector<LoanClass>& classes);
  // Its loans and senders must be gone. Waits end with `cancelled`; what is still read stays readable.
  ~LoanPool();
  LoanPool(const LoanPool&) = delete;
  LoanPool& operator=(const LoanPool&) = delete;

  // Gives the smallest free buffer that has `bytes` or more, whatever it held before; `out` gives up what it
  // had. ok; no_buffer: all such are lent, or have a Loan; too_long: no class has so large ones; forked.
  Status take(std::size_t bytes, Loan& out) noexcept;
  // Takes a buffer, waiting for one to come back. Also timed_out, cancelled; invalid: inside process_arrival.
  Status take(std::size_t bytes, Loan& out, std::chrono::nanoseconds timeout) noexcept;

  // Shows the memory to nobody any more: everything lent is taken back, all senders are `closed`, and those
  // who have it mapped keep the old pages, in which nothing is written from now on. Loans keep their bytes,
  // which nobody may write meanwhile. Throws Error: out_of_memory, forked.
  void revoke();

  std::uint32_t free_buffers() noexcept;  // of all classes, that are neither lent nor have a Loan
  // Manager that the pool was made with.
  Manager& manager() noexcept { return manager_; }

 private:
  friend class Loan;
  friend class LoanSender;
  struct Inside;

  Manager& manager_;
  std::unique_ptr<Inside> inside_;
};

struct LoanSenderOptions {
  std::uint32_t most = 1024;  // buffers that this receiver may have at a time, at least 1
  std::chrono::nanoseconds timeout = std::chrono::seconds{10};  // for the opening, where that waits
};

// Tells one receiver of loans.
class LoanSender {
 public:
  using Options = LoanSenderOptions;

  // Begins to open it, and waits for nobody. The opening goes on while any thread runs the manager. May stand
  // inside process_arrival. Throws Error: seed_invalid, seed_wrong_kind, out_of_memory, forked;
  // invalid_argument: no buffer may be had.
  LoanSender(LoanPool& pool, const Seed& seed, Begin) : LoanSender(pool, seed, Options{}, kBegin) {}
  LoanSender(LoanPool& pool, const Seed& seed, const Options& options, Begin);
  // Begins, and waits as `open` does, up to `options.timeout`. Throws Error: what either throws.
  LoanSender(LoanPool& pool, const Seed& seed) : LoanSender(pool, seed, Options{}) {}
  LoanSender(LoanPool& pool, const Seed& seed, const Options& options)
      : LoanSender(pool, seed, options, kBegin) {
    open(options.timeout);
  }
  // Waits end with `cancelled`. The receiver is told `closed` after what was sent. What it has stays lent
  // until it gives it back or goes. One that is not open yet is given up, without a wait.
  ~LoanSender();
  LoanSender(const LoanSender&) = delete;
  LoanSender& operator=(const LoanSender&) = delete;

  // Waits until the receiver's program has looked, and has mapped the pool (0: one look). ok: it is open;
  // timed_out, cancelled: it goes on opening; forked; invalid: inside process_arrival, with a time-out. Any
  // other is final, and why it never will be: refused (by the receiver or the node, or the seed is no good),
  // link_ended, closed, broken, no_buffer (no memory to map with). `open` says more.
  Status opened(std::chrono::nanoseconds timeout) noexcept;
  // Waits as `opened` does. Throws Error unless it is open: timed_out, cancelled: may be called again;
  // seed_used, seed_stale, seed_forged, peer_refused (it does not want this sender, or cannot map the pool,
  // or the node makes no link), peer_died, out_of_memory, forked; invalid_argument: inside process_arrival,
  // with a time-out.
  void open(std::chrono::nanoseconds timeout);

  // Lends the first `length` bytes of `loan`. Never waits: ok; no_buffer (the receiver has as many as it
  // may), no_place, queue_full: nothing was done, try again; closed (the receiver has gone),
  // link_ended, broken (it has said what no receiver says): nobody will read it; too_long: the loan has fewer
  // bytes; invalid: a loan of another pool, or one that this receiver was told of before; forked.
  // connecting: it is not open yet; or, as `opened` says, it never will be.
  Status send(const Loan& loan, std::size_t length) noexcept;
  Status send(const Loan& loan) noexcept { return send(loan, loan.bytes().size()); }
  // Sends, waiting, also for the opening. Also timed_out, cancelled; invalid: inside process_arrival.
  Status send(const Loan& loan, std::size_t length, std::chrono::nanoseconds timeout) noexcept;

  // Takes back, by force, everything that this receiver has.
  void withdraw() noexcept;
  std::uint32_t held() const noexcept;  // buffers that it has, as far as is known now
  // Why nothing more can be sent; ok: it can, as far as is known now.
  Status end() const noexcept;

 private:
  friend class LoanPool;
  Status try_send(const Loan& loan, std::size_t length) noexcept;

  LoanPool& pool_;
  internal_::protocols::LoanHolder* holder_ = nullptr;  // the pool's
};

// Bytes in the sender's memory. Given back when this goes, which is before its manager does.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(Borrowed&& other) noexcept;
  Borrowed& operator=(Borrowed&& other) noexcept;
  ~Borrowed() { give_back(); }

  explicit operator bool() const noexcept { return lender_ != nullptr; }
  // Inside the sender's pool, and readable until this goes, whatever becomes of the sender. It can change
  // them at any moment: copy what must not change between two looks.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // Whether the sender still means it: false once it has taken the buffer back by force and used it anew. If
  // an honest sender's loan is current after it was read, what was read is what was sent.
  [[nodiscard]] bool current() const noexcept;
  // From here on the sender may use it again. Once; later calls do nothing.
  void give_back() noexcept;

 private:
  friend class LoanReceiver;

  internal_::protocols::LoanLender* lender_ = nullptr;
  std::uint32_t index_ = 0;
  std::uint32_t number_ = 0;
  std::span<const std::byte> bytes_;
};

struct LoanReceiverOptions {
  std::uint32_t places = 256;  // loans that may stand here and were not received, 1 to 1024
};

// Has one sender at a time.
class LoanReceiver {
 public:
  using Options = LoanReceiverOptions;

  // For one sender after the other.
  explicit LoanReceiver(Manager& manager) : LoanReceiver(manager, Options{}) {}
  // Throws Error: invalid_argument, out_of_memory, forked.
  LoanReceiver(Manager& manager, const Options& options);
  // Waits end with `cancelled`. The sender is told, and takes back everything; what is still borrowed
  // stays readable, as what is not current.
  virtual ~LoanReceiver();
  LoanReceiver(const LoanReceiver&) = delete;
  LoanReceiver& operator=(const LoanReceiver&) = delete;

  // For one sender, once. A sender that is there is told `closed`, as if this were a new receiver. Throws
  // Error(forked).
  [[nodiscard]] Seed make_seed();

  // Waits for the next loan; `out` gives back what it had. ok; timed_out (0: one look), cancelled, forked;
  // or how it has ended, after all that had come: closed (by the sender), link_ended (its process has gone,
  // or its link), broken (it has lent what it had not shown); invalid: inside process_arrival, with a
  // time-out or with a sender to be answered.
  // A sender that opens is answered in here, for which its memory is mapped: that takes a moment, at most
  // two seconds each time if it is hostile.
  Status receive(Borrowed& out, std::chrono::nanoseconds timeout) noexcept;
  Status receive(Borrowed& out) noexcept { return receive(out, std::chrono::nanoseconds::max()); }

  std::uint64_t sender() const noexcept;  // its interface, as the node attests; 0: there is none
  // Readable when there may be something. Receive until `timed_out` before going back to epoll. Throws
  // Error: system, forked.
  int descriptor();

 protected:
  // Whether the one who has come with the seed may lend. If not, it is told `peer_refused` before anything of
  // its memory is mapped, and the seed stays good. Called by `receive`, one call at a time for all receivers
  // of a manager; it must not wait, throw, or destroy anything.
  virtual bool admit(std::uint64_t sender) noexcept;
  // Ends the waits on it with `cancelled`. A class that overrides `admit` calls it first in its destructor.
  void retire() noexcept;

 private:
  friend class Borrowed;
  struct Inside;

  Manager& manager_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace hamlyn
