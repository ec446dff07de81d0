// The C interface: the protocols.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/process/c_ends.h"

namespace hamlyn::test {
namespace {

TEST_F(CInterface, datagrams_bring_a_seed_to_reply_to) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_datagram_receiver* door = nullptr;
    hamlyn_datagram_receiver* mailbox = nullptr;
    hamlyn_datagram_sender* sender = nullptr;
    ASSERT_OK(hamlyn_datagram_receiver_make(both.receiver, 1000, &door));
    ASSERT_OK(hamlyn_datagram_receiver_make(both.sender, 1000, &mailbox));
    EXPECT_EQ(hamlyn_manager_free(both.receiver), HAMLYN_INVALID_ARGUMENT);
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_datagram_make_seed(door, &seed));
    EXPECT_EQ(hamlyn_seed_fault(&seed), nullptr);
    EXPECT_OK(hamlyn_manager_publish(both.receiver, "door", &seed, HAMLYN_FOR_GROUP));
    EXPECT_EQ(hamlyn_manager_publish(both.receiver, "door2", &seed, 8), HAMLYN_INVALID_ARGUMENT);
    hamlyn_seed found{};
    ASSERT_OK(hamlyn_manager_lookup(both.sender, "door", kLong, &found));
    EXPECT_OK(hamlyn_manager_withdraw(both.receiver, "door"));
    EXPECT_EQ(hamlyn_manager_lookup(both.sender, "door", 0, &found), HAMLYN_NAME_UNKNOWN);
    ASSERT_OK(hamlyn_datagram_sender_make(both.sender, &found, &sender));

    const hamlyn_datagram_options options{sizeof options, 7, mailbox};
    ASSERT_OK(hamlyn_datagram_deliver(sender, "question", 8, &options, kLong));
    EXPECT_EQ(hamlyn_datagram_deliver(sender, "another", 7, &options, kLong), HAMLYN_NOT_READY);
    EXPECT_EQ(hamlyn_datagram_deliver(sender, "x", 1, nullptr, kLong), HAMLYN_NOT_READY);
    hamlyn_datagram datagram{};
    ASSERT_OK(hamlyn_datagram_receive(door, kLong, &datagram));
    EXPECT_EQ(text_at(datagram.data, datagram.length), "question");
    EXPECT_EQ(datagram.offset, 7u);
    ASSERT_EQ(datagram.has_reply, 1u);
    hamlyn_interface* interface = nullptr;
    std::uint64_t id = 0;
    EXPECT_OK(hamlyn_manager_interface(both.sender, &interface));
    EXPECT_OK(hamlyn_interface_id(interface, &id));
    EXPECT_EQ(datagram.sender, id);
    EXPECT_EQ(hamlyn_interface_free(interface), HAMLYN_INVALID_ARGUMENT);

    hamlyn_datagram_sender* reply = nullptr;
    ASSERT_OK(hamlyn_datagram_sender_make(both.receiver, &datagram.reply, &reply));
    hamlyn_send_handle handle{};
    EXPECT_OK(hamlyn_datagram_send(reply, "answer", 6, nullptr, &handle));
    EXPECT_OK(hamlyn_datagram_state(reply, handle));
    ASSERT_OK(hamlyn_datagram_receive(mailbox, kLong, &datagram));
    EXPECT_EQ(text_at(datagram.data, datagram.length), "answer");
    EXPECT_EQ(datagram.has_reply, 0u);
    EXPECT_EQ(hamlyn_datagram_receive(mailbox, 0, &datagram), HAMLYN_TIMED_OUT);
    EXPECT_OK(hamlyn_datagram_make_ready(mailbox));

    const std::string long_one(1001, 'x');
    EXPECT_OK(hamlyn_datagram_make_ready(door));
    EXPECT_EQ(hamlyn_datagram_deliver(sender, long_one.data(), 1001, nullptr, kLong), HAMLYN_TOO_LONG);
    hamlyn_tagged_sender* wrong = nullptr;
    EXPECT_EQ(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &wrong), HAMLYN_SEED_WRONG_KIND);
    seed.ticket.version = 7;
    hamlyn_datagram_sender* none = nullptr;
    EXPECT_EQ(hamlyn_datagram_sender_make(both.sender, &seed, &none), HAMLYN_SEED_INVALID);
    EXPECT_OK(hamlyn_datagram_receiver_free(door));
    EXPECT_EQ(hamlyn_datagram_deliver(sender, "x", 1, nullptr, kLong), HAMLYN_REFUSED) << "it has gone";
    EXPECT_OK(hamlyn_datagram_sender_free(reply));
    EXPECT_OK(hamlyn_datagram_sender_free(sender));
    EXPECT_OK(hamlyn_datagram_receiver_free(mailbox));
  });
}

TEST_F(CInterface, streams_of_records_and_of_bytes) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_stream_receiver* receiver = nullptr;
    ASSERT_OK(hamlyn_stream_receiver_make(both.receiver, nullptr, &receiver));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_stream_make_seed(receiver, &seed));
    const std::string text = noise(200000, 1);
    std::atomic<bool> over = false;
    // The sender opens, which the receiver's program has to see.
    std::thread other([&] {
      hamlyn_stream_sender* sender = nullptr;
      ASSERT_OK(hamlyn_stream_sender_make(both.sender, &seed, nullptr, &sender));
      EXPECT_OK(hamlyn_stream_send(sender, "one", 3, kLong));
      EXPECT_OK(hamlyn_stream_send(sender, nullptr, 0, kLong));
      EXPECT_OK(hamlyn_stream_flush(sender, kLong));
      EXPECT_OK(hamlyn_stream_end(sender));
      EXPECT_OK(hamlyn_stream_write(sender, text.data(), text.size()));
      EXPECT_OK(hamlyn_stream_sender_close(sender, kLong));
      EXPECT_EQ(hamlyn_stream_send(sender, "x", 1, kLong), HAMLYN_CLOSED);
      EXPECT_EQ(hamlyn_stream_end(sender), HAMLYN_CLOSED);
      EXPECT_OK(hamlyn_stream_sender_free(sender));
      hamlyn_stream_sender* again = nullptr;
      EXPECT_EQ(hamlyn_stream_sender_make(both.sender, &seed, nullptr, &again), HAMLYN_SEED_USED);
      over = true;
    });
    hamlyn_record record{};
    ASSERT_OK(hamlyn_stream_receive(receiver, kLong, &record));
    EXPECT_EQ(text_at(record.data, record.length), "one");
    EXPECT_EQ(record.number, 1u);
    hamlyn_seed second{};
    EXPECT_EQ(hamlyn_stream_make_seed(receiver, &second), HAMLYN_INVALID_ARGUMENT) << "a sender is there";
    ASSERT_OK(hamlyn_stream_receive(receiver, kLong, &record));
    EXPECT_EQ(record.length, 0u);
    EXPECT_OK(hamlyn_stream_release(receiver, &record));
    record.number = 99;
    EXPECT_EQ(hamlyn_stream_release(receiver, &record), HAMLYN_INVALID);
    std::uint64_t id = 0;
    EXPECT_OK(hamlyn_stream_sender_of(receiver, &id));
    EXPECT_NE(id, 0u);
    std::string read;
    hamlyn_status status = HAMLYN_OK;
    std::size_t count = 0;
    while (status == HAMLYN_OK) {
      char some[3000];
      status = hamlyn_stream_read(receiver, some, sizeof some, kLong, &count);
      read.append(some, count);
    }
    EXPECT_EQ(status, HAMLYN_CLOSED) << hamlyn_status_name(status);
    EXPECT_EQ(read, text);
    // Whoever comes with the seed again is answered by whoever runs the manager.
    EXPECT_TRUE(eventually([&] {
      int given = 0;
      EXPECT_OK(hamlyn_manager_poll(both.receiver, &given));
      return over.load();
    }));
    other.join();
    EXPECT_OK(hamlyn_stream_receiver_free(receiver));
  });
}

TEST_F(CInterface, records_of_a_stream_leave_out_of_an_area) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_stream_receiver* receiver = nullptr;
    ASSERT_OK(hamlyn_stream_receiver_make(both.receiver, nullptr, &receiver));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_stream_make_seed(receiver, &seed));
    const std::string text = noise(25 * kPage, 3);
    constexpr std::size_t kTurns = 20;
    constexpr std::size_t kPiece = 25 * kPage - 100;
    std::thread other([&] {
      hamlyn_interface *own = nullptr, *another = nullptr;
      ASSERT_OK(hamlyn_manager_interface(both.sender, &own));
      ASSERT_OK(hamlyn_manager_interface(both.receiver, &another));
      hamlyn_send_area *area = nullptr, *of_another = nullptr;
      ASSERT_OK(hamlyn_send_area_make(own, text.size(), &area));
      ASSERT_OK(hamlyn_send_area_make(another, 1, &of_another));
      void* data = nullptr;
      std::size_t length = 0;
      ASSERT_OK(hamlyn_send_area_bytes(area, &data, &length));
      hamlyn_stream_sender* sender = nullptr;
      ASSERT_OK(hamlyn_stream_sender_make(both.sender, &seed, nullptr, &sender));
      hamlyn_piece piece{7, 10, kPiece};
      hamlyn_send_handle handle{1, 1};
      EXPECT_EQ(hamlyn_stream_send_piece(sender, &piece, kLong, &handle), HAMLYN_INVALID) << "not bound";
      EXPECT_EQ(handle.sequence, 1u) << "left as it was";
      EXPECT_EQ(hamlyn_stream_bind(sender, 7, nullptr), HAMLYN_INVALID_ARGUMENT);
      EXPECT_EQ(hamlyn_stream_bind(sender, 8, area), HAMLYN_INVALID);
      EXPECT_EQ(hamlyn_stream_bind(sender, 7, of_another), HAMLYN_INVALID);
      ASSERT_OK(hamlyn_stream_bind(sender, 7, area));
      EXPECT_EQ(hamlyn_stream_send_piece(sender, nullptr, kLong, &handle), HAMLYN_INVALID_ARGUMENT);
      piece.length = text.size() - 9;
      EXPECT_EQ(hamlyn_stream_send_piece(sender, &piece, kLong, &handle), HAMLYN_OUT_OF_BOUNDS);
      piece.length = kPiece;
      piece.tag |= std::uint64_t{1} << 32;
      EXPECT_EQ(hamlyn_stream_send_piece(sender, &piece, kLong, &handle), HAMLYN_INVALID);
      piece.tag = 7;
      EXPECT_OK(hamlyn_stream_wait(sender, {}, 0)) << "of nothing";
      for (std::size_t turn = 0; turn < kTurns; ++turn) {
        std::memcpy(data, text.data() + turn, text.size() - turn);
        ASSERT_OK(hamlyn_stream_send_piece(sender, &piece, kLong, &handle));
        EXPECT_OK(hamlyn_stream_wait(sender, handle, kLong));
        std::memset(data, 0xEE, text.size());  // it is free
      }
      EXPECT_GT(handle.sequence, 1u);
      EXPECT_OK(hamlyn_stream_send_piece(sender, &piece, kLong, nullptr));
      EXPECT_OK(hamlyn_stream_sender_close(sender, kLong));
      EXPECT_OK(hamlyn_stream_sender_free(sender));
      EXPECT_OK(hamlyn_send_area_free(area));
      EXPECT_OK(hamlyn_send_area_free(of_another));
    });
    hamlyn_record record{};
    for (std::size_t turn = 0; turn <= kTurns; ++turn) {
      ASSERT_OK(hamlyn_stream_receive(receiver, kLong, &record));
      const std::string expected =
          turn < kTurns ? text.substr(10 + turn, kPiece) : std::string(kPiece, '\xEE');
      EXPECT_TRUE(text_at(record.data, record.length) == expected) << turn;
      EXPECT_OK(hamlyn_stream_release(receiver, &record));
    }
    EXPECT_EQ(hamlyn_stream_receive(receiver, kLong, &record), HAMLYN_CLOSED);
    other.join();
    EXPECT_OK(hamlyn_stream_receiver_free(receiver));
  });
}

TEST_F(CInterface, a_stream_ends_from_the_receivers_side_and_senders_are_refused) {
  in_child([&] {
    TwoManagers both(node().options());
    struct Door {
      std::uint64_t came = 0;
      int open = 0;
    } door;
    hamlyn_stream_receiver_options options{};
    options.size = sizeof options;
    options.context = &door;
    options.admit = [](void* context, std::uint64_t sender) {
      auto& it = *static_cast<Door*>(context);
      it.came = sender;
      return it.open;
    };
    options.first = 100;
    hamlyn_stream_receiver* receiver = nullptr;
    EXPECT_EQ(hamlyn_stream_receiver_make(both.receiver, &options, &receiver), HAMLYN_INVALID_ARGUMENT);
    options.first = 0;
    options.parcels = std::size_t{1} << 33;
    EXPECT_EQ(hamlyn_stream_receiver_make(both.receiver, &options, &receiver), HAMLYN_INVALID_ARGUMENT);
    options.parcels = 0;
    ASSERT_OK(hamlyn_stream_receiver_make(both.receiver, &options, &receiver));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_stream_make_seed(receiver, &seed));
    hamlyn_record record{};
    const auto open_with = [&](hamlyn_seed with, hamlyn_stream_sender** made) {
      hamlyn_status status = HAMLYN_PENDING;
      std::atomic<bool> over = false;
      std::thread opens([&] {
        status = hamlyn_stream_sender_make(both.sender, &with, nullptr, made);
        over = true;
      });
      EXPECT_TRUE(eventually([&] {
        int given = 0;
        EXPECT_OK(hamlyn_manager_poll(both.receiver, &given));
        return over.load();
      }));
      opens.join();
      return status;
    };
    hamlyn_stream_sender* sender = nullptr;
    EXPECT_EQ(open_with(seed, &sender), HAMLYN_PEER_REFUSED);
    EXPECT_NE(door.came, 0u);
    door.open = 1;
    hamlyn_seed forged = seed;
    forged.ticket.key ^= 1;
    EXPECT_EQ(open_with(forged, &sender), HAMLYN_SEED_FORGED);
    ASSERT_OK(open_with(seed, &sender));
    EXPECT_EQ(hamlyn_stream_receiver_close(receiver, 0), HAMLYN_TIMED_OUT);
    EXPECT_TRUE(eventually([&] {
      int given = 0;
      EXPECT_OK(hamlyn_manager_poll(both.receiver, &given));
      return hamlyn_stream_send(sender, "x", 1, kLong) == HAMLYN_CLOSED;
    }));
    EXPECT_OK(hamlyn_stream_receiver_close(receiver, kLong));
    EXPECT_OK(hamlyn_stream_sender_free(sender));
    ASSERT_OK(hamlyn_stream_make_seed(receiver, &seed)) << "the next stream";
    ASSERT_OK(open_with(seed, &sender));
    EXPECT_OK(hamlyn_stream_send(sender, "x", 1, kLong));
    EXPECT_OK(hamlyn_stream_flush(sender, kLong));
    EXPECT_OK(hamlyn_stream_sender_free(sender));
    EXPECT_OK(hamlyn_stream_receive(receiver, kLong, &record));
    EXPECT_EQ(hamlyn_stream_receive(receiver, kLong, &record), HAMLYN_ABANDONED);
    EXPECT_OK(hamlyn_stream_receiver_free(receiver));
    EXPECT_EQ(open_with(seed, &sender), HAMLYN_SEED_STALE);
  });
}

TEST_F(CInterface, senders_open_while_their_program_does_other_work) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_stream_receiver* receiver = nullptr;
    ASSERT_OK(hamlyn_stream_receiver_make(both.receiver, nullptr, &receiver));
    hamlyn_tagged_receiver* board = nullptr;
    ASSERT_OK(hamlyn_tagged_receiver_make(both.receiver, 4096, nullptr, &board));
    hamlyn_seed seed{}, tag_seed{};
    ASSERT_OK(hamlyn_stream_make_seed(receiver, &seed));
    ASSERT_OK(hamlyn_tagged_make_seed(board, &tag_seed));
    hamlyn_stream_sender* sender = nullptr;
    hamlyn_tagged_sender* writes = nullptr;
    EXPECT_EQ(hamlyn_stream_sender_begin(both.sender, &tag_seed, nullptr, &sender), HAMLYN_SEED_WRONG_KIND);
    EXPECT_EQ(hamlyn_tagged_sender_begin(both.sender, nullptr, &writes), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_stream_sender_begin(both.sender, &seed, nullptr, &sender));
    ASSERT_OK(hamlyn_tagged_sender_begin(both.sender, &tag_seed, &writes));
    EXPECT_EQ(hamlyn_stream_sender_open(sender, 0), HAMLYN_TIMED_OUT) << "nobody has looked";
    EXPECT_EQ(hamlyn_stream_send(sender, "x", 1, 0), HAMLYN_CONNECTING);
    EXPECT_OK(hamlyn_tagged_sender_open(writes, kLong));
    EXPECT_OK(hamlyn_tagged_send(writes, "x", 1, 0, 7, 0));
    EXPECT_TRUE(eventually([&] {
      int given = 0;
      EXPECT_OK(hamlyn_manager_poll(both.receiver, &given));
      return hamlyn_stream_sender_open(sender, 0) == HAMLYN_OK;
    }));
    EXPECT_OK(hamlyn_stream_sender_free(sender));
    hamlyn_stream_sender* again = nullptr;
    ASSERT_OK(hamlyn_stream_sender_begin(both.sender, &seed, nullptr, &again));
    EXPECT_EQ(hamlyn_stream_sender_open(again, kLong), HAMLYN_SEED_USED);
    EXPECT_NE(text_at(hamlyn_last_error(), std::strlen(hamlyn_last_error())), "");
    EXPECT_OK(hamlyn_stream_sender_free(again));
    EXPECT_OK(hamlyn_tagged_sender_free(writes));
    EXPECT_OK(hamlyn_stream_receiver_free(receiver));
    EXPECT_OK(hamlyn_tagged_receiver_free(board));
  });
}

TEST_F(CInterface, tags_are_taken_in_turn_or_by_number) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_tagged_receiver_options options{sizeof options, 4, 16, 3};
    hamlyn_tagged_receiver* board = nullptr;
    ASSERT_OK(hamlyn_tagged_receiver_make(both.receiver, 4096, &options, &board));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_tagged_make_seed(board, &seed));
    hamlyn_tagged_sender* sender = nullptr;
    ASSERT_OK(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &sender));
    hamlyn_tagged tagged{};
    EXPECT_EQ(hamlyn_get_tag(board, 0, &tagged), HAMLYN_TIMED_OUT);
    int descriptor = -1;
    EXPECT_OK(hamlyn_tagged_descriptor(board, &descriptor));
    EXPECT_GE(descriptor, 0);
    const auto readable = [&] {
      pollfd one{descriptor, POLLIN, 0};
      return ::poll(&one, 1, 0) == 1;
    };
    EXPECT_EQ(hamlyn_get_tag(board, 0, &tagged), HAMLYN_TIMED_OUT);
    EXPECT_FALSE(readable()) << "who has found nothing may go to epoll";
    EXPECT_EQ(hamlyn_tagged_send(sender, "word", 4, 4096, 5, 0), HAMLYN_OUT_OF_BOUNDS);
    for (std::uint64_t tag = 1; tag <= 4; ++tag)
      ASSERT_OK(hamlyn_tagged_send(sender, "word", 4, 8 * tag, tag, 0));
    EXPECT_TRUE(eventually(readable));
    EXPECT_EQ(hamlyn_tagged_send(sender, "word", 4, 0, 5, 0), HAMLYN_NO_PLACE);
    EXPECT_EQ(hamlyn_tagged_send(sender, "word", 4, 0, 5, 1000), HAMLYN_TIMED_OUT);
    ASSERT_OK(hamlyn_get_specific_tag(board, 3, kLong, &tagged));
    EXPECT_EQ(tagged.tag, 3u);
    EXPECT_EQ(tagged.offset, 24u);
    EXPECT_EQ(hamlyn_get_specific_tag(board, 9, kLong, &tagged), HAMLYN_QUEUE_FULL) << "three are aside";
    void* data = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_tagged_bytes(board, &data, &length));
    EXPECT_EQ(text_at(static_cast<char*>(data) + tagged.offset, tagged.length), "word");
    for (const std::uint64_t tag : {1u, 2u, 4u}) {
      ASSERT_OK(hamlyn_get_tag(board, kLong, &tagged));
      EXPECT_EQ(tagged.tag, tag);
    }
    EXPECT_OK(hamlyn_tagged_send(sender, "word", 4, 0, 5, kLong)) << "there is room again";
    hamlyn_tagged_sender* none = nullptr;
    seed.ticket.purpose = 77;
    EXPECT_EQ(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &none), HAMLYN_SEED_INVALID);
    EXPECT_OK(hamlyn_tagged_sender_free(sender));
    EXPECT_OK(hamlyn_tagged_receiver_free(board));
    ASSERT_OK(hamlyn_tagged_receiver_make(both.receiver, 4096, nullptr, &board));
    ASSERT_OK(hamlyn_tagged_make_seed(board, &seed));
    EXPECT_OK(hamlyn_tagged_receiver_free(board));
    EXPECT_EQ(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &none), HAMLYN_SEED_STALE);
  });
}

TEST_F(CInterface, tags_for_who_has_gone_are_not_said_to_be_on_their_way) {
  in_child([&] {
    const Node here = node();
    const hamlyn_interface_options where = here.options();
    TwoManagers both(where);
    hamlyn_manager_options options{};
    options.size = sizeof options;
    options.interface = &where;
    hamlyn_manager* gone = nullptr;
    ASSERT_OK(hamlyn_manager_make(&options, &gone));
    hamlyn_tagged_receiver* board = nullptr;
    ASSERT_OK(hamlyn_tagged_receiver_make(gone, 64, nullptr, &board));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_tagged_make_seed(board, &seed));
    hamlyn_tagged_sender* sender = nullptr;
    ASSERT_OK(hamlyn_tagged_sender_make(both.sender, &seed, kLong, &sender));
    EXPECT_OK(hamlyn_tagged_receiver_free(board));
    EXPECT_OK(hamlyn_manager_free(gone));
    const auto send = [&] { return hamlyn_tagged_send(sender, nullptr, 0, 0, 1, kLong); };
    EXPECT_TRUE(eventually([&] { return send() == HAMLYN_LINK_ENDED; }));
    for (int i = 0; i < 5; ++i) EXPECT_NE(send(), HAMLYN_CONNECTING);
    EXPECT_OK(hamlyn_tagged_sender_free(sender));
  });
}

TEST_F(CInterface, managers_wait_and_are_cancelled) {
  in_child([&] {
    TwoManagers both(node().options());
    EXPECT_EQ(hamlyn_manager_wait(both.receiver, 1000), HAMLYN_TIMED_OUT);
    int descriptor = -1;
    EXPECT_OK(hamlyn_manager_descriptor(both.receiver, &descriptor));
    EXPECT_GE(descriptor, 0);
    std::atomic<bool> over = false;
    std::thread waits([&] {
      EXPECT_EQ(hamlyn_manager_wait(both.receiver, HAMLYN_FOREVER), HAMLYN_CANCELLED);
      over = true;
    });
    EXPECT_TRUE(eventually([&] {
      EXPECT_OK(hamlyn_manager_cancel(both.receiver));
      return over.load();
    }));
    waits.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
