#pragma once
// What the tests of messages out of send buffer areas share.
#include "test/conformance/conformance.h"

namespace hamlyn::test {

constexpr std::size_t kAreaBytes = 512 * 1024;

class AreaSends : public Conformance {
 protected:
  struct Source {
    std::byte* data;
    std::uint32_t number;
  };
  Source make_source(Party& owner, std::uint64_t seed, std::size_t bytes = kAreaBytes) {
    Source made{fabric->area_memory(bytes), 0};
    const std::vector<std::byte> content = pattern(bytes, seed);
    std::copy(content.begin(), content.end(), made.data);
    made.number = owner.core.add_area(made.data, bytes);
    return made;
  }
  std::uint64_t packets_in() { return bob.core.find_link(alice.id)->counters->packets_in; }
  bool shown(const Source& source) {
    return (alice.core.find_link(bob.id)->areas_shown >> source.number & 1) != 0;
  }
  // Sends until the area is shown, so that what follows is read out of it.
  void have_shown(interface::Terminus& terminus, TestSlot& slot, std::uint32_t entry, const Source& source) {
    const Piece piece{0, 0, 8192};
    ASSERT_LT(terminus.send_gathered(slot.ticket(entry), {&piece, 1}, {}, nullptr), Status::queue_full);
    ASSERT_TRUE(until([&] { return shown(source); }));
    next_message();
    ASSERT_EQ(slot.arm(entry), Status::ok);
  }
  // A slot of bob's with so many entries, and an area of alice's that her terminus names 0 and he is shown.
  struct Shown {
    Shown(AreaSends& of, std::uint32_t entries)
        : slot(of.bob, of.area, of.queue, {.entries = entries}),
          terminus(of.alice.core, 8),
          source(of.make_source(of.alice, 1)) {
      EXPECT_EQ(terminus.bind(0, source.number), Status::ok);
      of.have_shown(terminus, slot, 0, source);
    }
    TestSlot slot;
    interface::Terminus terminus;
    const Source source;
  };
  // All that alice has sent is there, and bob takes a turn's worth of it.
  void take_some() {
    ASSERT_EQ(alice.core.find_link(bob.id)->departures, 0u);
    fabric->settle();
    const std::uint64_t before = packets_in();
    for (int i = 0; i < 1000 && packets_in() == before; ++i) bob.core.run();
    ASSERT_NE(packets_in(), before);
  }
  static void write_over(const Source& source) { std::fill_n(source.data, kAreaBytes, std::byte{0xEE}); }
  // Past what tells of refusals and failures.
  Notification next_message() {
    Notification n = next();
    while (n.kind != Notification::Kind::message) n = next();
    return n;
  }
  static interface::Packet area_packet(const Ticket& ticket, const interface::AreaPart& part) {
    interface::Packet packet = hand_made(ticket, sizeof part);
    set_lead(packet, interface::Operation::area_write, sizeof part, 0);
    return packet;
  }
  // As no honest sender would: any part of any area.
  void inject_part(const Ticket& ticket, const interface::AreaPart& part) {
    std::byte data[sizeof part];
    std::memcpy(data, &part, sizeof part);
    const interface::Packet packet = area_packet(ticket, part);
    interface::Link* link = alice.core.find_link(bob.id);
    ASSERT_TRUE(until([&] { return link->put(packet, data, nullptr) != Status::queue_full; }));
    rest();
  }

  Area area{1u << 20};
};

}  // namespace hamlyn::test
