// Links between hosts over a wire that loses, repeats, delays and reorders frames and takes none for a while:
// the whole of it but libfabric, in virtual time, over many seeds. And what they refuse.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/link_reasons.h"
#include "test/simulation/far_link.h"

namespace hamlyn::test {
namespace {

TEST_F(FarLink, carries_everything_once_whatever_the_wire_does) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    make(seed, {.most_delay = 100 * kTurn, .lost_one_in = 8, .repeated_one_in = 8, .not_now_one_in = 8});
    Area area(1u << 18);
    TestSlot slot(other->party, area, other->queue, {.entries = 4, .places = 256, .fetches = true});
    Terminus terminus(one->party.core, 63), urgent(one->party.core, 63, Priority::urgent);
    std::vector<std::byte> data = pattern(40'000, seed);
    ASSERT_LE(terminus.send(slot.ticket(0), data, {}, nullptr), Status::pending);
    ASSERT_LE(urgent.send(slot.ticket(1), std::span(data).first(900), {.offset = 1u << 17}, nullptr),
              Status::pending);
    RemoteHandle handle;
    ASSERT_EQ(terminus.requests().fetch(slot.ticket(), {.operand = 3}, {.offset = (1u << 18) - 8}, nullptr,
                                        &handle),
              Status::pending);
    std::map<std::uint64_t, int> words;
    int messages = 0;
    std::uint64_t word = 0;
    ASSERT_TRUE(until([&] {
      if (word < 300) word += terminus.send_fast(slot.ticket(), {}, word, 0) == Status::ok ? 1u : 0u;
      while (const auto n = take(other->party, other->queue)) {
        EXPECT_EQ(n->kind, Notification::Kind::message);
        if (n->fast) {
          ++words[n->word];
        } else {
          ++messages;
        }
      }
      return words.size() == 300 && messages == 2 && terminus.requests().outcome(handle).status == Status::ok;
    }));
    for (const auto& [each, times] : words) EXPECT_EQ(times, 1) << each;
    EXPECT_TRUE(same(area.bytes().first(data.size()), data));
    EXPECT_EQ(other->party.refused_in_all() + one->party.refused_in_all(), 0u);
    EXPECT_GT(net->lost, 0u);
    net->weather().lost_one_in = 0;
    expect_nothing_kept();
  }
}

TEST_F(FarLink, goes_on_after_a_short_cut) {
  make(7, {});
  Area area(4096);
  TestSlot slot(other->party, area, other->queue, {.places = 64});
  Terminus terminus(one->party.core, 63);
  ASSERT_TRUE(until([&] { return terminus.send_fast(slot.ticket(), {}, 1, 0) == Status::ok; }));
  net->cut(0, 1);
  net->cut(1, 0);
  ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, 2, 0), Status::ok);
  const std::uint64_t end = net->now() + 900 * kMillisecond;
  while (net->now() < end) turn();
  net->mend(0, 1);
  net->mend(1, 0);
  int came = 0;
  ASSERT_TRUE(until([&] {
    while (take(other->party, other->queue)) ++came;
    return came == 2;
  }));
  EXPECT_EQ(one->link->over(), LinkProtocol::End::none);
}

// Each end, whether it sends or not, and whichever way is lost.
TEST_F(FarLink, finds_the_other_side_dead_in_time) {
  for (int lost = 1; lost <= 3; ++lost) {
    SCOPED_TRACE(lost);
    make(3, {});
    Area area(4096);
    TestSlot slot(other->party, area, other->queue, {.places = 64});
    Terminus terminus(one->party.core, 63);
    ASSERT_TRUE(until([&] { return terminus.send_fast(slot.ticket(), {}, 1, 0) == Status::ok; }));
    ASSERT_TRUE(until([&] { return take(other->party, other->queue).has_value(); }));
    if ((lost & 1) != 0) net->cut(0, 1);
    if ((lost & 2) != 0) net->cut(1, 0);
    const std::uint64_t cut = net->now();
    ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, 2, 0), Status::ok);
    const auto over = [](const Host& host) { return host.link->over() != LinkProtocol::End::none; };
    ASSERT_TRUE(until([&] { return over(*one) && (lost == 2 || over(*other)); }));
    EXPECT_LE(net->now() - cut, limits().dead + ofi::Limits::heartbeat(limits().dead) + 2 * kTurn);
    EXPECT_EQ(one->link->over(), LinkProtocol::End::peer_dead);
    EXPECT_GE(one->party.attentions, 1);
    EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 3, 0), Status::link_ended);
  }
}

// Its daemon may have died while the process lives and talks all the time.
TEST_F(FarLink, ends_in_time_when_the_other_node_has_gone_however_much_comes) {
  make(3, {});
  Area area(4096);
  TestSlot slot(other->party, area, other->queue, {.places = 64});
  Terminus terminus(one->party.core, 63);
  const auto talk = [&] {
    static_cast<void>(terminus.send_fast(slot.ticket(), {}, 1, 0));
    while (take(other->party, other->queue)) continue;
  };
  ASSERT_TRUE(until([&] { return talk(), handed_over() > 100; }));
  const std::uint64_t told = net->now();
  other->link->expect_end();
  ASSERT_TRUE(until([&] { return talk(), other->link->over() == LinkProtocol::End::peer_ended; }));
  EXPECT_GE(net->now() - told, limits().farewell) << "what was under way is waited for";
  // As long as each look brings something, the clock is that of the first of 64 of them.
  EXPECT_LE(net->now() - told, limits().farewell_most + 64 * kTurn);
}

// Its daemon is silent, and it talks: the link goes on. If it is silent itself, the link is over when its
// time is up, and no heartbeat later.
TEST_F(FarLink, outlives_the_silence_of_a_daemon_for_as_long_as_the_process_is_heard) {
  for (const bool quiet : {false, true}) {
    make(3, {});
    Area area(4096);
    TestSlot slot(other->party, area, other->queue, {.places = 64});
    Terminus terminus(one->party.core, 63);
    const auto talk = [&] {
      if (!quiet) static_cast<void>(terminus.send_fast(slot.ticket(), {}, 1, 0));
      while (take(other->party, other->queue)) continue;
    };
    for (int i = 0; i < 1000; ++i) talk(), turn();
    other->link->doubt();
    for (const std::uint64_t end = net->now() + 3 * limits().dead; net->now() < end;) talk(), turn();
    EXPECT_EQ(other->link->over(), LinkProtocol::End::none);
    EXPECT_FALSE(other->link->protocol().doubted()) << "it was heard";
    net->cut(0, 1);
    const std::uint64_t cut = net->now();
    for (int i = 0; i < 100; ++i) talk(), turn();  // what was under way has come
    other->link->doubt();
    ASSERT_TRUE(until([&] { return talk(), other->link->over() != LinkProtocol::End::none; }));
    EXPECT_LE(net->now() - cut, limits().dead + kMillisecond);
    EXPECT_EQ(other->link->why_over(), (WhyNoLink{LinkReason::node_missing, false}));
  }
}

// Nobody may run this side for long: what is whole does not wait for that, what has more behind it does.
TEST_F(FarLink, sends_a_message_of_one_packet_at_once) {
  for (const bool whole : {true, false}) {
    make(3, {});
    for (int i = 0; i < 100; ++i) turn();
    const std::vector<std::byte> data(ofi::kFarMtu);
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 0, 0);
    packet.lead.length = static_cast<std::uint16_t>(data.size());
    packet.delta = whole ? 0 : 1;
    ASSERT_EQ(one->link->put(packet, data.data(), nullptr, Priority::normal), Status::ok);
    EXPECT_EQ(one->link->protocol().sent(), whole ? 1u : 0u);
    EXPECT_TRUE(until([&] { return handed_over() == 1; }));
  }
}

// Few sends, and few acknowledgements, for much data: what waits for its turn fills the frame that is open.
TEST_F(FarLink, fills_its_frames_with_a_long_message) {
  constexpr std::size_t kLong = 1u << 20;
  make(1, {});
  Area area(kLong);
  TestSlot slot(other->party, area, other->queue, {.entries = 1});
  Terminus terminus(one->party.core, 63);
  ASSERT_TRUE(until([&] { return one->link->protocol().heard() && other->link->protocol().heard(); }));
  const std::uint64_t before = one->link->protocol().sent();
  const std::vector<std::byte> data = pattern(kLong, 1);
  ASSERT_LE(terminus.send(slot.ticket(0), data, {}, nullptr), Status::pending);
  ASSERT_TRUE(until([&] { return !other->queue->empty(); }));
  EXPECT_TRUE(same(area.bytes(), data));
  constexpr std::uint64_t kWhole = kLong / limits().frame;
  EXPECT_LE(one->link->protocol().sent() - before, kWhole + 2)
      << "the first leaves at once, the last is what is left";
  expect_nothing_kept();
}

TEST_F(FarLink, is_quiet_but_for_heartbeats) {
  make(3, {});
  for (int i = 0; i < 1000; ++i) turn();
  int times = 0;
  const std::uint64_t end = net->now() + 5 * limits().dead;
  for (; net->now() < end; ++times) {
    net->pass(std::max<std::uint64_t>(1, std::min(one->exchange.next_time(), other->exchange.next_time()) -
                                             std::min(net->now(), one->exchange.next_time())));
    one->party.core.run();
    other->party.core.run();
    net->pass(200'000);
    one->party.core.run();
    other->party.core.run();
  }
  EXPECT_LE(times, 120) << "it would hardly sleep";
  EXPECT_EQ(one->link->over(), LinkProtocol::End::none);
  EXPECT_EQ(other->link->over(), LinkProtocol::End::none);
}

TEST_F(FarLink, tells_of_its_end_behind_what_was_sent) {
  make(11, {.lost_one_in = 6});
  Area area(1u << 18);
  TestSlot slot(other->party, area, other->queue, {.entries = 1});
  Terminus terminus(one->party.core, 63);
  const std::vector<std::byte> data = pattern(100'000, 5);
  SendHandle handle;
  ASSERT_LE(terminus.send(slot.ticket(0), data, {}, &handle), Status::pending);
  ASSERT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
  one->party.core.end_link(*one->link);
  one->exchange.retire(std::move(one->link), {LinkReason::left, false});
  net->weather().lost_one_in = 0;
  ASSERT_TRUE(until([&] { return other->link->over() == LinkProtocol::End::peer_ended; }));
  other->party.core.drain(*other->link);
  const auto n = take(other->party, other->queue);
  ASSERT_TRUE(n);
  EXPECT_TRUE(same(area.bytes().first(data.size()), data));
  EXPECT_FALSE(one->exchange.closing());
  EXPECT_EQ(other->link->why_over(), (WhyNoLink{LinkReason::left, true}));
  expect_nothing_kept();
}

// A process says something of itself, or of the other side, and of nothing else.
TEST_F(FarLink, tells_why_it_ends) {
  for (std::uint64_t number = 0; number <= static_cast<std::uint64_t>(LinkReason::ended); ++number) {
    make(3, {});
    ASSERT_TRUE(until([&] { return one->link->made() && other->link->made(); }));
    const WhyNoLink why{base::link_reason(number), false};
    one->party.core.end_link(*one->link, why);
    one->exchange.retire(std::move(one->link), why);
    ASSERT_TRUE(until([&] { return other->link->over() != LinkProtocol::End::none; }));
    const bool told = base::may_be_told(number);
    EXPECT_EQ(other->link->why_over(), (WhyNoLink{told ? why.reason : LinkReason::ended, told})) << number;
    const WhyNoLink by_node{LinkReason::died, false};
    EXPECT_EQ(other->link->why_over(by_node), told ? WhyNoLink(why.reason, true) : by_node) << number;
  }
}

// A word of the other side about this one is not said back to it.
TEST_F(FarLink, says_no_word_of_the_others_as_its_own) {
  make(3, {});
  ASSERT_TRUE(until([&] { return one->link->made() && other->link->made(); }));
  one->party.core.end_link(*one->link);
  one->exchange.retire(std::move(one->link), {LinkReason::stalled, true});
  ASSERT_TRUE(until([&] { return other->link->over() != LinkProtocol::End::none; }));
  EXPECT_EQ(other->link->why_over(), (WhyNoLink{LinkReason::ended, false}));
}

TEST_F(FarLink, knows_a_silence_from_a_way_that_never_was) {
  make(3, {});
  ASSERT_TRUE(until([&] { return one->link->made(); }));
  other->cut();
  ASSERT_TRUE(until([&] { return one->link->over() == LinkProtocol::End::peer_dead; }));
  EXPECT_EQ(one->link->why_over(), (WhyNoLink{LinkReason::silent, false}));
  make(3, {});
  net->cut(one->port->address(), other->port->address());
  ASSERT_TRUE(until([&] { return one->link->over() == LinkProtocol::End::peer_dead; }));
  EXPECT_FALSE(one->link->made());
  EXPECT_EQ(one->link->why_over(), (WhyNoLink{LinkReason::no_connection, false}));
  for (const LinkReason better : {LinkReason::node_missing, LinkReason::died, LinkReason::left}) {
    const WhyNoLink gone{better, false};
    EXPECT_EQ(one->link->why_over(gone), gone) << "its node knows better";
  }
}

// Why none could be had stands until the other side was heard, and no longer.
TEST_F(FarLink, is_none_to_its_interface_until_the_other_side_was_heard) {
  make(3, {});
  const WhyNoLink never{LinkReason::no_connection, false};
  one->party.core.end_link(*one->link, never);
  one->link.reset();
  one->join(*other, true);
  EXPECT_EQ(one->party.core.link_ends().of(102), never) << "it is asked for anew";
  EXPECT_FALSE(one->link->made());
  ASSERT_TRUE(until([&] { return one->link->made(); }));
}

TEST_F(FarLink, refuses_what_is_not_for_it) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  const auto strange = [&](const FrameHeader& header) {
    net->inject(1, frame(header));
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(handed_over(), 0u);
  };
  FrameHeader header = header_from_one(1);
  header.link ^= 1;
  strange(header);
  EXPECT_EQ(other->exchange.strangers(), 1u) << "another link";
  header = header_from_one(1);
  header.from = 100;
  strange(header);
  header = header_from_one(1);
  header.to = 103;
  strange(header);
  EXPECT_EQ(other->link->refused_frames(), 2u) << "an earlier incarnation of either node";
  strange(header_from_one(ofi::kMostWindow + 1));
  strange(header_from_one(~std::uint64_t{0}));
  EXPECT_EQ(other->link->refused_frames(), 4u) << "a sequence beyond the window";
  header = header_from_one(1);
  header.acknowledged = 1000;
  strange(header);
  EXPECT_EQ(other->link->refused_frames(), 5u) << "it acknowledges what was never sent";
  EXPECT_EQ(other->link->over(), LinkProtocol::End::none);
  expect_nothing_kept();
}

TEST_F(FarLink, takes_a_replayed_frame_once) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  for (int times = 0; times < 3; ++times) {
    net->inject(1, frame(header_from_one(2)));
    net->inject(1, frame(header_from_one(1)));
    for (int i = 0; i < 3; ++i) turn();
  }
  EXPECT_EQ(handed_over(), 2u);
}

// The size of the numbers in the data, as no honest sender would say it.
TEST_F(FarLink, refuses_elements_that_do_not_fit_and_ends_with_those_that_are_none) {
  const auto forged = [&](std::uint32_t element, interface::Operation operation, std::size_t length,
                          std::uint64_t offset, std::uint32_t asked) {
    make(3, {});
    for (int i = 0; i < 100; ++i) turn();
    interface::Packet packet {};
    set_lead(packet, operation, length, 0, element);
    packet.offset = offset;
    packet.delta = asked;
    const std::byte data[64] = {};
    std::vector<std::byte> bytes(ofi::kFrameHeader + ofi::bytes_of(packet.lead));
    ofi::write_packet(packet, data, nullptr, bytes.data() + ofi::kFrameHeader);
    FrameHeader header = header_from_one(1);
    header.length = static_cast<std::uint32_t>(bytes.size());
    encode(header, bytes.data());
    net->inject(1, bytes);
    for (int i = 0; i < 3; ++i) turn();
    EXPECT_EQ(other->link->protocol().received(), 1u);
  };
  using interface::Operation;
  const auto misaligned = [&] { return other->party.refused(Refusal::misaligned); };
  forged(4, Operation::write, 6, 0, 0);
  EXPECT_EQ(misaligned(), 1u);
  forged(8, Operation::write, 64, 4, 0);
  EXPECT_EQ(misaligned(), 1u);
  forged(2, Operation::get, 0, 0, 5);
  EXPECT_EQ(misaligned(), 1u);
  EXPECT_FALSE(other->link->broken);
  forged(4, Operation::write, 8, 4, 0);
  EXPECT_EQ(misaligned(), 0u) << "that was one for a slot";
  EXPECT_FALSE(other->link->broken);
  for (const std::uint32_t none : {1u, 3u, 16u, 0x04000000u, ~0u}) {
    forged(none, Operation::write, 16, 0, 0);
    EXPECT_TRUE(other->link->broken) << none;
  }
  forged(8, Operation::fetch, 16, 0, 0);
  EXPECT_TRUE(other->link->broken) << "operands are numbers without being said to be";
  forged(8, Operation::open, 0, 0, 0);
  EXPECT_TRUE(other->link->broken);
}

// More than was granted: the receiver's memory stays bounded, whatever a peer does.
TEST_F(FarLink, lets_no_more_stand_than_it_has_granted) {
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  for (std::uint64_t sequence = 1; sequence <= ofi::kMostWindow; ++sequence) {
    FrameHeader header = header_from_one(sequence);
    header.lane = Lane::urgent;
    net->inject(1, frame(header));
  }
  net->pass(1);
  other->exchange.pump();
  EXPECT_EQ(other->port->arrivals_out(), share_of(Lane::urgent, limits().window));
  EXPECT_EQ(other->link->refused_frames(), ofi::kMostWindow - share_of(Lane::urgent, limits().window));
}

TEST_F(FarLink, survives_any_bytes) {
  sim::Generator chance(1);
  make(3, {});
  for (int i = 0; i < 100; ++i) turn();
  const std::vector<std::byte> good = frame(header_from_one(1), 3);
  for (int i = 0; i < 20000; ++i) {
    if (other->link->broken || other->link->over() != LinkProtocol::End::none) make(3, {});
    std::vector<std::byte> bytes = good;
    for (std::uint64_t changes = chance.below(4); changes != 0; --changes) {
      // The link's number and the incarnations stay: what does not guess them gets nowhere.
      std::uint64_t at = chance.below(bytes.size());
      if (at >= 16 && at < 40) at += 40;
      bytes[at] = static_cast<std::byte>(chance.next());
    }
    if (chance.one_in(4)) bytes.resize(chance.below(bytes.size() + 1));
    if (chance.one_in(50)) bytes.resize(ofi::kFrameLimit + chance.below(2));
    net->inject(1, bytes);
    turn();
    ASSERT_LE(other->port->arrivals_out(), limits().window);
  }
  make(3, {});
}

TEST(Frames, say_what_is_wrong_with_them) {
  std::vector<std::byte> bytes(ofi::kFrameHeader);
  FrameHeader header, read;
  header.link = kLink;
  header.acknowledged = 5;
  header.handed = {1, 2, 65535};
  header.patience = 1000;
  encode(header, bytes.data());
  EXPECT_EQ(decode(bytes, read), nullptr);
  EXPECT_EQ(read.link, kLink);
  EXPECT_EQ(read.acknowledged, 5u);
  EXPECT_EQ(read.handed, header.handed);
  EXPECT_EQ(read.patience, 1000u);
  EXPECT_STREQ(decode(std::span(bytes).first(63), read), "shorter than a header");
  const auto wrong = [&](std::size_t at, int value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return decode(changed, read);
  };
  EXPECT_STREQ(wrong(0, 0), "no frame");
  EXPECT_STREQ(wrong(4, ofi::kFrameVersion + 1), "a frame of another version");
  EXPECT_STREQ(wrong(5, 4), "an unknown lane");
  EXPECT_STREQ(wrong(5, 0), "packets in no lane, or a lane without packets");
  EXPECT_EQ(wrong(6, 2), nullptr) << "whoever is asked answers";
  EXPECT_STREQ(wrong(6, 3), "a field that must be zero");
  EXPECT_STREQ(wrong(7, 1), "a field that must be zero");
  FrameHeader end = header;
  end.flags = FrameHeader::kEnd;
  end.reason = 255;
  encode(end, bytes.data());
  EXPECT_EQ(decode(bytes, read), nullptr) << "whatever it says";
  EXPECT_EQ(read.reason, 255);
  EXPECT_STREQ(wrong(6, 0), "a field that must be zero") << "a reason, and no end";
  encode(header, bytes.data());
  EXPECT_STREQ(wrong(8, 65), "another length than it says");
  EXPECT_STREQ(wrong(40, 1), "a number without packets");
  std::vector<std::byte> overlong(ofi::kFrameLimit + 1);
  EXPECT_STREQ(decode(overlong, read), "longer than a frame may be");
}

}  // namespace
}  // namespace hamlyn::test
