#pragma once
// News of refused packets, which stand in a slot's queue before what comes after them.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/terminus.h"
#include "test/support/command.h"

namespace hamlyn::test {

class RefusedNews {
 public:
  // By interfaces with these options, to a slot for fast mode.
  RefusedNews(Interface::Options options, const Ticket& slot) : options_(std::move(options)), wrong_(slot) {
    wrong_.entry = 0;  // it has none
  }

  // As many as links, of each of which it is told once at a time. They stand there when it returns.
  void bring(std::size_t links) {
    while (others_.size() < links) others_.push_back(std::make_unique<Interface>(options_));
    for (std::size_t i = 0; i != links; ++i) {
      Terminus terminus{*others_[i]};
      SendHandle handle;
      EXPECT_EQ(terminus.connect(wrong_, kPatience), Status::ok);
      EXPECT_EQ(terminus.send(wrong_, {}, {.acknowledged = true}, &handle), Status::pending);
      EXPECT_EQ(terminus.wait(handle, kPatience), Status::refused);
    }
  }

 private:
  const Interface::Options options_;
  Ticket wrong_;
  std::vector<std::unique_ptr<Interface>> others_;
};

}  // namespace hamlyn::test
