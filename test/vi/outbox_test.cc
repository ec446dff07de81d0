// Messages that wait for the doors of other NICs: in which order, and how many.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "vi/outbox.h"

namespace hamlyn::test {
namespace {

using namespace internal_::vi;

// A port that takes what an outbox has, or nothing.
struct DoorPort {
  Status say(const Ticket&, std::span<const std::byte> data, std::uint64_t) {
    if (shut) return Status::queue_full;
    Message message;
    std::memcpy(static_cast<void*>(&message), data.data(), sizeof message);
    said.push_back(protocols::in_wire_order(message));
    return Status::ok;
  }

  bool shut = true;
  std::vector<Message> said;
};

TEST(ViOutbox, drops_news_of_rights_alone_when_it_is_full) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Ticket door;
  door.interface = 5;
  Message message;
  message.say = Say::grant;
  for (message.handle = 1; message.handle <= kMostOfOne; ++message.handle)
    outbox.add(door, message, message.handle != 1);
  for (int i = 0; i != 3; ++i) {
    message.say = Say::disconnect;
    outbox.add(door, message);
  }
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  ASSERT_EQ(port.said.size(), kMostOfOne);
  EXPECT_EQ(port.said[0].handle, 1u) << "somebody has asked for it";
  EXPECT_EQ(port.said[1].handle, 5u) << "the oldest three have gone";
  for (std::size_t i = kMostOfOne - 3; i != kMostOfOne; ++i) EXPECT_EQ(port.said[i].say, Say::disconnect);
}

TEST(ViOutbox, has_a_bound_for_everything) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Message message;
  message.say = Say::deny;
  for (std::size_t i = 0; i != kBeyond * kMostOfOne + 10; ++i) outbox.add({}, message);
  message.say = Say::grant;
  outbox.add({}, message, true);
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  EXPECT_EQ(port.said.size(), kBeyond * kMostOfOne);
  EXPECT_TRUE(outbox.empty());
}

TEST(ViOutbox, says_the_last_news_of_a_right_alone) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Message message;
  for (int i = 0; i != 10; ++i) {
    for (const Say say : {Say::grant, Say::revoke}) {
      message.say = say;
      for (message.handle = 1; message.handle != 4; ++message.handle) outbox.add({}, message, true);
    }
  }
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  ASSERT_EQ(port.said.size(), 3u);
  for (const Message& said : port.said) EXPECT_EQ(said.say, Say::revoke);
}

}  // namespace
}  // namespace hamlyn::test
