// Segments where packets are lost, late and repeated: scattered writes, signals behind them, notifications,
// inhibited parts, swaps, gathered reads, and generations.
#include "hamlyn/segment.h"

#include <algorithm>
#include <array>

#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRounds = 12;
constexpr std::uint32_t kImporters = 2;
constexpr std::size_t kPart = 65536;  // of each importer, behind the words
constexpr std::size_t kTurns = 128;   // counted by all
constexpr std::size_t kBlock = 4096, kBlockBytes = 40000;
constexpr Strides kPlane{.chunk = 8, .x_chunks = 10, .y_chunks = 5, .x_stride = 24, .y_stride = 512};
constexpr std::size_t kPlaneBytes = 400;

constexpr std::size_t signal_of(std::uint32_t who) { return 8 * who; }
constexpr std::size_t answer_of(std::uint32_t who) { return 64 + 8 * who; }

bool all_are(std::span<const std::byte> bytes, std::uint64_t number) {
  return std::ranges::all_of(bytes, [&](std::byte each) { return each == std::byte(number); });
}

// What that importer has written before it signalled.
bool has_come(std::span<const std::byte> part, std::uint64_t round) {
  for (std::size_t y = 0; y < kPlane.y_chunks; ++y)
    for (std::size_t x = 0; x < kPlane.x_chunks; ++x)
      if (!all_are(part.subspan(y * kPlane.y_stride + x * kPlane.x_stride, kPlane.chunk), round))
        return false;
  return all_are(part.subspan(kBlock, kBlockBytes), round);
}

void serve(Hosted& all) {
  Interface interface;
  Segment board(interface, {.name = "board", .bytes = (kImporters + 1) * kPart});
  std::array<std::uint64_t, kImporters + 1> rounds{};
  std::uint64_t over = 0, told = 0;
  while (over < kImporters * kRounds || told < kImporters * kRounds) {
    if (all.host.time() > 5000 * kMillisecond) break;
    while (const auto record = board.poll())
      if (record->kind == SegmentRecord::Kind::written) told += record->count;
    for (std::uint32_t who = 1; who <= kImporters; ++who) {
      if (board.at<std::uint64_t>(signal_of(who)) == rounds[who]) continue;
      ++over;
      all.expect(board.at<std::uint64_t>(signal_of(who)) == ++rounds[who], "a signal was left out");
      all.expect(has_come(board.bytes().subspan(who * kPart, kPart), rounds[who]), "the data is not there");
      board.at<std::uint64_t>(answer_of(who)) = rounds[who];
      if (!all.host.chance().one_in(3)) continue;
      board.inhibit();
      all.host.pause(kMillisecond / 4);
      board.release();
    }
    all.host.pause(kMillisecond / 50);
  }
  all.expect(over == kImporters * kRounds, "signals are missing");
  all.expect(told == kImporters * kRounds, "notifications are missing");
  all.expect(board.at<std::uint64_t>(kTurns) == kImporters * kRounds, "it was counted otherwise");
  all.host.pause(50 * kMillisecond);  // they look for the last time
  board.revoke();
  all.host.pause(500 * kMillisecond);
}

void use(Hosted& all, std::uint32_t who) {
  Interface interface;
  Import board(interface, "board");
  std::array<std::byte, kPlaneBytes> plane, back;
  std::vector<std::byte> block(kBlockBytes);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    plane.fill(std::byte(round));
    std::ranges::fill(block, std::byte(round));
    const std::size_t part = who * kPart;
    all.expect(board.write(part, plane, 5s, {.notify = true, .strides = &kPlane}) == Status::ok, "no write");
    Outcome turn;
    do turn = board.fetch(kTurns, {.op = FetchOp::add, .operand = 1}, 5s);
    while (turn.cause == Refusal::inhibited);
    all.expect(turn.status == Status::ok, "it was not counted");
    all.expect(board.write_signal(part + kBlock, block, signal_of(who), round, Signal::set, 5s) == Status::ok,
               "no signal");
    std::uint64_t answer = 0;
    while (answer != round) {
      all.expect(board.load(answer_of(who), answer, 5s) == Status::ok, "no answer can be read");
      all.host.pause(kMillisecond / 20);
    }
    all.expect(board.read(part, back, 5s, {.strides = &kPlane}) == Status::ok && back == plane,
               "not gathered");
  }
  Status status = board.flush(5s);
  for (std::uint64_t word = 0; status == Status::ok; all.host.pause(kMillisecond))
    status = board.load(0, word, 5s);
  all.expect(status == Status::stale, "it was taken back");
  Import anew(interface, "board");
  std::uint64_t turns = 0;
  all.expect(anew.load(kTurns, turns, 5s) == Status::ok && turns == kImporters * kRounds, "it is another's");
}

TEST(HostedSegments, are_as_they_should_be_though_packets_are_lost_late_and_repeated) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 2 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add(serve);
    for (std::uint32_t who = 1; who <= kImporters; ++who) hosted.add([who](Hosted& all) { use(all, who); });
    hosted.run();
  }
}

// Somebody registers it late, and whose segment it is does not answer.
TEST(HostedSegments, are_looked_up_and_opened_in_one_time) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    const Segment asleep(interface, {.name = "asleep", .bytes = 8});
    all.host.pause(5000 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    const Ticket ticket = interface.lookup("asleep", 50ms);
    all.host.pause(700 * kMillisecond);
    interface.publish("late", ticket);
    all.host.pause(2000 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    const std::uint64_t before = all.host.time();
    const ErrorCode code = code_of([&] { Import(interface, "late", {.timeout = 1s}); });
    all.expect(code == ErrorCode::timed_out, "it was opened");
    all.expect(all.host.time() - before < 1100 * kMillisecond, "it took longer than was given");
  });
  hosted.host.after(100 * kMillisecond, [&] { hosted.host.stop(hosted.host.inhabitant(1)); });
  hosted.kill(1, 4000 * kMillisecond);
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
