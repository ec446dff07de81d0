#pragma once
// Two managers in a child of the test: their interfaces have threads, and the test's process is one that
// forks. Where HAMLYN_TEST_FAR is set the two are of different nodes, which must make no difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hamlyn/hamlyn.h"
#include "protocols/dispatcher.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {

struct Managers {
  Managers(const Interface::Options& there, const Interface::Options& here)
      : receiver({.interface = there}), sender({.interface = here}) {}
  Manager receiver, sender;
};

class WithManagers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("HAMLYN_TEST_FAR") != nullptr && nodes == nullptr) nodes = std::make_unique<TwoNodes>();
  }
  static inline std::unique_ptr<TwoNodes> nodes;

  Interface::Options options() const {
    if (nodes != nullptr) return nodes->at(1);
    return {.node = folder_.file("node"), .start_node = false};
  }
  Interface::Options other_options() const { return nodes != nullptr ? nodes->at(2) : options(); }
  void in_child(const std::function<void()>& work) {
    Actor child([&](Line&) {
      work();
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(child.wait(), 0);
  }
  void with_both(const std::function<void(Managers&)>& work) {
    in_child([&] {
      Managers both(options(), other_options());
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
