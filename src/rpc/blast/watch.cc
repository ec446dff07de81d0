#include "rpc/blast/watch.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>

#include "base/throw_system.h"
#include "library/wait/descriptor_wait.h"
#include "library/wait/futex.h"

namespace hamlyn::internal_::rpc::blast {

namespace {

using Guard = base::RunLockGuard;

}  // namespace

Watch::Watch(base::RunLock& lock, fabric::DatagramPort& port)
    : lock_(lock), port_(port), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) base::throw_system("eventfd");
}

void Watch::changed() noexcept {
  lock_.assert_held();
  // Counts for those as well that have looked, and do not sleep yet.
  changes_.fetch_add(1, std::memory_order_relaxed);
  if (sleepers_ != 0) library::futex_wake(changes_);
  if (watched_) static_cast<void>(::eventfd_write(bell_.get(), 1));
}

bool Watch::wait(std::uint32_t changes, library::Deadline until) noexcept {
  bool watches = false;
  {
    const Guard guard(lock_);
    if (!guard) return false;
    if (this->changes() != changes) return true;
    watches = !watched_;
    if (watches && !port_.may_sleep()) return true;
    watches ? void(watched_ = true) : void(++sleepers_);
  }
  bool can = true;
  if (watches) {
    std::array<pollfd, 2> ends{{{port_.descriptor(), POLLIN, 0}, {bell_.get(), POLLIN, 0}}};
    can = library::wait_for_descriptors(ends, until);
    eventfd_t rings;
    if (can && ends[1].revents != 0) static_cast<void>(::eventfd_read(bell_.get(), &rings));
  } else {
    library::futex_sleep({}, changes_, changes, until);
  }
  const Guard guard(lock_);
  if (!guard) return false;
  watches ? void(watched_ = false) : void(--sleepers_);
  return can;
}

}  // namespace hamlyn::internal_::rpc::blast
