#pragma once
// Calls of the library are no cancellation points. A thread that is cancelled (pthread_cancel) in the middle
// of one would leave locks and counts behind, and unwinds through `noexcept`, which ends the process.
#include <pthread.h>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// While it stands, a cancellation of the calling thread waits.
class Uncancelled {
 public:
  Uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace hamlyn::internal_::base
