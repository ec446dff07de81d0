// Peers of links between hosts that are introduced, keep to the form of frames, and lie in what they say.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "base/link_reasons.h"
#include "fabric/ofi/exchange.h"
#include "fabric/ofi/frame.h"
#include "fabric/ofi/ofi_link.h"
#include "test/support/party.h"
#include "test/support/rough_wire.h"

namespace hamlyn::test {
namespace {

using ofi::FrameHeader;
using ofi::kMillisecond;
using ofi::LinkProtocol;

class LyingPeer : public testing::Test {
 protected:
  static constexpr std::uint64_t kOwn = 101, kPeers = 102;

  LyingPeer() { party.core.set_gate(&exchange); }
  ~LyingPeer() override {
    for (auto& link : links) {
      if (link != nullptr) party.core.end_link(*link);
    }
    links.clear();
    party.core.set_gate(nullptr);
  }

  // Link number `i`, to a peer that is only what says() says.
  ofi::OfiLink& make(std::uint64_t i) {
    links.push_back(std::make_unique<ofi::OfiLink>(exchange, party, kPeers + i, nobody->whole_address(),
                                                   ofi::LinkIdentity{i, kOwn, kPeers}, true));
    party.core.add_link(*links.back());
    says(i, 0, {});
    return *links.back();
  }
  void says(std::uint64_t link, std::uint64_t acknowledged, std::array<std::uint16_t, ofi::kLanes> handed,
            std::uint32_t patience = 1000, std::optional<std::uint8_t> last_word = {}) {
    FrameHeader header;
    if (last_word) {
      header.flags = FrameHeader::kEnd;
      header.reason = *last_word;
    }
    header.link = link;
    header.from = kPeers;
    header.to = kOwn;
    header.acknowledged = acknowledged;
    header.window = ofi::kMostWindow;
    header.handed = handed;
    header.patience = patience;
    std::vector<std::byte> bytes(ofi::kFrameHeader);
    encode(header, bytes.data());
    net.inject(0, bytes);
    pass(0);
  }
  void pass(std::uint64_t time) {
    net.pass(time);
    exchange.pump();
    exchange.send_due(true);
    if (net.now() >= exchange.next_time()) exchange.look_at_clocks(net.now());
  }
  static Status put(ofi::OfiLink& link, std::size_t bytes, Priority level = Priority::normal) {
    static const std::vector<std::byte> data(ofi::kFarMtu);
    interface::Packet packet {};
    packet.lead.length = static_cast<std::uint16_t>(bytes);
    packet.lead.operation = interface::Operation::write;
    return link.put(packet, data.data(), nullptr, level);
  }

  RoughNet net{1, {}};
  Party party{kOwn};
  std::unique_ptr<RoughPort> port = net.make_port();
  std::unique_ptr<RoughPort> nobody = net.make_port();
  ofi::Exchange exchange{*port, ofi::Limits{}};
  std::vector<std::unique_ptr<ofi::OfiLink>> links;
};

// It says that frames were handed over and never that they came: there is room for more, and no number left.
TEST_F(LyingPeer, acknowledges_nothing_and_gets_no_more_than_can_be_kept) {
  ofi::OfiLink& link = make(1);
  const LinkProtocol& protocol = link.protocol();
  for (int i = 0; i < 200; ++i) {
    static_cast<void>(put(link, ofi::kFarMtu));
    static_cast<void>(put(link, 64, Priority::urgent));
    pass(10'000);
    ASSERT_LE(protocol.kept(), ofi::kMostWindow);
    const auto sent = static_cast<std::uint16_t>(protocol.sent());
    for (std::uint16_t urgent = 0; urgent <= sent; ++urgent)
      says(1, 0, {static_cast<std::uint16_t>(sent - urgent), urgent, 0});
  }
  EXPECT_EQ(put(link, ofi::kFarMtu), Status::queue_full);
  says(1, protocol.sent(), {static_cast<std::uint16_t>(protocol.sent()), 0, 0});
  EXPECT_EQ(protocol.kept(), 0u) << "and whatever it acknowledges then was kept";
}

// Those that take nothing leave room for what is for others.
TEST_F(LyingPeer, that_takes_nothing_holds_up_nobody_else) {
  constexpr std::uint64_t kPeersThatTakeNothing = 40;
  ofi::OfiLink& honest = make(1000);
  for (std::uint64_t i = 1; i <= kPeersThatTakeNothing; ++i) {
    ofi::OfiLink& link = make(i);
    while (put(link, ofi::kFarMtu) == Status::ok) pass(1000);
    while (put(link, 64, Priority::urgent) == Status::ok) pass(1000);
  }
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(put(honest, ofi::kFarMtu), Status::ok);
  EXPECT_EQ(put(honest, 64, Priority::urgent), Status::ok);
}

TEST_F(LyingPeer, cannot_keep_a_link_that_was_ended_here) {
  ofi::OfiLink& link = make(1);
  for (int i = 0; i < 40; ++i) {
    static_cast<void>(put(link, 64));
    pass(10'000);
    says(1, link.protocol().sent(), {});
  }
  ASSERT_FALSE(link.all_arrived());
  const std::uint64_t sent = link.protocol().sent();
  party.core.end_link(link);
  exchange.retire(std::move(links[0]), {LinkReason::left, false});
  const std::uint64_t until = net.now() + ofi::Limits{}.linger();
  while (exchange.closing() && net.now() <= until) {
    pass(kMillisecond);
    says(1, sent, {});
  }
  EXPECT_FALSE(exchange.closing());
  EXPECT_EQ(port->frames_out(), 0u);
}

// The two ends need not have the same idea of how long is too long.
TEST_F(LyingPeer, is_spoken_to_as_often_as_it_asks_for_within_reason) {
  ofi::OfiLink& link = make(1);
  const auto heard_within = [&](std::uint32_t patience, std::uint64_t time) {
    says(1, 0, {}, patience);
    while (!link.protocol().heartbeat_due(net.now())) net.pass(kMillisecond / 10);
    const std::uint64_t start = net.now();
    pass(0);
    while (!link.protocol().heartbeat_due(net.now())) net.pass(kMillisecond / 10);
    pass(0);
    return net.now() - start <= time && net.now() - start >= kMillisecond;
  };
  EXPECT_TRUE(heard_within(400, 101 * kMillisecond));
  EXPECT_TRUE(heard_within(60'000, 251 * kMillisecond)) << "no more rarely than it asks for itself";
  EXPECT_TRUE(heard_within(0, 10 * kMillisecond));
}

// Its last word is text: whatever the byte, the link ends as it does without one.
TEST_F(LyingPeer, says_of_its_end_what_is_for_it_to_say_or_is_not_quoted) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const ofi::OfiLink& link = make(byte + 1);
    says(byte + 1, 0, {}, 1000, static_cast<std::uint8_t>(byte));
    exchange.look_at_clocks(net.now());
    EXPECT_EQ(link.over(), LinkProtocol::End::peer_ended);
    const WhyNoLink why = link.why_over();
    EXPECT_EQ(why.told, base::may_be_told(byte));
    EXPECT_EQ(why.reason, why.told ? base::link_reason(byte) : LinkReason::ended) << byte;
  }
  EXPECT_EQ(exchange.strangers(), 0u);
}

}  // namespace
}  // namespace hamlyn::test
