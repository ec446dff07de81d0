#include "test/unit/explorer.h"

namespace hamlyn::test {

namespace {
bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
}  // namespace

// --- the task's side

std::uint64_t Explorer::step(Kind kind, const void* at, std::size_t bytes, std::uint64_t value) {
  Explorer& self = *active_;
  TaskState& task = *self.running_;
  if (self.done_ < task.log.size()) return task.log[self.done_++];
  task.next.kind = kind;
  task.next.at =
      at == nullptr ? 0 : static_cast<std::size_t>(static_cast<const std::byte*>(at) - self.memory_.data());
  task.next.bytes = bytes;
  task.next.value = value;
  std::longjmp(self.out_, 1);
}

std::uint64_t Explorer::load(const void* from, std::size_t bytes) {
  if (active_ != nullptr) return step(Kind::load, from, bytes, 0);
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

// Into one's own buffer: nobody can tell when that was, so it is no step of its own.
void Explorer::store(void* to, std::uint64_t value, std::size_t bytes, bool release) {
  if (active_ == nullptr) {
    std::memcpy(to, &value, bytes);
    return;
  }
  Explorer& self = *active_;
  TaskState& task = *self.running_;
  if (self.done_ < task.log.size()) {
    ++self.done_;
    return;
  }
  task.log.push_back(0);
  ++self.done_;
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(to) - self.memory_.data());
  task.buffer.push_back({at, bytes, value, release});
}

void Explorer::fence() {
  if (active_ != nullptr) step(Kind::fence, nullptr, 0, 0);
}
void Explorer::sleep_while(const std::uint32_t& word, std::uint32_t value) {
  step(Kind::sleep, &word, sizeof word, value);
}
void Explorer::wake(const std::uint32_t& word) { step(Kind::wake, &word, sizeof word, 0); }
void Explorer::report(std::uint64_t value) { active_->reports_.push_back(value); }

// Up to the task's next step that the explorer has to decide about.
void Explorer::run(std::size_t task, TaskState& state) {
  running_ = &state;
  done_ = 0;
  reports_.clear();
  active_ = this;
  if (setjmp(out_) == 0) {
    tasks_[task]();
    state.next = Step{};
  }
  active_ = nullptr;
}

// --- the machine's side

bool Explorer::may_leave(const std::deque<Store>& buffer, std::size_t index) const {
  if (index == 0) return true;
  if (buffers_ == Buffers::tso || buffer[index].release) return false;
  for (std::size_t i = 0; i < index; ++i) {
    if (overlap(buffer[i].at, buffer[i].bytes, buffer[index].at, buffer[index].bytes)) return false;
  }
  return true;
}

void Explorer::leave(State& state, std::size_t task, std::size_t index) const {
  std::deque<Store>& buffer = state.tasks[task].buffer;
  std::memcpy(state.memory.data() + buffer[index].at, &buffer[index].value, buffer[index].bytes);
  buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(index));
}

// What a load gives: the own newest store if it is still in the buffer, byte by byte, otherwise memory.
std::uint64_t Explorer::value_for(const State& state, const TaskState& task) const {
  std::byte bytes[8] = {};
  std::memcpy(bytes, state.memory.data() + task.next.at, task.next.bytes);
  for (const Store& store : task.buffer) {
    std::byte stored[8];
    std::memcpy(stored, &store.value, sizeof stored);
    for (std::size_t i = 0; i < store.bytes; ++i) {
      const std::size_t at = store.at + i;
      if (at >= task.next.at && at < task.next.at + task.next.bytes) bytes[at - task.next.at] = stored[i];
    }
  }
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool Explorer::do_step(State& state, std::size_t index) {
  TaskState& task = state.tasks[index];
  if (task.asleep) return false;
  std::uint64_t result = 0;
  switch (task.next.kind) {
    case Kind::done:
      return false;
    case Kind::load:
      result = value_for(state, task);
      break;
    case Kind::fence:
      if (!task.buffer.empty()) return false;
      break;
    case Kind::sleep:
      if (static_cast<std::uint32_t>(value_for(state, task)) == task.next.value) {
        task.asleep = true;
        return true;
      }
      break;
    case Kind::wake:
      if (!task.buffer.empty()) return false;  // the kernel's own lock is a fence
      for (std::size_t i = 0; i < tasks_.size(); ++i) {
        TaskState& other = state.tasks[i];
        if (!other.asleep || other.next.at != task.next.at) continue;
        other.asleep = false;
        other.log.push_back(0);
        run(i, other);
      }
      break;
  }
  task.log.push_back(result);
  run(index, task);
  return true;
}

std::string Explorer::key(const State& state) {
  std::string key(reinterpret_cast<const char*>(state.memory.data()), state.memory.size());
  const auto add = [&](std::uint64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const TaskState& task : state.tasks) {
    add(task.log.size() << 1 | (task.asleep ? 1 : 0));
    for (const std::uint64_t value : task.log) add(value);
    add(task.buffer.size());
    for (const Store& store : task.buffer) {
      add(store.at << 8 | store.bytes << 1 | (store.release ? 1 : 0));
      add(store.value);
    }
  }
  return key;
}

void Explorer::visit(State& state, const Check& check) {
  if (!wrong_.empty() || !seen_.insert(key(state)).second) return;
  ++states_;
  bool moved = false;
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    for (std::size_t index = 0; index < state.tasks[task].buffer.size(); ++index) {
      if (!may_leave(state.tasks[task].buffer, index)) continue;
      State next = state;
      leave(next, task, index);
      moved = true;
      visit(next, check);
    }
    State next = state;
    if (do_step(next, task)) {
      moved = true;
      visit(next, check);
    }
  }
  if (moved || !wrong_.empty()) return;
  std::vector<std::vector<std::uint64_t>> reports;
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    if (state.tasks[task].next.kind != Kind::done) {
      wrong_ = "task " + std::to_string(task) + (state.tasks[task].asleep ? " sleeps for ever" : " is stuck");
      return;
    }
    run(task, state.tasks[task]);
    reports.push_back(reports_);
  }
  wrong_ = check(reports);
}

std::string Explorer::explore(const Check& check) {
  State state;
  state.memory.assign(memory_.begin(), memory_.end());
  state.tasks.resize(tasks_.size());
  for (std::size_t task = 0; task < tasks_.size(); ++task) run(task, state.tasks[task]);
  visit(state, check);
  return wrong_;
}

}  // namespace hamlyn::test
