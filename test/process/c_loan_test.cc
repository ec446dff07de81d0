// The C interface: loans, and one message to a list.
#include <gtest/gtest.h>

#include <poll.h>

#include <array>
#include <cstring>
#include <thread>

#include "test/process/c_ends.h"

namespace hamlyn::test {
namespace {

constexpr std::uint32_t kTaken = 7;  // what stands in a parameter that a call has not told

TEST_F(CInterface, loans_are_read_where_they_were_written_and_taken_back) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_loan_pool* pool = nullptr;
    hamlyn_loan_receiver* receiver = nullptr;
    hamlyn_loan_sender* sender = nullptr;
    hamlyn_loan* loan = nullptr;
    hamlyn_borrowed* borrowed = nullptr;
    const hamlyn_loan_class classes[] = {{4096, 2}, {65536, 1}};
    ASSERT_OK(hamlyn_loan_pool_make(both.sender, classes, 2, &pool));
    ASSERT_OK(hamlyn_loan_receiver_make(both.receiver, &receiver));
    ASSERT_OK(hamlyn_loan_make(pool, &loan));
    ASSERT_OK(hamlyn_borrowed_make(both.receiver, &borrowed));
    hamlyn_seed seed{};
    ASSERT_OK(hamlyn_loan_make_seed(receiver, &seed));
    ASSERT_OK(hamlyn_loan_sender_begin(pool, &seed, &sender));
    std::uint64_t who = kTaken;
    EXPECT_OK(hamlyn_loan_sender_of(receiver, &who));
    EXPECT_EQ(who, 0u);
    const void* bytes = nullptr;
    std::size_t length = kTaken;
    int current = 1;
    EXPECT_OK(hamlyn_borrowed_current(borrowed, &current));
    EXPECT_EQ(current, 0) << "nothing was borrowed";
    std::thread opening([&] { EXPECT_OK(hamlyn_loan_sender_open(sender, kLong)); });
    while (hamlyn_loan_receive(receiver, borrowed, 1000000, &bytes, &length) == HAMLYN_TIMED_OUT && who == 0)
      EXPECT_OK(hamlyn_loan_sender_of(receiver, &who));
    opening.join();
    EXPECT_EQ(length, std::size_t{kTaken});

    void* data = nullptr;
    EXPECT_EQ(hamlyn_loan_send(sender, loan, 1, 0), HAMLYN_INVALID) << "nothing was taken";
    EXPECT_EQ(hamlyn_loan_take(loan, 65537, kLong, &data), HAMLYN_TOO_LONG);
    ASSERT_OK(hamlyn_loan_take(loan, 5, kLong, &data));
    std::memcpy(data, "lent", 5);
    EXPECT_EQ(hamlyn_loan_send(sender, loan, 6, 0), HAMLYN_TOO_LONG);
    ASSERT_OK(hamlyn_loan_send(sender, loan, 5, kLong));
    ASSERT_OK(hamlyn_loan_receive(receiver, borrowed, kLong, &bytes, &length));
    EXPECT_EQ(text_at(bytes, length), std::string("lent", 5));
    std::uint32_t holders = kTaken;
    EXPECT_OK(hamlyn_loan_holders(loan, &holders));
    EXPECT_EQ(holders, 1u);
    EXPECT_OK(hamlyn_borrowed_current(borrowed, &current));
    EXPECT_EQ(current, 1);
    EXPECT_OK(hamlyn_loan_withdraw(loan));
    EXPECT_OK(hamlyn_borrowed_current(borrowed, &current));
    EXPECT_EQ(current, 0) << "it was taken back";
    EXPECT_OK(hamlyn_borrowed_give_back(borrowed));
    EXPECT_OK(hamlyn_borrowed_give_back(borrowed));

    // As epoll sees it.
    int descriptor = -1;
    ASSERT_OK(hamlyn_loan_descriptor(receiver, &descriptor));
    EXPECT_EQ(hamlyn_loan_receive(receiver, borrowed, 0, &bytes, &length), HAMLYN_TIMED_OUT);
    ASSERT_OK(hamlyn_loan_send(sender, loan, 4, kLong));
    pollfd readable{descriptor, POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, static_cast<int>(kLong / 1000000)), 1);
    ASSERT_OK(hamlyn_loan_receive(receiver, borrowed, kLong, &bytes, &length));
    EXPECT_EQ(length, 4u);
    EXPECT_OK(hamlyn_loan_let_go(loan));
    EXPECT_EQ(hamlyn_loan_send(sender, loan, 4, 0), HAMLYN_INVALID) << "it was let go";
    EXPECT_EQ(hamlyn_loan_pool_free(pool), HAMLYN_INVALID_ARGUMENT) << "a loan is made from it";
    EXPECT_OK(hamlyn_loan_pool_revoke(pool));
    EXPECT_EQ(hamlyn_loan_end(sender), HAMLYN_CLOSED);
    EXPECT_OK(hamlyn_loan_free(loan));
    EXPECT_OK(hamlyn_loan_sender_free(sender));
    EXPECT_EQ(hamlyn_loan_receive(receiver, borrowed, kLong, &bytes, &length), HAMLYN_CLOSED);
    EXPECT_OK(hamlyn_borrowed_free(borrowed));
    EXPECT_OK(hamlyn_loan_receiver_free(receiver));
    EXPECT_OK(hamlyn_loan_pool_free(pool));
  });
}

TEST_F(CInterface, loans_that_cannot_be_are_refused_by_name) {
  in_child([&] {
    TwoManagers both(node().options());
    hamlyn_loan_pool* pool = nullptr;
    std::array<hamlyn_loan_class, 9> classes{};
    classes.fill({4096, 1});
    EXPECT_EQ(hamlyn_loan_pool_make(both.sender, classes.data(), 9, &pool), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_loan_pool_make(both.sender, classes.data(), 0, &pool), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_loan_pool_make(both.sender, nullptr, 1, &pool), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_loan_pool_make(nullptr, classes.data(), 1, &pool), HAMLYN_INVALID_ARGUMENT);
    classes[0].count = std::uint64_t{1} << 32;
    EXPECT_EQ(hamlyn_loan_pool_make(both.sender, classes.data(), 1, &pool), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(pool, nullptr);
    ASSERT_OK(hamlyn_loan_pool_make(both.sender, &classes[1], 1, &pool));
    hamlyn_loan* one = nullptr;
    hamlyn_loan* other = nullptr;
    ASSERT_OK(hamlyn_loan_make(pool, &one));
    ASSERT_OK(hamlyn_loan_make(pool, &other));
    void* data = nullptr;
    ASSERT_OK(hamlyn_loan_take(one, 1, 0, &data));
    EXPECT_EQ(hamlyn_loan_take(other, 1, 0, &data), HAMLYN_NO_BUFFER);
    EXPECT_EQ(hamlyn_loan_take(other, 1, 1000000, &data), HAMLYN_TIMED_OUT);
    EXPECT_EQ(hamlyn_loan_take(other, 1, 0, nullptr), HAMLYN_INVALID_ARGUMENT);
    hamlyn_loan_sender* sender = nullptr;
    hamlyn_seed seed{};
    EXPECT_NE(hamlyn_loan_sender_begin(pool, &seed, &sender), HAMLYN_OK) << "no seed";
    EXPECT_EQ(sender, nullptr);
    EXPECT_OK(hamlyn_loan_free(one));
    EXPECT_OK(hamlyn_loan_take(other, 1, kLong, &data));
    EXPECT_OK(hamlyn_loan_free(other));
    EXPECT_OK(hamlyn_loan_free(nullptr));
    EXPECT_OK(hamlyn_loan_pool_free(pool));
  });
}

TEST_F(CInterface, multicasts_count_who_has_got_it_and_say_who_has_not) {
  in_child([&] {
    const Node at = node();
    const hamlyn_interface_options options = at.options();
    Ends ends(options, {.entries = 3});
    std::array<hamlyn_ticket, 3> tickets{};
    for (std::uint32_t i = 0; i != 3; ++i) ASSERT_OK(hamlyn_slot_entry_ticket(ends.slot, i, &tickets[i]));
    hamlyn_multicast* all = nullptr;
    EXPECT_EQ(hamlyn_multicast_make(ends.sender, 4097, &all), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_multicast_make(ends.sender, 3, &all));
    std::array<hamlyn_ticket, 4> more{tickets[0], tickets[1], tickets[2], tickets[0]};
    EXPECT_EQ(hamlyn_multicast_send(all, more.data(), 4, "x", 1, nullptr), HAMLYN_TOO_LONG);
    EXPECT_EQ(hamlyn_multicast_send(all, more.data(), 5000, "x", 1, nullptr), HAMLYN_TOO_LONG);
    EXPECT_EQ(hamlyn_multicast_send(all, nullptr, 1, "x", 1, nullptr), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_multicast_send(all, tickets.data(), 3, nullptr, 1, nullptr), HAMLYN_INVALID_ARGUMENT);
    hamlyn_send_options how{};
    how.size = sizeof how;
    how.flags = std::uint64_t{1} << 40;
    EXPECT_EQ(hamlyn_multicast_send(all, tickets.data(), 3, "x", 1, &how), HAMLYN_INVALID_ARGUMENT);
    hamlyn_ticket none{};
    EXPECT_EQ(hamlyn_multicast_send(all, &none, 1, "x", 1, nullptr), HAMLYN_INVALID);

    tickets[1].key ^= 1;
    ASSERT_OK(hamlyn_multicast_send(all, tickets.data(), 3, "to all", 6, nullptr));
    EXPECT_OK(hamlyn_multicast_wait(all, kLong));
    hamlyn_multicast_count count{};
    EXPECT_OK(hamlyn_multicast_count_now(all, &count));
    EXPECT_EQ(count.delivered, 2u);
    EXPECT_EQ(count.failed, 1u);
    EXPECT_EQ(count.waiting, 0u);
    EXPECT_EQ(hamlyn_multicast_state(all, 0), HAMLYN_OK);
    EXPECT_EQ(hamlyn_multicast_state(all, 1), HAMLYN_REFUSED);
    EXPECT_EQ(hamlyn_multicast_state(all, 3), HAMLYN_INVALID);
    EXPECT_OK(hamlyn_multicast_stop(all));
    EXPECT_OK(hamlyn_multicast_free(all));
    EXPECT_OK(hamlyn_multicast_free(nullptr));
  });
}

}  // namespace
}  // namespace hamlyn::test
