#include "base/marked_descriptor.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <mutex>
#include <new>
#include <vector>

#include "base/immortal.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::base {

namespace {

constinit std::mutex mutex;
constinit Immortal<std::vector<MarkedDescriptor*>> all;

// Never two sockets have the same.
std::uint64_t cookie_of(int socket) noexcept {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

// A child that is forked while another thread has the mutex could never take it.
const int forks_heard_of =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

}  // namespace

void MarkedDescriptor::adopt(FileDescriptor descriptor) {
  if (forks_heard_of != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
  close();
  const int number = descriptor.get();
  process_ = getpid();
  cookie_ = cookie_of(number);
  const f_owner_ex mark{F_OWNER_TID, process_};
  if (cookie_ == 0 && fcntl(number, F_SETOWN_EX, &mark) != 0) throw_system("F_SETOWN_EX");
  const std::lock_guard guard(mutex);
  try {
    all.value.push_back(this);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory for a descriptor");
  }
  for (MarkedDescriptor* other : all.value) {
    int same = number;  // closed behind our back
    other->number_.compare_exchange_strong(same, -1, std::memory_order_relaxed);
  }
  number_.store(descriptor.release(), std::memory_order_relaxed);
}

bool MarkedDescriptor::ours() const noexcept {
  f_owner_ex mark{};
  const int number = get();
  if (cookie_ != 0) return number >= 0 && cookie_of(number) == cookie_;
  return number >= 0 && fcntl(number, F_GETOWN_EX, &mark) == 0 && mark.type == F_OWNER_TID &&
         mark.pid == process_;
}

void MarkedDescriptor::close() noexcept {
  const std::lock_guard guard(mutex);
  std::erase(all.value, this);
  if (ours()) FileDescriptor{get()}.reset();
  number_.store(-1, std::memory_order_relaxed);
}

}  // namespace hamlyn::internal_::base
