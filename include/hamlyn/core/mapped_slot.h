#pragma once
// Another process's slot, mapped here: reads are loads, without the owner's processor and without any trust
// in the reader; within a trust group writes are stores, and `Terminus::send` to its tickets puts the data
// straight there and only the notification through the link.
//
// Who may: any holder of a ticket, for an area of the kind mapped_read_only; of the kind mapped_read_write
// only processes of the owner's user, which the kernel attests. Paranoid slots cannot be mapped.
//
// Threads: any; until it is open, those that call `opened` and `open` alone. Words that both sides use at the
// same time are for std::atomic_ref, naturally aligned.
// Owner: who made it; its interface outlives it. The memory is the slot's owner's.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/not_mapped.h"
#include "hamlyn/values/plain.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

namespace internal_::library {
struct ImportAnswer;
}

class MappedSlot {
 public:
  // Begins to map it, makes the link if there is none, and waits for nobody. The owner is asked while the
  // program does other work. Throws Error: invalid_argument (the ticket), out_of_memory, forked.
  MappedSlot(Interface& interface, const Ticket& ticket, Begin);
  // Begins, and waits as `open` does, up to `timeout`. Throws Error: what either throws.
  MappedSlot(Interface& interface, const Ticket& ticket, std::chrono::milliseconds timeout)
      : MappedSlot(interface, ticket, kBegin) {
    open(timeout);
  }
  // One that is not open yet is given up, without a wait.
  ~MappedSlot();
  MappedSlot(const MappedSlot&) = delete;
  MappedSlot& operator=(const MappedSlot&) = delete;

  // Waits until it is mapped (0: one look). ok: it is; timed_out, cancelled: it goes on; forked. Any other is
  // final, and why it never will be: refused, link_ended, no_buffer (no memory to map with). `open` says
  // more.
  Status opened(std::chrono::nanoseconds timeout) noexcept;
  // Waits as `opened` does. Throws Error unless it is mapped: timed_out, cancelled: may be called again;
  // not_permitted (`not_mapped` and the text say why), peer_died or peer_refused (no link: the text says
  // why), out_of_memory, forked.
  void open(std::chrono::nanoseconds timeout);

  // Why it is not mapped; none: it is. Until it is known, and if `open` throws something else: opening.
  NotMapped not_mapped() const noexcept;

  // The slot's bytes; they may change at any time; none until it is open. Valid until this object is gone,
  // whatever becomes of the link, and after a revocation as they were then.
  std::span<const std::byte> bytes() const noexcept { return {base_, size_}; }
  // Bytes for writing; empty of the kind mapped_read_only.
  std::span<std::byte> writable() noexcept { return {base_, can_write_ ? size_ : 0}; }
  // Whether it is of the kind mapped_read_write.
  bool can_write() const noexcept { return can_write_; }

  // Whether the owner has not left this memory for other. What was read is good if it says so afterwards;
  // what was written before it stopped saying so may be lost. Until it is open: false.
  [[nodiscard]] bool current() const noexcept {
    // Earlier reads stay before this look: on x86-64 the compiler alone could put them off. Then comes the
    // word, which the owner moves before it leaves this memory. The word pairs with Generation::move in
    // Control::renew_mapped_area.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return std::atomic_ref<std::uint64_t>(*generation_word_).load(std::memory_order_acquire) == generation_;
  }
  // ok: it is `current`, and the owner is there as far as is known; stale: it is not; link_ended: the owner's
  // process has ended, or the link by which the slot was mapped. Its bytes stay as they are then. Map it
  // again to go on. Until it is open: stale.
  [[nodiscard]] Status status() const noexcept {
    if (ended_.load(std::memory_order_relaxed)) return Status::link_ended;  // pairs with Core::end_link
    return current() ? Status::ok : Status::stale;
  }

  // A word of the slot, `offset` bytes from its base, inside it and aligned: load, store, fetch_add,
  // compare_exchange and the rest, atomic against everybody who maps it and against its owner, who are its
  // partners. Of the kind mapped_read_only anything but a load ends this process with SIGSEGV.
  template <Plain Word>
  std::atomic_ref<Word> word(std::size_t offset) noexcept {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(base_ + offset));
  }

 private:
  friend class Import;  // whose signals call the owner
  // Whether somebody waits for what was just stored here, and was not called for it yet. Then `now` is what
  // `called` takes once that is done.
  bool must_call(std::uint64_t& now) const noexcept;
  void called(std::uint64_t now) noexcept { called_.store(now, std::memory_order_relaxed); }
  struct Opening;
  Status go_on() noexcept;
  void adopt(internal_::library::ImportAnswer&& answer);

  Interface& interface_;
  const Ticket ticket_;
  std::unique_ptr<Opening> opening_;
  std::byte* area_ = nullptr;
  std::size_t area_size_ = 0;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t* generation_word_;  // read-only memory; until it is open a word that is never `generation_`
  std::uint64_t generation_ = 1;
  // The call word by which the owner was called last. A thread that finds an older one calls once too often.
  std::atomic<std::uint64_t> called_{0};
  std::atomic<bool> ended_{false};  // the link by which it was mapped has
  bool can_write_ = false;
};

}  // namespace hamlyn
