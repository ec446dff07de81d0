// Endpoints and bundles of one process, and its threads: what they do to each other.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hamlyn/am.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using am::Arrival;
using am::Bundle;
using am::Endpoint;
using am::Result;
using am::Token;

constexpr am::Tag kEndTag = 7;
constexpr am::HandlerNumber kEndAsk = 1;

class AmEndpoints : public testing::Test {
 protected:
  std::unique_ptr<Endpoint> make(Bundle& bundle, const am::EndpointOptions& options = {}) {
    auto out = std::make_unique<Endpoint>(bundle, options);
    EXPECT_EQ(out->set_tag(kEndTag), Result::ok);
    return out;
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
  Interface interface {
    { .node = folder_.file("node") }
  };
  Bundle one{interface}, two{interface};
};

TEST_F(AmEndpoints, end_the_calls_that_wait_in_them_when_they_go) {
  const auto deaf = make(two);
  ASSERT_EQ(deaf->set_handler(kEndAsk, [](Token&, const Arrival&) {}), Result::ok);
  std::vector<std::byte> memory(4096);
  ASSERT_EQ(deaf->set_segment(memory), Result::ok);
  for (int round = 0; round != 2; ++round) {
    auto goes = make(one, {.credits = 1});
    ASSERT_EQ(goes->map(0, deaf->name(), kEndTag), Result::ok);
    std::atomic<bool> first_over{false}, goes_on{false};
    Result result = Result::ok;
    std::thread caller([&] {
      EXPECT_EQ(goes->request(0, kEndAsk), Result::ok);
      first_over = true;
      while (!goes_on) std::this_thread::yield();
      while (result == Result::ok)
        result = round == 0 ? goes->request(0, kEndAsk)
                            : goes->request_to(0, 0, kEndAsk, std::array<std::byte, 8>{});
    });
    while (!first_over) EXPECT_EQ(two.poll(), Result::ok);
    const std::uint64_t waits = goes->statistics().waits;
    goes_on = true;
    while (goes->statistics().waits == waits) std::this_thread::yield();  // nobody polls the other one now
    goes.reset();
    caller.join();
    EXPECT_EQ(result, Result::not_init);
  }
}

TEST_F(AmEndpoints, move_to_and_fro_by_two_threads) {
  const auto first = make(one), second = make(two);
  const auto move = [&](Endpoint& which, Bundle& here, Bundle& there) {
    for (int i = 0; i != 3000; ++i) {
      EXPECT_EQ(which.move_to(i % 2 == 0 ? there : here), Result::ok);
      EXPECT_EQ(here.poll(), Result::ok);
    }
  };
  std::thread other([&] { move(*second, two, one); });
  move(*first, one, two);
  other.join();
  // Also one endpoint by both.
  std::thread another([&] { move(*first, two, one); });
  move(*first, one, two);
  another.join();
}

// In a handler every other bundle answers with an error, also one of another interface.
TEST_F(AmEndpoints, refuse_what_handlers_of_other_bundles_ask_of_them) {
  Interface further{{.node = folder_.file("node")}};
  Bundle there{further};
  const auto inner = make(there), outer = make(one);
  std::vector<std::byte> memory(64);
  int handled = 0;
  ASSERT_EQ(inner->map(0, inner->name(), kEndTag), Result::ok);
  ASSERT_EQ(outer->map(0, outer->name(), kEndTag), Result::ok);
  there.set_events(true);
  ASSERT_EQ(outer->set_handler(kEndAsk,
                               [&](Token&, const Arrival&) {
                                 ++handled;
                                 for (Bundle* const each : {&one, &two, &there}) {
                                   EXPECT_EQ(each->poll(), Result::in_use);
                                   EXPECT_EQ(each->wait(), Result::in_use);
                                 }
                                 EXPECT_EQ(inner->request(0, kEndAsk), Result::in_use);
                                 EXPECT_EQ(inner->set_tag(1), Result::in_use);
                                 EXPECT_EQ(inner->set_segment(memory), Result::in_use);
                                 EXPECT_THROW(make(there), Error);
                               }),
            Result::ok);
  ASSERT_EQ(outer->request(0, kEndAsk), Result::ok);
  while (handled == 0) ASSERT_EQ(one.poll(), Result::ok);
  EXPECT_EQ(two.poll(), Result::ok);
  EXPECT_EQ(there.poll(), Result::ok);
  EXPECT_EQ(inner->tag(), kEndTag);
}

// Each thread has the bundle whose handler it is in, and wants the other's: neither waits.
TEST_F(AmEndpoints, answer_two_threads_whose_handlers_enter_each_others_bundles) {
  Interface further{{.node = folder_.file("node")}};
  Bundle there{further};
  const auto here_end = make(one), there_end = make(there);
  // First while nobody is there: if that was let through, the two threads below would wait for each other for
  // ever.
  std::optional<Result> alone;
  ASSERT_EQ(here_end->map(1, here_end->name(), kEndTag), Result::ok);
  ASSERT_EQ(here_end->set_handler(kEndAsk, [&](Token&, const Arrival&) { alone = there.poll(); }),
            Result::ok);
  ASSERT_EQ(here_end->request(1, kEndAsk), Result::ok);
  while (!alone) ASSERT_EQ(one.poll(), Result::ok);
  ASSERT_EQ(*alone, Result::in_use);
  std::atomic<int> in_handlers{0};
  const auto enter_other = [&](Endpoint& own, Bundle& bundle, Bundle& other) {
    bool called = false;
    EXPECT_EQ(own.map(0, own.name(), kEndTag), Result::ok);
    EXPECT_EQ(own.set_handler(kEndAsk,
                              [&](Token&, const Arrival&) {
                                called = true;
                                ++in_handlers;
                                while (in_handlers != 2) std::this_thread::yield();
                                EXPECT_EQ(other.poll(), Result::in_use);
                              }),
              Result::ok);
    EXPECT_EQ(own.request(0, kEndAsk), Result::ok);
    while (!called) EXPECT_EQ(bundle.poll(), Result::ok);
  };
  std::thread second([&] { enter_other(*there_end, there, one); });
  enter_other(*here_end, one, there);
  second.join();
  EXPECT_EQ(one.poll(), Result::ok);
  EXPECT_EQ(there.poll(), Result::ok);
}

TEST_F(AmEndpoints, say_which_setting_is_none_and_what_it_may_be) {
  const auto said = [&](const am::EndpointOptions& options) -> std::string {
    try {
      const Endpoint none(one, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "nothing";
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_TRUE(has(said({.credits = 513}), "EndpointOptions::credits is to be 1 to 512, and is 513"));
  EXPECT_TRUE(has(said({.ring = 32769}),
                  "EndpointOptions::ring is to be 32768 to 1048576 bytes, a multiple of 64, and is 32769"));
  for (const char* const given : {"0", "513", "-1", "5 ", "many", "99999999999999999999999"}) {
    ASSERT_EQ(setenv("HAMLYN_AM_CREDITS", given, 1), 0);
    EXPECT_TRUE(has(said({}), (std::string("HAMLYN_AM_CREDITS is to be 1 to 512, and is ") + given).c_str()));
    EXPECT_EQ(said({.credits = 5}), "nothing");
  }
  unsetenv("HAMLYN_AM_CREDITS");
}

TEST_F(AmEndpoints, are_polled_until_nothing_is_there) {
  const auto end = make(one);
  int heard = 0;
  ASSERT_EQ(end->map(0, end->name(), kEndTag), Result::ok);
  ASSERT_EQ(end->set_handler(kEndAsk, [&](Token&, const Arrival&) { ++heard; }), Result::ok);
  ASSERT_EQ(end->request(0, kEndAsk), Result::ok);
  while (heard == 0) ASSERT_EQ(one.poll(), Result::ok);
  for (int i = 0; i != 7; ++i) ASSERT_EQ(end->request(0, kEndAsk), Result::ok);  // the eighth would poll
  ASSERT_EQ(one.poll(256), Result::ok);
  EXPECT_EQ(heard, 8);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Memory that is this process's own and resident.
std::size_t own_kibibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t out = 0; word == "RssAnon:" && status >> out) return out;
  return 0;
}

// Peers of another process that have sent one request each have their short rings alone.
TEST(AmPeers, that_are_idle_take_little_memory) {
  constexpr int kPeers = 40;
  const Folder folder;
  const Daemon daemon(folder.file("node"));
  Actor asker([&](Line& line) {
    const auto name = line.take<am::Name>();
    if (!name) return 1;
    Interface interface({.node = folder.file("node")});
    Bundle bundle(interface);
    std::vector<std::unique_ptr<Endpoint>> ends;
    int answered = 0;
    for (int i = 0; i != kPeers; ++i) {
      Endpoint& end = *ends.emplace_back(std::make_unique<Endpoint>(bundle));
      if (end.set_tag(kEndTag) != Result::ok || end.map(0, *name, kEndTag) != Result::ok) return 2;
      if (end.set_handler(2, [&](Token&, const Arrival&) { ++answered; }) != Result::ok) return 3;
      if (end.request(0, kEndAsk) != Result::ok) return 4;
      while (answered == i)
        if (bundle.poll() != Result::ok) return 5;
    }
    return line.take<int>() ? 0 : 6;  // the other side has measured
  });
  Interface interface({.node = folder.file("node")});
  Bundle bundle(interface);
  Endpoint end(bundle);
  int asked = 0;
  ASSERT_EQ(end.set_tag(kEndTag), Result::ok);
  ASSERT_EQ(end.set_handler(kEndAsk,
                            [&](Token& token, const Arrival&) {
                              ++asked;
                              EXPECT_EQ(token.reply(2), Result::ok);
                            }),
            Result::ok);
  ASSERT_TRUE(asker.line().put(end.name()));
  while (asked == 0 && asker.running()) ASSERT_EQ(bundle.poll(), Result::ok);
  const std::size_t with_one = own_kibibytes();
  while (asked != kPeers && asker.running()) ASSERT_EQ(bundle.poll(), Result::ok);
  for (int i = 0; i != 1000; ++i) ASSERT_EQ(bundle.poll(), Result::ok);
  EXPECT_LT(own_kibibytes() - with_one, std::size_t{20} * (kPeers - 1));
  ASSERT_TRUE(asker.line().put(1));
  while (asker.running()) ASSERT_EQ(bundle.poll(), Result::ok);
  EXPECT_EQ(asker.wait(), 0);
}
#endif

}  // namespace
}  // namespace hamlyn::test
