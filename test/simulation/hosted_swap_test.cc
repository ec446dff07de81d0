// Compare-and-swap while links are cut in the middle of it, packets are lost, late and repeated, and
// processes die.
#include <map>

#include "hamlyn/segment/sure_swap.h"
#include "hamlyn/segment/versioned.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using simulation::Host;

// The segment, however often that takes. None: its process has died, or this one has.
std::unique_ptr<Import> import_from(Hosted& all, Interface& interface, std::uint64_t exporter) {
  while (all.alive() && all.alive(exporter)) {
    try {
      return std::make_unique<Import>(interface, "word", Import::Options{.map = false, .timeout = 100ms});
    } catch (const Error&) {
      all.host.pause(kMillisecond / 10);
    }
  }
  return nullptr;
}

TEST(HostedSwap, is_done_or_not_and_nobody_knows_when_its_link_ends_and_a_new_import_finds_it_settled) {
  std::map<bool, int> seen;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([&](Hosted& all) {
      Interface interface;
      Segment segment(interface, {.name = "word", .bytes = 64});
      all.host.pause(500 * kMillisecond);
    });
    hosted.add([&](Hosted& all) {
      Interface interface;
      auto import = import_from(all, interface, 1);
      Host& host = all.host;
      host.after(host.chance().below(250'000),
                 [&host] { host.cut(host.inhabitant(2), host.inhabitant(1), 0); });
      Outcome outcome{Status::ok, {}, 0};
      std::uint64_t value = 0;
      for (; outcome.status == Status::ok; ++value)
        outcome = import->compare_and_swap(0, value, value + 1, 1s);
      all.expect(outcome.status == Status::link_ended, "it has ended otherwise");
      import = import_from(all, interface, 1);
      std::uint64_t found = 0;
      all.expect(import->load(0, found, 1s) == Status::ok, "it cannot be read");
      all.expect(found == value || found == value - 1, "something else was swapped");
      ++seen[found == value];
      host.pause(50 * kMillisecond);
      std::uint64_t later = 0;
      all.expect(import->load(0, later, 1s) == Status::ok && later == found, "it was done late");
    });
    hosted.run();
  }
  EXPECT_GT(seen[true], 0);
  EXPECT_GT(seen[false], 0);
}

struct Sums {
  std::uint32_t done = 0, open = 0, found_done = 0, found_not_done = 0;
};

// Counts up until it has done so `times` times, or dies.
void count(Hosted& all, std::uint32_t who, std::uint32_t times, Sums& sums) {
  Interface interface;
  auto import = import_from(all, interface, 1);
  SureSwap word(8, 3, who);
  std::uint32_t value = 0;
  for (std::uint32_t left = times; left != 0 && import != nullptr;) {
    Status status = word.swap(*import, value, value + 1, 1s, &value);
    while (status == Status::link_ended && all.alive() && (import = import_from(all, interface, 1))) {
      const bool open = !word.settled();
      status = word.settle(*import, 1s, &value);
      if (open && status == Status::ok) ++sums.found_done;
      if (open && status == Status::not_ready) ++sums.found_not_done;
    }
    if (status == Status::ok) --left, ++sums.done;
    if (!all.alive()) break;
    all.expect(status == Status::ok || status == Status::not_ready, "a swap has failed");
  }
  // A death has left it open; that one may be done, and late.
  if (!word.settled()) ++sums.open;
}

// Three count, of whom one may die and be followed by another of the same number.
void count_with_cuts(std::uint64_t seed, bool with_a_death, Sums& sums) {
  Hosted hosted(rough_rules(seed), seed);
  Host& host = hosted.host;
  Sums these;
  std::uint64_t value = 0;
  hosted.add([&](Hosted& all) {
    Interface interface;
    Segment segment(interface, {.name = "word", .bytes = 64});
    // Numbers come round in the midst of it.
    for (std::uint32_t who = 1; who <= 3; ++who)
      segment.at<std::uint64_t>(8 + 8 * who) = (1u << 24) - 10 * who;
    all.host.pause(3000 * kMillisecond);
    value = segment.at<std::uint64_t>(8).load() & 0xFFFFFFFF;
  });
  for (std::uint32_t who = 1; who <= 3; ++who)
    hosted.add([&these, who](Hosted& all) { count(all, who, 40, these); });
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t who = 2 + host.chance().below(3), time = host.chance().below(20 * kMillisecond);
    const std::uint64_t packets = host.chance().below(4);
    host.after(time, [&host, who, packets] { host.cut(host.inhabitant(who), host.inhabitant(1), packets); });
  }
  if (with_a_death) {
    hosted.kill(2, host.chance().below(10 * kMillisecond));
    hosted.add([&](Hosted& all) {
      while (all.alive(2)) all.host.pause(kMillisecond);
      count(all, 1, 40, these);
    });
  }
  hosted.run();
  EXPECT_GE(value, these.done);
  EXPECT_LE(value, these.done + these.open);
  EXPECT_GE(these.done, 120u);
  EXPECT_TRUE(with_a_death || these.open == 0);
  sums.found_done += these.found_done;
  sums.found_not_done += these.found_not_done;
}

TEST(HostedSwap, that_is_sure_is_counted_once_though_links_end_in_the_middle_of_it) {
  Sums sums;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    count_with_cuts(seed, false, sums);
  }
  EXPECT_GT(sums.found_done, 0u);
  EXPECT_GT(sums.found_not_done, 0u);
}

TEST(HostedSwap, that_is_sure_goes_on_where_one_has_died) {
  Sums sums;
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    count_with_cuts(seed, true, sums);
  }
}

// While half of one stands there a reader has the time that it was given, by the clock of the simulation.
TEST(HostedRecords, are_read_whole_or_not_within_their_time) {
  for (const bool map : {false, true}) {
    SCOPED_TRACE(map);
    Hosted hosted;
    hosted.add([&](Hosted& all) {
      Interface interface;
      Segment segment(interface, {.name = "record", .bytes = 4096, .sharing = Sharing::mapped_read_only});
      OwnVersioned<std::uint64_t> own(segment, 0);
      own.write(7);
      segment.at<std::uint64_t>(8) = 8;  // the value is there, and its check is not
      all.host.pause(30 * kMillisecond);
      own.write(8);
      all.host.pause(30 * kMillisecond);
    });
    hosted.add([&](Hosted& all) {
      Interface interface;
      Import import(interface, "record", {.map = map, .timeout = 1s});
      all.expect(import.reads_by_loads() == map, "it is mapped, or not");
      FarVersioned<std::uint64_t> far(import, 0);
      std::uint64_t value = 0, version = 0;
      const std::uint64_t begun = all.host.time();
      all.expect(far.read(value, 20ms) == Status::timed_out, "it is not whole");
      const std::uint64_t gone = all.host.time() - begun;
      all.expect(gone >= 20 * kMillisecond && gone < 21 * kMillisecond, "it had another time");
      all.expect(far.read(value, 20ms, &version) == Status::ok && value == 8 && version == 2, "it is whole");
      all.expect(FarVersioned<std::uint64_t>(import, 64).read(value, 20ms) == Status::not_ready,
                 "it never was");
    });
    hosted.run();
  }
}

TEST(HostedRecords, are_the_last_that_was_pushed_though_packets_overtake_each_other) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 4 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([](Hosted& all) {
      Interface interface;
      Segment segment(interface, {.name = "record", .bytes = 64});
      const OwnVersioned<std::uint64_t> own(segment, 0);
      std::uint64_t value = 0;
      static_cast<void>(segment.wait_until(
          32, [](std::uint64_t word) { return word != 0; }, 5s));
      all.expect(own.read(value) == Status::ok && value == 20, "an older one has come last");
    });
    hosted.add([](Hosted& all) {
      Interface interface;
      Import import(interface, "record");
      FarVersioned<std::uint64_t> far(import, 0);
      for (std::uint64_t value = 1; value <= 20; ++value)
        all.expect(far.write(value, 1s) == Status::ok, "it is not written");
      all.expect(import.write_signal(0, {}, 32, 1, Signal::set, 1s) == Status::ok, "nor is that said");
      all.host.pause(20 * kMillisecond);
    });
    hosted.run();
  }
}

}  // namespace
}  // namespace hamlyn::test
