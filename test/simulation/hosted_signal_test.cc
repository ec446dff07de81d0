// Signals in another segment than the data, changes that nobody answers, reads under way together and fences
// over several imports, within a host and where packets are lost, late and repeated.
#include <algorithm>
#include <array>
#include <cstring>

#include "hamlyn/segment/segment.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Apart from those of the segments' own tests.
namespace signals {

constexpr std::uint64_t kRounds = 20;
constexpr std::uint32_t kImporters = 3;
constexpr std::size_t kPart = 32768, kCount = 256, kNarrow = 264;
constexpr std::size_t signal_of(std::uint32_t who) { return 8 * who; }
constexpr std::size_t answer_of(std::uint32_t who) { return 128 + 8 * who; }
constexpr std::size_t length_of(std::uint64_t round) { return round % 3 == 0 ? 40 : round * 1200; }

void serve(Hosted& all) {
  Interface interface;
  Segment data(interface, {.name = "data", .bytes = (kImporters + 1) * kPart});
  Segment words(interface, {.name = "words", .bytes = 4096});
  std::array<std::uint64_t, kImporters + 1> rounds{};
  for (std::uint64_t over = 0; over < kImporters * kRounds && all.host.time() < 5000 * kMillisecond;) {
    for (std::uint32_t who = 1; who <= kImporters; ++who) {
      if (words.at<std::uint64_t>(signal_of(who)).load() == rounds[who]) continue;
      ++over;
      const std::uint64_t round = ++rounds[who];
      all.expect(words.at<std::uint64_t>(signal_of(who)).load() == round, "a signal was left out");
      const auto there = data.bytes().subspan(who * kPart, length_of(round));
      all.expect(std::ranges::all_of(there, [&](std::byte each) { return each == std::byte(round); }),
                 "the signal came before its data");
      words.at<std::uint64_t>(answer_of(who)).store(round);
    }
    interface.run();
    all.host.pause(kMillisecond / 50);
  }
  all.host.pause(100 * kMillisecond);  // they look for the last time
  all.expect(words.at<std::uint64_t>(kCount).load() == kImporters * kRounds, "it was counted otherwise");
  all.expect(words.at<std::uint32_t>(kNarrow).load() == kImporters * kRounds, "it was signalled otherwise");
  all.host.pause(400 * kMillisecond);
}

void use(Hosted& all, std::uint32_t who) {
  Interface::Options options;
  options.requests = 16 * who;
  Interface interface(options);
  Import data(interface, "data"), words(interface, "words");
  Import* const both[] = {&data, &words};
  std::vector<std::byte> block(kPart);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const auto part = std::span(block).first(length_of(round));
    std::ranges::fill(part, std::byte(round));
    const SignalWord signal{.offset = signal_of(who), .value = round, .in = &words};
    all.expect(data.write_signal(who * kPart, part, signal, 5s) == Status::ok, "no signal");
    all.expect(words.update(kCount, {.operand = 1}, 5s) == Status::ok, "no update");
    const SignalWord narrow{.offset = kNarrow, .value = 1, .how = Signal::add, .bytes = 4};
    all.expect(words.write_signal(0, {}, narrow, 5s) == Status::ok, "no narrow signal");
    std::array<Status, 2> each{};
    all.expect(Import::flush(both, 5s, each) == Status::ok, "not flushed");
    all.expect(each[0] == Status::ok && each[1] == Status::ok, "one of them is not flushed");
    std::uint64_t answer = 0;
    while (answer != round) {
      all.expect(words.load(answer_of(who), answer, 5s) == Status::ok, "no answer can be read");
      all.host.pause(kMillisecond / 20);
    }
    std::array<std::array<std::byte, 2048>, 16> pieces;
    std::array<RemoteHandle, 16> handles;
    for (std::size_t i = 0; i != pieces.size(); ++i) {
      Status status = Status::queue_full;
      while ((status = data.read(who * kPart + i * 2048, pieces[i], &handles[i])) == Status::queue_full) {
        interface.run();
        all.host.pause(kMillisecond / 100);
      }
      all.expect(status == Status::pending || status == Status::ok, "not asked");
    }
    for (std::size_t i = 0; i != pieces.size(); ++i) {
      if (handles[i].sequence != 0) all.expect(data.wait(handles[i], 5s).status == Status::ok, "not read");
      const std::size_t begin = i * 2048, end = std::min(begin + 2048, part.size());
      for (std::size_t at = begin; at < end; ++at)
        all.expect(pieces[i][at - begin] == std::byte(round), "another byte was read");
    }
  }
}

}  // namespace signals

TEST(HostedSignals, hold_though_packets_are_lost_late_and_repeated) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 2 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add(signals::serve);
    for (std::uint32_t who = 1; who <= signals::kImporters; ++who)
      hosted.add([who](Hosted& all) { signals::use(all, who); });
    hosted.run();
  }
}

}  // namespace
}  // namespace hamlyn::test
