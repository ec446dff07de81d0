#pragma once
// What the tests of loans share.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "test/process/managers.h"

namespace hamlyn::test {

using namespace std::chrono_literals;

inline void fill(const Loan& loan, std::string_view text) {
  std::memcpy(loan.bytes().data(), text.data(), text.size());
}

inline std::string lent(const Borrowed& borrowed) { return text_of(borrowed.bytes()); }

// A thread that keeps looking, as a receiver's program does; what it meets is dropped.
class Looking {
 public:
  explicit Looking(LoanReceiver& receiver)
      : thread_([this, &receiver] {
          Borrowed borrowed;
          while (!enough_) static_cast<void>(receiver.receive(borrowed, 1ms));  // whatever it answers
        }) {}
  ~Looking() {
    enough_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> enough_ = false;
  std::thread thread_;
};

inline std::unique_ptr<LoanSender> opened(LoanPool& pool, LoanReceiver& receiver,
                                          LoanSenderOptions options = {}) {
  const Looking looking(receiver);
  options.timeout = kPatience;
  return std::make_unique<LoanSender>(pool, receiver.make_seed(), options);
}

template <class Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

class Loans : public WithManagers {};

}  // namespace hamlyn::test
