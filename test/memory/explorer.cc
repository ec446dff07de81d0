#include "test/memory/explorer.h"

#include <cstring>

#include "test/memory/store_buffers.h"
#include "test/memory/views.h"

namespace hamlyn::test {

// --- the task's side

std::uint64_t Explorer::step(const Step& step) {
  Explorer& self = *active_;
  TaskState& task = self.state_->tasks[self.running_];
  if (self.done_ < task.log.size()) return task.log[self.done_++];
  task.next = step;
  std::longjmp(self.out_, 1);
}

Order Explorer::order_at(Word word, Order order) const {
  for (const Word& guarded : guarded_) {
    if (order == Order::relaxed && word.at >= guarded.at && word.at < guarded.at + guarded.bytes)
      return Order::plain;
  }
  return order;
}

std::uint64_t Explorer::load(const void* from, std::size_t bytes, Order order) {
  if (active_ != nullptr) return step({Kind::load, order, word(from, bytes), 0});
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

// Nobody can tell when that was, for nobody has to see it yet: so it is no step of its own.
void Explorer::store(void* to, std::uint64_t value, std::size_t bytes, Order order) {
  if (active_ == nullptr) {
    std::memcpy(to, &value, bytes);
    return;
  }
  Explorer& self = *active_;
  TaskState& task = self.state_->tasks[self.running_];
  if (self.done_++ < task.log.size()) return;
  task.log.push_back(0);
  const Word where = word(to, bytes);
  self.state_->machine->store(self.running_, where, value, self.order_at(where, order));
}

void Explorer::await(const void* from, std::size_t bytes, std::uint64_t value, Order order) {
  step({Kind::await, order, word(from, bytes), value});
}
void Explorer::take(void* to, std::size_t bytes) { step({Kind::take, Order::ordered, word(to, bytes), 0}); }
void Explorer::fence() {
  if (active_ != nullptr) step({Kind::fence, {}, {}, task()});
}
void Explorer::load_fence() { step({Kind::load_fence, {}, {}, 0}); }
void Explorer::light_fence() { step({Kind::light_fence, {}, {}, 0}); }
// The kernel makes it one for the caller, and then interrupts one thread after the other.
void Explorer::heavy_fence() {
  fence();
  for (std::size_t other = 0; other < active_->tasks_.size(); ++other) step({Kind::fence, {}, {}, other});
  step({Kind::heavy_fence, {}, {}, 0});
}
void Explorer::sleep_while(const std::uint32_t& futex, std::uint32_t value) {
  step({Kind::sleep, Order::relaxed, word(&futex, sizeof futex), value});
}
void Explorer::wake(const std::uint32_t& futex) {
  step({Kind::wake, Order::relaxed, word(&futex, sizeof futex), 0});
}
void Explorer::report(std::uint64_t value) { active_->reports_.push_back(value); }

// Up to the task's next step that the explorer has to decide about.
void Explorer::run(State& state, std::size_t task) {
  state_ = &state;
  running_ = task;
  done_ = 0;
  reports_.clear();
  active_ = this;
  if (setjmp(out_) == 0) {
    tasks_[task]();
    state.tasks[task].next = Step{};
  }
  active_ = nullptr;
}

// --- the machine's side

void Explorer::go_on(State& state, std::size_t task, std::uint64_t result) {
  state.tasks[task].log.push_back(result);
  run(state, task);
}

void Explorer::wake_sleepers(State& state, Word word) {
  for (std::size_t i = 0; i < state.tasks.size(); ++i) {
    TaskState& task = state.tasks[i];
    if (!task.asleep || task.next.word.at != word.at) continue;
    task.asleep = false;
    go_on(state, i, 0);
  }
}

std::vector<Explorer::State> Explorer::after_step(const State& state, std::size_t index) {
  const TaskState& task = state.tasks[index];
  const Step step = task.next;
  std::vector<State> states;
  if (task.asleep || step.kind == Kind::done) return states;
  // The locks that the kernel takes to put somebody to sleep, or to wake him, are fences.
  const bool in_kernel = step.kind == Kind::sleep || step.kind == Kind::wake;
  if (in_kernel && !state.machine->may_pass(index)) return states;
  if (step.kind == Kind::fence && !state.machine->may_pass(step.value)) return states;
  State next(state);
  if (in_kernel) next.machine->fence(index);
  switch (step.kind) {
    case Kind::load:
    case Kind::await:
    case Kind::sleep: {
      const std::vector<std::uint64_t> values = next.machine->values(index, step.word);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (step.kind == Kind::await && values[i] != step.value) continue;
        State& found = states.emplace_back(next);
        found.machine->loaded(index, step.word, order_at(step.word, step.order), i);
        found.tasks[index].asleep = step.kind == Kind::sleep && values[i] == step.value;
        if (!found.tasks[index].asleep) go_on(found, index, values[i]);
      }
      return states;
    }
    case Kind::take:
      if (!next.machine->take(index, step.word)) return states;
      break;
    case Kind::fence:
      if (step.value == index) next.machine->fence(index);
      break;
    case Kind::load_fence:
      next.machine->load_fence(index);
      break;
    case Kind::light_fence:
      next.machine->light_fence(index);
      break;
    case Kind::heavy_fence:
      next.machine->heavy_fence(index);
      break;
    case Kind::wake:
      wake_sleepers(next, step.word);
      break;
    case Kind::done:
      break;
  }
  go_on(next, index, 0);
  states.push_back(std::move(next));
  return states;
}

std::string Explorer::key(const State& state) {
  std::string key;
  for (const TaskState& task : state.tasks) {
    add_number(key, task.log.size() << 1 | (task.asleep ? 1 : 0));
    for (const std::uint64_t value : task.log) add_number(key, value);
  }
  state.machine->add_to(key);
  return key;
}

void Explorer::judge_end(State& state, const Check& check) {
  std::vector<std::vector<std::uint64_t>> reports;
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    if (state.tasks[task].next.kind != Kind::done) {
      wrong_ = "task " + std::to_string(task) + (state.tasks[task].asleep ? " sleeps for ever" : " is stuck");
      return;
    }
    run(state, task);
    reports.push_back(reports_);
  }
  wrong_ = check(reports);
}

void Explorer::visit(State& state, const Check& check) {
  if (!wrong_.empty()) return;
  wrong_ = state.machine->wrong();
  if (!wrong_.empty() || !seen_.insert(key(state)).second) return;
  ++states_;
  bool moved = false;
  for (std::size_t which = 0; which < state.machine->moves(); ++which) {
    State next(state);
    next.machine->move(which);
    if (key(next) == key(state)) continue;
    moved = true;
    visit(next, check);
  }
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    for (State& next : after_step(state, task)) {
      moved = true;
      visit(next, check);
    }
  }
  if (!moved && wrong_.empty()) judge_end(state, check);
}

std::string Explorer::explore(const Check& check) {
  State state;
  const std::span<const std::byte> memory(memory_);
  if (model_ == Model::x86_64) {
    state.machine = std::make_unique<StoreBuffers>(memory, tasks_.size());
  } else {
    state.machine = std::make_unique<Views>(memory, tasks_.size());
  }
  state.tasks.resize(tasks_.size());
  for (std::size_t task = 0; task < tasks_.size(); ++task) run(state, task);
  visit(state, check);
  return wrong_;
}

}  // namespace hamlyn::test
