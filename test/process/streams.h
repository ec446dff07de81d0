#pragma once
// A stream between two managers, and what it carries.
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "test/process/managers.h"

namespace hamlyn::test {

using namespace std::chrono_literals;

class Streams : public WithManagers {
 protected:
  // Opens a stream from another thread, while this one runs the receiver's manager.
  static std::unique_ptr<StreamSender> grow(Managers& both, const Seed& seed,
                                            const StreamSender::Options& how = {}) {
    std::unique_ptr<StreamSender> sender;
    std::exception_ptr thrown;
    std::atomic<bool> done = false;
    std::thread opens([&] {
      try {
        sender = std::make_unique<StreamSender>(both.sender, seed, how);
      } catch (...) {
        thrown = std::current_exception();
      }
      done = true;
    });
    while (!done) static_cast<void>(both.receiver.wait(1ms));
    opens.join();
    if (thrown) std::rethrow_exception(thrown);
    return sender;
  }
  static std::optional<ErrorCode> refused(Managers& both, const Seed& seed) {
    return thrown_by([&] { grow(both, seed); });
  }
  // In another thread: closes, with the receiver's manager running here.
  static Status close(Managers& both, StreamSender& sender) {
    std::atomic<bool> done = false;
    Status status = Status::pending;
    std::thread closes([&] {
      status = sender.close(kPatience);
      done = true;
    });
    while (!done) static_cast<void>(both.receiver.wait(1ms));
    closes.join();
    return status;
  }
};

inline std::string text_of_record(unsigned number, std::size_t bytes) { return noise(bytes, number); }

}  // namespace hamlyn::test
