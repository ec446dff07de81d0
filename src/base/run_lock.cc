#include "base/run_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "base/fence.h"
#include "hamlyn/error.h"

namespace hamlyn::base {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint32_t kStrangersBeforeFair = 16;  // then the bias costs more than it saves
constexpr int kPausesBeforeYield = 64;

thread_local bool comes_as_other = false;

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

RunLock::RunLock() {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "mmap of the run lock's page failed");
  if (madvise(page, kPage, MADV_WIPEONFORK) != 0 || !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
    munmap(page, kPage);
    throw Error(ErrorCode::system,
                "this kernel has no private membarrier or no MADV_WIPEONFORK; 5.16 or newer has both");
  }
  words_ = new (page) Words{};
  words_->alive = 1;
}

RunLock::~RunLock() { munmap(words_, kPage); }

bool RunLock::enter_slowly() noexcept {
  if (forked()) return false;
  // The owner takes back its mark: it is about to wait for the mutex like anybody else.
  if (words_->owner.load(std::memory_order_relaxed) == self())
    words_->inside.store(0, std::memory_order_release);
  return enter_by_mutex(false);
}

bool RunLock::enter_as_other() noexcept { return !forked() && enter_by_mutex(true); }

bool RunLock::try_enter_as_other() noexcept {
  if (forked() || !mutex_.try_lock()) return false;
  keep_owner_out();
  words_->by_mutex = true;
  words_->by_other = true;
  return true;
}

void RunLock::come_as_other() noexcept { comes_as_other = true; }

bool RunLock::enter_by_mutex(bool other) noexcept {
  other = other || comes_as_other;
  mutex_.lock();
  const void* owner = words_->owner.load(std::memory_order_relaxed);
  if (owner != self()) keep_owner_out();
  if (!other) {
    if (owner == nullptr && words_->strangers == 0) {
      words_->owner.store(self(), std::memory_order_relaxed);  // the first thread: biased from now on
    } else if (owner != self() && ++words_->strangers == kStrangersBeforeFair) {
      words_->owner.store(nullptr, std::memory_order_relaxed);  // several threads: everybody by mutex
    }
  }
  words_->by_mutex = true;
  words_->by_other = other;
  return true;
}

// Called with the mutex held. After it the owner is outside, and stays outside until `revoked` is taken back.
void RunLock::keep_owner_out() noexcept {
  if (words_->owner.load(std::memory_order_relaxed) == nullptr) return;
  words_->revoked.store(1, std::memory_order_seq_cst);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);  // pairs with the plain store and load in enter
  for (int i = 0; words_->inside.load(std::memory_order_acquire) != 0; ++i) {  // pairs with leave's release
    if (i < kPausesBeforeYield) {
      pause();
    } else {
      sched_yield();
    }
  }
}

void RunLock::leave_slowly() noexcept {
  words_->by_mutex = false;
  // Without an owner it stays revoked: the former one may be between its look at `owner` and its look at
  // `revoked`, and nobody would wait for it any more (test/model/run_lock.pml, UNREVOKE_WHEN_DROPPED).
  if (words_->owner.load(std::memory_order_relaxed) != nullptr)
    words_->revoked.store(0, std::memory_order_release);
  mutex_.unlock();
}

}  // namespace hamlyn::base
