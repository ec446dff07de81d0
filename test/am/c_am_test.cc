// am.h: what it refuses, and what single processes can see of it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "am.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

constexpr tag_t kTag = 7;

int calls = 0, last = 0, came_back = 0, status_back = 0;
am_argblock_t block_back;
void* token_kept = nullptr;
int wrong = 0;

void count(void* token, int number) {
  token_kept = token;
  ++calls;
  last = number;
}
void count_none(void*) { ++calls; }
void reply_to(void* token, int number) {
  wrong += AM_Reply1(token, 2, number + 1) != AM_OK;
  wrong += AM_Reply1(token, 2, number + 1) != AM_ERR_BAD_ARG;  // a second one
}
void take_reply(void* token, int number) {
  wrong += AM_Reply0(token, 2) != AM_ERR_BAD_ARG;  // to a reply
  last = number;
  ++calls;
}
void back(int status, op_t, void* argblock) {
  ++came_back;
  status_back = status;
  std::memcpy(&block_back, argblock, sizeof block_back);
}
void forbidden(void* token) {
  ep_t endpoint = nullptr;
  wrong += AM_GetDestEndpoint(token, &endpoint) != AM_OK;
  wrong += AM_Request0(endpoint, 0, 1) != AM_ERR_IN_USE;
  wrong += AM_RequestI0(endpoint, 0, 1, "", 1) != AM_ERR_IN_USE;
  wrong += AM_RequestXfer0(endpoint, 0, 0, 1, "", 1) != AM_ERR_IN_USE;
  wrong += AM_RequestXferAsync0(endpoint, 0, 0, 1, "", 1) != AM_ERR_IN_USE;
  wrong += AM_GetXfer0(endpoint, 0, 0, 1, 1, 0) != AM_ERR_IN_USE;
  wrong += AM_FreeEndpoint(endpoint) != AM_ERR_IN_USE;
  eb_t bundle = nullptr;
  wrong += AM_Init() != AM_ERR_IN_USE;
  wrong += AM_Terminate() != AM_ERR_IN_USE;
  wrong += AM_AllocateBundle(AM_SEQ, &bundle) != AM_ERR_IN_USE;
  wrong += AM_AllocateEndpoint(bundle, &endpoint, nullptr) != AM_ERR_IN_USE;
  wrong += AM_MoveEndpoint(endpoint, bundle, bundle) != AM_ERR_IN_USE;
  // A function that runs stays until it has returned.
  wrong += AM_SetHandler(endpoint, 4, count_none) != AM_ERR_IN_USE;
  wrong += AM_SetHandler(endpoint, 0, back) != AM_ERR_IN_USE;
  wrong += AM_SetNumHandlers(endpoint, 2) != AM_ERR_IN_USE;
  wrong += AM_SetCallbacks(endpoint, nullptr, nullptr) != AM_ERR_IN_USE;
  wrong += AM_SetHandler(endpoint, 5, count_none) != AM_OK;
  ++calls;
}

// A process with a node, and an endpoint that has itself as translation 0.
class AmC : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("HAMLYN_AM_WAY", GetParam(), 1), 0);
    ASSERT_EQ(setenv("HAMLYN_NODE", folder_.file("node").c_str(), 1), 0);
    calls = last = came_back = status_back = wrong = 0;
    ASSERT_EQ(AM_Init(), AM_OK);
    ASSERT_EQ(AM_AllocateBundle(AM_SEQ, &bundle), AM_OK);
    ASSERT_EQ(AM_AllocateEndpoint(bundle, &endpoint, &name), AM_OK);
    ASSERT_EQ(AM_SetTag(endpoint, kTag), AM_OK);
    ASSERT_EQ(AM_Map(endpoint, 0, name, kTag), AM_OK);
    ASSERT_EQ(AM_SetHandler(endpoint, 0, back), AM_OK);
    ASSERT_EQ(AM_SetHandler(endpoint, 1, count), AM_OK);
  }
  void TearDown() override {
    EXPECT_EQ(AM_Terminate(), AM_OK);
    EXPECT_EQ(wrong, 0);
    unsetenv("HAMLYN_NODE");
    unsetenv("HAMLYN_AM_WAY");
  }
  void poll_until(const int& what, int value) {
    while (what < value) ASSERT_EQ(AM_Poll(bundle), AM_OK);
  }
  // Status with which a message to that handler of translation `index` comes back.
  template <class Send>
  int returned(Send send) {
    const int before = came_back;
    EXPECT_EQ(send(), AM_OK);
    poll_until(came_back, before + 1);
    return status_back;
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  en_t name{};
};

INSTANTIATE_TEST_SUITE_P(Ways, AmC, testing::Values("slots", "vi", "vi3"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(AmC, sends_to_itself) {
  EXPECT_EQ(AM_Request1(endpoint, 0, 1, 42), AM_OK);
  poll_until(calls, 1);
  EXPECT_EQ(last, 42);
  EXPECT_EQ(AM_SetHandler(endpoint, 2, take_reply), AM_OK);
  EXPECT_EQ(AM_SetHandler(endpoint, 3, reply_to), AM_OK);
  EXPECT_EQ(AM_Request1(endpoint, 0, 3, 5), AM_OK);
  poll_until(calls, 2);
  EXPECT_EQ(last, 6);
}

TEST_P(AmC, a_handler_that_would_wait_is_answered_with_an_error) {
  EXPECT_EQ(AM_SetHandler(endpoint, 4, forbidden), AM_OK);
  EXPECT_EQ(AM_Request0(endpoint, 0, 4), AM_OK);
  poll_until(calls, 1);
}

TEST_P(AmC, a_token_is_over_when_its_handler_has_returned) {
  EXPECT_EQ(AM_Request1(endpoint, 0, 1, 1), AM_OK);
  poll_until(calls, 1);
  en_t from;
  tag_t tag = 0;
  EXPECT_EQ(AM_Reply0(token_kept, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_GetSourceEndpoint(token_kept, &from), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_GetMsgTag(token_kept, &tag), AM_ERR_BAD_ARG);
}

TEST_P(AmC, says_why_a_message_comes_back) {
  std::vector<char> segment(5000);
  ASSERT_EQ(AM_SetSeg(endpoint, segment.data(), segment.size()), AM_OK);
  EXPECT_EQ(returned([&] { return AM_Request2(endpoint, 7, 1, 3, 4); }), EBADENTRY);
  EXPECT_EQ(block_back.index, 7);
  EXPECT_EQ(block_back.numargs, 2);
  EXPECT_EQ(block_back.args[1], 4);
  EXPECT_EQ(block_back.request_endpoint, endpoint);
  EXPECT_EQ(returned([&] { return AM_Request0(endpoint, 0, 99); }), EBADHANDLER);
  EXPECT_EQ(block_back.handler, 99);
  EXPECT_EQ(returned([&] { return AM_Request0(endpoint, 0, 0); }), EBADHANDLER);
  EXPECT_EQ(AM_Map(endpoint, 1, name, kTag + 1), AM_OK);
  EXPECT_EQ(returned([&] { return AM_Request0(endpoint, 1, 1); }), EBADTAG);
  EXPECT_EQ(returned([&] { return AM_RequestXfer0(endpoint, 0, 5000, 1, "", 1); }), EBADSEGOFF);
  EXPECT_EQ(returned([&] { return AM_RequestXfer0(endpoint, 0, 4999, 1, "12", 2); }), EBADLENGTH);
  EXPECT_EQ(returned([&] { return AM_GetXfer0(endpoint, 0, 5000, 1, 1, 0); }), EBADSEGOFF);
  EXPECT_EQ(returned([&] { return AM_GetXfer0(endpoint, 0, 0, 1, 5001, 0); }), EBADLENGTH);
  EXPECT_EQ(returned([&] { return AM_GetXfer0(endpoint, 0, 0, 1, 10, 4995); }), EBADLENGTH);
  EXPECT_EQ(calls, 0);
  // And credits were given back.
  for (int i = 0; i != 1000; ++i) ASSERT_EQ(AM_Request0(endpoint, 0, 99), AM_OK);
  poll_until(came_back, 1009);
}

TEST_P(AmC, a_tag_counts_for_what_is_handled_from_then_on) {
  EXPECT_EQ(AM_SetTag(endpoint, AM_NONE), AM_OK);
  EXPECT_EQ(returned([&] { return AM_Request1(endpoint, 0, 1, 1); }), EBADTAG);
  EXPECT_EQ(AM_SetTag(endpoint, AM_ALL), AM_OK);
  EXPECT_EQ(AM_Request1(endpoint, 0, 1, 2), AM_OK);
  poll_until(calls, 1);
  EXPECT_EQ(last, 2);
}

TEST_P(AmC, tells_of_an_endpoint_that_has_gone) {
  ep_t other = nullptr;
  en_t others{};
  ASSERT_EQ(AM_AllocateEndpoint(bundle, &other, &others), AM_OK);
  ASSERT_EQ(AM_SetTag(other, kTag), AM_OK);
  ASSERT_EQ(AM_SetHandler(other, 1, count), AM_OK);
  ASSERT_EQ(AM_Map(endpoint, 1, others, kTag), AM_OK);
  EXPECT_EQ(AM_Request1(endpoint, 1, 1, 1), AM_OK);
  poll_until(calls, 1);
  EXPECT_EQ(AM_FreeEndpoint(other), AM_OK);
  EXPECT_EQ(AM_FreeEndpoint(other), AM_ERR_BAD_ARG);
  EXPECT_EQ(returned([&] { return AM_Request1(endpoint, 1, 1, 1); }), EBADENDPOINT);
  // Also if it goes before it was ever sent to.
  EXPECT_EQ(AM_Map(endpoint, 2, others, kTag), AM_OK);
  EXPECT_EQ(returned([&] { return AM_Request1(endpoint, 2, 1, 1); }), EBADENDPOINT);
}

TEST_P(AmC, refuses_what_cannot_be) {
  eb_t no_bundle = nullptr;
  ep_t no_endpoint = nullptr;
  int number = 0;
  size_t length = 0;
  EXPECT_EQ(AM_AllocateBundle(2, &no_bundle), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_AllocateBundle(AM_SEQ, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_AllocateEndpoint(nullptr, &no_endpoint, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Poll(nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_WaitSema(bundle), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetEventMask(bundle, 2), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(endpoint, -1, name, kTag), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(endpoint, 256, name, kTag), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(endpoint, 0, name, kTag), AM_ERR_IN_USE);
  EXPECT_EQ(AM_Map(endpoint, 1, en_t{}, kTag), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_UnMap(endpoint, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_GetTranslationInuse(endpoint, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetNumTranslations(endpoint, 0), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetNumTranslations(endpoint, 65537), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Map(endpoint, 255, name, kTag), AM_OK);
  EXPECT_EQ(AM_SetNumTranslations(endpoint, 255), AM_ERR_IN_USE);
  EXPECT_EQ(AM_SetNumTranslations(endpoint, 1000), AM_OK);
  EXPECT_EQ(AM_Map(endpoint, 999, name, kTag), AM_OK);
  EXPECT_EQ(AM_SetNumHandlers(endpoint, 257), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetSeg(endpoint, nullptr, static_cast<size_t>(-1)), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_SetSeg(endpoint, reinterpret_cast<void*>(4096), 100), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request(endpoint, 0, 1, 17), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request(endpoint, 0, 1, -1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request0(endpoint, -1, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Request0(endpoint, 1000, 1), AM_ERR_BAD_ARG);
  const std::vector<char> longer(4097);
  EXPECT_EQ(AM_RequestI0(endpoint, 0, 1, longer.data(), longer.size()), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_RequestI0(endpoint, 0, 1, nullptr, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_Reply0(nullptr, 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_MoveEndpoint(endpoint, bundle, nullptr), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_MaxNumTranslations(&number), AM_OK);
  EXPECT_EQ(AM_MaxSegLength(&length), AM_OK);
  EXPECT_EQ(AM_SetExpectedResources(endpoint, 0, 1), AM_ERR_BAD_ARG);
}

TEST_P(AmC, the_table_grows) {
  int index = 0;
  for (int i = 1; i != 600; ++i) {
    ASSERT_EQ(AM_MapAny(endpoint, &index, name, kTag), AM_OK);
    ASSERT_EQ(index, i);
  }
  EXPECT_EQ(AM_UnMap(endpoint, 300), AM_OK);
  EXPECT_EQ(AM_MapAny(endpoint, &index, name, kTag), AM_OK);
  EXPECT_EQ(index, 300);
  EXPECT_EQ(AM_Request1(endpoint, 599, 1, 5), AM_OK);
  poll_until(calls, 1);
}

TEST_P(AmC, an_endpoint_moves_with_what_is_under_way) {
  eb_t other = nullptr;
  std::vector<char> segment(100);
  ASSERT_EQ(AM_SetSeg(endpoint, segment.data(), segment.size()), AM_OK);
  ASSERT_EQ(AM_AllocateBundle(AM_PAR, &other), AM_OK);
  EXPECT_EQ(AM_Request1(endpoint, 0, 1, 3), AM_OK);
  EXPECT_EQ(AM_MoveEndpoint(endpoint, other, bundle), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_MoveEndpoint(endpoint, bundle, other), AM_OK);
  for (int i = 0; i != 1000; ++i) EXPECT_EQ(AM_Poll(bundle), AM_OK);
  EXPECT_EQ(calls, 0);
  while (calls == 0) ASSERT_EQ(AM_Poll(other), AM_OK);
  void* at = nullptr;
  size_t length = 0;
  tag_t tag = 0;
  EXPECT_EQ(AM_GetSeg(endpoint, &at, &length), AM_OK);
  EXPECT_EQ(at, segment.data());
  EXPECT_EQ(AM_GetTag(endpoint, &tag), AM_OK);
  EXPECT_EQ(tag, kTag);
  EXPECT_EQ(AM_FreeBundle(bundle), AM_OK);
  EXPECT_EQ(AM_Poll(bundle), AM_ERR_BAD_ARG);
}

TEST_P(AmC, sleeps_until_a_message_is_there) {
  int mask = -1;
  EXPECT_EQ(AM_GetEventMask(bundle, &mask), AM_OK);
  EXPECT_EQ(mask, AM_NOEVENTS);
  ASSERT_EQ(AM_SetEventMask(bundle, AM_NOTEMPTY), AM_OK);
  std::thread other([&] { EXPECT_EQ(AM_Request1(endpoint, 0, 1, 9), AM_OK); });
  EXPECT_EQ(AM_WaitSema(bundle), AM_OK);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(AM_Poll(bundle), AM_OK);
  EXPECT_EQ(last, 9);
  other.join();
}

TEST_P(AmC, many_threads_poll_and_send) {
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i != kThreads; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k != kEach; ++k) {
        EXPECT_EQ(AM_Request1(endpoint, 0, 1, k), AM_OK);
        EXPECT_EQ(AM_Poll(bundle), AM_OK);
      }
    });
  for (std::thread& each : threads) each.join();
  poll_until(calls, kThreads * kEach);
  EXPECT_EQ(calls, kThreads * kEach);
}

TEST_P(AmC, handlers_are_found_and_counted) {
  handler_t any = 0;
  EXPECT_EQ(AM_SetHandlerAny(endpoint, &any, count_none), AM_OK);
  EXPECT_EQ(any, 2);
  int number = 0;
  EXPECT_EQ(AM_GetNumHandlers(endpoint, &number), AM_OK);
  EXPECT_EQ(number, 256);
  EXPECT_EQ(AM_SetNumHandlers(endpoint, 2), AM_OK);
  EXPECT_EQ(AM_SetHandlerAny(endpoint, &any, count_none), AM_ERR_RESOURCE);
  EXPECT_EQ(returned([&] { return AM_Request0(endpoint, 0, 2); }), EBADHANDLER);
}

int befores = 0, afters = 0;

TEST_P(AmC, callbacks_surround_each_handler) {
  befores = afters = 0;
  EXPECT_EQ(AM_SetCallbacks(
                endpoint, [](void*) { befores += calls == 0; }, [](void*) { afters += calls == 1; }),
            AM_OK);
  EXPECT_EQ(AM_Request1(endpoint, 0, 1, 1), AM_OK);
  poll_until(calls, 1);
  EXPECT_EQ(befores, 1);
  EXPECT_EQ(afters, 1);
}

TEST_P(AmC, an_asynchronous_long_message_does_not_wait) {
  std::vector<char> segment(1 << 20), data(60'000, 'x');
  ASSERT_EQ(AM_SetSeg(endpoint, segment.data(), segment.size()), AM_OK);
  ASSERT_EQ(AM_SetHandler(
                endpoint, 5, +[](void*, void*, size_t) { ++calls; }),
            AM_OK);
  ASSERT_EQ(AM_Request1(endpoint, 0, 1, 1), AM_OK);  // they have greeted
  poll_until(calls, 1);
  int sent = 0, not_sent = 0;
  for (int i = 0; i != 400; ++i) {
    const int result = AM_RequestXferAsync0(endpoint, 0, 0, 5, data.data(), data.size());
    ASSERT_TRUE(result == AM_OK || result == AM_ERR_NOT_SENT) << result;
    ++(result == AM_OK ? sent : not_sent);
  }
  EXPECT_GT(sent, 0);
  poll_until(calls, 1 + sent);
  EXPECT_EQ(segment[59'999], 'x');
  const std::vector<char> longer((1 << 20) + 1);
  EXPECT_EQ(AM_RequestXferAsync0(endpoint, 0, 0, 5, longer.data(), longer.size()), AM_ERR_BAD_ARG);
}

TEST_P(AmC, a_forked_child_has_none_of_it) {
  const pid_t child = fork();
  if (child == 0) {
    eb_t other = nullptr;
    int bad = AM_Poll(bundle) != AM_ERR_NOT_INIT;
    bad += AM_Request0(endpoint, 0, 1) != AM_ERR_NOT_INIT;
    bad += AM_AllocateBundle(AM_SEQ, &other) == AM_OK;
    _exit(bad);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Runs `what` in a forked child, with an endpoint of its own that has itself as translation 0. Its exit
// status.
template <class What>
int in_child(What what) {
  const pid_t child = fork();
  if (child == 0) {
    eb_t bundle = nullptr;
    ep_t endpoint = nullptr;
    en_t name;
    const bool made = AM_Init() == AM_OK && AM_AllocateBundle(AM_SEQ, &bundle) == AM_OK &&
                      AM_AllocateEndpoint(bundle, &endpoint, &name) == AM_OK &&
                      AM_SetTag(endpoint, kTag) == AM_OK && AM_Map(endpoint, 0, name, kTag) == AM_OK;
    _exit(made ? what(bundle, endpoint) : 99);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_P(AmC, a_request_that_comes_back_ends_the_process_and_runs_nothing_else_of_it) {
  EXPECT_EQ(in_child([](eb_t polled, ep_t of) {
              std::atexit([] { _exit(98); });
              AM_Request0(of, 0, 99);
              for (;;) AM_Poll(polled);
              return 0;
            }),
            1);
}

TEST_P(AmC, a_reply_that_comes_back_does_not_end_the_process) {
  EXPECT_EQ(in_child([](eb_t polled, ep_t of) {
              AM_SetHandler(
                  of, 1, +[](void* token) { AM_ReplyXfer0(token, 0, 2, "", 1); });  // there is no segment
              AM_SetHandler(
                  of, 3, +[](void* token) { AM_Reply0(token, 99); });
              AM_Request0(of, 0, 1);
              AM_Request0(of, 0, 3);
              am_statistics_t statistics{};
              while (statistics.returned != 2) {
                AM_Poll(polled);
                AM_GetStatistics(of, &statistics);
              }
              for (int i = 0; i != 10; ++i) AM_Poll(polled);
              return 5;
            }),
            5);
}

int child_status = 0;

TEST_P(AmC, a_child_that_is_forked_in_a_handler_begins_anew) {
  ASSERT_EQ(AM_SetHandler(
                endpoint, 5,
                +[](void*) {
                  child_status = in_child([](eb_t, ep_t) { return 5; });
                  ++calls;
                }),
            AM_OK);
  EXPECT_EQ(AM_Request0(endpoint, 0, 5), AM_OK);
  poll_until(calls, 1);
  EXPECT_EQ(child_status, 5);
}

TEST(AmNotInit, all_calls_say_so) {
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  EXPECT_EQ(AM_AllocateBundle(AM_SEQ, &bundle), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_Poll(nullptr), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_Request0(nullptr, 0, 1), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_AllocateEndpoint(nullptr, &endpoint, nullptr), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_Terminate(), AM_ERR_NOT_INIT);
  EXPECT_EQ(AM_SPMDBarrier(), AM_ERR_NOT_INIT);
}

}  // namespace
}  // namespace hamlyn::test
