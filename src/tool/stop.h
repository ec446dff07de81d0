#pragma once
// Ctrl-C and its like. A signal ends every wait of the manager and every blocking read or write of the main
// thread, so that the command can leave in order: remove its unfinished file, end its link, say so.
#include <pthread.h>

#include <mutex>
#include <thread>

#include "hamlyn/protocols/manager.h"

namespace hamlyn::tool {

class Stop {
 public:
  // From the main thread, once per process. Watches SIGINT, SIGTERM and SIGHUP until destroyed.
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  static bool requested() noexcept;

  // While it lives, the waits of `manager` end when a signal comes.
  class Cancels {
   public:
    Cancels(Stop& stop, Manager& manager) : stop_(stop) { stop_.cancel(&manager); }
    ~Cancels() { stop_.cancel(nullptr); }
    Cancels(const Cancels&) = delete;
    Cancels& operator=(const Cancels&) = delete;

   private:
    Stop& stop_;
  };

 private:
  void cancel(Manager* manager);
  void watch() noexcept;
  void end_waits() noexcept;

  std::mutex mutex_;
  Manager* manager_ = nullptr;  // guarded by mutex_
  pthread_t main_thread_;
  std::thread watcher_;
};

// Throws the Failure for Ctrl-C if it was pressed; `doing` completes "interrupted while ...".
void check_stop(const char* doing);

}  // namespace hamlyn::tool
