// Segments where packets are lost, late and repeated: scattered writes, signals behind them, notifications,
// inhibited parts, swaps, gathered reads, and generations.
#include "hamlyn/segment/segment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "base/file_descriptor.h"
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
      static_cast<void>(board.inhibit());
      all.host.pause(kMillisecond / 4);
      static_cast<void>(board.release());
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

// --- waits

constexpr std::uint64_t kWaitRounds = 30;
constexpr std::size_t kDoneWord = 4000;

// Each importer signals, and waits for the exporter's answer; one of them waits for the other's signals, too.
Sharing sharing_of(std::uint64_t seed) {
  if (seed % 3 == 2) return Sharing::guarded;  // on two hosts
  return seed / 3 % 2 == 0 ? Sharing::guarded : Sharing::mapped_read_write;
}

void answer_each(Hosted& all, Sharing sharing) {
  Interface interface;
  Segment board(interface, {.name = "waits", .bytes = 4096, .sharing = sharing});
  const std::array<std::size_t, kImporters> words{signal_of(1), signal_of(2)};
  std::array<std::uint64_t, kImporters> seen{};
  while (seen[0] + seen[1] != kImporters * kWaitRounds) {
    std::size_t which = 0;
    // An odd number is one that was not answered yet.
    const Status status = board.wait_until_any(
        words, which, [](std::uint64_t word) { return word % 2 == 1; }, 60s);
    if (status != Status::ok) return all.expect(false, "a signal was not heard");
    const std::uint64_t word = board.at<std::uint64_t>(words[which]);
    all.expect(word == 2 * seen[which] + 1, "a signal was left out");
    ++seen[which];
    if (all.host.chance().one_in(3)) all.host.pause(all.host.chance().below(4 * kMillisecond));
    board.at<std::uint64_t>(words[which]) = word + 1;
    board.changed();
  }
  all.expect(board.wait_until(
                 kDoneWord, [](std::uint64_t n) { return n == kImporters; }, 60s) == Status::ok,
             "nobody has said that it is done");
}

void ask_each(Hosted& all, std::uint32_t who) {
  Interface interface;
  Import board(interface, "waits");
  for (std::uint64_t round = 1; round <= kWaitRounds; ++round) {
    if (all.host.chance().one_in(3)) all.host.pause(all.host.chance().below(4 * kMillisecond));
    if (all.host.chance().one_in(4))  // given up, mostly
      static_cast<void>(board.wait_until(
          signal_of(who), [](std::uint64_t word) { return word == 1; }, 10us));
    const bool adds = all.host.chance().one_in(2);
    const Status told = adds ? board.fetch(signal_of(who), {.operand = 1}, 5s).status
                             : board.write_signal(1024, {}, signal_of(who), 2 * round - 1, Signal::set, 5s);
    all.expect(told == Status::ok, "it was not signalled");
    all.expect(board.wait_until(
                   signal_of(who), [&](std::uint64_t word) { return word == 2 * round; }, 60s) == Status::ok,
               "the answer was not heard");
  }
  if (who == 1)
    all.expect(
        board.wait_until(
            signal_of(2), [](std::uint64_t word) { return word == 2 * kWaitRounds; }, 60s) == Status::ok,
        "the other's end was not heard");
  all.expect(board.fetch(kDoneWord, {.operand = 1}, 5s).status == Status::ok, "it is not done");
}

TEST(HostedSegments, wake_who_waits_for_a_word_at_either_side) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([seed](Hosted& all) { answer_each(all, sharing_of(seed)); });
    for (std::uint32_t who = 1; who <= kImporters; ++who)
      hosted.add([who](Hosted& all) { ask_each(all, who); });
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

// --- descriptors

constexpr std::uint64_t kNotes = 400;       // by each importer: more than a socket takes
constexpr std::size_t kNotesBytes = 65536;  // of each
constexpr std::size_t place_of(std::uint32_t who, std::uint64_t note) {
  return who * kNotesBytes + 8 * static_cast<std::size_t>(note);
}

// What somebody has read by both descriptors, each record of them whole and once.
class Notes {
 public:
  explicit Notes(Hosted& all) : all_(all) {}

  // False: it is the end of the file. `written` looks at the memory.
  template <class Written>
  bool take_control(int descriptor, Written written) {
    SegmentRecord record;
    for (;;) {
      const ssize_t got = ::read(descriptor, &record, sizeof record);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      all_.host.demand(got == sizeof record, "a record is not whole");
      if (record.kind != SegmentRecord::Kind::written) continue;
      told_ += record.count;
      all_.host.demand(told_ + taken_.size() <= kImporters * kNotes, "more is told of than was written");
      // What had waited is told of together when it lands.
      if (record.count != 1) continue;
      all_.host.demand(record.length == 8 && told_of_.insert(record.offset).second, "it is told of twice");
      written(record);
    }
  }
  template <class Held>
  bool take_data(int descriptor, Held held) {
    struct {
      HeldPut put;
      std::uint64_t word;
    } data;
    for (;;) {
      const ssize_t got = ::read(descriptor, &data, sizeof data);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      all_.host.demand(got == sizeof data && data.put.length == 8 && data.put.notify, "data is not whole");
      all_.host.demand(taken_.insert(data.put.offset).second, "it is given twice");
      held(data.put.offset, data.word);
    }
  }
  bool complete() const { return told_ + taken_.size() == kImporters * kNotes; }
  std::size_t told() const { return told_; }
  std::size_t taken() const { return taken_.size(); }

 private:
  Hosted& all_;
  std::size_t told_ = 0;
  std::set<std::uint64_t> told_of_, taken_;
};

// Who opens an import now, or never: its exporter, or this process, has died.
std::unique_ptr<Import> import_now(Hosted& all, Interface& interface) {
  try {
    return std::make_unique<Import>(interface, "notes", Import::Options{.timeout = 1s});
  } catch (const Error&) {
    all.expect(!all.alive(1), "it cannot be imported");
    return nullptr;
  }
}

void write_notes(Hosted& all, std::uint32_t who) {
  Interface interface;
  const auto notes = import_now(all, interface);
  if (notes == nullptr) return;
  for (std::uint64_t note = 1; note <= kNotes; ++note) {
    const Status status =
        notes->write(place_of(who, note), std::as_bytes(std::span{&note, 1}), 5s, {.notify = true});
    if (status != Status::ok) return all.expect(!all.alive(1), "it is not written");
    if (all.host.chance().one_in(8)) all.host.pause(all.host.chance().below(kMillisecond / 2));
  }
  const Status status = notes->flush(5s);
  all.expect(status == Status::ok || !all.alive(1), "it has not landed");
}

// Reads both until everything has come, asleep while nothing has.
void read_notes(Hosted& all, std::array<int, 2>* heirs = nullptr) {
  sim::Generator& chance = all.host.chance();
  Interface interface;
  // The most that may be unread is little, so that all of it is used up.
  Segment segment(interface, {.name = "notes",
                              .bytes = (kImporters + 1) * kNotesBytes,
                              .places = 8,
                              .records = 32,
                              .hold = 1 << 20});
  const int control = segment.control_descriptor();
  // Without the other what waits lands when it may.
  const int data = heirs == nullptr && chance.one_in(4) ? -1 : segment.data_descriptor();
  if (heirs != nullptr) *heirs = {::dup(control), ::dup(data)};
  const auto word = [&](std::uint64_t at) { return segment.at<std::uint64_t>(static_cast<std::size_t>(at)); };
  const auto number = [](std::uint64_t at) { return at % kNotesBytes / 8; };
  Notes notes(all);
  bool inhibited = false;
  while (!notes.complete()) {
    std::array<pollfd, 2> waits{{{control, POLLIN, 0}, {data, POLLIN, 0}}};
    if (data < 0 && inhibited) {  // nothing would come
      all.host.pause(chance.below(kMillisecond));
      static_cast<void>(segment.release());
      inhibited = false;
    }
    if (!library::wait_for_descriptors(waits, std::nullopt)) return;
    if (chance.one_in(4)) all.host.pause(chance.below(chance.one_in(8) ? 40 * kMillisecond : kMillisecond));
    if (!all.alive()) return;
    const bool open = notes.take_control(control, [&](const SegmentRecord& record) {
      all.host.demand(word(record.offset) == number(record.offset), "it is told of before it is there");
    });
    all.expect(open, "the descriptor of control has ended");
    const bool more = data < 0 || notes.take_data(data, [&](std::uint64_t at, std::uint64_t what) {
      all.host.demand(what == number(at) && word(at) == 0, "what was held has landed as well");
      word(at) = what;
    });
    all.expect(more, "the descriptor of data has ended");
    if (chance.one_in(3)) (inhibited = !inhibited) ? segment.inhibit() : segment.release();
  }
  static_cast<void>(segment.release());
  for (std::uint32_t who = 1; who <= kImporters; ++who) {
    for (std::uint64_t note = 1; note <= kNotes; ++note)
      all.expect(word(place_of(who, note)) == note, "a write is lost");
  }
  all.expect(notes.told() != 0 && (data < 0 || notes.taken() != 0), "one of the descriptors was not used");
  all.host.pause(20 * kMillisecond);
}

TEST(HostedSegments, tell_by_their_descriptors_of_each_write_once_however_slowly_they_are_read) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 2 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([](Hosted& all) { read_notes(all); });
    for (std::uint32_t who = 1; who <= kImporters; ++who)
      hosted.add([who](Hosted& all) { write_notes(all, who); });
    hosted.run();
  }
}

// Whoever has inherited them reads what had come, and then the end, whenever the exporter dies.
TEST(HostedSegments, leave_their_descriptors_to_heirs_when_the_exporter_dies_at_any_time) {
  for (std::uint64_t seed = 1; seed <= 2 * kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    std::array<int, 2> heirs{-1, -1};
    hosted.kill(1, hosted.host.chance().below(3 * kMillisecond));
    hosted.add([&](Hosted& all) { read_notes(all, &heirs); });
    for (std::uint32_t who = 1; who <= kImporters; ++who)
      hosted.add([who](Hosted& all) { write_notes(all, who); });
    hosted.add([&](Hosted& all) {
      while (heirs[1] < 0 && all.alive(1)) all.host.pause(1000);
      const base::FileDescriptor control(heirs[0]), data(heirs[1]);
      if (!control) return;
      all.host.pause(10 * kMillisecond);
      Notes notes(all);  // the parent has read some of them
      while (notes.take_control(control.get(), [](const SegmentRecord&) {}))
        if (!wait_until_readable(control.get())) return;
      while (notes.take_data(data.get(), [](std::uint64_t, std::uint64_t) {}))
        if (!wait_until_readable(data.get())) return;
    });
    hosted.run();
  }
}

}  // namespace
}  // namespace hamlyn::test
