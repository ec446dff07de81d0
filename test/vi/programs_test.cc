// Random programs of several NICs: posts, sends, writes, reads, connects, disconnects, memory that comes and
// goes, and deaths, with room that is short now and then. Whatever they do:
//
// - every descriptor that was posted comes back exactly once, in the order of its queue;
// - what a reliable connection's receives have is what was sent, in order, without a gap;
// - what a receive tells of that was written stands there then;
// - every send that was promised to stand at the other side has its receive;
// - memory that nobody has a right to stays as it was.
#include "test/vi/vi_party.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kNics = 3, kVis = 3;
constexpr std::size_t kSealed = 40000, kSealedBytes = 4096, kOpen = 48000, kOpenBytes = 4096, kTold = 53248;

struct Payload {
  std::uint64_t connection = 0, index = 0;
};

struct Program {
  struct End {
    std::uint32_t number = 0;
    std::size_t nic = 0;
    Reliability level = Reliability::delivery;
    End* other = nullptr;  // connected with, as the test has it
    std::uint64_t connection = 0, sent = 0, acknowledged = 0, expected = 0;
    std::deque<Descriptor*> sends = {}, receives = {};
  };

  explicit Program(std::uint64_t seed) : world(seed, kNics), chance(seed * 77) {
    for (std::size_t nic = 0; nic != kNics; ++nic) {
      parties.push_back(std::make_unique<ViParty>(world, nic));
      ViParty& party = *parties.back();
      MemoryHandle handle = 0;
      Tag other = 0;
      EXPECT_EQ(party.machine().create_tag(other), Result::success);
      EXPECT_EQ(party.machine().register_memory(party.bytes(kSealed, kSealedBytes), {party.tag, false, false},
                                                handle),
                Result::success);
      sealed.push_back(handle);
      EXPECT_EQ(
          party.machine().register_memory(party.bytes(kSealed, kSealedBytes), {other, true, true}, handle),
          Result::success);
      foreign.push_back(handle);
      for (std::size_t i = 0; i != kVis; ++i) {
        const Reliability level =
            std::array{Reliability::unreliable, Reliability::delivery, Reliability::reception}[i];
        ends.push_back({.number = party.make_vi(level), .nic = nic, .level = level});
      }
    }
  }

  std::size_t pick(std::size_t of) { return chance() % of; }
  ViParty& party(const End& end) { return *parties[end.nic]; }
  bool alive(const End& end) { return world.machines[end.nic] != nullptr; }

  void connect(End& end) {
    std::vector<End*> with;
    for (End& other : ends)
      if (&other != &end && other.level == end.level && alive(other) &&
          party(other).state(other.number) == State::idle)
        with.push_back(&other);
    if (with.empty() || party(end).state(end.number) != State::idle) return;
    End& other = *with[pick(with.size())];
    take_all(end), take_all(other);
    const std::uint32_t waiter = party(other).machine().add_waiter({});
    ASSERT_EQ(party(end).machine().ask_for(end.number, {}, {}, party(other).machine().door()),
              Result::success);
    world.settle();
    const std::uint32_t request = party(other).machine().request_of(waiter);
    party(other).machine().remove_waiter(waiter);
    ASSERT_NE(request, 0u);
    ASSERT_EQ(party(other).machine().accept(request, other.number), Result::success);
    world.settle();
    begin(end, other), begin(other, end);
    ++connections;
  }
  void begin(End& end, End& other) {
    end.other = &other;
    end.connection = connections;
    end.sent = end.acknowledged = end.expected = 0;
  }
  void post_receive(End& end) {
    if (end.receives.size() == 16) return;
    const std::size_t at = 64 * (places++ % 400);  // of this receive alone
    Descriptor* const what = party(end).descriptor({{at, 8}, {at + 16, 8}});
    what->next = at;
    ASSERT_EQ(party(end).post_receive(end.number, what), Result::success);
    end.receives.push_back(what);
  }
  void post(End& end, Descriptor* what) {
    if (end.sends.size() == 16) return;
    const Result result = party(end).post_send(end.number, what);
    if (result == Result::success) end.sends.push_back(what);
  }
  void send(End& end) {
    if (end.sends.size() == 16 || party(end).state(end.number) != State::connected) return;
    // Place of this send alone, not written again: what is pending is read later.
    const std::size_t at = 30000 + 16 * (places++ % 500);
    const Payload payload{end.connection, end.sent++};
    std::memcpy(party(end).bytes(at, 16).data(), &payload, sizeof payload);
    if (pick(3) == 0 && end.other != nullptr && alive(*end.other)) {
      const std::size_t where = kTold + at - 30000;
      return post(end, party(end).remote(party(*end.other), where, {{at, 16}}, kRdmaWrite | kImmediate,
                                         static_cast<std::uint32_t>(where)));
    }
    post(end, party(end).descriptor({{at, 16}}, pick(2) == 0 ? kImmediate : std::uint16_t{0}, 9));
  }
  void rdma(End& end) {
    if (end.other == nullptr || !alive(*end.other) || party(end).state(end.number) != State::connected)
      return;
    ViParty& target = party(*end.other);
    const std::uint16_t control = pick(2) == 0 ? kRdmaWrite : kRdmaRead;
    if (pick(6) == 0) {
      Descriptor* const bad =
          party(end).remote(target, kSealed + pick(kSealedBytes - 64), {{kOpen, 64}}, control);
      bad->segments[0].handle = pick(2) == 0 ? sealed[end.other->nic] : foreign[end.other->nic];
      return post(end, bad);
    }
    post(end, party(end).remote(target, kOpen + pick(kOpenBytes - 64), {{kOpen, 32}, {kOpen + 64, 32}},
                                static_cast<std::uint16_t>(control | (pick(3) == 0 ? kQueueFence : 0))));
  }
  void take_all(End& end) {
    ViParty& of = party(end);
    for (const Side side : {Side::send, Side::receive}) {
      auto& posted = side == Side::send ? end.sends : end.receives;
      for (;;) {
        const Completed done = of.machine().take(end.number, side);
        if (done.descriptor == nullptr) break;
        ASSERT_FALSE(posted.empty());
        ASSERT_EQ(done.descriptor, posted.front()) << "in the order of posting";
        posted.pop_front();
        look(end, side, *done.descriptor);
      }
    }
  }
  void look(End& end, Side side, const Descriptor& done) {
    ASSERT_NE(done.status & kDone, 0u);
    const bool good = (done.status & kErrors) == 0;
    if (side == Side::send) {
      if (good && ((done.control & kOperation) == 0 || (done.control & kImmediate) != 0)) ++end.acknowledged;
      return;
    }
    if (!good) return;
    Payload payload;
    std::byte bytes[16];
    const bool written = (done.status & kOfRemoteWrite) == kOfRemoteWrite;
    std::ranges::copy(party(end).bytes(written ? done.immediate : done.next, 8), bytes);
    std::ranges::copy(party(end).bytes(written ? done.immediate + 8 : done.next + 16, 8), bytes + 8);
    told += written;
    std::memcpy(&payload, bytes, sizeof payload);
    ASSERT_EQ(done.length, 16u);
    ++received;
    ASSERT_EQ(payload.connection, end.connection);
    if (end.level == Reliability::unreliable)
      ASSERT_GE(payload.index, end.expected);
    else
      ASSERT_EQ(payload.index, end.expected) << "neither lost nor twice nor in another order";
    end.expected = payload.index + 1;
  }
  void memory(End& end) {
    ViParty& of = party(end);
    MemoryHandle handle = 0;
    std::byte* const at = of.bytes(kOpen, 1).data();
    ASSERT_EQ(of.machine().register_memory({at, kOpenBytes}, {of.tag, true, true}, handle), Result::success);
    for (std::size_t i = pick(10); i != 0; --i) world.step();
    ASSERT_EQ(of.machine().set_memory(at, handle, {of.tag, pick(2) == 0, pick(2) == 0}), Result::success);
    ASSERT_EQ(of.machine().deregister_memory(at, handle), Result::success);
    if (pick(8) != 0) return;
    // All rights there end, and others are given.
    ASSERT_EQ(of.machine().set_memory(of.all().data(), of.handle, {of.tag, true, true}), Result::success);
  }
  void run(std::size_t steps) {
    for (std::size_t i = 0; i != steps && !testing::Test::HasFatalFailure(); ++i) {
      world.crowded = pick(4) == 0 ? 60 : 0;
      End& end = ends[pick(ends.size())];
      if (!alive(end)) continue;
      act(end);
      for (std::size_t arrivals = pick(4); arrivals != 0; --arrivals) world.step();
      if (pick(3) == 0 && alive(end)) take_all(end);
    }
  }
  void act(End& end) {
    switch (pick(16)) {
      case 0:
        world.crowded = 0;
        return connect(end);
      case 1:
        if (party(end).state(end.number) == State::error || pick(8) == 0)
          static_cast<void>(party(end).machine().disconnect(end.number));
        return;
      case 2:
        return memory(end);
      case 3:
      case 4:
        return rdma(end);
      case 5:
        if (pick(60) == 0 && kills-- > 0) world.kill(end.nic);
        return;
      default:
        return pick(2) == 0 ? send(end) : post_receive(end);
    }
  }
  void finish() {
    world.crowded = 0;
    world.settle();
    for (End& end : ends)
      if (alive(end)) take_all(end);
    for (End& end : ends)
      if (alive(end)) check_acknowledged(end);
    for (End& end : ends)
      if (alive(end) && party(end).state(end.number) == State::connected) {
        EXPECT_TRUE(end.sends.empty()) << "a send waits for nothing that is to come";
      }
    for (End& end : ends) {
      if (!alive(end)) continue;
      ASSERT_EQ(party(end).machine().disconnect(end.number), Result::success);
      take_all(end);
      EXPECT_TRUE(end.sends.empty()) << "a send did not come back";
      EXPECT_TRUE(end.receives.empty()) << "a receive did not come back";
      EXPECT_EQ(party(end).machine().destroy_vi(end.number), Result::success);
    }
    for (const auto& each : parties)
      for (const std::byte byte : each->bytes(kSealed, kSealedBytes)) ASSERT_EQ(byte, std::byte{0});
  }
  void check_acknowledged(End& end) {
    if (end.level != Reliability::reception || end.other == nullptr || !alive(*end.other)) return;
    if (end.other->connection != end.connection || end.other->other != &end) return;
    EXPECT_LE(end.acknowledged, end.other->expected) << "it was said to stand there";
  }

  ViWorld world;
  std::mt19937_64 chance;
  std::vector<std::unique_ptr<ViParty>> parties;
  std::vector<MemoryHandle> sealed, foreign;
  std::vector<End> ends;
  std::uint64_t connections = 1, received = 0, told = 0, places = 0;
  int kills = 1;
};

TEST(ViPrograms, keep_what_the_levels_promise) {
  std::uint64_t received = 0, told = 0, connections = 0;
  for (std::uint64_t seed = 1; seed != 301; ++seed) {
    SCOPED_TRACE(seed);
    Program program(seed);
    program.run(400);
    program.finish();
    received += program.received;
    told += program.told;
    connections += program.connections;
    if (HasFailure()) return;
  }
  EXPECT_GT(received, 3000u) << "the programs did little";
  EXPECT_GT(told, 300u);
  EXPECT_GT(connections, 1000u);
}

}  // namespace
}  // namespace hamlyn::test
