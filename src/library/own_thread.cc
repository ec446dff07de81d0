#include "library/own_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/short_slices.h"
#include "hamlyn/error.h"

namespace hamlyn::library {

namespace {

// A thread begins with the mask of whoever starts it. (One about the length of files would be ours alone.)
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

class ThreadTask final : public Task {
 public:
  explicit ThreadTask(const base::RunLock& lock) noexcept : lock_(lock) {}
  ~ThreadTask() override {
    if (!lock_.forked()) {
      if (thread_.joinable()) thread_.join();
      return;
    }
    // With the stack of the parent's thread one of the child's own may have got its handle, and have ended or
    // not: it is let go of, and not asked.
    alignas(std::thread) std::byte nowhere[sizeof(std::thread)];
    new (nowhere) std::thread(std::move(thread_));
  }
  void begin(std::thread thread) noexcept { thread_ = std::move(thread); }

 private:
  const base::RunLock& lock_;
  std::thread thread_;
};

}  // namespace

std::thread start_own_thread(const char* name, std::function<void()> main) {
  if (simulation != nullptr)
    throw Error(ErrorCode::invalid_argument,
                std::string("a simulation has no threads of the machine: ") + name);
  const AllSignalsBlocked blocked;
  try {
    std::thread thread([main = std::move(main)] {
      base::ask_for_short_slices();
      main();
    });
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_memory, std::string("no thread could be started (") + error.what() +
                                              "): raise the limit of processes (RLIMIT_NPROC, pids.max)");
  }
}

std::unique_ptr<Task> start_task(const base::RunLock& lock, const char* name, std::function<void()> main) {
  if (simulation != nullptr) return simulation->start(std::move(main));
  auto task = std::make_unique<ThreadTask>(lock);  // first: a thread that runs must have an owner
  task->begin(start_own_thread(name, std::move(main)));
  return task;
}

}  // namespace hamlyn::library
