#pragma once
// Tests whose processes are of one node, or, where HAMLYN_TEST_FAR is set, of two, which must make no
// difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "hamlyn/core/interface.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {

class OnNodes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("HAMLYN_TEST_FAR") != nullptr && nodes == nullptr) nodes = std::make_unique<TwoNodes>();
  }
  static inline std::unique_ptr<TwoNodes> nodes;

  // For one side of what is tested, and for the other.
  Interface::Options options() const {
    if (nodes != nullptr) return nodes->at(1);
    return {.node = folder_.file("node"), .start_node = false};
  }
  Interface::Options other_options() const { return nodes != nullptr ? nodes->at(2) : options(); }

  // Interfaces have threads, and the test's process is one that forks.
  void in_child(const std::function<void()>& work) {
    Actor child([&](Line&) {
      work();
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(child.wait(), 0);
  }
  // In a process of their own, as two that know only the name.
  void with_two(const std::function<void(Interface& one, Interface& other)>& work) {
    in_child([&] {
      Interface one(options());
      Interface other(other_options());
      work(one, other);
    });
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
};

}  // namespace hamlyn::test
