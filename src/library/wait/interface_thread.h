#pragma once
// The thread that runs the interface when nobody polls: the papers' interrupt (design, section 7).
#include <memory>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class Engine;
class Task;

class InterfaceThread {
 public:
  explicit InterfaceThread(Engine& engine);
  ~InterfaceThread();  // tells it to stop, and waits
  InterfaceThread(const InterfaceThread&) = delete;
  InterfaceThread& operator=(const InterfaceThread&) = delete;

 private:
  void main() noexcept;
  void take_over(std::uint32_t value) noexcept;

  Engine& engine_;
  const std::unique_ptr<Task> task_;  // its end waits for main's
};

}  // namespace hamlyn::internal_::library
