// Failure detectors on virtual time: who cannot be reached is suspected in time, and nobody else, however the
// wire loses, repeats and delays.
#include "hamlyn/failure_detector.h"

#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using Cause = Suspicion::Cause;
using simulation::Host;

constexpr std::uint64_t kMilli = 1'000'000;
constexpr std::uint64_t kPeriod = 5 * kMilli, kDeadline = 50 * kMilli;
constexpr std::uint64_t kSlack = 8 * kMilli;  // for the way there and back, also where frames are lost
constexpr FailureDetectorOptions kOptions{.offset = 8, .period = 5ms, .deadline = 50ms};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 12;  // a fiber's switch costs these builds much
#else
constexpr std::uint64_t kSeeds = 60;
#endif

// One host that keeps the order, one where packets overtake each other, two with a bad wire between them.
Host::Rules rules_of(std::uint64_t seed) {
  Host::Rules rules;
  rules.weather = {.least_delay = 1000, .most_delay = seed % 3 == 0 ? 1000u : 200'000u};
  if (seed % 3 != 2) return rules;
  rules.hosts = 2;
  rules.wire = {.least_delay = 1000, .most_delay = 200'000, .lost_one_in = 10, .repeated_one_in = 8};
  rules.far.resend = kMilli;
  rules.far.acknowledge = 50'000;
  return rules;
}

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
    all.host.pause(2 * kMilli);
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
    time += host.chance().between(60 * kMilli, 90 * kMilli);
    const std::uint64_t length = host.chance().one_in(2)
                                     ? host.chance().between(kMilli, kDeadline - kSlack)
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
  time += 100 * kMilli;
  return out;
}

TEST(HostedDetector, suspects_who_is_away_for_long_in_time_and_nobody_who_is_slow) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rules_of(seed), seed);
    std::uint64_t end = 0;
    const std::vector<Away> away = be_away(hosted, end);
    std::vector<Told> told;
    hosted.add([&](Hosted& all) { export_for(all, end + kMilli); });
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
      EXPECT_LE(next->time, each.until + 50 * kMilli);
      ++next;
    }
    EXPECT_EQ(next, told.end()) << "somebody slow is suspected: " << next->time;
  }
}

TEST(HostedDetector, suspects_whose_word_stands_still) {
  FailureDetectorOptions options = kOptions;
  options.must_move = true;
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rules_of(seed), seed);
    const std::uint64_t hangs = hosted.host.chance().between(100 * kMilli, 300 * kMilli);
    std::vector<Told> told;
    hosted.add([&](Hosted& all) { export_for(all, 500 * kMilli, hangs); });
    hosted.add([&](Hosted& all) {
      Interface interface;
      told = watch_for(all, 450 * kMilli, options, interface);
    });
    hosted.run();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].what.cause, Cause::still);
    EXPECT_GE(told[0].time + kSlack, hangs + kDeadline);
    EXPECT_LE(told[0].time, hangs + 2 * kPeriod + kDeadline + kSlack);  // it is seen a period late, and asked
  }
}

TEST(HostedDetector, does_not_take_who_comes_after_a_death_for_the_dead) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rules_of(seed), seed);
    constexpr std::uint64_t kDies = 100 * kMilli, kEnd = 1500 * kMilli;  // its silence is heard after 1 s
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
      pause_until(all, 300 * kMilli);
      after = watch_for(all, kEnd, kOptions, interface);
      last = detector.suspicion();
    });
    hosted.add([&](Hosted& all) {
      pause_until(all, 200 * kMilli);
      export_for(all, kEnd + kMilli);
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
  hosted.add([](Hosted& all) { export_for(all, 2 * kMilli); });
  hosted.add([](Hosted& all) {
    try {
      Interface interface;
      watch_for(all, 2 * kMilli, {.period = 1ms, .deadline = 1ms}, interface);
    } catch (const Error&) {
      all.expect(!all.alive(1), "it cannot be watched");
    }
  });
}

TEST(HostedDetector, ends_with_who_watches_whenever_he_dies) { with_a_death_at_any_time(2, watch_briefly); }

}  // namespace
}  // namespace hamlyn::test
