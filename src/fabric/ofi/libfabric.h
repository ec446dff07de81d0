#pragma once
// libfabric, loaded when it is first needed: a process that talks to no other host does not pay for its
// providers, some of which take a quarter of a second to load and nearly a second to look around.
#include <rdma/fabric.h>
#include <signal.h>

namespace hamlyn::ofi {

struct Libfabric {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
  decltype(&fi_version) version = nullptr;
};

// Some providers' libraries take the process's signals for themselves when they are loaded or asked: whoever
// does either gives them back by one of these. What they take meanwhile is lost: libfabric.cc keeps the one
// that is known from it.
class KeptSignals {
 public:
  KeptSignals() noexcept;
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int kLast = 31;
  struct sigaction before_[kLast + 1];
};

// While it is loaded, looks around, opens or closes it holds locks of its own, of the dynamic linker and of
// the compiler's. A child that is forked meanwhile would have them as they stand, without the thread that
// gives them back, and could open nothing for ever: so who forks waits while there is one of these.
class NoForks {
 public:
  // Before there is any. Throws Error(out_of_memory) if forks are not heard of.
  static void check();

  NoForks() noexcept;
  ~NoForks();
  NoForks(const NoForks&) = delete;
  NoForks& operator=(const NoForks&) = delete;
};

// Throws Error(system) if it is not installed.
const Libfabric& libfabric();

}  // namespace hamlyn::ofi
