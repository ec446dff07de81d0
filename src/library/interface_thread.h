#pragma once
// The thread that runs the interface when nobody polls: the papers' interrupt (design, section 7).
#include <memory>
#include <thread>

namespace hamlyn::library {

class Engine;
class Task;

class InterfaceThread {
 public:
  explicit InterfaceThread(Engine& engine);
  ~InterfaceThread();  // stops it
  InterfaceThread(const InterfaceThread&) = delete;
  InterfaceThread& operator=(const InterfaceThread&) = delete;

 private:
  void main() noexcept;
  void take_over(std::uint32_t value) noexcept;

  Engine& engine_;
  std::thread thread_;
  std::unique_ptr<Task> task_;  // instead, in a simulation
};

}  // namespace hamlyn::library
