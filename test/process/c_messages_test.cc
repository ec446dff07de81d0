// The C interface: what its functions do with messages, areas and remote operations. Two interfaces, in a
// child of the test.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/process/c_ends.h"

namespace hamlyn::test {
namespace {

TEST_F(CInterface, messages_with_metadata_and_acknowledgement) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 2});
    std::uint64_t id = 0;
    EXPECT_OK(hamlyn_interface_id(ends.sender, &id));
    hamlyn_ticket ticket = ends.ticket(0);
    EXPECT_EQ(hamlyn_ticket_fault(&ticket), nullptr);
    hamlyn_ticket found{};
    EXPECT_EQ(hamlyn_lookup(ends.sender, "messages", 0, &found), HAMLYN_NAME_UNKNOWN);
    EXPECT_EQ(hamlyn_publish(ends.receiver, "no name", &ticket, 0), HAMLYN_NAME_INVALID);
    EXPECT_EQ(hamlyn_publish(ends.receiver, "messages", &ticket, 4), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_publish(ends.receiver, "messages", &ticket, 0));
    EXPECT_EQ(hamlyn_publish(ends.sender, "messages", &ticket, 0), HAMLYN_NAME_TAKEN);
    ASSERT_OK(hamlyn_lookup(ends.sender, "messages", kLong, &found));
    hamlyn_registrant who{};
    hamlyn_ticket again{};
    ASSERT_OK(hamlyn_lookup_registrant(ends.sender, "messages", kLong, &again, &who));
    EXPECT_EQ(std::memcmp(&again, &found, sizeof found), 0);
    std::uint64_t owner = 0;
    ASSERT_OK(hamlyn_interface_id(ends.receiver, &owner));
    EXPECT_EQ(who.interface, owner);
    EXPECT_EQ(who.uid, ::geteuid());
    EXPECT_EQ(who.gid, ::getegid());
    EXPECT_EQ(who.pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(std::memcmp(&found, &ticket, sizeof ticket), 0);
    EXPECT_OK(hamlyn_withdraw(ends.receiver, "messages"));

    hamlyn_send_options options{};
    options.size = sizeof options;
    options.offset = 10;
    options.metadata = "why";
    options.metadata_length = 3;
    hamlyn_send_handle handle{};
    const std::string text = noise(30000, 1);
    options.flags = HAMLYN_ELEMENT_4;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, text.data(), 8, &options, &handle), HAMLYN_MISALIGNED)
        << "at 10";
    options.flags = HAMLYN_ELEMENT_4 | HAMLYN_ELEMENT_8;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, text.data(), 8, &options, &handle), HAMLYN_INVALID);
    options.flags = HAMLYN_ACKNOWLEDGED | HAMLYN_ELEMENT_2;
    hamlyn_status status = hamlyn_send(ends.terminus, &found, text.data(), text.size(), &options, &handle);
    ASSERT_EQ(status, HAMLYN_PENDING);
    ASSERT_OK(hamlyn_send_wait(ends.terminus, handle, kLong));
    options.flags = HAMLYN_ACKNOWLEDGED;
    EXPECT_OK(hamlyn_send_state(ends.terminus, handle));
    std::uint64_t sequence = 0;
    EXPECT_OK(hamlyn_sequence(ends.terminus, &sequence));
    EXPECT_EQ(sequence, handle.sequence);
    hamlyn_notification arrival{};
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &arrival));
    EXPECT_EQ(arrival.kind, HAMLYN_MESSAGE);
    EXPECT_EQ(arrival.peer, id);
    EXPECT_EQ(arrival.offset, 10u);
    EXPECT_EQ(ends.message(arrival), text);
    const void* metadata = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_slot_metadata(ends.slot, arrival.entry, &metadata, &length));
    EXPECT_EQ(text_at(metadata, length), "why");
    hamlyn_notification elsewhere = arrival;
    elsewhere.length = 65536;
    void* data = nullptr;
    EXPECT_EQ(hamlyn_slot_message(ends.slot, &elsewhere, &data, &length), HAMLYN_OUT_OF_BOUNDS);
    elsewhere = arrival;
    ++elsewhere.slot;
    EXPECT_EQ(hamlyn_slot_message(ends.slot, &elsewhere, &data, &length), HAMLYN_OUT_OF_BOUNDS);

    // What is wrong with a message is told, and why it was refused.
    options.metadata_length = 61;
    options.metadata = text.data();
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, "x", 1, &options, nullptr), HAMLYN_TOO_LONG);
    options.metadata = nullptr;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, "x", 1, &options, nullptr), HAMLYN_INVALID_ARGUMENT);
    options.metadata_length = 0;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, nullptr, 1, &options, nullptr), HAMLYN_INVALID_ARGUMENT);
    options.offset = 65536;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, "x", 1, &options, nullptr), HAMLYN_OUT_OF_BOUNDS);
    options.offset = 0;
    found.key ^= 1;
    status = hamlyn_send(ends.terminus, &found, "x", 1, &options, &handle);
    ASSERT_EQ(status, HAMLYN_PENDING);
    EXPECT_EQ(hamlyn_send_wait(ends.terminus, handle, kLong), HAMLYN_REFUSED);
    std::uint32_t cause = 0;
    EXPECT_OK(hamlyn_send_refusal(ends.terminus, handle, &cause));
    EXPECT_EQ(cause, HAMLYN_REFUSAL_BAD_KEY);
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &arrival));
    EXPECT_EQ(arrival.kind, HAMLYN_PROTOCOL_ERROR);
    EXPECT_EQ(arrival.cause, HAMLYN_REFUSAL_BAD_KEY);
    found.version = 9;
    EXPECT_EQ(hamlyn_send(ends.terminus, &found, "x", 1, nullptr, nullptr), HAMLYN_INVALID);
    EXPECT_NE(hamlyn_ticket_fault(&found), nullptr);
    EXPECT_EQ(hamlyn_send_state(ends.terminus, {99, 5000}), HAMLYN_INVALID);
  });
}

TEST_F(CInterface, entries_are_armed_limited_and_revoked) {
  in_child([&] {
    Ends ends(node().options(), {.mode = HAMLYN_MODE_PARANOID, .entries = 1});
    hamlyn_ticket ticket{};
    EXPECT_EQ(hamlyn_slot_ticket(ends.slot, &ticket), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_slot_entry_ticket(ends.slot, 0, &ticket), HAMLYN_INVALID_ARGUMENT) << "not armed yet";
    EXPECT_EQ(hamlyn_slot_arm(ends.slot, 1), HAMLYN_INVALID);
    ASSERT_OK(hamlyn_slot_arm_within(ends.slot, 0, 100, 50));
    ticket = ends.ticket(0);
    EXPECT_EQ(ticket.base, 100u);
    EXPECT_EQ(ticket.bound, 50u);
    const std::string text = noise(51, 1);
    EXPECT_EQ(hamlyn_send(ends.terminus, &ticket, text.data(), 51, nullptr, nullptr), HAMLYN_OUT_OF_BOUNDS);
    EXPECT_EQ(hamlyn_slot_expect(ends.slot, 0, 12345), HAMLYN_CONNECTING);
    EXPECT_OK(hamlyn_slot_fail_after(ends.slot, 0, HAMLYN_FOREVER));
    EXPECT_OK(hamlyn_slot_revoke(ends.slot, 0));
    EXPECT_OK(hamlyn_slot_arm(ends.slot, 0));
    EXPECT_OK(hamlyn_slot_fail_after(ends.slot, 0, 1));
    hamlyn_notification failed{};
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &failed));
    EXPECT_EQ(failed.kind, HAMLYN_FAILED);
    EXPECT_EQ(failed.word, HAMLYN_FAILURE_TIMED_OUT);
    EXPECT_EQ(hamlyn_slot_fail_after(ends.slot, 0, 1), HAMLYN_INVALID);
    EXPECT_OK(hamlyn_slot_arm(ends.slot, 0));
    EXPECT_OK(hamlyn_slot_disarm(ends.slot, 0));
    EXPECT_OK(hamlyn_slot_change_key(ends.slot));
    EXPECT_OK(hamlyn_slot_notify_after(ends.slot, 0));
    std::uint32_t number = 0;
    EXPECT_OK(hamlyn_slot_number(ends.slot, &number));
    EXPECT_EQ(number, failed.slot);
  });
}

TEST_F(CInterface, groups_tell_once) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 1});
    hamlyn_share shares[2];
    EXPECT_EQ(hamlyn_slot_arm_group(ends.slot, 0, 2, 4000, shares), HAMLYN_INVALID) << "it is armed";
    ASSERT_OK(hamlyn_slot_disarm(ends.slot, 0));
    EXPECT_EQ(hamlyn_slot_arm_group(ends.slot, 0, 0, 0, shares), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_slot_arm_group(ends.slot, 0, 2, 40000, shares), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_slot_arm_group(ends.slot, 0, 2, 4000, shares));
    EXPECT_EQ(shares[1].ticket.base, 4000u);
    ASSERT_OK(hamlyn_connect(ends.terminus, &shares[0].ticket, kLong));
    hamlyn_share piece{};
    EXPECT_EQ(hamlyn_share_split(&shares[0], 4001, &piece), HAMLYN_OUT_OF_BOUNDS);
    ASSERT_OK(hamlyn_share_split(&shares[0], 1000, &piece));
    const std::string text = noise(8000, 1);
    hamlyn_send_options acknowledged{};
    acknowledged.size = sizeof acknowledged;
    acknowledged.flags = HAMLYN_ACKNOWLEDGED;
    EXPECT_EQ(hamlyn_send_share(ends.terminus, &piece, text.data(), 1000, &acknowledged, nullptr),
              HAMLYN_INVALID);
    const auto sent = [&](const hamlyn_share& share, std::size_t from, std::size_t length) {
      hamlyn_send_handle handle{};
      const hamlyn_status status =
          hamlyn_send_share(ends.terminus, &share, text.data() + from, length, nullptr, &handle);
      EXPECT_TRUE(status == HAMLYN_OK || status == HAMLYN_PENDING) << hamlyn_status_name(status);
      EXPECT_OK(hamlyn_send_wait(ends.terminus, handle, kLong));
    };
    sent(piece, 0, 1000);
    sent(shares[0], 1000, 3000);
    sent(shares[1], 4000, 4000);
    hamlyn_notification arrival{};
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &arrival));
    EXPECT_EQ(arrival.kind, HAMLYN_MESSAGE);
    void* data = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_slot_bytes(ends.slot, &data, &length));
    EXPECT_EQ(text_at(data, 8000), text);
    EXPECT_EQ(hamlyn_receive(ends.queue, 0, &arrival), HAMLYN_TIMED_OUT);
  });
}

TEST_F(CInterface, fast_messages_are_polled_for_and_waited_for) {
  in_child([&] {
    Ends ends(node().options(), {.places = 16});
    const hamlyn_ticket ticket = ends.fast_ticket();
    int descriptor = -1;
    ASSERT_OK(hamlyn_queue_descriptor(ends.queue, &descriptor));
    EXPECT_EQ(hamlyn_send_fast(ends.terminus, &ticket, "x", 1, 0, 65536), HAMLYN_OUT_OF_BOUNDS);
    for (std::uint64_t i = 0; i < 16; ++i)
      ASSERT_OK(hamlyn_send_fast(ends.terminus, &ticket, &i, sizeof i, 100 + i, 8 * i));
    EXPECT_EQ(hamlyn_send_fast(ends.terminus, &ticket, "x", 1, 0, 0), HAMLYN_NO_PLACE);
    EXPECT_EQ(hamlyn_wait_for_place(ends.terminus, &ticket, 1000), HAMLYN_TIMED_OUT);
    pollfd readable{descriptor, POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, static_cast<int>(kPatience.count())), 1);
    std::vector<hamlyn_notification> all;
    ASSERT_TRUE(eventually([&] {
      hamlyn_notification some[5];
      std::size_t count = 99;
      EXPECT_OK(hamlyn_poll(ends.queue, some, std::size(some), &count));
      all.insert(all.end(), some, some + count);
      return all.size() == 16;
    }));
    for (std::uint64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(all[i].fast, 1);
      EXPECT_EQ(all[i].word, 100 + i);
      EXPECT_EQ(all[i].offset, 8 * i);
      EXPECT_EQ(all[i].reserved[0] | all[i].reserved[1], 0u);
    }
    hamlyn_notification none{};
    std::size_t count = 99;
    EXPECT_OK(hamlyn_poll(ends.queue, &none, 1, &count));
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(hamlyn_poll(ends.queue, &none, 0, &count), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_receive(ends.queue, 1000, &none), HAMLYN_TIMED_OUT);
    EXPECT_OK(hamlyn_wait_for_place(ends.terminus, &ticket, kLong));
    EXPECT_OK(hamlyn_interface_run(ends.receiver));

    std::atomic<bool> over = false;
    std::thread waits([&] {
      EXPECT_EQ(hamlyn_receive(ends.queue, HAMLYN_FOREVER, &none), HAMLYN_CANCELLED);
      over = true;
    });
    EXPECT_TRUE(eventually([&] {
      EXPECT_OK(hamlyn_interface_cancel(ends.receiver));
      return over.load();
    }));
    waits.join();
  });
}

TEST_F(CInterface, waits_for_any_of_several) {
  in_child([&] {
    Ends ends(node().options(), {.places = 1});
    struct Looks {
      hamlyn_queue* queue;
      int count;
      std::uint64_t word;
    } looks{ends.queue, 0, 0};
    const hamlyn_ready ready = [](void* context) {
      Looks& of = *static_cast<Looks*>(context);
      ++of.count;
      hamlyn_notification next{};
      std::size_t count = 0;
      if (hamlyn_poll(of.queue, &next, 1, &count) != HAMLYN_OK || count == 0) return 0;
      of.word = next.word;
      return 1;
    };
    EXPECT_EQ(hamlyn_interface_wait_any(ends.receiver, nullptr, nullptr, 0), HAMLYN_INVALID_ARGUMENT);
    int descriptor = -1;
    EXPECT_OK(hamlyn_interface_descriptor(ends.receiver, &descriptor));
    EXPECT_EQ(hamlyn_interface_wait_any(ends.receiver, ready, &looks, 0), HAMLYN_TIMED_OUT);
    EXPECT_GE(looks.count, 1);
    const hamlyn_ticket ticket = ends.fast_ticket();
    EXPECT_OK(hamlyn_wait_for_place(ends.terminus, &ticket, kLong));
    EXPECT_OK(hamlyn_send_fast(ends.terminus, &ticket, nullptr, 0, 7, 0));
    pollfd wait{descriptor, POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 30000), 1);
    EXPECT_OK(hamlyn_interface_wait_any(ends.receiver, ready, &looks, kLong));
    EXPECT_EQ(looks.word, 7u);
    EXPECT_OK(hamlyn_interface_changed(ends.receiver));
  });
}

TEST_F(CInterface, gathers_from_send_areas) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 1});
    hamlyn_send_area* area = nullptr;
    EXPECT_EQ(hamlyn_send_area_make(ends.sender, 0, &area), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_send_area_make(ends.sender, 20000, &area));
    void* data = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_send_area_bytes(area, &data, &length));
    EXPECT_EQ(length, 20480u);
    const std::string text = noise(20000, 1);
    std::memcpy(data, text.data(), text.size());
    const hamlyn_ticket ticket = ends.ticket(0);
    const hamlyn_piece pieces[] = {{3, 10000, 10000}, {3, 0, 10000}};
    EXPECT_EQ(hamlyn_send_gathered(ends.terminus, &ticket, pieces, 2, nullptr, nullptr), HAMLYN_INVALID);
    EXPECT_EQ(hamlyn_bind(ends.terminus, 8, area), HAMLYN_INVALID);
    EXPECT_OK(hamlyn_bind(ends.terminus, 3, area));
    EXPECT_EQ(hamlyn_send_gathered(ends.terminus, &ticket, pieces, 17, nullptr, nullptr), HAMLYN_TOO_LONG);
    const hamlyn_piece beyond{3, 20480, 1};
    EXPECT_EQ(hamlyn_send_gathered(ends.terminus, &ticket, &beyond, 1, nullptr, nullptr),
              HAMLYN_OUT_OF_BOUNDS);
    const hamlyn_piece strange{std::uint64_t{1} << 32 | 3, 0, 1};
    EXPECT_EQ(hamlyn_send_gathered(ends.terminus, &ticket, &strange, 1, nullptr, nullptr), HAMLYN_INVALID);
    hamlyn_send_handle handle{};
    const hamlyn_status status = hamlyn_send_gathered(ends.terminus, &ticket, pieces, 2, nullptr, &handle);
    EXPECT_TRUE(status == HAMLYN_OK || status == HAMLYN_PENDING) << hamlyn_status_name(status);
    EXPECT_OK(hamlyn_send_wait(ends.terminus, handle, kLong));
    EXPECT_OK(hamlyn_send_cancel(ends.terminus, handle)) << "it is over";
    hamlyn_notification arrival{};
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &arrival));
    EXPECT_EQ(ends.message(arrival), text.substr(10000) + text.substr(0, 10000));
    EXPECT_OK(hamlyn_bind(ends.terminus, 3, nullptr));
    EXPECT_EQ(hamlyn_bind(ends.terminus, 3, nullptr), HAMLYN_INVALID);
    EXPECT_OK(hamlyn_send_area_free(area));
  });
}

TEST_F(CInterface, areas_are_mapped_kept_in_files_or_the_callers) {
  in_child([&] {
    Ends ends(node().options(), {}, HAMLYN_MAPPED_READ_ONLY);
    void* data = nullptr;
    std::size_t length = 0;
    ASSERT_OK(hamlyn_area_bytes(ends.area, &data, &length));
    std::memcpy(data, "shown", 5);
    hamlyn_ticket ticket = ends.fast_ticket();
    hamlyn_mapped_slot* mapped = nullptr;
    ASSERT_OK(hamlyn_mapped_slot_make(ends.sender, &ticket, kLong, &mapped));
    const void* shown = nullptr;
    EXPECT_OK(hamlyn_mapped_slot_bytes(mapped, &shown, &length));
    EXPECT_EQ(text_at(shown, 5), "shown");
    EXPECT_OK(hamlyn_mapped_slot_writable(mapped, &data, &length));
    EXPECT_EQ(data, nullptr);
    int current = 0;
    EXPECT_OK(hamlyn_mapped_slot_current(mapped, &current));
    EXPECT_EQ(current, 1);
    EXPECT_OK(hamlyn_area_revoke(ends.area));
    EXPECT_OK(hamlyn_mapped_slot_current(mapped, &current));
    EXPECT_EQ(current, 0);
    hamlyn_mapped_slot* refused = nullptr;
    ticket.key ^= 1;
    EXPECT_EQ(hamlyn_mapped_slot_make(ends.sender, &ticket, kLong, &refused), HAMLYN_NOT_PERMITTED);
    EXPECT_OK(hamlyn_mapped_slot_free(mapped));
    EXPECT_EQ(hamlyn_area_sync(ends.area, 0, 1, kLong), HAMLYN_INVALID) << "it is not durable";

    hamlyn_area* durable = nullptr;
    const std::string file = folder_.file("durable");
    ASSERT_OK(hamlyn_area_make_durable(ends.receiver, file.c_str(), -1, 4096, &durable));
    hamlyn_area* again = nullptr;
    EXPECT_EQ(hamlyn_area_make_durable(ends.receiver, file.c_str(), -1, 4096, &again), HAMLYN_NOT_PERMITTED);
    EXPECT_OK(hamlyn_area_sync(durable, 0, 4096, kLong));
    EXPECT_EQ(hamlyn_area_sync(durable, 0, 4097, kLong), HAMLYN_OUT_OF_BOUNDS);
    EXPECT_EQ(hamlyn_area_revoke(durable), HAMLYN_INVALID_ARGUMENT);
    EXPECT_OK(hamlyn_area_free(durable));

    alignas(4096) static unsigned char own[4096];
    hamlyn_area* over = nullptr;
    ASSERT_OK(hamlyn_area_make_over(ends.receiver, own, sizeof own, &over));
    EXPECT_OK(hamlyn_area_bytes(over, &data, &length));
    EXPECT_EQ(data, own);
    EXPECT_OK(hamlyn_area_free(over));
  });
}

TEST_F(CInterface, remote_operations) {
  in_child([&] {
    Ends ends(node().options(), {.gets = 4096, .flags = HAMLYN_FETCHES});
    Ends home(node().options(), {});  // of which only an area, queue and slot beside the terminus are used
    const hamlyn_ticket ticket = ends.fast_ticket();
    hamlyn_fetch_request add{HAMLYN_ADD, 8, 5, 0};
    hamlyn_remote_handle handle{};
    hamlyn_outcome outcome{};
    for (const std::uint64_t before : {0u, 5u}) {
      ASSERT_EQ(hamlyn_fetch(ends.terminus, &ticket, &add, nullptr, &handle), HAMLYN_PENDING);
      ASSERT_OK(hamlyn_remote_wait(ends.terminus, handle, kLong, &outcome));
      EXPECT_EQ(outcome.value, before);
      EXPECT_OK(hamlyn_remote_outcome(ends.terminus, handle, &outcome));
    }
    hamlyn_remote_options options{};
    options.size = sizeof options;
    options.offset = 4;
    ASSERT_EQ(hamlyn_fetch(ends.terminus, &ticket, &add, &options, &handle), HAMLYN_PENDING);
    EXPECT_EQ(hamlyn_remote_wait(ends.terminus, handle, kLong, &outcome), HAMLYN_REFUSED);
    EXPECT_EQ(outcome.cause, HAMLYN_REFUSAL_MISALIGNED);
    options.flags = 64;
    EXPECT_EQ(hamlyn_fetch(ends.terminus, &ticket, &add, &options, &handle), HAMLYN_INVALID_ARGUMENT);
    options.flags = HAMLYN_NO_ANSWER;
    options.offset = 8;
    EXPECT_OK(hamlyn_fetch(ends.terminus, &ticket, &add, &options, &handle));
    add.op = 11;
    EXPECT_EQ(hamlyn_fetch(ends.terminus, &ticket, &add, nullptr, &handle), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_remote_outcome(ends.terminus, {12345}, &outcome), HAMLYN_INVALID);

    // A get lands in a slot of the interface that asks.
    hamlyn_area* area = nullptr;
    hamlyn_queue* queue = nullptr;
    hamlyn_slot* into = nullptr;
    ASSERT_OK(hamlyn_area_make(ends.sender, 4096, 0, &area));
    ASSERT_OK(hamlyn_queue_make(ends.sender, 16, &queue));
    ASSERT_OK(hamlyn_slot_make(area, queue, nullptr, &into));
    void* data = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_slot_bytes(into, &data, &length));
    options = {sizeof options, 0, queue, 77, 0, nullptr};
    ASSERT_EQ(hamlyn_get(ends.terminus, &ticket, into, 16, 8, &options, &handle), HAMLYN_PENDING);
    hamlyn_notification done{};
    ASSERT_OK(hamlyn_receive(queue, kLong, &done));
    EXPECT_EQ(done.kind, HAMLYN_REMOTE_DONE);
    EXPECT_EQ(done.word, 77u);
    EXPECT_OK(hamlyn_remote_outcome(ends.terminus, handle, &outcome));
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(data) + 16, sizeof value);
    EXPECT_EQ(value, 10u);
    EXPECT_EQ(hamlyn_get(ends.terminus, &ticket, into, 0, 65537, nullptr, &handle), HAMLYN_TOO_LONG);
    EXPECT_EQ(hamlyn_get(ends.terminus, &ticket, into, 4090, 8, nullptr, &handle), HAMLYN_INVALID)
        << "beyond the slot it is to land in";
    options.offset = 65536;
    EXPECT_EQ(hamlyn_get(ends.terminus, &ticket, into, 0, 8, &options, &handle), HAMLYN_OUT_OF_BOUNDS);
    EXPECT_EQ(hamlyn_get(ends.terminus, &ticket, home.slot, 0, 8, nullptr, &handle), HAMLYN_INVALID)
        << "another interface's";
    EXPECT_OK(hamlyn_slot_free(into));
    EXPECT_OK(hamlyn_queue_free(queue));
    EXPECT_OK(hamlyn_area_free(area));
  });
}

TEST_F(CInterface, posted_buffers) {
  in_child([&] {
    Ends ends(node().options(), {});
    hamlyn_posted_slot* slot = nullptr;
    hamlyn_posted_slot_options options{sizeof options, 2, 8};
    EXPECT_EQ(hamlyn_posted_slot_make(ends.queue, &options, &slot), HAMLYN_INVALID_ARGUMENT);
    options.flags = HAMLYN_HALTS;
    ASSERT_OK(hamlyn_posted_slot_make(ends.queue, &options, &slot));
    std::string first(8, 0), second(8, 0);
    const hamlyn_posted_piece pieces[] = {{first.data(), 4}, {second.data(), 8}};
    const hamlyn_posted_piece nowhere{nullptr, 3};
    EXPECT_EQ(hamlyn_posted_slot_post(slot, nullptr, 1, 0), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_posted_slot_post(slot, &nowhere, 1, 0), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_posted_slot_post(slot, pieces, 17, 0), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_posted_slot_post(slot, pieces, 2, 41));
    std::uint64_t number = 0;
    ASSERT_OK(hamlyn_posted_slot_take_back(slot, &number));
    EXPECT_EQ(number, 41u);
    EXPECT_EQ(hamlyn_posted_slot_take_back(slot, &number), HAMLYN_NOT_READY);
    ASSERT_OK(hamlyn_posted_slot_post(slot, pieces, 2, 42));
    EXPECT_OK(hamlyn_posted_slot_resume(slot));
    EXPECT_OK(hamlyn_posted_slot_change_key(slot));

    hamlyn_ticket ticket{};
    ASSERT_OK(hamlyn_posted_slot_ticket(slot, &ticket));
    hamlyn_send_options how{};
    how.size = sizeof how;
    how.flags = HAMLYN_ACKNOWLEDGED;
    hamlyn_send_handle handle{};
    EXPECT_EQ(hamlyn_send_posted(ends.terminus, nullptr, "hello", 5, 7, nullptr, nullptr),
              HAMLYN_INVALID_ARGUMENT);
    ASSERT_EQ(hamlyn_send_posted(ends.terminus, &ticket, "abcdefgh", 8, 7, &how, &handle), HAMLYN_PENDING);
    ASSERT_OK(hamlyn_send_wait(ends.terminus, handle, kLong));
    EXPECT_EQ(first.substr(0, 4), "abcd");
    EXPECT_EQ(second.substr(0, 4), "efgh");
    hamlyn_notification n{};
    ASSERT_OK(hamlyn_receive(ends.queue, kLong, &n));
    std::uint32_t slot_number = 0;
    ASSERT_OK(hamlyn_posted_slot_number(slot, &slot_number));
    EXPECT_EQ(n.slot, slot_number);
    EXPECT_EQ(n.offset, 42u);
    EXPECT_EQ(n.word, 7u);
    ASSERT_EQ(hamlyn_send_posted(ends.terminus, &ticket, "none", 4, 7, &how, &handle), HAMLYN_PENDING);
    EXPECT_EQ(hamlyn_send_wait(ends.terminus, handle, kLong), HAMLYN_REFUSED);
    std::uint32_t cause = 0;
    ASSERT_OK(hamlyn_send_refusal(ends.terminus, handle, &cause));
    EXPECT_EQ(cause, static_cast<std::uint32_t>(HAMLYN_REFUSAL_NO_BUFFER));
    bool halted = false;  // beside the protocol error
    for (int i = 0; i != 2; ++i) {
      ASSERT_OK(hamlyn_receive(ends.queue, kLong, &n));
      halted |= n.kind == HAMLYN_HALTED;
    }
    EXPECT_TRUE(halted);
    EXPECT_EQ(hamlyn_queue_free(ends.queue), HAMLYN_INVALID_ARGUMENT) << "the slot is made from it";
    EXPECT_OK(hamlyn_posted_slot_free(slot));
  });
}

}  // namespace
}  // namespace hamlyn::test
