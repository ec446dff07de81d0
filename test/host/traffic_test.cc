// docs/failures.md, as processes see it that talk to each other over links of libfabric meanwhile.
#include <csignal>

#include "test/host/cluster.h"
#include "test/host/traffic.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Processes on hosts 2 to 5. The first talks to all others.
class Traffic : public ClusterOnHosts {
 protected:
  Traffic() : ClusterOnHosts(5, 1000) {}

  void SetUp() override {
    ClusterOnHosts::SetUp();
    if (IsSkipped()) return;
    start_all();
    for (int host = 2; host <= count_; ++host) {
      talkers_[host] = std::make_unique<Talker>(hosts_->network(host), socket(host), 2s);
    }
    for (int host = 3; host <= count_; ++host) {
      ASSERT_TRUE(Talker::introduce(first(), at(host))) << host;
    }
  }

  Talker& at(int host) { return *talkers_.at(host); }
  Talker& first() { return at(2); }
  // The first's link with that one.
  bool goes_on(int host) {
    const Seen before = first().seen(at(host));
    return eventually([&] { return first().seen(at(host)).heard > before.heard + 10; }, kSoon) &&
           first().seen(at(host)).ended == before.ended;
  }
  bool has_ended(int host, std::uint64_t times) {
    return eventually(
        [&] { return first().seen(at(host)).ended == times && at(host).seen(first()).ended == times; },
        kSoon);
  }

  std::map<int, std::unique_ptr<Talker>> talkers_;
};

TEST_F(Traffic, WhatFailsIsToldAtBothEndsAndAllOtherLinksGoOn) {
  // Slow, but not too slow.
  for (int i = 0; i < 3; ++i) {
    at(3).process().signal(SIGSTOP);
    pause_briefly();
    at(3).process().signal(SIGCONT);
    EXPECT_TRUE(goes_on(3));
  }

  // Deaf: its interface does not run. Its host is well, and the daemons see nothing.
  at(3).process().signal(SIGSTOP);
  EXPECT_TRUE(eventually([this] { return first().seen(at(3)).ended == 1; }, kSoon));
  EXPECT_TRUE(goes_on(4));
  EXPECT_TRUE(eventually([this] { return whole(all()); }, kSoon));
  at(3).process().signal(SIGCONT);
  EXPECT_TRUE(has_ended(3, 1)) << "it is told when it runs again";
  EXPECT_TRUE(Talker::introduce(first(), at(3)));

  hosts_->cut(3);
  EXPECT_TRUE(has_ended(3, 2));
  EXPECT_TRUE(goes_on(4));
  hosts_->join(3);

  hosts_->lose(4, 2);  // it hears the first, and is not heard
  EXPECT_TRUE(has_ended(4, 1));
  EXPECT_TRUE(goes_on(5));

  EXPECT_TRUE(eventually([this] { return whole({1, 2, 3, 5}); }, kSoon));
  EXPECT_TRUE(Talker::introduce(first(), at(3))) << "whose cable is in again";
  EXPECT_EQ(first().seen(at(5)).ended, 0u);
  EXPECT_EQ(at(5).seen(first()).ended, 0u);

  // The daemon alone is silent: its process lives, and has something to say.
  daemon(5).command().signal(SIGSTOP);
  EXPECT_TRUE(eventually([this] { return !sees(2, 5); }, kSoon));
  EXPECT_TRUE(goes_on(5));
  daemon(5).command().signal(SIGCONT);
  EXPECT_TRUE(eventually([this] { return whole({1, 2, 3, 5}); }, kSoon));
  EXPECT_TRUE(goes_on(5));
  kill(5);
  EXPECT_TRUE(eventually([this] { return !sees(2, 5); }, kSoon));
  EXPECT_TRUE(goes_on(5));
  EXPECT_EQ(first().seen(at(5)).ended, 0u);
  EXPECT_EQ(at(5).seen(first()).ended, 0u);
  start(5);
  EXPECT_TRUE(has_ended(5, 1)) << "links between nodes end with the incarnation of either end's daemon";
  EXPECT_TRUE(eventually([this] { return whole({1, 2, 3, 5}); }, kSoon));
  EXPECT_TRUE(Talker::introduce(first(), at(5)));
  EXPECT_TRUE(goes_on(3));
}

}  // namespace
}  // namespace hamlyn::test
