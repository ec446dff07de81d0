// The C interface: what each function does, and what it refuses. Two interfaces or managers, in a child of
// the test.
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

// --- statuses, options, handles

TEST_F(CInterface, numbers_are_those_of_the_classes) {
  for (int i = 0; i <= HAMLYN_MISALIGNED; ++i) {
    EXPECT_STREQ(hamlyn_status_name(i), name(static_cast<Status>(i)));
    EXPECT_STREQ(hamlyn_status_advice(i), advice(static_cast<Status>(i)));
  }
  EXPECT_EQ(HAMLYN_MISALIGNED, static_cast<int>(Status::misaligned));
  EXPECT_EQ(HAMLYN_REGISTRY_FULL, 100 + static_cast<int>(ErrorCode::registry_full));
  EXPECT_EQ(HAMLYN_INVALID_ARGUMENT, 100 + static_cast<int>(ErrorCode::invalid_argument));
  EXPECT_STREQ(hamlyn_status_name(HAMLYN_SEED_FORGED), "seed_forged");
  EXPECT_STREQ(hamlyn_status_name(HAMLYN_NODE_UNREACHABLE), "node_unreachable");
  EXPECT_EQ(HAMLYN_REFUSAL_NOT_DURABLE + 1, static_cast<int>(Refusal::count));
  EXPECT_STREQ(hamlyn_refusal_name(HAMLYN_REFUSAL_BAD_KEY), name(Refusal::bad_key));
  EXPECT_EQ(HAMLYN_FAILURE_MISCOUNTED, static_cast<int>(Failure::miscounted));
  EXPECT_EQ(HAMLYN_REMOTE_FAILED, static_cast<int>(Notification::Kind::remote_failed));
  EXPECT_EQ(HAMLYN_COMPARE_AND_SWAP, static_cast<int>(FetchOp::compare_and_swap));
  EXPECT_EQ(hamlyn_abi_version(), HAMLYN_ABI_VERSION);
  for (const int unknown : {-1, HAMLYN_MISALIGNED + 1, 100, HAMLYN_REGISTRY_FULL + 1, 1 << 30})
    EXPECT_STREQ(hamlyn_status_name(unknown), "unknown") << unknown;
  EXPECT_STREQ(hamlyn_refusal_name(77), "unknown");
}

TEST_F(CInterface, refuses_what_is_null) {
  hamlyn_ticket ticket{};
  hamlyn_seed seed{};
  hamlyn_share share{};
  hamlyn_outcome outcome{};
  std::size_t size = 0;
  std::uint64_t number = 0;
  void* data = nullptr;
  const hamlyn_status answers[] = {
      hamlyn_interface_make(nullptr, nullptr),
      hamlyn_interface_id(nullptr, &number),
      hamlyn_interface_run(nullptr),
      hamlyn_interface_cancel(nullptr),
      hamlyn_publish(nullptr, "name", &ticket, 0),
      hamlyn_withdraw(nullptr, "name"),
      hamlyn_lookup(nullptr, "name", 0, &ticket),
      hamlyn_area_make(nullptr, 1, 0, nullptr),
      hamlyn_area_make_over(nullptr, &number, 8, nullptr),
      hamlyn_area_make_durable(nullptr, "file", -1, 1, nullptr),
      hamlyn_area_bytes(nullptr, &data, &size),
      hamlyn_area_revoke(nullptr),
      hamlyn_area_sync(nullptr, 0, 1, 0),
      hamlyn_send_area_make(nullptr, 1, nullptr),
      hamlyn_send_area_bytes(nullptr, &data, &size),
      hamlyn_mapped_slot_make(nullptr, &ticket, 0, nullptr),
      hamlyn_mapped_slot_bytes(nullptr, nullptr, &size),
      hamlyn_mapped_slot_writable(nullptr, &data, &size),
      hamlyn_mapped_slot_current(nullptr, nullptr),
      hamlyn_queue_make(nullptr, 16, nullptr),
      hamlyn_poll(nullptr, nullptr, 1, &size),
      hamlyn_receive(nullptr, 0, nullptr),
      hamlyn_queue_descriptor(nullptr, nullptr),
      hamlyn_slot_make(nullptr, nullptr, nullptr, nullptr),
      hamlyn_slot_index(nullptr, nullptr),
      hamlyn_slot_ticket(nullptr, &ticket),
      hamlyn_slot_entry_ticket(nullptr, 0, &ticket),
      hamlyn_slot_arm(nullptr, 0),
      hamlyn_slot_arm_within(nullptr, 0, 0, 1),
      hamlyn_slot_arm_group(nullptr, 0, 1, 0, &share),
      hamlyn_slot_disarm(nullptr, 0),
      hamlyn_slot_revoke(nullptr, 0),
      hamlyn_slot_fail_after(nullptr, 0, 1),
      hamlyn_slot_expect(nullptr, 0, 1),
      hamlyn_slot_notify_after(nullptr, 1),
      hamlyn_slot_change_key(nullptr),
      hamlyn_slot_bytes(nullptr, &data, &size),
      hamlyn_slot_message(nullptr, nullptr, &data, &size),
      hamlyn_slot_metadata(nullptr, 0, nullptr, &size),
      hamlyn_terminus_make(nullptr, nullptr, nullptr),
      hamlyn_connect(nullptr, &ticket, 0),
      hamlyn_send(nullptr, &ticket, "x", 1, nullptr, nullptr),
      hamlyn_send_share(nullptr, &share, "x", 1, nullptr, nullptr),
      hamlyn_bind(nullptr, 0, nullptr),
      hamlyn_send_gathered(nullptr, &ticket, nullptr, 0, nullptr, nullptr),
      hamlyn_send_fast(nullptr, &ticket, "x", 1, 0, 0),
      hamlyn_wait_for_place(nullptr, &ticket, 0),
      hamlyn_send_state(nullptr, {}),
      hamlyn_send_wait(nullptr, {}, 0),
      hamlyn_send_refusal(nullptr, {}, nullptr),
      hamlyn_send_cancel(nullptr, {}),
      hamlyn_sequence(nullptr, &number),
      hamlyn_share_split(nullptr, 1, &share),
      hamlyn_fetch(nullptr, &ticket, nullptr, nullptr, nullptr),
      hamlyn_get(nullptr, &ticket, nullptr, 0, 1, nullptr, nullptr),
      hamlyn_remote_outcome(nullptr, {}, &outcome),
      hamlyn_remote_wait(nullptr, {}, 0, &outcome),
      hamlyn_manager_make(nullptr, nullptr),
      hamlyn_manager_interface(nullptr, nullptr),
      hamlyn_manager_publish(nullptr, "name", &seed, 0),
      hamlyn_manager_withdraw(nullptr, "name"),
      hamlyn_manager_lookup(nullptr, "name", 0, &seed),
      hamlyn_manager_poll(nullptr, nullptr),
      hamlyn_manager_wait(nullptr, 0),
      hamlyn_manager_descriptor(nullptr, nullptr),
      hamlyn_manager_cancel(nullptr),
      hamlyn_datagram_receiver_make(nullptr, 1, nullptr),
      hamlyn_datagram_make_seed(nullptr, &seed),
      hamlyn_datagram_make_ready(nullptr),
      hamlyn_datagram_receive(nullptr, 0, nullptr),
      hamlyn_datagram_sender_make(nullptr, &seed, nullptr),
      hamlyn_datagram_send(nullptr, "x", 1, nullptr, nullptr),
      hamlyn_datagram_state(nullptr, {}),
      hamlyn_datagram_deliver(nullptr, "x", 1, nullptr, 0),
      hamlyn_stream_receiver_make(nullptr, nullptr, nullptr),
      hamlyn_stream_make_seed(nullptr, &seed),
      hamlyn_stream_receive(nullptr, 0, nullptr),
      hamlyn_stream_release(nullptr, nullptr),
      hamlyn_stream_read(nullptr, &data, 1, 0, &size),
      hamlyn_stream_receiver_close(nullptr, 0),
      hamlyn_stream_sender_of(nullptr, &number),
      hamlyn_stream_sender_make(nullptr, &seed, nullptr, nullptr),
      hamlyn_stream_send(nullptr, "x", 1, 0),
      hamlyn_stream_write(nullptr, "x", 1),
      hamlyn_stream_flush(nullptr, 0),
      hamlyn_stream_sender_close(nullptr, 0),
      hamlyn_stream_end(nullptr),
      hamlyn_tagged_receiver_make(nullptr, 1, nullptr, nullptr),
      hamlyn_tagged_make_seed(nullptr, &seed),
      hamlyn_tagged_bytes(nullptr, &data, &size),
      hamlyn_get_tag(nullptr, 0, nullptr),
      hamlyn_get_specific_tag(nullptr, 1, 0, nullptr),
      hamlyn_tagged_descriptor(nullptr, nullptr),
      hamlyn_tagged_sender_make(nullptr, &seed, 0, nullptr),
      hamlyn_tagged_send(nullptr, "x", 1, 0, 0, 0),
  };
  for (std::size_t i = 0; i < std::size(answers); ++i) EXPECT_EQ(answers[i], HAMLYN_INVALID_ARGUMENT) << i;
  EXPECT_STREQ(hamlyn_last_error(), "hamlyn_tagged_send: a NULL argument");
  EXPECT_STREQ(hamlyn_ticket_fault(nullptr), "it is NULL");
  EXPECT_STREQ(hamlyn_seed_fault(nullptr), "it is NULL");
  EXPECT_NE(hamlyn_seed_fault(&seed), nullptr);

  // To free nothing is no mistake.
  const hamlyn_status freed[] = {
      hamlyn_interface_free(nullptr),
      hamlyn_area_free(nullptr),
      hamlyn_send_area_free(nullptr),
      hamlyn_mapped_slot_free(nullptr),
      hamlyn_queue_free(nullptr),
      hamlyn_slot_free(nullptr),
      hamlyn_terminus_free(nullptr),
      hamlyn_manager_free(nullptr),
      hamlyn_datagram_receiver_free(nullptr),
      hamlyn_datagram_sender_free(nullptr),
      hamlyn_stream_receiver_free(nullptr),
      hamlyn_stream_sender_free(nullptr),
      hamlyn_tagged_receiver_free(nullptr),
      hamlyn_tagged_sender_free(nullptr),
  };
  for (const hamlyn_status status : freed) EXPECT_EQ(status, HAMLYN_OK);
}

TEST_F(CInterface, takes_options_of_other_versions_and_refuses_wrong_ones) {
  in_child([&] {
    const Node here = node();
    // A later version's options, whose new members are 0 or not.
    struct {
      hamlyn_interface_options options;
      std::uint64_t later;
    } longer{here.options(), 0};
    longer.options.size = sizeof longer;
    hamlyn_interface* interface = nullptr;
    ASSERT_OK(hamlyn_interface_make(&longer.options, &interface));
    hamlyn_interface* other = nullptr;
    longer.later = 1;
    EXPECT_EQ(hamlyn_interface_make(&longer.options, &other), HAMLYN_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(hamlyn_last_error(), "does not know"), nullptr) << hamlyn_last_error();
    hamlyn_interface_options wrong = here.options();
    wrong.size = 8;
    EXPECT_EQ(hamlyn_interface_make(&wrong, &other), HAMLYN_INVALID_ARGUMENT);
    wrong = here.options();
    wrong.flags = 1u << 31;
    EXPECT_EQ(hamlyn_interface_make(&wrong, &other), HAMLYN_INVALID_ARGUMENT);
    wrong = here.options();
    wrong.mtu = 100;
    EXPECT_EQ(hamlyn_interface_make(&wrong, &other), HAMLYN_INVALID_ARGUMENT);
    wrong = here.options();
    const std::string nobody = here.socket + ".nobody";
    wrong.node = nobody.c_str();
    EXPECT_EQ(hamlyn_interface_make(&wrong, &other), HAMLYN_NODE_UNREACHABLE);
    EXPECT_EQ(other, nullptr);

    hamlyn_area* area = nullptr;
    hamlyn_queue* queue = nullptr;
    EXPECT_EQ(hamlyn_area_make(interface, 0, 0, &area), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_area_make(interface, 1, 3, &area), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_area_make_over(interface, &longer, 8, &area), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_queue_make(interface, std::size_t{1} << 21, &queue), HAMLYN_INVALID_ARGUMENT);
    ASSERT_OK(hamlyn_area_make(interface, 4096, 0, &area));
    ASSERT_OK(hamlyn_queue_make(interface, 16, &queue));
    hamlyn_slot* slot = nullptr;
    const auto refused = [&](hamlyn_slot_options options) {
      options.size = options.size == 0 ? sizeof options : options.size;
      EXPECT_EQ(hamlyn_slot_make(area, queue, &options, &slot), HAMLYN_INVALID_ARGUMENT);
    };
    refused({4, 0, 0, 0, 0, 0, 0, 0, 0});
    refused({0, 4096, 0, 0, 0, 0, 0, 0, 0});
    refused({0, 0, 4097, 0, 0, 0, 0, 0, 0});
    refused({0, 0, 0, 3, 0, 0, 0, 0, 0});
    refused({0, 0, 0, 0, 3, 0, 0, 0, 0});
    refused({0, 0, 0, 0, 0, 0, 0, 0, 4});
    EXPECT_EQ(slot, nullptr);
    hamlyn_terminus* terminus = nullptr;
    const hamlyn_terminus_options priority{sizeof priority, 0, 2};
    EXPECT_EQ(hamlyn_terminus_make(interface, &priority, &terminus), HAMLYN_INVALID_ARGUMENT);
    const hamlyn_terminus_options entries{sizeof entries, 4097, 0};
    EXPECT_EQ(hamlyn_terminus_make(interface, &entries, &terminus), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(terminus, nullptr);

    // Nothing goes before what was made from it.
    ASSERT_OK(hamlyn_slot_make(area, queue, nullptr, &slot));
    EXPECT_EQ(hamlyn_area_free(area), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_queue_free(queue), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(hamlyn_interface_free(interface), HAMLYN_INVALID_ARGUMENT);
    EXPECT_OK(hamlyn_slot_free(slot));
    EXPECT_OK(hamlyn_queue_free(queue));
    EXPECT_EQ(hamlyn_interface_free(interface), HAMLYN_INVALID_ARGUMENT);
    EXPECT_OK(hamlyn_area_free(area));
    EXPECT_OK(hamlyn_interface_free(interface));
  });
}

TEST_F(CInterface, last_errors_are_a_threads_own) {
  EXPECT_EQ(hamlyn_interface_run(nullptr), HAMLYN_INVALID_ARGUMENT);
  std::string theirs = "not asked";
  std::thread([&] { theirs = hamlyn_last_error(); }).join();
  EXPECT_EQ(theirs, "");
  EXPECT_STREQ(hamlyn_last_error(), "hamlyn_interface_run: a NULL argument");
}

// --- messages

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
    std::uint32_t index = 99;
    EXPECT_OK(hamlyn_slot_index(ends.slot, &index));
    EXPECT_EQ(index, ticket.slot);
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
    options.flags = 16;
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
    options = {sizeof options, 0, queue, 77, 0};
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

// --- fork

TEST_F(CInterface, a_forked_child_is_told_so) {
  in_child([&] {
    Ends ends(node().options(), {.entries = 1});
    TwoManagers both(node().options());
    const hamlyn_ticket ticket = ends.fast_ticket();
    hamlyn_stream_receiver* receiver = nullptr;
    hamlyn_datagram_receiver* door = nullptr;
    hamlyn_tagged_receiver* board = nullptr;
    ASSERT_OK(hamlyn_stream_receiver_make(both.receiver, nullptr, &receiver));
    ASSERT_OK(hamlyn_datagram_receiver_make(both.receiver, 100, &door));
    ASSERT_OK(hamlyn_tagged_receiver_make(both.receiver, 100, nullptr, &board));
    Child child(-1, [&] {
      hamlyn_notification notification{};
      hamlyn_ticket own{};
      hamlyn_seed seed{};
      hamlyn_record record{};
      hamlyn_datagram datagram{};
      hamlyn_tagged tagged{};
      hamlyn_outcome outcome{};
      hamlyn_slot* slot = nullptr;
      std::size_t count = 0;
      int given = 0;
      const hamlyn_status answers[] = {
          hamlyn_interface_run(ends.receiver),
          hamlyn_poll(ends.queue, &notification, 1, &count),
          hamlyn_receive(ends.queue, kLong, &notification),
          hamlyn_send(ends.terminus, &ticket, "x", 1, nullptr, nullptr),
          hamlyn_send_fast(ends.terminus, &ticket, "x", 1, 0, 0),
          hamlyn_send_wait(ends.terminus, {1, 0}, kLong),
          hamlyn_connect(ends.terminus, &ticket, kLong),
          hamlyn_remote_outcome(ends.terminus, {1}, &outcome),
          hamlyn_slot_arm(ends.slot, 0),
          hamlyn_slot_ticket(ends.slot, &own),
          hamlyn_slot_make(ends.area, ends.queue, nullptr, &slot),
          hamlyn_publish(ends.receiver, "name", &ticket, 0),
          hamlyn_lookup(ends.receiver, "name", kLong, &own),
          hamlyn_manager_poll(both.receiver, &given),
          hamlyn_manager_wait(both.receiver, kLong),
          hamlyn_stream_make_seed(receiver, &seed),
          hamlyn_stream_receive(receiver, kLong, &record),
          hamlyn_datagram_make_seed(door, &seed),
          hamlyn_datagram_receive(door, kLong, &datagram),
          hamlyn_get_tag(board, kLong, &tagged),
      };
      for (int i = 0; i < static_cast<int>(std::size(answers)); ++i)
        if (answers[i] != HAMLYN_FORKED) return i + 1;
      // It gives back what it has, and has an interface when it makes one. What it has mapped where the
      // parent's shared memory was, stays.
      std::vector<char*> pages(128);
      for (char*& page : pages) {
        page = static_cast<char*>(
            ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      }
      hamlyn_interface* fresh = nullptr;
      const Node here = node();
      const hamlyn_interface_options options = here.options();
      const bool well =
          hamlyn_stream_receiver_free(receiver) == HAMLYN_OK &&
          hamlyn_datagram_receiver_free(door) == HAMLYN_OK &&
          hamlyn_tagged_receiver_free(board) == HAMLYN_OK &&
          hamlyn_manager_free(both.receiver) == HAMLYN_OK &&
          hamlyn_terminus_free(ends.terminus) == HAMLYN_OK && hamlyn_slot_free(ends.slot) == HAMLYN_OK &&
          hamlyn_queue_free(ends.queue) == HAMLYN_OK && hamlyn_area_free(ends.area) == HAMLYN_OK &&
          hamlyn_interface_free(ends.sender) == HAMLYN_OK &&
          hamlyn_interface_free(ends.receiver) == HAMLYN_OK &&
          hamlyn_interface_make(&options, &fresh) == HAMLYN_OK && hamlyn_interface_free(fresh) == HAMLYN_OK;
      for (char* const page : pages) *page = 1;  // ends this process if it is not there
      return well ? 0 : 50;
    });
    EXPECT_EQ(child.wait(), 0) << "the call of that number, counted from 1";
    EXPECT_OK(hamlyn_stream_receiver_free(receiver));
    EXPECT_OK(hamlyn_datagram_receiver_free(door));
    EXPECT_OK(hamlyn_tagged_receiver_free(board));
  });
}

}  // namespace
}  // namespace hamlyn::test
