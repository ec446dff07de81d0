// Threads of a C program: the handles of the C interface may be shared as the classes may.
#include <gtest/gtest.h>

#include "test/process/c_ends.h"
#include "test/threads/c_threads.h"

namespace hamlyn::test {
namespace {

class CThreads : public CInterface {};

TEST_F(CThreads, share_a_terminus_and_a_queue) {
  in_child([&] {
    const Node there = node();
    const hamlyn_interface_options options = there.options();
    hamlyn_interface *receiver = nullptr, *sender = nullptr;
    ASSERT_OK(hamlyn_interface_make(&options, &receiver));
    ASSERT_OK(hamlyn_interface_make(&options, &sender));
    EXPECT_EQ(c_threads_share_a_terminus_and_a_queue(receiver, sender), 0) << hamlyn_last_error();
    EXPECT_OK(hamlyn_interface_free(sender));
    EXPECT_OK(hamlyn_interface_free(receiver));
  });
}

}  // namespace
}  // namespace hamlyn::test
