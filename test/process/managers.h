#pragma once
// Two managers in a child of the test: their interfaces have threads, and the test's process is one that
// forks.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hamlyn/hamlyn.h"
#include "protocols/dispatcher.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {

struct Managers {
  explicit Managers(const Interface::Options& options)
      : receiver({.interface = options}), sender({.interface = options}) {}
  Manager receiver, sender;
};

class WithManagers : public testing::Test {
 protected:
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }
  void in_child(const std::function<void()>& work) {
    Actor child([&](Line&) {
      work();
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(child.wait(), 0);
  }
  void with_both(const std::function<void(Managers&)>& work) {
    in_child([&] {
      Managers both(options());
      work(both);
    });
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The code of the Error that `work` throws; nothing if it throws none.
inline std::optional<ErrorCode> thrown_by(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

// Whether a thread has come so far as to wait for something to arrive.
inline bool waiting_in(Manager& manager) {
  const protocols::Dispatcher::Guard guard(manager.inside());
  return manager.inside().waiters() != 0;
}

}  // namespace hamlyn::test
