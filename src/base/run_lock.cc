#include "base/run_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "base/fence.h"
#include "base/run_lock_slow.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::base {

namespace {

constexpr std::size_t kPage = 4096;
constexpr int kPausesBeforeYield = 64;

thread_local bool this_comes_as_other = false;

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

void RealThreads::come_as_other() noexcept { this_comes_as_other = true; }
bool RealThreads::comes_as_other() noexcept { return this_comes_as_other; }

// Its partner is light_fence: every thread of the process does a full fence where it is.
void RealThreads::heavy_fence() noexcept { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

void RealThreads::await_zero(const std::uint32_t& word) noexcept {
  for (int i = 0; load_acquire(word) != 0; ++i) {  // pairs as its caller says
    if (i < kPausesBeforeYield) {
      pause();
    } else {
      sched_yield();
    }
  }
}

namespace {

RunLockWords* make_words() {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "mmap of the run lock's page failed");
  if (madvise(page, kPage, MADV_WIPEONFORK) != 0 || !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
    munmap(page, kPage);
    throw Error(ErrorCode::system,
                "this kernel has no private membarrier or no MADV_WIPEONFORK; 5.16 or newer has both");
  }
  auto* const words = new (page) RunLockWords{};
  words->alive = 1;
  return words;
}

}  // namespace

RunLock::RunLock() : BasicRunLock(make_words()) {}
RunLock::~RunLock() { munmap(words(), kPage); }

template class BasicRunLock<RealThreads>;

}  // namespace hamlyn::internal_::base
