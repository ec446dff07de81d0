#pragma once
// Coroutines over the protocols: what waits by `co_await` leaves its thread to the others of its loop. A
// header of its own, which nothing else here includes: who does not use it pays nothing.
//
//   hamlyn::Task answer(hamlyn::Loop& loop, hamlyn::StreamReceiver& from, hamlyn::StreamSender& to) {
//     hamlyn::Record record;
//     while (co_await loop.receive(from, record) == hamlyn::Status::ok) {
//       if (co_await loop.send(to, record.bytes()) != hamlyn::Status::ok) co_return;
//       if (from.release(record) != hamlyn::Status::ok) co_return;
//     }
//   }
//
// Threads: a loop and its tasks belong to the thread that runs it. Manager::cancel ends it from any other:
// `run` throws, or whoever was just looking is told `cancelled`.
// Owner: who made it. A task given to a loop is the loop's; the manager, and whatever tasks name, outlive
// the loop.
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "hamlyn/core/terminus.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/values/error.h"

namespace hamlyn {

// A coroutine that a loop runs. It owns its frame until it is given to the loop; called and not given, it
// never runs.
class Task {
 public:
  struct promise_type {
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
    std::exception_ptr failure;
  };

  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

 private:
  friend class TaskLoop;
  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// Runs tasks, in the thread that calls `run`. Where it sleeps a loop of each kind says: Loop at a manager,
// rpc::BlastLoop at a client of calls over datagrams. Threads and owner: as those.
class TaskLoop {
 public:
  TaskLoop(const TaskLoop&) = delete;
  TaskLoop& operator=(const TaskLoop&) = delete;

  // Begins the task with the next turn of `run`; tasks may start others. Throws std::bad_alloc.
  void start(Task task) { tasks_.push_back(std::move(task)); }

  // Runs until every task has ended; sleeps while all of them wait. Throws what a task threw, and then is to
  // be called again for the others; Error(cancelled) after Manager::cancel; Error(forked);
  // Error(invalid_argument): inside process_arrival, where nothing may wait.
  void run() {
    for (;;) {
      begin_new();
      resume_ready();
      end_finished();
      if (tasks_.empty()) return;
      if (begun_ == tasks_.size() && !moved_) sleep();
    }
  }

  // Until `look`, a function of the caller's, returns an optional that is not empty: that value. It is called
  // at once, and whenever something may have changed.
  template <class Look>
  auto await_value(Look look) {
    return Value(*this, std::move(look));
  }

 protected:
  TaskLoop() = default;
  ~TaskLoop() = default;

  // Sleeps until `ready` says so; asks it at once, and whenever something may have changed.
  virtual Status sleep_until(const std::function<bool()>& ready) = 0;

  // Until `look` returns another status than timed_out: that. It is called as that of `await_value`.
  template <class Look>
  auto await_status(Look look) {
    return Wait(*this, std::move(look));
  }

 private:
  // Asks `look` again and again; timed_out: not yet.
  template <class Look>
  class Wait {
   public:
    Wait(TaskLoop& loop, Look look) : loop_(loop), look_(std::move(look)) {}
    bool await_ready() {
      status_ = look_();
      return status_ != Status::timed_out;
    }
    void await_suspend(std::coroutine_handle<> frame) {
      loop_.waiting_.push_back({frame, [this] { return await_ready(); }});
    }
    Status await_resume() const noexcept { return status_; }

   private:
    TaskLoop& loop_;
    Look look_;
    Status status_ = Status::timed_out;
  };
  // Asks `look` until it has a value.
  template <class Look>
  class Value {
   public:
    Value(TaskLoop& loop, Look look) : loop_(loop), look_(std::move(look)) {}
    bool await_ready() {
      value_ = look_();
      return value_.has_value();
    }
    void await_suspend(std::coroutine_handle<> frame) {
      loop_.waiting_.push_back({frame, [this] { return await_ready(); }});
    }
    auto await_resume() { return std::move(*value_); }

   private:
    TaskLoop& loop_;
    Look look_;
    std::invoke_result_t<Look&> value_;
  };

  struct Waiting {
    std::coroutine_handle<> frame;
    std::function<bool()> look;
    bool ready = false;  // a look has said so, and is not to be repeated
  };

  void begin_new() {
    moved_ = false;
    while (begun_ != tasks_.size()) {
      moved_ = true;
      tasks_[begun_++].frame_.resume();  // may start others
    }
  }
  void resume_ready() {
    std::vector<Waiting> waiting;
    waiting.swap(waiting_);  // those that are resumed may wait again
    for (Waiting& each : waiting) {
      if (each.ready || each.look()) {
        moved_ = true;
        each.frame.resume();
      } else {
        waiting_.push_back(std::move(each));
      }
    }
  }
  // Throws the first exception of this turn; the next `run` throws those of other tasks.
  void end_finished() {
    for (std::size_t i = 0; i != begun_;) {
      if (!tasks_[i].frame_.done()) {
        ++i;
        continue;
      }
      const std::exception_ptr failure = tasks_[i].frame_.promise().failure;
      tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
      --begun_;
      if (failure) std::rethrow_exception(failure);
    }
  }
  void sleep() {
    const auto any_ready = [this] {
      bool any = false;
      for (Waiting& each : waiting_) any |= each.ready = each.look();
      return any;
    };
    const Status status = sleep_until(any_ready);
    if (status == Status::cancelled) throw Error(ErrorCode::cancelled, "cancelled while all tasks waited");
    if (status == Status::invalid)
      throw Error(ErrorCode::invalid_argument, "tasks cannot wait inside process_arrival");
    if (status == Status::forked)
      throw Error(ErrorCode::forked, "a forked child has nothing of its parent's: make it anew");
  }

  std::vector<Task> tasks_;
  std::size_t begun_ = 0;  // of them
  std::vector<Waiting> waiting_;
  bool moved_ = false;
};

// A sender whose opening can be begun: StreamSender, LoanSender, TaggedSender.
template <class Sender>
concept Begun = requires(Sender& sender) {
  { sender.opened(std::chrono::nanoseconds{}) } -> std::same_as<Status>;
};

// Runs tasks that wait for objects of a manager. Threads: the loop and its tasks belong to the thread that
// runs it. Owner: who made it; the manager, and whatever tasks name, are there for longer.
class Loop final : public TaskLoop {
 public:
  // Sleeps by this manager: the objects that tasks wait on belong to it.
  explicit Loop(Manager& manager) : manager_(manager) {}

  // Awaitables: `receive`, `send`, `flush` and `close` are as the calls of the same names, without a
  // time-out. What they name must live until they are over.
  // `open` awaits a sender that was begun, of streams, loans or tagged writes, and answers as its `opened`.
  template <Begun Sender>
  auto open(Sender& sender) {
    return await_status([&sender] { return sender.opened(std::chrono::nanoseconds{0}); });
  }
  auto receive(StreamReceiver& from, Record& out) {
    return await_status([&from, &out] { return from.receive(out, std::chrono::nanoseconds{0}); });
  }
  auto receive(DatagramReceiver& from, Datagram& out) {
    return await_status([&from, &out] { return from.receive(out, std::chrono::nanoseconds{0}); });
  }
  auto send(StreamSender& to, std::span<const std::byte> data) {
    return await_status([&to, data] { return opening(to.send(data, std::chrono::nanoseconds{0})); });
  }
  auto flush(StreamSender& to) {
    return await_status([&to] { return opening(to.flush(std::chrono::nanoseconds{0})); });
  }
  auto close(StreamSender& to) {
    return await_status([&to] { return opening(to.close(std::chrono::nanoseconds{0})); });
  }
  // Until a message is no longer pending: its buffer is free.
  auto sent(Terminus& terminus, SendHandle handle) {
    return await_status([&terminus, handle] {
      const Status status = terminus.status(handle);
      return status == Status::pending ? Status::timed_out : status;
    });
  }

 private:
  // A sender that is not open yet has its task wait, as its calls without a time-out do.
  static Status opening(Status status) noexcept {
    return status == Status::connecting ? Status::timed_out : status;
  }
  Status sleep_until(const std::function<bool()>& ready) override {
    return manager_.interface().wait_any([&ready] { return ready(); }, std::chrono::nanoseconds::max());
  }

  Manager& manager_;
};

}  // namespace hamlyn
