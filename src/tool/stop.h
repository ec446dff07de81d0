#pragma once
// Ctrl-C and its like. A signal ends every wait of the interface and every blocking read or write of the main
// thread, so that the command can leave in order: remove its unfinished file, end its link, say so.
#include <pthread.h>

#include <thread>

#include "hamlyn/interface.h"

namespace hamlyn::tool {

class Stop {
 public:
  // From the main thread, once per process. Watches SIGINT, SIGTERM and SIGHUP until destroyed.
  explicit Stop(Interface& interface);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  static bool requested() noexcept;

 private:
  void watch() noexcept;

  Interface& interface_;
  pthread_t main_thread_;
  std::thread watcher_;
};

}  // namespace hamlyn::tool
