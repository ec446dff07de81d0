#pragma once
// The slow ways of the run lock: through its mutex.
#include "base/assert.h"
#include "base/namespaces.h"
#include "base/run_lock.h"

namespace hamlyn::internal_::base {

template <class Threads>
bool BasicRunLock<Threads>::enter_slowly() noexcept {
  if (forked()) return false;
  // The owner takes back its mark: it is about to wait for the mutex like anybody else.
  if (Threads::load_relaxed(words_->owner) == Threads::self())
    Threads::store_release(words_->inside, std::uint32_t{0});  // pairs with the wait in keep_owner_out
  return enter_by_mutex(false);
}

template <class Threads>
bool BasicRunLock<Threads>::enter_as_other() noexcept {
  return !forked() && enter_by_mutex(true);
}

template <class Threads>
bool BasicRunLock<Threads>::try_enter_as_other() noexcept {
  if (forked() || !mutex_.try_lock()) return false;
  if (!keep_owner_out(false)) {
    mutex_.unlock();
    return false;
  }
  Threads::store_plain(words_->by_mutex, true);
  note_holder(Threads::self());
  return true;
}

template <class Threads>
bool BasicRunLock<Threads>::enter_by_mutex(bool other) noexcept {
  other = other || Threads::comes_as_other();
  mutex_.lock();
  const void* owner = Threads::load_relaxed(words_->owner);
  if (owner != Threads::self()) keep_owner_out(true);
  if (!other) {
    const std::uint32_t strangers = Threads::load_plain(words_->strangers);
    if (owner == nullptr && strangers == 0) {
      Threads::store_relaxed(words_->owner, Threads::self());  // the first thread: biased from now on
    } else if (owner != Threads::self()) {
      Threads::store_plain(words_->strangers, strangers + 1);
      if (strangers + 1 == kStrangersBeforeFair) {
        const void* const nobody = nullptr;
        Threads::store_relaxed(words_->owner, nobody);  // several threads: everybody by mutex
      }
    }
  }
  Threads::store_plain(words_->by_mutex, true);
  note_holder(Threads::self());
  return true;
}

// Called with the mutex held. True: the owner is outside, and stays outside until `revoked` is taken back.
// False, unless this thread is to wait: the owner is inside, where it may be for long, and nothing has
// changed.
template <class Threads>
bool BasicRunLock<Threads>::keep_owner_out(bool wait) noexcept {
  if (Threads::load_relaxed(words_->owner) == nullptr) return true;
  Threads::store_relaxed(words_->revoked, std::uint32_t{1});
  Threads::heavy_fence();  // pairs with the light fence in enter_quickly
  if (wait) {
    Threads::await_zero(words_->inside);                    // pairs with the release in leave_quickly
  } else if (Threads::load_acquire(words_->inside) != 0) {  // pairs with the release in leave_quickly
    // The heavy fence has shown the owner what this thread knows of those before it.
    Threads::store_relaxed(words_->revoked, std::uint32_t{0});
    return false;
  }
  return true;
}

template <class Threads>
void BasicRunLock<Threads>::leave_slowly() noexcept {
  HAMLYN_ASSERT(words_->by_mutex, "who leaves this way has the mutex");
  note_holder(nullptr);
  Threads::store_plain(words_->by_mutex, false);
  // Without an owner it stays revoked: the former one may be between its look at `owner` and its look at
  // `revoked`, and nobody would wait for it any more (test/model/run_lock.pml, UNREVOKE_WHEN_DROPPED).
  if (Threads::load_relaxed(words_->owner) != nullptr)
    Threads::store_release(words_->revoked, std::uint32_t{0});  // pairs with the load in enter_quickly
  mutex_.unlock();
}

}  // namespace hamlyn::internal_::base
