#include "library/wait/own_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptor_table.h"
#include "base/file_descriptor.h"
#include "base/short_slices.h"
#include "base/uncancelled.h"
#include "fabric/ofi/exchange.h"
#include "hamlyn/values/error.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

namespace {

std::atomic<int> own_threads{0};  // that run, or are about to: counted by the thread that starts one

// A forked child has none of its parent's threads.
[[maybe_unused]] const int children_begin_anew =
    pthread_atfork(nullptr, nullptr, [] { own_threads.store(0); });

thread_local bool descriptors_left = false;

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

// One error stands for both limits; whether there is memory for a stack tells them apart.
bool has_room_for_a_stack() noexcept {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  void* const stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return false;
  munmap(stack, bytes);
  return true;
}

class ThreadTask final : public Task {
 public:
  explicit ThreadTask(const base::RunLock& lock) noexcept : lock_(lock) {}
  ~ThreadTask() override {
    if (!lock_.forked()) {
      const base::Uncancelled guard;
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
    own_threads.fetch_add(1);
    std::thread thread([main = std::move(main)] {
      const base::Uncancelled guard;
      base::ask_for_short_slices();
      main();
      own_threads.fetch_sub(1);
    });
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& error) {
    own_threads.fetch_sub(1);
    throw Error(ErrorCode::out_of_memory,
                std::string("no thread could be started (") + error.what() + "): " +
                    (has_room_for_a_stack()
                         ? "raise the limit of processes (RLIMIT_NPROC, pids.max)"
                         : "no memory is left for its stack: raise the limit of memory (RLIMIT_AS, "
                           "RLIMIT_DATA), or make stacks shorter (RLIMIT_STACK)"));
  }
}

// A first thread that has ended stays in the list until the process ends.
bool only_own_threads_left() noexcept {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (tasks == nullptr) return false;
  int threads = 0;
  while (const dirent* const task = readdir(tasks.get())) threads += task->d_name[0] != '.' ? 1 : 0;
  if (threads != own_threads.load() + 1) return false;
  const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/stat";
  const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t length = file ? read(file.get(), text, sizeof text) : 0;
  const std::string_view stat(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  const std::size_t name_end = stat.rfind(") ");  // the name may have any characters
  return name_end != std::string_view::npos && stat.substr(name_end + 2, 1) == "Z";
}

void take_signals() noexcept {
  sigset_t none;
  sigset_t before;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool leave_descriptors(const std::vector<unsigned>& keep) noexcept {
  if (!base::keep_only(keep)) return false;
  ofi::Exchange::leave_sending_to_others();  // libfabric's are the process's
  return descriptors_left = true;
}

bool has_left_descriptors() noexcept { return descriptors_left; }

std::unique_ptr<Task> start_task(Waiting& waiting, const char* name, std::function<void()> main) {
  return start_task(waiting.lock_, name, std::move(main));
}

std::unique_ptr<Task> start_task(const base::RunLock& lock, const char* name, std::function<void()> main) {
  if (simulation != nullptr) return simulation->start(std::move(main));
  auto task = std::make_unique<ThreadTask>(lock);  // first: a thread that runs must have an owner
  task->begin(start_own_thread(name, std::move(main)));
  return task;
}

}  // namespace hamlyn::internal_::library
