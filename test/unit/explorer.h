#pragma once
// An explorer of store buffers: runs tasks that share a few words under every order in which a machine may
// let them happen. Each task has a store buffer; what it stores stays there, seen by itself alone, until it
// leaves. Loads are done one by one. The tasks are the production templates (ring, bell, sleeper),
// instantiated with the memory policy below, which turns each of their memory operations into a step that the
// explorer decides about.
//
// A task is a function that is run again and again from its start; the results of its former steps are given
// to it from a log, and where the log ends it is left (by longjmp, so it may hold nothing that needs a
// destructor). A state is therefore a plain value: memory, logs, buffers. Every state is visited once.
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace hamlyn::test {

enum class Buffers {
  tso,      // as on x86-64: stores leave in the order they were made in
  relaxed,  // weaker: any store may overtake any other, but a release store overtakes none
};

class Explorer {
 public:
  using Task = std::function<void()>;
  // What the tasks reported, task by task, in one way that things can go; returns what is wrong with it, or
  // nothing.
  using Check = std::function<std::string(const std::vector<std::vector<std::uint64_t>>&)>;

  // `memory`: all that the tasks share, in the state that they start from.
  Explorer(std::span<std::byte> memory, Buffers buffers) : memory_(memory), buffers_(buffers) {}
  void add(Task task) { tasks_.push_back(std::move(task)); }

  // The first thing that goes wrong, or nothing. A state from which nothing can happen though a task is not
  // done is wrong, too: somebody sleeps for ever.
  std::string explore(const Check& check);
  std::size_t states() const noexcept { return states_; }

  // For tasks.
  static void report(std::uint64_t value);                                  // what it has seen
  static void sleep_while(const std::uint32_t& word, std::uint32_t value);  // FUTEX_WAIT
  static void wake(const std::uint32_t& word);                              // FUTEX_WAKE

  // For the memory policy. Outside of a task they act on the memory at once.
  static std::uint64_t load(const void* from, std::size_t bytes);
  static void store(void* to, std::uint64_t value, std::size_t bytes, bool release);
  static void fence();

 private:
  enum class Kind : std::uint8_t { load, fence, sleep, wake, done };
  struct Step {
    Kind kind = Kind::done;
    std::size_t at = 0;
    std::size_t bytes = 0;
    std::uint64_t value = 0;
  };
  struct Store {
    std::size_t at;
    std::size_t bytes;
    std::uint64_t value;
    bool release;
  };
  struct TaskState {
    std::vector<std::uint64_t> log;  // results of the steps that it has done
    std::deque<Store> buffer;
    bool asleep = false;
    Step next;
  };
  struct State {
    std::vector<std::byte> memory;
    std::vector<TaskState> tasks;
  };

  static std::uint64_t step(Kind kind, const void* at, std::size_t bytes, std::uint64_t value);
  void run(std::size_t task, TaskState& state);
  void visit(State& state, const Check& check);
  bool may_leave(const std::deque<Store>& buffer, std::size_t index) const;
  std::uint64_t value_for(const State& state, const TaskState& task) const;
  static std::string key(const State& state);
  void leave(State& state, std::size_t task, std::size_t index) const;
  // What happens when a task does its next step; false if it cannot now.
  bool do_step(State& state, std::size_t task);

  std::span<std::byte> memory_;
  Buffers buffers_;
  std::vector<Task> tasks_;
  std::unordered_set<std::string> seen_;
  std::string wrong_;
  std::size_t states_ = 0;

  // The task that runs.
  TaskState* running_ = nullptr;
  std::size_t done_ = 0;  // steps of its log that it has taken already
  std::vector<std::uint64_t> reports_;
  std::jmp_buf out_;
  static inline Explorer* active_ = nullptr;
};

// The memory policy. The parameters take something away, to show that the explorer misses it.
template <bool WithFence = true, bool WithRelease = true>
struct Explored {
  template <class T>
  static T load_acquire(const T& word) noexcept {
    return static_cast<T>(Explorer::load(&word, sizeof word));
  }
  template <class T>
  static T load_relaxed(const T& word) noexcept {
    return static_cast<T>(Explorer::load(&word, sizeof word));
  }
  template <class T>
  static void store_release(T& word, T value) noexcept {
    Explorer::store(&word, value, sizeof word, WithRelease);
  }
  template <class T>
  static void store_relaxed(T& word, T value) noexcept {
    Explorer::store(&word, value, sizeof word, false);
  }
  static void fence() noexcept {
    if (WithFence) Explorer::fence();
  }
  static void copy_from_peer(void* to, const void* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::size_t part = bytes - i < 8 ? bytes - i : 8;
      const std::uint64_t word = Explorer::load(static_cast<const std::byte*>(from) + i, part);
      std::memcpy(static_cast<std::byte*>(to) + i, &word, part);
    }
  }
  static void copy_to_peer(void* to, const void* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::size_t part = bytes - i < 8 ? bytes - i : 8;
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(from) + i, part);
      Explorer::store(static_cast<std::byte*>(to) + i, word, part, false);
    }
  }
};

}  // namespace hamlyn::test
