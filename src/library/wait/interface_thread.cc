#include "library/wait/interface_thread.h"

#include "library/engine.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

namespace {

constexpr std::chrono::milliseconds kTick{1};  // how long an application may have been silent before we look

}  // namespace

InterfaceThread::InterfaceThread(Engine& engine)
    : engine_(engine), task_(start_task(engine.lock(), "hamlyn-iface", [this] {
        if (simulation == nullptr) base::RealThreads::come_as_other();  // of all fibers it would be said
        main();
      })) {}

InterfaceThread::~InterfaceThread() {
  engine_.stop_.store(true, std::memory_order_relaxed);
  engine_.thread_word_.fetch_add(1);
  engine_.wake(engine_.thread_word_);
}

void InterfaceThread::main() noexcept {
  std::uint64_t seen = ~std::uint64_t{0};
  while (true) {
    const std::uint32_t value = engine_.thread_word_.load(std::memory_order_acquire);
    if (engine_.stop_.load(std::memory_order_relaxed)) return;
    if (engine_.signals_wait_.exchange(false)) take_signals();
    engine_.end_rest();
    engine_.signal_what_is_due();
    engine_.start_far();
    if (engine_.deadline_passed()) {
      engine_.lock_.enter_as_other();
      engine_.expire();
      engine_.lock_.leave();
    }
    // An application that sleeps notices arrivals itself. While its sleep is short this thread ticks, in case
    // it leaves without a word; and while somebody polls, until that one says that it leaves.
    const std::uint64_t activity = engine_.activity_.load(std::memory_order_relaxed);
    const bool beside = engine_.role_.load(std::memory_order_relaxed) == SleeperRole::application;
    const bool ticks =
        beside ? !engine_.deep_.load(std::memory_order_relaxed)
               : activity != seen && activity != engine_.left_after_.load(std::memory_order_relaxed);
    if (!beside) seen = activity;
    engine_.help(ticks ? Engine::Help::for_now : Engine::Help::before_sleep);
    if (ticks) {
      futex_sleep(Watched{}, engine_.thread_word_, value, engine_.or_help(Clock::now() + kTick));
    } else if (beside) {
      futex_sleep(Watched{}, engine_.thread_word_, value, engine_.or_help(std::nullopt));
    } else {
      take_over(value);
    }
    engine_.stop_waiting_to_help();
  }
}

void InterfaceThread::take_over(std::uint32_t value) noexcept {
  engine_.lock_.enter_as_other();
  if (engine_.role_.load(std::memory_order_relaxed) != SleeperRole::application) {
    if (engine_.core_.run()) {
      if (engine_.somebody_waits()) engine_.something_changed();
    } else {
      ++engine_.counters_.wakeups;
      engine_.sleep_armed(SleeperRole::interface_thread, engine_.thread_word_, value,
                          engine_.or_help(engine_.or_entrys(std::nullopt)));
    }
  }
  engine_.lock_.leave();
}

}  // namespace hamlyn::internal_::library
