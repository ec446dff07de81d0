// Cuts that are mended before anybody is dead: no link ends of them, whatever is under way, and all of that
// is done when they are over.
#include "test/simulation/far_link.h"

#include <optional>

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kDead = ofi::Limits{}.dead;
constexpr std::uint64_t kStep = 50'000;  // virtual time between two runs
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCutSeeds = 1;  // each takes these builds half a minute
#else
constexpr std::uint64_t kCutSeeds = 5;
#endif

class FarCut : public FarLink {
 protected:
  void begin(std::uint64_t seed) {
    traffic.reset();
    make(seed, {}, ofi::Limits{});
    traffic.emplace(*this);
    pass(20 * kMillisecond);
  }
  void TearDown() override { traffic.reset(); }

  // Time in which both run, and `work` is done between.
  template <class Work>
  void pass(std::uint64_t time, Work work) {
    for (const std::uint64_t end = net->now() + time; net->now() < end;) {
      net->pass(kStep);
      work();
      one->party.core.run();
      other->party.core.run();
    }
  }
  void pass(std::uint64_t time) {
    pass(time, [] {});
  }
  // A while of traffic, a cut of either way or both, and time to find each other again.
  template <class Work>
  void cut_for(std::uint64_t time, Work work) {
    pass(net->chance().below(400 * kMillisecond), work);
    const std::uint64_t ways = net->chance().between(1, 3);
    if ((ways & 1) != 0) net->cut(0, 1);
    if ((ways & 2) != 0) net->cut(1, 0);
    pass(time, work);
    net->mend_all();
    pass(400 * kMillisecond, work);
  }
  void expect_both_live() const {
    EXPECT_EQ(one->link->over(), LinkProtocol::End::none);
    EXPECT_EQ(other->link->over(), LinkProtocol::End::none);
  }

  // Long messages, puts, gets and fetches from `one`, as many as go.
  struct Traffic {
    explicit Traffic(FarCut& test)
        : there(test.other->party, area, test.other->queue,
                Slot::Options{.entries = 1, .places = 64, .fetches = true, .gets = 65536, .puts = true}),
          back(test.one->party, landing, test.one->queue, {}),
          puts(test.one->party.core, 63),
          asks(test.one->party.core, 63) {}

    void go_on() {
      if (puts.status(sent) != Status::pending) static_cast<void>(puts.put(there.ticket(), data, {}, &sent));
      if (asks.requests().outcome(got).status != Status::pending)
        static_cast<void>(asks.requests().get(there.ticket(), {back.index(), 0, 4096}, {}, nullptr, &got));
      const Outcome added = asks.requests().outcome(fetched);
      if (added.status == Status::pending) return;
      if (added.status == Status::ok) {
        EXPECT_EQ(added.value, sum++) << "lost, or done twice";
      }
      static_cast<void>(
          asks.requests().fetch(there.ticket(), {.operand = 1}, {.offset = kSum}, nullptr, &fetched));
    }

    static constexpr std::size_t kSum = (1u << 20) - 8;
    Area area{1u << 20}, landing{4096};
    std::vector<std::byte> data = pattern(700'000, 1);
    TestSlot there, back;
    Terminus puts, asks;
    SendHandle sent;
    RemoteHandle got, fetched;
    std::uint64_t sum = 0;
  };
  std::optional<Traffic> traffic;
};

TEST_F(FarCut, of_less_than_what_is_deadly_ends_no_busy_link) {
  for (std::uint64_t seed = 1; seed <= kCutSeeds; ++seed) {
    for (const std::uint64_t tenths : {2u, 5u, 9u}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", a cut of " << tenths << " tenths");
      begin(seed);
      cut_for(tenths * kDead / 10, [&] { traffic->go_on(); });
      expect_both_live();
      const std::uint64_t before = traffic->sum;
      pass(100 * kMillisecond, [&] { traffic->go_on(); });
      EXPECT_GT(traffic->sum, before) << "and all goes on";
    }
  }
}

TEST_F(FarCut, of_less_than_what_is_deadly_ends_no_quiet_link) {
  for (std::uint64_t seed = 1; seed <= 4 * kCutSeeds; ++seed) {
    for (const std::uint64_t tenths : {2u, 5u, 9u}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", a cut of " << tenths << " tenths");
      begin(seed);
      cut_for(tenths * kDead / 10, [] {});
      expect_both_live();
    }
  }
}

TEST_F(FarCut, that_lasts_ends_a_link_in_time) {
  begin(1);
  traffic->go_on();
  net->cut(0, 1);
  net->cut(1, 0);
  pass(kDead + ofi::Limits::heartbeat(kDead) + 2 * kStep);
  EXPECT_EQ(one->link->over(), LinkProtocol::End::peer_dead);
  EXPECT_EQ(other->link->over(), LinkProtocol::End::peer_dead);
}

// Each frame that asks is answered once at most, and none that answers asks.
TEST_F(FarCut, has_nobody_answer_more_than_was_asked) {
  begin(1);
  net->cut(1, 0);
  FrameHeader header = header_from_one(0);
  header.lane = Lane::none;
  header.flags = FrameHeader::kAsk;
  header.acknowledged = other->link->protocol().sent();
  const std::vector<std::byte> asks = frame(header, 0);
  const std::uint64_t before = net->lost;
  int asked = 0;
  pass(100 * kMillisecond, [&] {
    for (int i = 0; i < 3; ++i, ++asked) net->inject(1, asks);
  });
  EXPECT_GT(net->lost, before);
  EXPECT_LE(net->lost - before, static_cast<std::uint64_t>(asked));
}

// Heartbeats come more often where nothing is heard, and no more often than is good.
TEST_F(FarCut, has_nobody_speak_without_end) {
  begin(1);
  net->cut(0, 1);
  net->cut(1, 0);
  const std::uint64_t before = net->lost;
  pass(kDead);
  EXPECT_LE(net->lost - before, 2u * 20);
}

}  // namespace
}  // namespace hamlyn::test
