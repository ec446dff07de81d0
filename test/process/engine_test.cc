// Which of libfabric's engines processes use between nodes is asked for in the node's configuration: that
// one, or none.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <csignal>

#include "fabric/ofi/engine.h"
#include "fabric/ofi/libfabric.h"
#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {
namespace {

// Its name, and the last reason.
std::pair<std::string, std::string> choice(const std::string& address, const std::string& wanted = {}) {
  const ofi::EngineChoice made = ofi::choose_engine(address, wanted);
  if (made.info != nullptr) ofi::libfabric().freeinfo(made.info);
  EXPECT_EQ(made.info != nullptr, !made.name.empty());
  return {made.name, made.reasons.empty() ? std::string{} : made.reasons.back()};
}

std::string lines(const std::string& engine) { return "engine = \"" + engine + "\"\n"; }

// The first that is not to be had here.
std::string missing() {
  for (const char* const each : {"efa", "verbs;ofi_rxm", "tcp"}) {
    if (choice("127.0.0.1", each).first.empty()) return each;
  }
  return {};
}

struct Party {
  explicit Party(const Interface::Options& options) : interface(options) {}
  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {}};
  Terminus terminus{interface};
};

TEST(Engines, with_an_index_from_the_wire_are_taken_on_request_and_at_loopback_alone) {
  EXPECT_EQ(choice("127.0.0.1").first.find("ofi_rxm"), std::string::npos);
  EXPECT_EQ(choice("127.0.0.1", "tcp;ofi_rxm").first, "tcp;ofi_rxm");
  EXPECT_EQ(choice("127.8.9.1", "tcp;ofi_rxm").second.find("strangers"), std::string::npos);
  EXPECT_EQ(choice("::1", "tcp;ofi_rxm").second.find("strangers"), std::string::npos);
  for (const char* const address :
       {"", "0.0.0.0", "::", "192.0.2.1", "12.7.0.1", "::ffff:192.0.2.1", "localhost"}) {
    const auto [name, why] = choice(address, "tcp;ofi_rxm");
    EXPECT_EQ(name, "") << address;
    EXPECT_NE(why.find("where strangers may reach it"), std::string::npos) << why;
  }
}

TEST(Engines, that_are_asked_for_are_taken_or_none) {
  for (const std::string each : {"efa", "verbs;ofi_rxm", "net", "tcp", "tcp;ofi_rxm"}) {
    const auto [name, why] = choice("127.0.0.1", each);
    EXPECT_TRUE(name.empty() || name == each) << name;
    EXPECT_TRUE(why.starts_with(each + ": ")) << why;
    EXPECT_EQ(why.find("no engine that is known"), std::string::npos) << "the configuration knows it";
  }
  EXPECT_EQ(choice("127.0.0.1", "ten").second, "ten: no engine that is known");
}

TEST(Engines, carry_links_between_nodes_that_ask_for_them) {
  const TwoNodes nodes(lines("tcp;ofi_rxm"));
  Actor child([&](Line&) {
    Party one(nodes.at(1)), other(nodes.at(2));
    if (one.terminus.connect(other.slot.ticket(), kPatience) != Status::ok) return 1;
    if (other.terminus.connect(one.slot.ticket(), kPatience) != Status::ok) return 2;
    for (std::uint64_t turn = 0; turn < 200; ++turn) {
      Notification notification;
      if (one.terminus.send_fast(other.slot.ticket(), {}, turn) != Status::ok) return 3;
      if (other.queue.receive(notification, kPatience) != Status::ok || notification.word != turn) return 4;
      if (other.terminus.send_fast(one.slot.ticket(), {}, turn) != Status::ok) return 5;
      if (one.queue.receive(notification, kPatience) != Status::ok || notification.word != turn) return 6;
    }
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Engines, that_are_not_there_are_not_made_up_for_by_others) {
  const std::string engine = missing();
  if (engine.empty()) GTEST_SKIP() << "this host has every engine";
  TwoNodes nodes(lines(engine));
  Actor child([&](Line&) {
    Party one(nodes.at(1)), other(nodes.at(2));
    if (one.terminus.connect(other.slot.ticket(), kPatience) != Status::refused) return 1;
    return one.interface.why(other.interface.id()).reason == LinkReason::no_way ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
  nodes.daemon(1).command().signal(SIGTERM);
  const std::string log = nodes.daemon(1).command().wait().err;
  EXPECT_NE(log.find("cannot be reached from other nodes: " + engine + ": "), std::string::npos) << log;
}

TEST(Engines, that_differ_make_no_link) {
  const TwoNodes nodes(lines("net"), lines("tcp;ofi_rxm"));
  Actor child([&](Line&) {
    Party one(nodes.at(1)), other(nodes.at(2));
    if (one.terminus.connect(other.slot.ticket(), kPatience) != Status::refused) return 1;
    if (one.interface.why(other.interface.id()).reason != LinkReason::other_engine) return 3;
    return other.terminus.connect(one.slot.ticket(), kPatience) == Status::refused ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
}

// A bare load stands for the middle of ours: nothing gives signals back behind it.
TEST(Engines, leave_signals_to_their_process_while_they_are_loaded) {
  ofi::NoForks::check();  // links what sees to it
  Actor child([](Line&) {
    constexpr int kTaken[] = {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM};
    const auto handler = [](int signal) {
      struct sigaction now;
      sigaction(signal, nullptr, &now);
      return now.sa_handler;
    };
    std::vector<sighandler_t> before;
    for (const int signal : kTaken) before.push_back(handler(signal));
    if (dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) return 1;
    for (std::size_t i = 0; i != before.size(); ++i)
      if (handler(kTaken[i]) != before[i]) return kTaken[i] + 1;
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
