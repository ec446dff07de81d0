// The C interface: what each function refuses, and what it answers in a forked child. Two interfaces or
// managers, in a child of the test.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/process/c_ends.h"

namespace hamlyn::test {
namespace {

// --- statuses, options, handles

TEST_F(CInterface, numbers_are_those_of_the_classes) {
  for (int i = 0; i <= HAMLYN_STALE; ++i) {
    EXPECT_STREQ(hamlyn_status_name(i), name(static_cast<Status>(i)));
    EXPECT_STREQ(hamlyn_status_advice(i), advice(static_cast<Status>(i)));
  }
  EXPECT_EQ(HAMLYN_MISALIGNED, static_cast<int>(Status::misaligned));
  EXPECT_EQ(HAMLYN_STALE, static_cast<int>(Status::stale));
  EXPECT_EQ(HAMLYN_PEER_DIED, 100 + static_cast<int>(ErrorCode::peer_died));
  EXPECT_EQ(HAMLYN_INVALID_ARGUMENT, 100 + static_cast<int>(ErrorCode::invalid_argument));
  EXPECT_STREQ(hamlyn_status_name(HAMLYN_SEED_FORGED), "seed_forged");
  EXPECT_STREQ(hamlyn_status_name(HAMLYN_NODE_UNREACHABLE), "node_unreachable");
  EXPECT_EQ(HAMLYN_REFUSAL_NO_BUFFER + 1, static_cast<int>(Refusal::count));
  EXPECT_STREQ(hamlyn_refusal_name(HAMLYN_REFUSAL_BAD_KEY), name(Refusal::bad_key));
  EXPECT_EQ(HAMLYN_FAILURE_MISCOUNTED, static_cast<int>(Failure::miscounted));
  EXPECT_EQ(HAMLYN_REMOTE_FAILED, static_cast<int>(Notification::Kind::remote_failed));
  EXPECT_EQ(HAMLYN_ATTACHMENT, static_cast<int>(Notification::Kind::attachment));
  EXPECT_EQ(HAMLYN_RESOURCE_EXHAUSTED, static_cast<int>(Notification::Kind::resource_exhausted));
  EXPECT_EQ(HAMLYN_SENT, static_cast<int>(Notification::Kind::sent));
  EXPECT_EQ(HAMLYN_SEND_FAILED, static_cast<int>(Notification::Kind::send_failed));
  EXPECT_EQ(HAMLYN_HALTED, static_cast<int>(Notification::Kind::halted));
  EXPECT_EQ(HAMLYN_COMPARE_AND_SWAP, static_cast<int>(FetchOp::compare_and_swap));
  EXPECT_EQ(HAMLYN_REASON_NO_DESCRIPTORS, static_cast<int>(LinkReason::no_descriptors));
  EXPECT_EQ(HAMLYN_REASON_ENDED, static_cast<int>(LinkReason::ended));
  for (std::uint32_t i = 0; i <= HAMLYN_REASON_ENDED; ++i) {
    EXPECT_STREQ(hamlyn_link_reason_name(i), name(static_cast<LinkReason>(i)));
    for (const bool told : {false, true}) {
      EXPECT_STREQ(hamlyn_link_reason_text(i, told), text({static_cast<LinkReason>(i), told}));
      EXPECT_STREQ(hamlyn_link_reason_advice(i, told), advice({static_cast<LinkReason>(i), told}));
    }
  }
  EXPECT_STREQ(hamlyn_link_reason_name(0x10000), "unknown");
  EXPECT_EQ(HAMLYN_NOT_MAPPED_MISPLACED, static_cast<int>(NotMapped::misplaced));
  for (std::uint32_t i = 0; i <= HAMLYN_NOT_MAPPED_MISPLACED; ++i) {
    EXPECT_STREQ(hamlyn_not_mapped_name(i), name(static_cast<NotMapped>(i)));
    EXPECT_STREQ(hamlyn_not_mapped_text(i), text(static_cast<NotMapped>(i)));
  }
  EXPECT_STREQ(hamlyn_not_mapped_name(HAMLYN_NOT_MAPPED_MISPLACED + 1), "unknown");
  EXPECT_STREQ(hamlyn_not_mapped_name(0x100), "unknown");
  EXPECT_EQ(hamlyn_abi_version(), HAMLYN_ABI_VERSION);
  for (const int unknown : {-1, HAMLYN_STALE + 1, 100, HAMLYN_NODE_FULL + 1, 1 << 30})
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
      hamlyn_interface_wait_any(
          nullptr, [](void*) { return 1; }, nullptr, 0),
      hamlyn_interface_changed(nullptr),
      hamlyn_interface_descriptor(nullptr, nullptr),
      hamlyn_interface_attached(nullptr, nullptr, nullptr),
      hamlyn_interface_wait_attached(nullptr, 1, 0),
      hamlyn_interface_why(nullptr, 1, nullptr, nullptr),
      hamlyn_publish(nullptr, "name", &ticket, 0),
      hamlyn_withdraw(nullptr, "name"),
      hamlyn_lookup(nullptr, "name", 0, &ticket),
      hamlyn_lookup_registrant(nullptr, "name", 0, &ticket, nullptr),
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
      hamlyn_posted_slot_make(nullptr, nullptr, nullptr),
      hamlyn_posted_slot_number(nullptr, nullptr),
      hamlyn_posted_slot_ticket(nullptr, &ticket),
      hamlyn_posted_slot_post(nullptr, nullptr, 0, 0),
      hamlyn_posted_slot_take_back(nullptr, nullptr),
      hamlyn_posted_slot_resume(nullptr),
      hamlyn_posted_slot_change_key(nullptr),
      hamlyn_send_posted(nullptr, &ticket, nullptr, 0, 0, nullptr, nullptr),
      hamlyn_slot_make(nullptr, nullptr, nullptr, nullptr),
      hamlyn_slot_number(nullptr, nullptr),
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
      hamlyn_stream_bind(nullptr, 0, nullptr),
      hamlyn_stream_send_piece(nullptr, nullptr, 0, nullptr),
      hamlyn_stream_wait(nullptr, {}, 0),
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
    // Options of a version that had no `dead` yet, and those that have it.
    for (const std::size_t size :
         {offsetof(hamlyn_interface_options, dead), sizeof(hamlyn_interface_options)}) {
      hamlyn_interface_options either = here.options();
      either.size = size;
      either.dead = 2'000'000'000;
      ASSERT_OK(hamlyn_interface_make(&either, &other));
      ASSERT_OK(hamlyn_interface_free(std::exchange(other, nullptr)));
    }
    hamlyn_interface_options wrong = here.options();
    // Too short, and with a part of `dead`.
    for (const std::size_t size : {std::size_t{8}, offsetof(hamlyn_interface_options, dead) + 4}) {
      wrong.size = size;
      EXPECT_EQ(hamlyn_interface_make(&wrong, &other), HAMLYN_INVALID_ARGUMENT);
    }
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

    // Rights of users to open links with it.
    const std::uint32_t ids[17]{};
    const auto named = [&](std::uint32_t flags, const std::uint32_t* users, std::uint32_t user_count,
                           std::uint32_t group_count) {
      hamlyn_interface_options asked = here.options();
      asked.flags |= flags;
      asked.users = users;
      asked.groups = ids;
      asked.user_count = user_count;
      asked.group_count = group_count;
      const hamlyn_status status = hamlyn_interface_make(&asked, &other);
      return status == HAMLYN_OK ? hamlyn_interface_free(std::exchange(other, nullptr)) : status;
    };
    EXPECT_EQ(named(HAMLYN_NAMED_ONLY, ids, 10, 6), HAMLYN_OK);
    EXPECT_EQ(named(HAMLYN_NAMED_ONLY, nullptr, 0, 0), HAMLYN_OK);
    EXPECT_EQ(named(HAMLYN_NAMED_ONLY, ids, 10, 7), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(named(HAMLYN_NAMED_ONLY, nullptr, 1, 0), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(named(0, ids, 1, 0), HAMLYN_INVALID_ARGUMENT);

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
    refused({4, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    refused({0, 4096, 0, 0, 0, 0, 0, 0, 0, 0});
    refused({0, 0, 4097, 0, 0, 0, 0, 0, 0, 0});
    refused({0, 0, 0, 3, 0, 0, 0, 0, 0, 0});
    refused({0, 0, 0, 0, 3, 0, 0, 0, 0, 0});
    refused({0, 0, 0, 0, 0, 0, 0, 0, 8, 0});
    refused({0, 0, 0, 0, 0, 0, 0, 0, 0, std::uint64_t{1} << 32});
    EXPECT_EQ(slot, nullptr);
    hamlyn_terminus* terminus = nullptr;
    const hamlyn_terminus_options priority{sizeof priority, 0, 2};
    EXPECT_EQ(hamlyn_terminus_make(interface, &priority, &terminus), HAMLYN_INVALID_ARGUMENT);
    const hamlyn_terminus_options entries{sizeof entries, 4097, 0};
    EXPECT_EQ(hamlyn_terminus_make(interface, &entries, &terminus), HAMLYN_INVALID_ARGUMENT);
    EXPECT_EQ(terminus, nullptr);

    // Those of a program that is older than a member.
    const hamlyn_slot_options older{offsetof(hamlyn_slot_options, hold), 0, 0, 0, 0, 0, 0, 0, 0, 1};
    ASSERT_OK(hamlyn_slot_make(area, queue, &older, &slot));

    // Nothing goes before what was made from it.
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
