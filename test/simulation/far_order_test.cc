// The order that a link between hosts keeps whatever its wire does, and what does not wait because of it: a
// fence for an acknowledgement, a signal for a frame of its own.
#include <array>
#include <optional>

#include "test/simulation/far_link.h"

namespace hamlyn::test {
namespace {

constexpr RoughNet::Weather kRough{
    .most_delay = 100 * kTurn, .lost_one_in = 8, .repeated_one_in = 8, .not_now_one_in = 8};

// One level of sends, and how many have been told of at the other side.
struct Row {
  Terminus& terminus;
  std::uint64_t first;
  std::uint64_t sent = 0, told = 0;

  void send(const Ticket& ticket) {
    if (sent != 200 && terminus.send_fast(ticket, {}, first + sent, 0) == Status::ok) ++sent;
  }
};

TEST_F(FarLink, hands_over_each_lane_in_its_order_whatever_the_wire_does) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    make(seed, kRough);
    Area area(64);
    TestSlot slot(other->party, area, other->queue, {.places = 512});
    Terminus normal(one->party.core, 63), urgent(one->party.core, 63, Priority::urgent);
    std::array rows{Row{normal, 0}, Row{urgent, 1000}};
    ASSERT_TRUE(until([&] {
      for (Row& row : rows) row.send(slot.ticket());
      while (const auto n = take(other->party, other->queue)) {
        Row& row = rows[n->word / 1000];
        EXPECT_EQ(n->word, row.first + row.told) << "one overtook another";
        ++row.told;
      }
      return rows[0].told == 200 && rows[1].told == 200;
    }));
  }
}

// One of another lane waits for nobody.
TEST_F(FarLink, keeps_a_frame_until_the_one_before_it_in_its_lane_has_come) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  const auto comes = [&](std::uint64_t sequence, Lane lane, std::uint8_t behind) {
    FrameHeader header = header_from_one(sequence);
    header.lane = lane;
    header.behind = behind;
    net->inject(1, frame(header));
    for (int i = 0; i < 3; ++i) turn();
    return handed_over();
  };
  EXPECT_EQ(comes(4, Lane::normal, 1), 0u);
  EXPECT_EQ(comes(3, Lane::normal, 2), 0u);
  EXPECT_FALSE(other->link->something_arrived()) << "nobody would sleep";
  EXPECT_EQ(comes(2, Lane::urgent, 0), 1u);
  EXPECT_EQ(comes(1, Lane::normal, 0), 4u);
  EXPECT_EQ(other->port->arrivals_out(), 0u);
}

TEST_F(FarLink, refuses_frames_behind_one_that_there_cannot_be) {
  const auto wrong = [](std::uint64_t sequence, std::uint8_t behind) {
    FrameHeader header = header_from_one(sequence), read;
    header.behind = behind;
    return decode(frame(header), read);
  };
  EXPECT_EQ(wrong(40, ofi::kMostWindow - 1), nullptr);
  EXPECT_STREQ(wrong(40, ofi::kMostWindow), "behind a frame that there cannot be") << "acknowledged by then";
  EXPECT_EQ(wrong(3, 2), nullptr);
  EXPECT_STREQ(wrong(3, 3), "behind a frame that there cannot be");
}

// Frames that wait for ever go with their link.
TEST_F(FarLink, lets_no_more_stand_of_who_names_frames_that_never_come) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  for (std::uint64_t sequence = 2; sequence <= ofi::kMostWindow; ++sequence) {
    FrameHeader header = header_from_one(sequence);
    header.behind = 1;
    net->inject(1, frame(header));
  }
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(handed_over(), 0u);
  EXPECT_EQ(other->port->arrivals_out(), share_of(Lane::normal, limits().window));
  other->cut();
  EXPECT_EQ(other->port->arrivals_out(), 0u);
}

TEST_F(FarLink, counts_as_taken_what_was_handed_over) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  ASSERT_EQ(one->link->put(packet, nullptr, nullptr, Priority::normal), Status::ok);
  const auto acknowledged = [&] {
    net->pass(kTurn);
    one->party.core.run();
    other->exchange.pump();
    other->exchange.send_due(true);
    return one->link->all_arrived();
  };
  for (int i = 0; i < 1000 && !acknowledged(); ++i) continue;
  ASSERT_TRUE(one->link->all_arrived());
  EXPECT_LT(one->link->taken_count(), one->link->put_count());
  EXPECT_TRUE(until([&] { return one->link->taken_count() == one->link->put_count(); }));
}

// One who lags behind is sent few frames, which have much in them, though each could leave by itself.
TEST_F(FarLink, fills_its_frames_for_one_who_lags_behind) {
  constexpr std::uint64_t kPackets = 10'000;
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  interface::Packet packet {};
  set_lead(packet, interface::Operation::write, 0, 0);
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    net->pass(2 * limits().gather);
    ASSERT_EQ(one->link->put(packet, nullptr, nullptr, Priority::normal), Status::ok);
  }
  const std::uint64_t full = kPackets * ofi::kPacketHeader / limits().enough;
  EXPECT_LE(one->link->protocol().sent(), share_of(Lane::normal, limits().window) / 2 + full + 1);
  EXPECT_TRUE(until([&] { return handed_over() == kPackets; }));
}

// The one frame that tells of room has no packets, and nobody sends it again.
TEST_F(FarLink, finds_room_soon_though_the_frame_that_tells_of_it_is_lost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    make(seed, {}, ofi::Limits{});
    for (int i = 0; i < 100; ++i) turn();
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 0, 0);
    std::uint64_t sent = 0;
    const auto put = [&] {
      const bool left = one->link->put(packet, nullptr, nullptr, Priority::normal) == Status::ok;
      sent += left ? 1u : 0u;
      return left;
    };
    // As many frames as the other side has room for; it acknowledges all, and hands over none.
    for (int i = 0; i < 4000 && one->link->protocol().room(Lane::normal) > 1; ++i) {
      net->pass(kTurn);
      put();
      one->party.core.run();
      other->exchange.pump();
      other->exchange.send_due(true);
    }
    for (int i = 0; i < 1000 && one->link->protocol().kept() != 0; ++i) {
      net->pass(kTurn);
      one->party.core.run();
      other->exchange.pump();
      other->exchange.send_due(true);
    }
    ASSERT_EQ(one->link->protocol().kept(), 0u);
    net->cut(1, 0);
    const std::uint64_t lost = net->lost;
    for (int i = 0; i < 1000 && net->lost == lost; ++i) turn();
    ASSERT_NE(net->lost, lost);
    net->mend_all();
    put();
    const std::uint64_t before = net->now();
    ASSERT_TRUE(until([&] { return handed_over() == sent; }));
    EXPECT_LE(net->now() - before, ofi::Limits{}.resend + kMillisecond) << "and before any heartbeat";
  }
}

// Whatever else is lost, too: the question for room comes again.
TEST_F(FarLink, finds_room_over_a_wire_that_loses) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    make(seed, {.lost_one_in = 4}, ofi::Limits{});
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 0, 0);
    std::uint64_t sent = 0;
    for (int burst = 0; burst < 20; ++burst) {
      for (int i = 0; i < 200; ++i) {
        sent += one->link->put(packet, nullptr, nullptr, Priority::normal) == Status::ok ? 1u : 0u;
        if (i % 4 == 0) turn();
      }
      ASSERT_TRUE(until([&] { return handed_over() == sent; }));
    }
    EXPECT_EQ(one->link->over(), LinkProtocol::End::none);
  }
}

// A slot that takes puts, its opening, and a terminus.
class FarPuts : public FarLink {
 protected:
  void open() {
    make(3, {});
    slot.emplace(other->party, area, other->queue, Slot::Options{.fetches = true, .puts = true});
    terminus.emplace(one->party.core, 63);
    const std::uint64_t word = 0;
    const auto put = [&] { return terminus->put(slot->ticket(), bytes(word), {}, nullptr); };
    ASSERT_TRUE(until([&] { return put() == Status::ok; }));
    ASSERT_TRUE(until([&] { return one->link->taken_count() == one->link->put_count(); }));
    for (int i = 0; i < 1000; ++i) turn();
  }
  void TearDown() override {
    terminus.reset();
    slot.reset();
  }
  static std::span<const std::byte> bytes(const std::uint64_t& word) {
    return std::as_bytes(std::span(&word, 1));
  }

  Area area{4096};
  std::optional<TestSlot> slot;
  std::optional<Terminus> terminus;
};

TEST_F(FarPuts, are_fenced_before_anybody_has_acknowledged_them) {
  open();
  const std::uint64_t word = 7;
  ASSERT_EQ(terminus->put(slot->ticket(), bytes(word), {.offset = 64}, nullptr), Status::ok);
  RemoteHandle handle;
  EXPECT_EQ(terminus->requests().fence(slot->ticket(), {}, nullptr, &handle), Status::pending);
  EXPECT_EQ(one->link->protocol().sent() - one->link->protocol().acknowledged(), 2u)
      << "it has left, and waits for no company";
  ASSERT_TRUE(until([&] { return terminus->requests().outcome(handle).status != Status::pending; }));
  EXPECT_EQ(terminus->requests().outcome(handle).status, Status::ok);
  EXPECT_TRUE(same(area.bytes().subspan(64, 8), bytes(word)));
}

// A put close behind another waits for company, and the fence behind it is that company.
TEST_F(FarPuts, that_wait_for_company_leave_with_their_fence_in_one_frame) {
  open();
  const std::uint64_t before = one->link->protocol().sent(), first = 7, second = 8;
  ASSERT_EQ(terminus->put(slot->ticket(), bytes(first), {.offset = 64}, nullptr), Status::ok);
  EXPECT_EQ(one->link->protocol().sent(), before + 1) << "nothing has left lately: it leaves at once";
  ASSERT_EQ(terminus->put(slot->ticket(), bytes(second), {.offset = 72}, nullptr), Status::ok);
  EXPECT_EQ(one->link->protocol().sent(), before + 1);
  RemoteHandle handle;
  EXPECT_EQ(terminus->requests().fence(slot->ticket(), {}, nullptr, &handle), Status::pending);
  EXPECT_EQ(one->link->protocol().sent(), before + 2);
  ASSERT_TRUE(until([&] { return terminus->requests().outcome(handle).status != Status::pending; }));
  EXPECT_EQ(terminus->requests().outcome(handle).status, Status::ok);
  EXPECT_TRUE(same(area.bytes().subspan(72, 8), bytes(second)));
}

TEST_F(FarPuts, leave_with_their_signal_in_one_frame) {
  open();
  const std::uint64_t before = one->link->protocol().sent(), word = 7, signal = 1;
  bool left = false;
  EXPECT_EQ(terminus->put_with_signal(slot->ticket(), bytes(word), 64, bytes(signal),
                                      {.offset = 128, .signal = Signal::set}, left),
            Status::ok);
  EXPECT_TRUE(left);
  EXPECT_EQ(one->link->protocol().sent(), before + 1);
  ASSERT_TRUE(until([&] { return same(area.bytes().subspan(128, 8), bytes(signal)); }));
  EXPECT_TRUE(same(area.bytes().subspan(64, 8), bytes(word)));
}

// Puts of any length that one frame takes do; and the fence answers for them.
TEST_F(FarPuts, leave_with_their_fence_in_one_frame) {
  for (const std::size_t length : {8u, 48u, 49u, 2048u}) {
    open();
    const std::uint64_t before = one->link->protocol().sent();
    const std::vector<std::byte> data = pattern(length, 5);
    interface::Requests::Mark mark;
    RemoteHandle fence;
    SendHandle sent;
    std::uint64_t by = 0;
    EXPECT_EQ(terminus->put_and_fence(slot->ticket(), data, {.offset = 64}, &sent, &fence, mark, by),
              Status::pending);
    EXPECT_EQ(by, one->link->serial);
    EXPECT_EQ(terminus->status(sent), Status::ok);
    EXPECT_EQ(one->link->protocol().sent(), before + 1) << length;
    ASSERT_TRUE(until([&] { return terminus->requests().outcome(fence).status != Status::pending; }));
    EXPECT_EQ(terminus->requests().outcome(fence).status, Status::ok);
    EXPECT_TRUE(same(area.bytes().subspan(64, length), data));
    const std::uint64_t again = one->link->protocol().sent();
    EXPECT_EQ(terminus->put_and_fence(slot->ticket(), data, {.offset = 4090}, &sent, &fence, mark, by),
              Status::out_of_bounds);
    EXPECT_EQ(by, 0u);
    EXPECT_EQ(one->link->protocol().sent(), again) << "nothing of it leaves, and no fence either";
    ASSERT_EQ(terminus->put(slot->ticket(), std::as_bytes(std::span("a byte", 1)), {.offset = 64}, nullptr),
              Status::ok);
    EXPECT_EQ(one->link->protocol().sent(), again + 1) << "and nothing is held back";
    TearDown();
  }
}

// Data that had to wait would have to outlive the call.
TEST_F(FarPuts, do_not_leave_with_their_signal_behind_what_waits) {
  open();
  const std::vector<std::byte> much(16u << 20);
  Area large(much.size());
  TestSlot there(other->party, large, other->queue, Slot::Options{.puts = true});
  SendHandle handle;
  const auto put = [&] { return terminus->put(there.ticket(), much, {}, &handle); };
  ASSERT_TRUE(until([&] { return put() == Status::pending; }));
  const std::uint64_t word = 7;
  bool left = true;
  EXPECT_EQ(terminus->put_with_signal(slot->ticket(), bytes(word), 64, bytes(word),
                                      {.offset = 128, .signal = Signal::set}, left),
            Status::queue_full);
  EXPECT_FALSE(left);
  one->cut();
}

TEST_F(FarPuts, are_refused_with_their_signal_if_either_cannot_be) {
  open();
  const std::uint64_t before = one->link->protocol().sent(), word = 7;
  bool left = true;
  const PutOptions signal{.offset = 128, .signal = Signal::set};
  EXPECT_EQ(terminus->put_with_signal(slot->ticket(), bytes(word), 4092, bytes(word), signal, left),
            Status::out_of_bounds);
  EXPECT_FALSE(left);
  EXPECT_EQ(one->link->protocol().sent(), before);
  const PutOptions outside{.offset = 4096, .signal = Signal::set};
  EXPECT_EQ(terminus->put_with_signal(slot->ticket(), bytes(word), 64, bytes(word), outside, left),
            Status::out_of_bounds);
  EXPECT_TRUE(left) << "what has left is not taken back";
  EXPECT_EQ(one->link->protocol().sent(), before + 1) << "and waits for nothing";
}

}  // namespace
}  // namespace hamlyn::test
