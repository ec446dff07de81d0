// What both sides of a transfer do with their link when the other side has gone.
#include <gtest/gtest.h>

#include "test/support/daemon.h"
#include "tool/transfer_link.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Whoever waits for the link is told that there will be none, and that may be all that is said of it.
TEST(ToolLink, ASmallMessageForWhoHasGoneIsNotTriedForEver) {
  Folder folder;
  Daemon daemon(folder.file("node.sock"));
  const Interface::Options options{.node = folder.file("node.sock"), .start_node = false};
  Interface here(options);
  Terminus terminus(here);
  Ticket gone;
  {
    Interface there(options);
    MessageArea area(there, 64);
    NotificationQueue queue(there);
    Slot slot(area, queue, {.entries = 0});
    gone = slot.ticket();
  }
  const std::byte data[8] = {};
  const tool::Deadline patience = tool::Deadline::in(5s);
  const Status sent = tool::send_small(terminus, gone, data, 0, patience);
  EXPECT_TRUE(sent == Status::refused || sent == Status::link_ended) << name(sent);
  EXPECT_FALSE(patience.passed());
}

// The link itself tells of an end while there is no daemon, who could say that there will be no other.
TEST(ToolLink, ASmallMessageByALinkThatHasEndedWaitsForNoDaemon) {
  Folder folder;
  Daemon daemon(folder.file("node.sock"));
  const Interface::Options options{.node = folder.file("node.sock"), .start_node = false};
  Interface here(options);
  Terminus terminus(here);
  Ticket gone;
  {
    Interface there(options);
    MessageArea area(there, 64);
    NotificationQueue queue(there);
    Slot slot(area, queue, {.entries = 0});
    gone = slot.ticket();
    ASSERT_EQ(terminus.connect(gone, kPatience), Status::ok);
    daemon.kill();
  }
  const std::byte data[8] = {};
  const tool::Deadline patience = tool::Deadline::in(5s);
  Status status;
  do {
    status = tool::send_small(terminus, gone, data, 0, patience, tool::Link::made);
  } while (status == Status::ok);
  EXPECT_EQ(status, Status::link_ended);
  EXPECT_FALSE(patience.passed());
}

}  // namespace
}  // namespace hamlyn::test
