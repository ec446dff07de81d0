#pragma once
// Runs tasks that share a few words in every way in which a machine may let them happen. The tasks are the
// production templates (ring, bell, run lock ...), instantiated with the memory policy in explored.h, which
// turns each of their memory operations into a step that the explorer decides about.
//
// A task is a function that is run again and again from its start; the results of its former steps are given
// to it from a log, and where the log ends it is left (by longjmp, so it may hold nothing that needs a
// destructor). A state is therefore a plain value: logs and machine. Every state is visited once.
#include <csetjmp>
#include <functional>
#include <span>
#include <unordered_set>

#include "test/memory/machine.h"

namespace hamlyn::test {

enum class Model : std::uint8_t {
  x86_64,  // StoreBuffers
  weaker,  // Views
};

class Explorer {
 public:
  using Task = std::function<void()>;
  // What the tasks reported, task by task, in one way that things can go; returns what is wrong with it, or
  // nothing.
  using Check = std::function<std::string(const std::vector<std::vector<std::uint64_t>>&)>;

  // `memory`: all that the tasks share, in the state that they start from.
  Explorer(std::span<std::byte> memory, Model model) : memory_(memory), model_(model) {}
  void add(Task task) { tasks_.push_back(std::move(task)); }
  // These words are for one task at a time, though they are accessed by relaxed atomics.
  void guard(const void* words, std::size_t bytes) { guarded_.push_back({place(words), bytes}); }

  // The first thing that goes wrong, or nothing. A state from which nothing can happen though a task is not
  // done is wrong, too: somebody sleeps for ever.
  std::string explore(const Check& check);
  std::size_t states() const noexcept { return states_; }

  // For tasks.
  static void report(std::uint64_t value);                                  // what it has seen
  static void sleep_while(const std::uint32_t& word, std::uint32_t value);  // FUTEX_WAIT
  static void wake(const std::uint32_t& word);                              // FUTEX_WAKE
  static std::size_t task() noexcept { return active_->running_; }

  // For the memory policy. Outside of a task they act on the memory at once.
  static std::uint64_t load(const void* from, std::size_t bytes, Order order);
  static void store(void* to, std::uint64_t value, std::size_t bytes, Order order);
  // Loads until it finds that value.
  static void await(const void* from, std::size_t bytes, std::uint64_t value, Order order);
  static void fence();
  static void load_fence();
  static void light_fence();
  static void heavy_fence();
  // A mutex's word: 1 in the place of 0.
  static void take(void* word, std::size_t bytes);

 private:
  enum class Kind : std::uint8_t {
    load,
    await,
    take,
    fence,
    load_fence,
    light_fence,
    heavy_fence,
    sleep,
    wake,
    done
  };
  struct Step {
    Kind kind = Kind::done;
    Order order = Order::relaxed;
    Word word;
    std::uint64_t value = 0;
  };
  struct TaskState {
    std::vector<std::uint64_t> log;  // results of the steps that it has done
    bool asleep = false;
    Step next;
  };
  struct State {
    std::unique_ptr<Machine> machine;
    std::vector<TaskState> tasks;

    State() = default;
    State(State&&) = default;
    State(const State& other) : machine(other.machine->copy()), tasks(other.tasks) {}
  };

  static std::uint64_t step(const Step& step);
  static Word word(const void* at, std::size_t bytes) { return {active_->place(at), bytes}; }
  std::size_t place(const void* at) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) - memory_.data());
  }
  Order order_at(Word word, Order order) const;

  void run(State& state, std::size_t task);
  void go_on(State& state, std::size_t task, std::uint64_t result);
  void visit(State& state, const Check& check);
  void judge_end(State& state, const Check& check);
  // Every state that a task's next step leads to.
  std::vector<State> after_step(const State& state, std::size_t task);
  void wake_sleepers(State& state, Word word);
  static std::string key(const State& state);

  std::span<std::byte> memory_;
  Model model_;
  std::vector<Task> tasks_;
  std::vector<Word> guarded_;
  std::unordered_set<std::string> seen_;
  std::string wrong_;
  std::size_t states_ = 0;

  // The task that runs.
  State* state_ = nullptr;
  std::size_t running_ = 0;
  std::size_t done_ = 0;  // steps of its log that it has taken already
  std::vector<std::uint64_t> reports_;
  std::jmp_buf out_;
  static inline Explorer* active_ = nullptr;
};

}  // namespace hamlyn::test
