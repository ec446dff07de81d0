#pragma once
// A thread of a simulated process: it has a stack of its own, and runs only when it is told to, until it
// steps aside. All fibers of a simulation run in one thread of the program, so nothing is left to its kernel.
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace hamlyn::simulation {

class Fiber {
 public:
  // `main` must not throw.
  explicit Fiber(std::function<void()> main);
  ~Fiber();  // it is over, or was never run
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it steps aside or is over. Not from inside another one.
  void run() noexcept;
  // By the fiber itself.
  void step_aside() noexcept;
  bool over() const noexcept { return over_; }

 private:
  // State that the language keeps of exceptions that are under way in a thread.
  struct Exceptions {
    void* caught;
    unsigned uncaught;
  };
  // Where execution is, and what a sanitizer wants to know of it.
  struct Place {
    ucontext_t context;
    Exceptions exceptions{};
    void* fake_stack = nullptr;
    const void* stack = nullptr;
    std::size_t stack_size = 0;
    void* thread = nullptr;
  };

  static void enter(unsigned low, unsigned high) noexcept;
  static void change(Place& from, Place& to, bool for_good) noexcept;
  void begin() noexcept;

  const std::function<void()> main_;
  std::byte* const stack_;
  Place own_, caller_;
  bool over_ = false;
};

}  // namespace hamlyn::simulation
