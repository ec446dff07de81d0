// Failure detectors on virtual time: who cannot be reached is suspected in time, and nobody else, however the
// wire loses, repeats and delays.
#include "hamlyn/segment/failure_detector.h"

#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using Cause = Suspicion::Cause;
using simulation::Host;

constexpr std::uint64_t kPeriod = 5 * kMillisecond, kDeadline = 50 * kMillisecond;
constexpr std::uint64_t kSlack = 8 * kMillisecond;  // for the way there and back, also where frames are lost
constexpr FailureDetectorOptions kOptions{.offset = 8, .period = 5ms, .deadline = 50ms};
struct Told {
  std::uint64_t time;
  Suspicion what;
};

void pause_until(Hosted& all, std::uint64_t time) {
  if (all.host.time() < time) all.host.pause(time - all.host.time());
}

// Exports a word under that name for so long, and counts in it until then.
void export_for(Hosted& all, std::uint64_t nanoseconds, std::uint64_t counts_until = 0) {
  Interface interface;
  Segment segment(interface, {.name = "alive", .bytes = 64});
  while (all.alive() && all.host.time() < counts_until) {
    ++segment.at<std::uint64_t>(8);
    all.host.pause(2 * kMillisecond);
  }
  pause_until(all, nanoseconds);
}

// Watches it until then; what was told.
std::vector<Told> watch_for(Hosted& all, std::uint64_t nanoseconds, const FailureDetectorOptions& options,
                            Interface& interface) {
  std::vector<Told> told;
  Import import(interface, "alive", {.timeout = 1s});
  FailureDetector detector(import, options, [&](const Suspicion& now) {
    told.push_back({all.host.time(), now});
  });
  pause_until(all, nanoseconds);
  return told;
}

// When it was not to be reached.
struct Away {
  std::uint64_t from, until;
  bool for_long() const { return until - from > kDeadline; }
};

// The exporter is stopped, or parted from who watches, for less than the deadline or for longer.
std::vector<Away> be_away(Hosted& all, std::uint64_t& time) {
  std::vector<Away> out;
  Host& host = all.host;
  for (int i = 0; i < 8; ++i) {
    time += host.chance().between(60 * kMillisecond, 90 * kMillisecond);
    const std::uint64_t length = host.chance().one_in(2)
                                     ? host.chance().between(kMillisecond, kDeadline - kSlack)
                                     : host.chance().between(kPeriod + kDeadline + kSlack, 3 * kDeadline);
    const bool parted = host.topology() == simulation::Topology::hosts && host.chance().one_in(2);
    const bool both_ways = host.chance().one_in(2);
    host.after(time - host.time(), [&host, length, parted, both_ways] {
      if (parted) return host.part(host.inhabitant(1), host.inhabitant(2), both_ways, length);
      host.stop(host.inhabitant(1));
      host.after(length, [&host] { host.go_on(host.inhabitant(1)); });
    });
    out.push_back({time, time + length});
    time += length;
  }
  time += 100 * kMillisecond;
  return out;
}

TEST(HostedDetector, suspects_who_is_away_for_long_in_time_and_nobody_who_is_slow) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    std::uint64_t end = 0;
    const std::vector<Away> away = be_away(hosted, end);
    std::vector<Told> told;
    hosted.add([&](Hosted& all) { export_for(all, end + kMillisecond); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      told = watch_for(all, end, kOptions, interface);
    });
    hosted.run();
    auto next = told.begin();
    for (const Away& each : away) {
      if (!each.for_long()) continue;
      ASSERT_GE(told.end() - next, 2) << "from " << each.from;
      EXPECT_EQ(next->what.cause, Cause::late);
      EXPECT_GE(next->time + kSlack, each.from + kDeadline);
      EXPECT_LE(next->time, each.from + kPeriod + kDeadline + kSlack);
      ++next;
      EXPECT_EQ(next->what.cause, Cause::none);
      EXPECT_GE(next->time, each.until);
      EXPECT_LE(next->time, each.until + 50 * kMillisecond);
      ++next;
    }
    EXPECT_EQ(next, told.end()) << "somebody slow is suspected: " << next->time;
  }
}

TEST(HostedDetector, suspects_whose_word_stands_still) {
  FailureDetectorOptions options = kOptions;
  options.must_move = true;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    const std::uint64_t hangs = hosted.host.chance().between(100 * kMillisecond, 300 * kMillisecond);
    std::vector<Told> told;
    hosted.add([&](Hosted& all) { export_for(all, 500 * kMillisecond, hangs); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      told = watch_for(all, 450 * kMillisecond, options, interface);
    });
    hosted.run();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].what.cause, Cause::still);
    EXPECT_GE(told[0].time + kSlack, hangs + kDeadline);
    EXPECT_LE(told[0].time, hangs + 2 * kPeriod + kDeadline + kSlack);  // it is seen a period late, and asked
  }
}

TEST(HostedDetector, does_not_take_who_comes_after_a_death_for_the_dead) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    constexpr std::uint64_t kDies = 100 * kMillisecond,
                            kEnd = 1500 * kMillisecond;  // its silence is heard after 1 s
    hosted.kill(1, kDies + hosted.host.chance().below(kPeriod));
    std::vector<Told> told, after;
    Suspicion last;
    hosted.add([&](Hosted& all) { export_for(all, kEnd); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      Import import(interface, "alive", {.timeout = 1s});
      FailureDetector detector(import, kOptions, [&](const Suspicion& now) {
        told.push_back({all.host.time(), now});
      });
      pause_until(all, 300 * kMillisecond);
      after = watch_for(all, kEnd, kOptions, interface);
      last = detector.suspicion();
    });
    hosted.add([&](Hosted& all) {
      pause_until(all, 200 * kMillisecond);
      export_for(all, kEnd + kMillisecond);
    });
    hosted.run();
    ASSERT_EQ(told.size(), 1u) << "who is dead does not come back";
    EXPECT_LE(told[0].time, kDies + 2 * kPeriod + kDeadline + kSlack);
    EXPECT_EQ(last.cause, Cause::failed);
    EXPECT_EQ(last.status, Status::link_ended);
    EXPECT_TRUE(after.empty()) << "its successor answers";
  }
}

void watch_briefly(Hosted& hosted) {
  hosted.add([](Hosted& all) { export_for(all, 2 * kMillisecond); });
  hosted.add([](Hosted& all) {
    try {
      Interface interface;
      watch_for(all, 2 * kMillisecond, {.period = 1ms, .deadline = 1ms}, interface);
    } catch (const Error&) {
      all.expect(!all.alive(1), "it cannot be watched");
    }
  });
}

TEST(HostedDetector, ends_with_who_watches_whenever_he_dies) { with_a_death_at_any_time(2, watch_briefly); }

}  // namespace
}  // namespace hamlyn::test
