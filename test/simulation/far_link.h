#pragma once
// Two hosts, and a link between them over a wire that loses, repeats, delays and reorders frames and takes
// none for a while: the whole of it but libfabric, in virtual time.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/ofi_link.h"
#include "fabric/ofi/packets.h"
#include "interface/terminus.h"
#include "test/support/party.h"
#include "test/support/receiving.h"
#include "test/support/rough_wire.h"

namespace hamlyn::test {
using interface::Terminus;
using ofi::FrameHeader;
using ofi::kMillisecond;
using ofi::Lane;
using ofi::LinkProtocol;

inline constexpr std::uint64_t kLink = 0x1234567890ABCDEF;
inline constexpr std::uint64_t kTurn = 10'000;

constexpr ofi::Limits limits() { return {.resend = 2 * kMillisecond}; }

// Two hosts.
class FarLink : public testing::Test {
 protected:
  struct Host {
    Host(RoughNet& net, std::uint64_t number, const ofi::Limits& limits)
        : party(number), port(net.make_port()), exchange(*port, limits) {
      party.core.set_gate(&exchange);
      queue = party.core.make_queue(1024);
    }
    ~Host() {
      cut();
      party.core.set_gate(nullptr);
    }
    void join(Host& other, bool initiator) {
      link = std::make_unique<ofi::OfiLink>(exchange, party, other.party.id, other.port->whole_address(),
                                            ofi::LinkIdentity{kLink, party.id, other.party.id}, initiator);
      party.core.add_link(*link);
    }
    void cut() {
      if (link == nullptr) return;
      party.core.end_link(*link);
      link.reset();
    }

    Party party;
    std::unique_ptr<RoughPort> port;
    ofi::Exchange exchange;
    interface::Queue* queue;
    std::unique_ptr<ofi::OfiLink> link;
  };

  void make(std::uint64_t seed, const RoughNet::Weather& weather, const ofi::Limits& of_links = limits()) {
    one.reset();
    other.reset();
    net = std::make_unique<RoughNet>(seed, weather);
    one = std::make_unique<Host>(*net, 101, of_links);
    other = std::make_unique<Host>(*net, 102, of_links);
    one->join(*other, true);
    other->join(*one, false);
  }
  void turn() {
    net->pass(kTurn);
    one->party.core.run();
    other->party.core.run();
  }
  bool until(const std::function<bool()>& done) {
    for (int i = 0; i < 400000; ++i) {
      if (done()) return true;
      turn();
    }
    return done();
  }
  // Every buffer is where it belongs.
  void expect_nothing_kept() {
    EXPECT_TRUE(until([&] { return one->port->frames_out() + other->port->frames_out() == 0; }));
    EXPECT_EQ(one->port->arrivals_out() + other->port->arrivals_out(), 0u);
    EXPECT_EQ(one->port->overruns + other->port->overruns, 0u) << "more came than was granted";
  }
  // A frame as `one` would make it, of one short packet that nobody there takes.
  static std::vector<std::byte> frame(FrameHeader header, std::size_t packets = 1) {
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 0, 0);
    std::vector<std::byte> bytes(ofi::kFrameHeader + packets * ofi::kPacketHeader);
    for (std::size_t i = 0; i < packets; ++i)
      ofi::write_packet(packet, nullptr, nullptr, bytes.data() + ofi::kFrameHeader + i * ofi::kPacketHeader);
    header.length = static_cast<std::uint32_t>(bytes.size());
    encode(header, bytes.data());
    return bytes;
  }
  static FrameHeader header_from_one(std::uint64_t sequence) {
    FrameHeader header;
    header.lane = Lane::normal;
    header.link = kLink;
    header.from = 101;
    header.to = 102;
    header.sequence = sequence;
    header.window = 8;
    return header;
  }
  std::uint64_t handed_over() { return other->link->counters->packets_in; }

  std::unique_ptr<RoughNet> net;
  std::unique_ptr<Host> one, other;
};

}  // namespace hamlyn::test
