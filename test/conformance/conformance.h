#pragma once
// The fixture of the suite that every fabric passes: three interfaces, each linked to the two others, in one
// thread.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "hamlyn/core/terminus.h"
#include "interface/terminus.h"
#include "test/conformance/fabric.h"
#include "test/support/receiving.h"

namespace hamlyn::test {

inline constexpr std::size_t kMtu = 1024;  // what every fabric's links carry from their first packet on

// Whether it tells of packets that were refused.
inline bool of_refusals(const Notification& notification) {
  return notification.kind == Notification::Kind::protocol_error ||
         notification.kind == Notification::Kind::resource_exhausted;
}

struct FabricKind {
  const char* name;
  std::unique_ptr<Fabric> (*make)(std::size_t mtu);
  // The three are one interface, which is both ends of its one link.
  bool oneself = false;
};

// Those that this program tests.
std::vector<FabricKind> fabrics();

// Why the test that runs cannot hold for an interface that sends to itself; null: it holds.
const char* why_not_oneself();

// As gtest names the instances.
inline std::string fabric_name(const testing::TestParamInfo<FabricKind>& info) { return info.param.name; }
inline void PrintTo(const FabricKind& kind, std::ostream* out) { *out << kind.name; }

class Conformance : public testing::TestWithParam<FabricKind> {
 protected:
  explicit Conformance(std::size_t mtu = kMtu) : fabric(GetParam().make(mtu)) {
    fabric->join(alice, bob);
    if (!GetParam().oneself) {
      fabric->join(alice, carol);
      fabric->join(bob, carol);
    }
    queue = bob.core.make_queue(64);
  }
  void SetUp() override {
    if (const char* why = GetParam().oneself ? why_not_oneself() : nullptr) GTEST_SKIP() << why;
  }
  ~Conformance() override {
    if (GetParam().oneself) fabric->kill(alice, alice);
    for (Party* one : {&alice, &bob, &carol}) {
      for (Party* other : {&alice, &bob, &carol}) {
        if (one != other) fabric->kill(*one, *other);
      }
    }
  }

  // One turn of everybody; true if anything moved.
  bool turn() {
    fabric->pass();
    bool moved = false;
    for (Party* party : {&alice, &bob, &carol}) moved |= party->core.run();
    return moved;
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
  // Until `done`, which a generous number of turns must bring about.
  bool until(const std::function<bool()>& done) {
    for (int i = 0; i < 200000; ++i) {
      if (done()) return true;
      turn();
    }
    return done();
  }
  // Everything that is under way arrives and is handed over.
  void rest() {
    for (std::uint32_t quiet = 0; quiet < enough();) {
      fabric->settle();
      quiet = turn() ? 0 : quiet + 1;
    }
  }
  // Turns in which nothing moves, until nothing will.
  std::uint32_t enough() {
    for (const Party* party : {&alice, &bob, &carol}) {
      for (const interface::Link* link : party->core.links()) {
        if (link->sweep.demoted) return 2 * interface::Sweep::kDemotedEvery;
      }
    }
    return 8;
  }

  Notification next(Party& party, interface::Queue* from) {
    Notification notification;
    EXPECT_TRUE(until([&] { return !from->empty(); })) << "no notification came";
    if (!from->empty()) party.core.take(*from, notification);
    return notification;
  }
  Notification next() { return next(bob, queue); }

  // A fast-mode send that waits for the places to be granted.
  Status send_fast(interface::Terminus& terminus, const Ticket& ticket, std::span<const std::byte> data,
                   std::uint64_t word = 0, std::uint64_t offset = 0) {
    Status status = Status::connecting;
    until([&] {
      status = terminus.send_fast(ticket, data, word, offset);
      return status != Status::connecting && status != Status::queue_full;
    });
    return status;
  }

  // A packet that no honest sender would make: whatever stands in it goes to bob as it is.
  static interface::Packet hand_made(const Ticket& ticket, std::size_t length) {
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, length, 0);
    set_slot(packet, ticket);
    packet.offset = ticket.base;
    set_entry(packet, ticket.entry, 0);
    packet.word = interface::message_word(7, ticket.incarnation);
    return packet;
  }
  void inject(const interface::Packet& packet, Party& from, Party& to) {
    interface::Link* link = from.core.find_link(to.id);
    ASSERT_NE(link, nullptr);
    ASSERT_TRUE(until([&] { return link->put(packet, junk, junk) != Status::queue_full; }));
  }
  void inject(const interface::Packet& packet) { inject(packet, alice, bob); }

  static inline const std::byte junk[interface::kPacketLimit + 64] = {};

  Party parties[3]{Party{101}, Party{102}, Party{103}};
  Party& alice = parties[0];
  Party& bob = parties[GetParam().oneself ? 0 : 1];
  Party& carol = parties[GetParam().oneself ? 0 : 2];
  std::unique_ptr<Fabric> fabric;
  interface::Queue* queue;  // bob's first
};

}  // namespace hamlyn::test
