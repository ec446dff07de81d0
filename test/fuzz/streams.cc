// The two ends of a stream against a peer that says whatever it likes: words that no honest end says, parcels
// out of any order and place, releases of what it was not given, rings and openings of noise.
//
// Besides not crashing: what is handed out lies where parcels may land and is numbered without gaps, memory
// has a bound, and the end has a name and stays the end.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "protocols/stream_sink.h"
#include "protocols/stream_source.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::internal_::protocols;

constexpr std::uint64_t kSelf = 1, kPeer = 2;

Goal goals[] = {{"records that were read", 1000}, {"receivers that were open", 150},
                {"receivers that broke", 150},    {"senders that were open", 1000},
                {"messages that were sent", 300}, {"senders that ended", 200}};
Goal &records = goals[0], &receivers = goals[1], &broken = goals[2], &senders = goals[3], &sent = goals[4],
     &ended = goals[5];

// Memory and tickets without an interface: the tests are what arrives.
class Bench {
 public:
  explicit Bench(Input& input) : input_(input) {}

  class Landing {
   public:
    Landing(Bench& bench, std::size_t bytes, const Slot::Options& options)
        : bench_(bench), index_(bench.next_slot_++), memory_(bytes), words_(options.entries) {
      bench_.landings_[index_] = this;
    }
    ~Landing() { bench_.landings_.erase(index_); }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

    std::uint32_t number() const noexcept { return index_; }
    Ticket ticket() noexcept {
      Ticket out;
      out.interface = kSelf;
      out.slot = index_;
      out.generation = 1;
      out.key = 7;
      out.bound = memory_.size();
      return out;
    }
    Ticket ticket(std::uint32_t entry) noexcept {
      Ticket out = ticket();
      out.entry = entry;
      out.incarnation = 1;
      return out;
    }
    std::span<std::byte> bytes() noexcept { return memory_; }
    std::uint64_t word(std::uint32_t entry) noexcept { return entry < words_.size() ? words_[entry] : 0; }
    Status arm(std::uint32_t entry) noexcept { return entry < words_.size() ? Status::ok : Status::invalid; }
    Status arm(std::uint32_t entry, Limits) noexcept { return arm(entry); }
    Status disarm(std::uint32_t) noexcept { return Status::ok; }
    Status expect(std::uint32_t, std::uint64_t) noexcept {
      return bench_.chance(20) ? Status::connecting : Status::ok;
    }
    std::vector<std::uint64_t>& words() { return words_; }

   private:
    Bench& bench_;
    const std::uint32_t index_;
    std::vector<std::byte> memory_;
    std::vector<std::uint64_t> words_;
  };

  Status send_fast(const Ticket&, std::span<const std::byte>, std::uint64_t word, std::uint64_t) noexcept {
    const Status status = any_status();
    const StreamMessage message = message_of(word);
    if (status == Status::ok && message.what <= StreamWord::end) parcels_sent = message.sequence + 1;
    return status;
  }
  Status send(const Ticket&, std::span<const std::byte>, const SendOptions&, SendHandle* handle) noexcept {
    if (handle != nullptr) *handle = {1, 0};
    return any_status();
  }
  Status send_piece(const Ticket& ticket, const Piece&, const SendOptions& options,
                    SendHandle* handle) noexcept {
    return send(ticket, {}, options, handle);
  }
  Status status(SendHandle) const noexcept { return Status::ok; }
  Refusal refusal(SendHandle) const noexcept { return Refusal::none; }
  bool linked(std::uint64_t) noexcept { return !chance(20); }
  Status connect(const Ticket&) noexcept { return chance(20) ? Status::connecting : Status::ok; }
  std::unique_ptr<Landing> make_landing(std::size_t bytes, const Slot::Options& options) {
    if (chance(50)) throw std::bad_alloc();
    return std::make_unique<Landing>(*this, bytes, options);
  }

  std::uint64_t below(std::uint64_t bound) { return input_.pick(bound); }
  bool over() const { return input_.empty(); }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  std::uint64_t number() { return input_.number(); }
  std::map<std::uint32_t, Landing*>& landings() { return landings_; }
  std::uint32_t parcels_sent = 0;  // by the end that is tried
  std::size_t memory() {
    std::size_t sum = 0;
    for (const auto& [index, landing] : landings_) sum += landing->bytes().size();
    return sum;
  }

  // A message at any of the slots, within it: that much the interface sees to.
  Notification message(std::uint32_t near) {
    auto at = landings_.begin();
    std::advance(at, static_cast<long>(below(landings_.size())));
    Landing& landing = *at->second;
    Notification out;
    out.slot = landing.number();
    out.peer = chance(10) ? 3 : kPeer;
    const std::uint64_t size = landing.bytes().size();
    const bool aligned = !chance(4);
    out.offset = aligned ? below(size / kStreamUnit + 1) * kStreamUnit : below(size + 1);
    out.offset = chance(3) ? 0 : std::min(out.offset, size);
    out.length =
        chance(3) ? below(size - out.offset + 1) : below(std::min<std::uint64_t>(size - out.offset, 200) + 1);
    const auto what = static_cast<StreamWord>(chance(8)   ? below(256)
                                              : chance(2) ? 1 + below(5)
                                                          : 16 + below(7));
    const std::uint32_t sequence =
        chance(6) ? static_cast<std::uint32_t>(number()) : near + static_cast<std::uint32_t>(below(3));
    const std::uint64_t word =
        word_of(what, sequence, static_cast<std::uint32_t>(below(chance(2) ? 4 : 1u << 24)));
    out.fast = landing.words().empty() || !chance(5);
    out.word = word;
    if (!out.fast) {
      out.entry = static_cast<std::uint32_t>(below(landing.words().size()));
      landing.words()[out.entry] = word;
    }
    if (chance(200)) out.kind = Notification::Kind::failed;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(out.length, 64); ++i)
      landing.bytes()[out.offset + i] = static_cast<std::byte>(chance(2) ? 0 : number());
    return out;
  }

 private:
  friend class Landing;
  Status any_status() noexcept {
    constexpr Status kRare[] = {Status::no_place, Status::queue_full, Status::link_ended, Status::refused};
    return chance(8) ? kRare[below(chance(10) ? 4 : 2)] : Status::ok;
  }

  Input& input_;
  std::uint32_t next_slot_ = 0;
  std::map<std::uint32_t, Landing*> landings_;
};

bool inside_some(Bench& bench, std::span<const std::byte> bytes) {
  for (const auto& [index, landing] : bench.landings()) {
    const std::span<std::byte> all = landing->bytes();
    if (bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size()) return true;
  }
  return bytes.empty();
}

void receive(Bench bench) {
  std::unique_ptr<StreamSink<Bench>> sink;
  try {
    sink =
        std::make_unique<StreamSink<Bench>>(bench, StreamLimits{.first = 1024, .most = 16384, .parcels = 8});
  } catch (const std::bad_alloc&) {
    return;
  }
  const auto admit = [&](std::uint64_t) { return !bench.chance(10); };
  Ticket ticket;
  ASSERT_EQ(sink->offer(ticket), Status::ok);
  std::uint32_t sequence = 0;
  std::uint64_t last = 0, released = 0, head = 0;
  while (!bench.over()) {
    if (!sink->open() && !bench.chance(3)) {
      StreamOpen open;
      open.answers.interface = bench.chance(5) ? 9 : kPeer;
      open.answers.generation = 1;
      open.answers.bound = 128;
      const auto door = bench.landings().begin()->second;
      std::memcpy(door->bytes().data(), &open, sizeof open);
      if (bench.chance(4)) door->bytes()[bench.below(sizeof open)] = static_cast<std::byte>(bench.number());
      Notification arrival;
      arrival.slot = door->number();
      arrival.peer = kPeer;
      arrival.length = bench.chance(5) ? bench.below(128) : sizeof open;
      sink->arrived(arrival, admit);
      receivers.times += sink->open();
    } else {
      // What an honest sender says, most of the time: or there would soon be nothing to spoil.
      Notification arrival = bench.message(sequence);
      if (!bench.chance(30) && sink->open() && bench.landings().size() > 1) {
        Bench::Landing& ring = *std::next(bench.landings().begin())->second;
        arrival.slot = ring.number();
        arrival.peer = kPeer;
        arrival.kind = Notification::Kind::message;
        arrival.fast = true;
        arrival.length = bench.below(100);
        arrival.offset = head % ring.bytes().size();
        arrival.word = word_of(StreamWord::record, sequence);
        if (sequence - static_cast<std::uint32_t>(released) >= 7) continue;
        head += room_for(arrival.length);
        if (arrival.length == 0) arrival.offset = 0;
        if (arrival.offset + room_for(arrival.length) > ring.bytes().size()) continue;
        ++sequence;
      }
      sink->arrived(arrival, admit);
    }
    StreamRecord record;
    while (!bench.chance(4) && sink->next(record)) {
      ++records.times;
      ASSERT_TRUE(inside_some(bench, record.bytes));
      ASSERT_EQ(record.number, last + 1);
      last = record.number;
    }
    if (bench.chance(3)) {
      const std::uint64_t upto = bench.below(last + 3);
      EXPECT_EQ(sink->release(upto), upto <= last ? Status::ok : Status::invalid);
      if (upto <= last) released = std::max(released, upto);
    }
    if (bench.chance(3)) sink->settle();
    if (bench.chance(500)) sink->stop();
    // The rings double: all of them together are less than twice the longest. And the door.
    ASSERT_LE(bench.memory(), 2 * 16384 + 128u);
    if (sink->open() && sink->end() != Status::ok) {
      broken.times += sink->end() == Status::broken;
      if (!bench.chance(5)) continue;
      if (sink->offer(ticket) == Status::ok) sequence = 0, last = released = head = 0;
    }
  }
}

void send(Bench bench) {
  Ticket door;
  door.interface = kPeer;
  door.generation = 1;
  door.bound = 128;
  std::unique_ptr<StreamSource<Bench>> source;
  try {
    source = std::make_unique<StreamSource<Bench>>(bench, door, 2048);
  } catch (const std::bad_alloc&) {
    return;
  }
  const std::vector<std::byte> data(4096);
  while (!bench.over()) {
    if (bench.chance(2)) {
      SendHandle handle;
      const Status status =
          source->post(std::span(data).first(bench.below(bench.chance(3) ? 4096 : 64)), &handle);
      sent.times += status == Status::ok;
    } else if (bench.chance(3)) {
      static_cast<void>(source->flush());
    }
    Notification arrival = bench.message(static_cast<std::uint32_t>(bench.below(4)));
    if (!bench.chance(30)) {
      // What an honest receiver says, most of the time.
      arrival.word = word_of(StreamWord::released, bench.parcels_sent);
      arrival.kind = Notification::Kind::message;
      arrival.peer = kPeer;
      arrival.fast = true;
      if (source->ring().bound == 0 && !bench.chance(3)) continue;
    }
    if (source->ring().bound == 0 || bench.chance(20)) {
      const auto odd = [&](std::uint64_t good) { return bench.chance(40) ? bench.number() : good; };
      StreamRing ring;
      ring.parcels = static_cast<std::uint32_t>(odd(8));
      ring.number = source->ring().bound == 0 ? 0 : static_cast<std::uint32_t>(bench.below(4));
      ring.bytes = odd(4096);
      ring.most = odd(16384);
      const auto landing = bench.landings().begin()->second;
      arrival.offset = bench.below(2) * 64;
      arrival.length = sizeof ring;
      std::memcpy(landing->bytes().data() + arrival.offset, &ring, sizeof ring);
      const bool first = (source->ring().bound == 0) != bench.chance(40);
      arrival.word = word_of(first ? StreamWord::accept : StreamWord::more, 0);
      arrival.kind = Notification::Kind::message;
      arrival.peer = kPeer;
      arrival.fast = true;
    }
    source->arrived(arrival);
    source->settle();
    senders.times += source->ring().bound != 0;
    if (bench.chance(50)) static_cast<void>(source->close());
    if (source->end() == Status::ok) continue;
    ++ended.times;
    const Status after = source->post(std::span(data).first(1), nullptr);
    EXPECT_EQ(after, source->end()) << "an end is an end";
    break;
  }
}

}  // namespace

const RandomRuns random_runs{.runs = 600, .bytes = 4000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  input.pick(2) == 0 ? receive(Bench{input}) : send(Bench{input});
}

}  // namespace hamlyn::fuzz
