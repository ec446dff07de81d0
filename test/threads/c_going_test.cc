// Whoever frees a handle of the C interface ends the calls that wait on it in other threads.
#include "c/handles.h"
#include "test/process/c_ends.h"
#include "test/threads/going.h"

namespace hamlyn::test {
namespace {

class CGoing : public CInterface {};

// As expect_let_go, of a C call.
template <class Call, class Inside, class Free>
void expect_c_let_go(Call call, Inside inside, Free free_it) {
  hamlyn_status status = HAMLYN_OK;
  std::thread waits([&] { status = call(); });
  while (!inside()) std::this_thread::yield();
  EXPECT_OK(free_it());
  waits.join();
  EXPECT_EQ(status, HAMLYN_CANCELLED);
}

TEST_F(CGoing, a_queue_lets_go_who_receives) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 1});
    hamlyn_queue* queue = nullptr;
    ASSERT_OK(hamlyn_queue_make(ends.receiver, 0, &queue));
    const auto receive = [queue] {
      hamlyn_notification next;
      return hamlyn_receive(queue, HAMLYN_FOREVER, &next);
    };
    expect_c_let_go(receive, waits_in(queue->it), [queue] { return hamlyn_queue_free(queue); });
  });
}

TEST_F(CGoing, a_terminus_lets_go_who_waits_for_an_outcome) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 1, .places = 1, .flags = HAMLYN_FETCHES});
    hamlyn_terminus* terminus = nullptr;
    ASSERT_OK(hamlyn_terminus_make(ends.sender, nullptr, &terminus));
    const hamlyn_ticket ticket = ends.fast_ticket();
    ASSERT_OK(hamlyn_connect(terminus, &ticket, kLong));
    const Deaf deaf(ends.receiver->it);
    const hamlyn_fetch_request add{HAMLYN_ADD, 8, 1, 0};
    hamlyn_remote_handle handle{};
    ASSERT_EQ(hamlyn_fetch(terminus, &ticket, &add, nullptr, &handle), HAMLYN_PENDING);
    const auto wait = [=] {
      hamlyn_outcome outcome;
      return hamlyn_remote_wait(terminus, handle, kLong, &outcome);
    };
    expect_c_let_go(wait, waits_in(terminus->it), [terminus] { return hamlyn_terminus_free(terminus); });
  });
}

TEST_F(CGoing, a_datagram_sender_lets_go_who_delivers) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_datagram_receiver* receiver = nullptr;
    hamlyn_datagram_sender* sender = nullptr;
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_datagram_receiver_make(both.receiver, 64, &receiver));
    ASSERT_OK(hamlyn_datagram_make_seed(receiver, &seed));
    ASSERT_OK(hamlyn_datagram_sender_make(both.sender, &seed, &sender));
    {
      const Deaf deaf(both.receiver->it.interface());
      const auto deliver = [sender] { return hamlyn_datagram_deliver(sender, "x", 1, nullptr, kLong); };
      expect_c_let_go(deliver, waits_in(sender->it.*reveal(InsideDatagramSender{})),
                      [sender] { return hamlyn_datagram_sender_free(sender); });
    }
    EXPECT_OK(hamlyn_datagram_receiver_free(receiver));
  });
}

TEST_F(CGoing, both_ends_of_tagged_writes_let_go_who_waits) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_tagged_receiver* receiver = nullptr;
    hamlyn_tagged_sender* sender = nullptr;
    hamlyn_seed seed{};
    const hamlyn_tagged_receiver_options options{sizeof options, 1, 0, 0};
    ASSERT_OK(hamlyn_tagged_receiver_make(both.receiver, 64, &options, &receiver));
    ASSERT_OK(hamlyn_tagged_make_seed(receiver, &seed));
    ASSERT_OK(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &sender));
    while (hamlyn_tagged_send(sender, nullptr, 0, 0, 1, 0) == HAMLYN_OK) {
    }
    const auto send = [sender] { return hamlyn_tagged_send(sender, nullptr, 0, 0, 1, kLong); };
    expect_c_let_go(send, waits_in(sender->it.*reveal(InsideTaggedSender{})),
                    [sender] { return hamlyn_tagged_sender_free(sender); });
    const auto take = [receiver] {
      hamlyn_tagged tagged;
      return hamlyn_get_specific_tag(receiver, 2, kLong, &tagged);
    };
    expect_c_let_go(take, waits_in(receiver->it.*reveal(InsideTaggedReceiver{})),
                    [receiver] { return hamlyn_tagged_receiver_free(receiver); });
  });
}

}  // namespace
}  // namespace hamlyn::test
