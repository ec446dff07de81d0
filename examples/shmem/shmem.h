#pragma once
// A small OpenSHMEM run-time over segments: each of several processes has a symmetric heap, in which the
// others put, get, add and wait. One-sided: nobody calls anything for others to work on its heap. Of the
// guarded kind every access is a packet that the owner's interface checks; of the mapped kind (processes of
// one user) it is a load, a store or a locked instruction.
//
// One thread per process. Throws std::runtime_error when a partner does not answer.
#include <hamlyn/hamlyn.h>

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../check.h"

class Shmem {
 public:
  static constexpr std::size_t kMost = 64;  // processes

  // Process `me` of `all`, which find each other by the name `meeting`. Each gives the same `bytes` of heap.
  Shmem(const std::string& meeting, std::size_t me, std::size_t all, std::size_t bytes, bool mapped)
      : me_(me),
        all_(all),
        mapped_(mapped),
        own_(interface_,
             {.name = meeting + "." + std::to_string(me),
              .bytes = kHeap + bytes,
              .sharing = mapped ? hamlyn::Sharing::mapped_read_write : hamlyn::Sharing::guarded}) {
    require(all != 0 && all <= kMost && me < all, "there are 1 to 64 processes");
    for (std::size_t pe = 0; pe != all; ++pe) {
      const std::string name = meeting + "." + std::to_string(pe);
      others_.push_back(pe == me ? nullptr
                                 : std::make_unique<hamlyn::Import>(
                                       interface_, name, hamlyn::Import::Options{.timeout = kStart}));
    }
    unfenced_.resize(all);
    barrier();
  }

  std::size_t me() const { return me_; }
  std::size_t all() const { return all_; }

  // Room for `count` values in every heap, at the same offset: all processes ask for the same, in one order.
  template <hamlyn::Plain T>
  std::size_t allocate(std::size_t count) {
    const std::size_t at = (next_ + 63) / 64 * 64;
    require(at + count * sizeof(T) <= own_.bytes().size(), "the symmetric heap is full");
    next_ = at + count * sizeof(T);
    return at;
  }
  // Returns this process's copy.
  template <hamlyn::Plain T>
  std::span<T> local(std::size_t at, std::size_t count) {
    return {reinterpret_cast<T*>(own_.bytes().data() + at), count};
  }

  // --- one-sided

  // The buffer is free when it returns; `quiet` says that the data is there.
  template <hamlyn::Plain T>
  void put(std::size_t at, std::span<const T> data, std::size_t pe) {
    if (pe == me_)
      return static_cast<void>(std::memcpy(own_.bytes().data() + at, data.data(), data.size_bytes()));
    check(others_[pe]->write(at, std::as_bytes(data), kPatience));
    unfenced_[pe] = true;
  }
  template <hamlyn::Plain T>
  void put(std::size_t at, const T& value, std::size_t pe) {
    put(at, std::span(&value, 1), pe);
  }
  template <hamlyn::Plain T>
  void get(std::span<T> into, std::size_t at, std::size_t pe) {
    if (pe == me_)
      return static_cast<void>(std::memcpy(into.data(), own_.bytes().data() + at, into.size_bytes()));
    check(others_[pe]->read(at, std::as_writable_bytes(into), kPatience));
  }
  template <hamlyn::Plain T>
  T get(std::size_t at, std::size_t pe) {
    T value;
    get(std::span(&value, 1), at, pe);
    return value;
  }
  // Puts `data`, and when it is there sets, or adds to, the signal.
  template <hamlyn::Plain T>
  void put_signal(std::size_t at, std::span<const T> data, std::size_t signal, std::uint64_t value,
                  hamlyn::Signal how, std::size_t pe) {
    if (pe != me_) {
      check(others_[pe]->write_signal(at, std::as_bytes(data), signal, value, how, kPatience));
      unfenced_[pe] = true;
      return;
    }
    put(at, data, pe);
    const auto word = own_.at<std::uint64_t>(signal);
    if (how == hamlyn::Signal::set) word.store(value, std::memory_order_release);
    if (how == hamlyn::Signal::add) word.fetch_add(value, std::memory_order_release);
  }

  // --- words of 8 bytes. Each returns what stood there before.

  std::uint64_t fetch_add(std::size_t at, std::uint64_t value, std::size_t pe) {
    return fetch(at, {.op = hamlyn::FetchOp::add, .operand = value}, pe);
  }
  std::uint64_t swap(std::size_t at, std::uint64_t value, std::size_t pe) {
    return fetch(at, {.op = hamlyn::FetchOp::swap, .operand = value}, pe);
  }
  std::uint64_t compare_swap(std::size_t at, std::uint64_t expected, std::uint64_t value, std::size_t pe) {
    return fetch(at, {.op = hamlyn::FetchOp::compare_and_swap, .operand = value, .compare = expected}, pe);
  }

  // --- order and meeting

  // Returns when all that this process has put is there: asks all to whom it has put something at once.
  void quiet() {
    asked_.clear();
    for (std::size_t pe = 0; pe != all_; ++pe) {
      if (unfenced_[pe]) asked_.push_back(others_[pe].get());
      unfenced_[pe] = false;
    }
    check(hamlyn::Import::flush(asked_, kPatience));
  }

  // Waits until `done(word)` of a word of this process's heap, which others change.
  template <class Done>
  void wait_until(std::size_t at, Done done) {
    const auto word = own_.at<std::uint64_t>(at);
    const auto is_done = [&] { return done(word.load(std::memory_order_acquire)); };
    for (int look = 0; look != kLooks; ++look) {
      if (is_done()) return;
      hear();
      if (is_done()) return;
      // Where there are more processes than processors, the one that is to write needs one. A yield takes
      // longer than a partner that has one.
      if (look >= (mapped_ ? kLooksOfMapped : kLooksOfGuarded)) std::this_thread::yield();
    }
    check(own_.wait_until(at, done, kPatience));
  }

  // Returns when all processes are here and all that they have put before is there. By dissemination: in
  // round r each tells the one 2^r further on, and waits for the one 2^r before it.
  void barrier() {
    quiet();
    ++epoch_;
    for (std::size_t step = 1, round = 0; step < all_; step *= 2, ++round) {
      const std::size_t at = round * sizeof(std::uint64_t);
      tell(at, epoch_, (me_ + step) % all_);
      wait_until(at, [this](std::uint64_t there) { return there >= epoch_; });
    }
  }

  // --- collective. `values` of every process, one by one, become what `op` makes of two of them, everywhere:
  // std::plus, std::multiplies, the smaller one.
  template <hamlyn::Plain T, class Op = std::plus<T>>
  void reduce(std::span<T> values, Op op = {}) {
    require(values.size_bytes() <= kScratch / 2 / all_, "too many values to reduce at once");
    const std::size_t reduced = kWords, parts = kWords + kScratch / 2;
    put(parts + me_ * values.size_bytes(), std::span<const T>(values), 0);
    barrier();
    if (me_ == 0) {
      for (std::size_t pe = 1; pe != all_; ++pe) {
        const std::span<T> part = local<T>(parts + pe * values.size_bytes(), values.size());
        for (std::size_t i = 0; i != values.size(); ++i) values[i] = op(values[i], part[i]);
      }
      put(reduced, std::span<const T>(values), 0);
    }
    barrier();
    get(values, reduced, 0);
  }
  // `values` of process `root` become everybody's.
  template <hamlyn::Plain T>
  void broadcast(std::span<T> values, std::size_t root) {
    require(values.size_bytes() <= kScratch / 2, "too many values to broadcast at once");
    barrier();  // nobody reads what was broadcast before
    if (me_ == root) put(kWords, std::span<const T>(values), root);
    barrier();
    get(values, kWords, root);
  }

 private:
  static constexpr std::chrono::seconds kPatience{30};
  static constexpr std::chrono::milliseconds kStart{30000};
  static constexpr int kLooks = 2000, kLooksOfMapped = 100, kLooksOfGuarded = 2;
  // Every heap begins with the words of the barrier's rounds, and room for collective operations.
  static constexpr std::size_t kWords = 64, kScratch = 65536, kHeap = kWords + kScratch;

  // Lets arrive what others have put. Of the mapped kind it stands there already.
  void hear() {
    if (!mapped_ && !interface_.run()) interface_.run();  // the first may look at one partner alone
  }
  // Puts a word that no quiet needs to answer for: whoever waits for it sees it.
  void tell(std::size_t at, std::uint64_t word, std::size_t pe) {
    check(others_[pe]->write(at, std::as_bytes(std::span(&word, 1)), kPatience));
    check(others_[pe]->changed());
  }
  std::uint64_t fetch(std::size_t at, const hamlyn::Fetch& what, std::size_t pe) {
    if (pe == me_) return own_fetch(own_.at<std::uint64_t>(at), what);
    const hamlyn::Outcome outcome = others_[pe]->fetch(at, what, kPatience);
    check(outcome.status);
    return outcome.value;
  }
  static std::uint64_t own_fetch(std::atomic_ref<std::uint64_t> word, const hamlyn::Fetch& what) {
    if (what.op == hamlyn::FetchOp::add) return word.fetch_add(what.operand);
    if (what.op == hamlyn::FetchOp::swap) return word.exchange(what.operand);
    std::uint64_t before = what.compare;
    word.compare_exchange_strong(before, what.operand);
    return before;
  }

  const std::size_t me_, all_;
  const bool mapped_;
  hamlyn::Interface interface_;
  hamlyn::Segment own_;
  std::vector<std::unique_ptr<hamlyn::Import>> others_;  // null: this process
  std::vector<bool> unfenced_;                           // to whom something was put since the last quiet
  std::vector<hamlyn::Import*> asked_;                   // by `quiet`, which keeps its room
  std::size_t next_ = kHeap;
  std::uint64_t epoch_ = 0;
};
