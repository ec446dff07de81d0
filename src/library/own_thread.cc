#include "library/own_thread.h"

#include <pthread.h>
#include <signal.h>

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

}  // namespace

std::thread start_own_thread(const char* name, std::function<void()> main) {
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

}  // namespace hamlyn::library
