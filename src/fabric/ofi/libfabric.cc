#include "fabric/ofi/libfabric.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <mutex>

#include "hamlyn/values/error.h"

namespace hamlyn::ofi {

namespace {

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error(ErrorCode::system, std::string("libfabric.so.1 has no ") + name);
}

Libfabric load() {
  const KeptSignals signals;
  void* const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorCode::system,
                std::string("links to other hosts need libfabric (libfabric1): ") + dlerror());
  Libfabric found;
  find(library, found.getinfo, "fi_getinfo");
  find(library, found.freeinfo, "fi_freeinfo");
  find(library, found.dupinfo, "fi_dupinfo");
  find(library, found.fabric, "fi_fabric");
  find(library, found.strerror, "fi_strerror");
  find(library, found.version, "fi_version");
  return found;
}

std::mutex forks_wait;
thread_local bool own_forks_do_not = false;  // of a provider's library, should it fork while it is loaded

void before_fork() {
  if (!own_forks_do_not) forks_wait.lock();
}
// In the parent, and in the child, whose only thread has it.
void after_fork() {
  if (!own_forks_do_not) forks_wait.unlock();
}

// From the program's start on, when nobody forks: a fork that has begun before it does not wait, and its
// child would wait for the thread that was about to do it.
const int heard_of = pthread_atfork(before_fork, after_fork, after_fork);

// libinfinipath, which comes with libfabric, handles SIGTERM and others from its constructor on, and ends the
// process with status 1. KeptSignals takes that back after some 30 ms; this variable keeps it from beginning.
// The variable is set before main, for no other thread may read the environment meanwhile. What the user has
// set stays.
[[maybe_unused]] const int told_to_leave_signals = setenv("IPATH_NO_BACKTRACE", "1", 0);

}  // namespace

void NoForks::check() {
  if (heard_of != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
}

NoForks::NoForks() noexcept {
  forks_wait.lock();
  own_forks_do_not = true;
}

NoForks::~NoForks() {
  own_forks_do_not = false;
  forks_wait.unlock();
}

KeptSignals::KeptSignals() noexcept {
  for (int signal = 1; signal <= kLast; ++signal) sigaction(signal, nullptr, &before_[signal]);
}

KeptSignals::~KeptSignals() {
  for (int signal = 1; signal <= kLast; ++signal) sigaction(signal, &before_[signal], nullptr);
}

const Libfabric& libfabric() {
  static const Libfabric loaded = load();
  return loaded;
}

}  // namespace hamlyn::ofi
