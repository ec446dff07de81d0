#include "simulation/host/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/throw_system.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace hamlyn::simulation {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = std::size_t{512} << 10;

// Stacks are used again: a run has tens of fibers, and there are many runs.
class Stacks {
 public:
  ~Stacks() {
    for (std::byte* const each : free_) munmap(each - kPage, kPage + kStack);
  }
  std::byte* take() {
    if (!free_.empty()) {
      std::byte* const last = free_.back();
      free_.pop_back();
      return last;
    }
    void* const made = mmap(nullptr, kPage + kStack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (made == MAP_FAILED) base::throw_system("mmap of a stack");
    mprotect(made, kPage, PROT_NONE);  // an overflow is a fault, not somebody else's memory
    return static_cast<std::byte*>(made) + kPage;
  }
  void give_back(std::byte* stack) { free_.push_back(stack); }

 private:
  std::vector<std::byte*> free_;
};

Stacks& stacks() {
  static thread_local Stacks all;
  return all;
}

}  // namespace

Fiber::Fiber(std::function<void()> main) : main_(std::move(main)), stack_(stacks().take()) {
  getcontext(&own_.context);
  own_.context.uc_stack = {stack_, 0, kStack};
  own_.context.uc_link = nullptr;
  own_.stack = stack_;
  own_.stack_size = kStack;
#ifdef __SANITIZE_THREAD__
  own_.thread = __tsan_create_fiber(0);
#endif
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&own_.context, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
#ifdef __SANITIZE_ADDRESS__
  // Clears once what the sanitizer knows of the stack's last user. Otherwise it does so with every switch to
  // a stack that a context names: half of a simulation's time.
  own_.context.uc_stack.ss_size = 0;
  __asan_unpoison_memory_region(stack_, kStack);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(own_.thread);
#endif
  stacks().give_back(stack_);
}

void Fiber::enter(unsigned low, unsigned high) noexcept {
  reinterpret_cast<Fiber*>(std::uintptr_t{low} | std::uintptr_t{high} << 32)->begin();
}

void Fiber::begin() noexcept {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &caller_.stack, &caller_.stack_size);
#endif
  main_();
  over_ = true;
  change(own_, caller_, true);
}

void Fiber::change(Place& from, Place& to, [[maybe_unused]] bool for_good) noexcept {
  void* const exceptions = abi::__cxa_get_globals();
  std::memcpy(&from.exceptions, exceptions, sizeof from.exceptions);
  std::memcpy(exceptions, &to.exceptions, sizeof to.exceptions);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.stack, to.stack_size);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(to.thread, 0);
#endif
  swapcontext(&from.context, &to.context);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void Fiber::run() noexcept {
#ifdef __SANITIZE_THREAD__
  caller_.thread = __tsan_get_current_fiber();
#endif
  change(caller_, own_, false);
}

void Fiber::step_aside() noexcept { change(own_, caller_, false); }

}  // namespace hamlyn::simulation
