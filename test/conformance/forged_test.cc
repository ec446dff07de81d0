// A stranger on the network between hosts, with a socket of its own: what it throws at a process's endpoint,
// as bytes of any kind and as frames that libfabric delivers, is let fall and counted, and the link beside it
// goes on. (What libfabric's own code does not survive is not thrown: docs/protection.md.)
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>

#include "base/file_descriptor.h"
#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/frame.h"
#include "fabric/ofi/ofi_link.h"
#include "fabric/ofi/packets.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;
using ofi::FrameHeader;
using ofi::Lane;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kLink = 0x1234567890ABCDEF;

struct Host {
  Host(std::uint64_t number) : party(number) { party.core.set_gate(&exchange); }
  ~Host() {
    if (link != nullptr) party.core.end_link(*link);
    link.reset();
    party.core.set_gate(nullptr);
  }
  void join(Host& other, bool initiator) {
    link = std::make_unique<ofi::OfiLink>(exchange, party, other.party.id, other.endpoint.address(),
                                          ofi::LinkIdentity{kLink, party.id, other.party.id}, initiator);
    party.core.add_link(*link);
  }

  Party party;
  ofi::Endpoint endpoint{{.address = "127.0.0.1"}};
  ofi::Exchange exchange{endpoint, {.dead = 60'000 * ofi::kMillisecond}};
  std::unique_ptr<ofi::OfiLink> link;
};

class Forged : public testing::Test {
 protected:
  Forged() {
    alice.join(bob, true);
    bob.join(alice, false);
    queue = bob.party.core.make_queue(64);
    slot = std::make_unique<TestSlot>(bob.party, area, queue, Slot::Options{.entries = 1});
  }
  void SetUp() override {
    if (bob.endpoint.engine() != "net") {
      std::fprintf(stderr, "SKIPPED: the stranger speaks as `net` does, and the engine here is %s\n",
                   bob.endpoint.engine().c_str());
      GTEST_SKIP();
    }
    honest_message();  // they are connected
  }

  void turn() {
    for (Host* host : {&alice, &bob}) {
      host->exchange.pump();
      host->exchange.send_due(true);
      host->exchange.look_at_clocks(host->exchange.now());
      host->party.core.run();
    }
  }
  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      turn();
    }
    return true;
  }
  // Alice's, as it should be.
  void honest_message() {
    const Bytes data = pattern(3000, ++messages);
    ASSERT_LE(terminus.send(slot->ticket(0), data, {}, nullptr), Status::pending);
    ASSERT_TRUE(until([&] { return !queue->empty(); })) << "the link does not go on";
    const auto n = take(bob.party, queue);
    ASSERT_TRUE(n && n->kind == Notification::Kind::message);
    EXPECT_TRUE(same(slot->bytes(*n), data));
    ASSERT_EQ(slot->arm(0), Status::ok);
    std::memset(area.data(), 0, area.size());
  }
  void expect_nothing_placed() {
    EXPECT_TRUE(queue->empty());
    for (const std::byte each : area.bytes()) ASSERT_EQ(each, std::byte{});
    EXPECT_FALSE(bob.link->broken);
    EXPECT_EQ(bob.link->over(), ofi::LinkProtocol::End::none);
    EXPECT_EQ(bob.party.refused_in_all(), 0u);
  }

  base::FileDescriptor connect() const {
    base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Bytes& address = bob.endpoint.address();
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(address.data()),
                        static_cast<socklen_t>(address.size())),
              0);
    return socket;
  }
  static void say(const base::FileDescriptor& socket, const Bytes& bytes) {
    (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  bool hung_up(const base::FileDescriptor& socket) {
    return until([&] {
      std::byte some[256];
      const auto got = ::recv(socket.get(), some, sizeof some, MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN);
    });
  }
  // What libfabric's `net` says first: version 3, a request to connect, 8 bytes of data, whose port is made
  // up.
  static Bytes hello(std::uint16_t port) {
    Bytes bytes(40);
    bytes[0] = std::byte{3};
    bytes[3] = std::byte{8};
    bytes[24] = std::byte{1};
    bytes[34] = static_cast<std::byte>(port >> 8);
    bytes[35] = static_cast<std::byte>(port);
    bytes[39] = std::byte{1};
    return bytes;
  }
  // A stranger whom libfabric has let in.
  base::FileDescriptor let_in() {
    base::FileDescriptor socket = connect();
    say(socket, hello(static_cast<std::uint16_t>(2000 + ++strangers)));
    EXPECT_TRUE(until([&] {
      std::byte answer[256];
      return ::recv(socket.get(), answer, sizeof answer, MSG_DONTWAIT) > 0;
    })) << "libfabric has not answered";
    return socket;
  }
  // Bytes as one message of libfabric.
  static Bytes message(const Bytes& frame) {
    Bytes bytes(16);
    bytes[0] = std::byte{3};
    bytes[6] = std::byte{16};
    const std::uint64_t size = 16 + frame.size();
    std::memcpy(&bytes[8], &size, sizeof size);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    return bytes;
  }
  // A frame with a packet that bob would take, if its header were right.
  Bytes frame(const FrameHeader& like) {
    interface::Packet packet {};
    set_lead(packet, interface::Operation::write, 64, 0);
    const Ticket ticket = slot->ticket(0);
    set_slot(packet, ticket);
    set_entry(packet, 0, 0);
    packet.word = interface::message_word(7, ticket.incarnation);
    const Bytes data = pattern(64, 99);
    Bytes bytes(ofi::kFrameHeader + ofi::bytes_of(packet.lead));
    ofi::write_packet(packet, data.data(), nullptr, bytes.data() + ofi::kFrameHeader);
    FrameHeader header = like;
    header.length = static_cast<std::uint32_t>(bytes.size());
    encode(header, bytes.data());
    return bytes;
  }
  FrameHeader right() const {
    FrameHeader header;
    header.lane = Lane::normal;
    header.link = kLink;
    header.from = alice.party.id;
    header.to = bob.party.id;
    header.sequence = bob.link->protocol().received() + 1;
    header.window = 8;
    return header;
  }

  Host alice{101}, bob{102};
  Area area{65536};
  interface::Queue* queue = nullptr;
  std::unique_ptr<TestSlot> slot;
  Terminus terminus{alice.party.core, 8};
  std::uint64_t messages = 0;
  int strangers = 0;
};

TEST_F(Forged, bytes_that_libfabric_does_not_take_are_hung_up_on) {
  sim::Generator chance(7);
  for (int i = 0; i < 60; ++i) {
    const base::FileDescriptor socket = connect();
    Bytes bytes = pattern(1 + chance.below(300), chance.next());
    // Neither its version, so that it is judged by its first bytes, nor half a header that it would wait for.
    bytes[0] = std::byte{9};
    bytes.resize(std::max<std::size_t>(bytes.size(), 40));
    say(socket, bytes);
    EXPECT_TRUE(hung_up(socket)) << i;
  }
  std::vector<base::FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect());
  const base::FileDescriptor known = let_in();
  Bytes unknown = message(Bytes(64));
  unknown[1] = std::byte{77};
  say(known, unknown);
  EXPECT_TRUE(hung_up(known)) << "an operation that there is not";
  const base::FileDescriptor longest = let_in();
  say(longest, message(Bytes(2 * ofi::kFrameLimit)));
  EXPECT_TRUE(hung_up(longest)) << "longer than any frame";
  honest_message();
  expect_nothing_placed();
}

TEST_F(Forged, frames_of_another_link_or_node_or_number_are_let_fall_and_counted) {
  const base::FileDescriptor socket = let_in();
  const std::uint64_t unknown = bob.exchange.strangers();
  const std::uint64_t refused = bob.link->refused_frames();
  const auto forge = [&](const FrameHeader& header) { say(socket, message(frame(header))); };
  for (int bit = 0; bit < 64; ++bit) {
    FrameHeader header = right();
    header.link ^= std::uint64_t{1} << bit;
    forge(header);
  }
  EXPECT_TRUE(until([&] { return bob.exchange.strangers() == unknown + 64; })) << "another link";
  FrameHeader header = right();
  header.from = 100;
  forge(header);
  header = right();
  header.to = 103;
  forge(header);
  for (const std::uint64_t beyond : {ofi::kMostWindow + 1, 1u << 20}) {
    header = right();
    header.sequence = bob.link->protocol().received() + beyond;
    forge(header);
  }
  header = right();
  header.acknowledged = bob.link->protocol().sent() + 1;
  forge(header);
  EXPECT_TRUE(until([&] { return bob.link->refused_frames() == refused + 5; }));
  const interface::CounterPage& page = bob.party.counters();
  EXPECT_TRUE(until([&] { return page.bad_frames == refused + 5 && page.unknown_frames == unknown + 64; }));
  header = right();
  header.sequence = bob.link->protocol().received();
  const std::uint64_t received = bob.link->protocol().received();
  forge(header);  // what it repeats was taken long ago
  FrameHeader end = right();
  end.lane = Lane::none;
  end.flags = FrameHeader::kEnd;
  end.link ^= 1;
  forge(end);  // and it cannot end the link either
  EXPECT_TRUE(until([&] { return bob.exchange.strangers() == unknown + 65; }));
  EXPECT_EQ(bob.link->protocol().received(), received);
  expect_nothing_placed();
  honest_message();
  expect_nothing_placed();
}

TEST_F(Forged, frames_of_any_bytes_are_let_fall_and_counted) {
  const base::FileDescriptor socket = let_in();
  const std::uint64_t unknown = bob.exchange.strangers();
  sim::Generator chance(8);
  const int count = 300;
  for (int i = 0; i < count; ++i) {
    Bytes bytes = frame(right());
    switch (i % 3) {
      case 0:  // anything
        bytes = pattern(1 + chance.below(500), chance.next());
        break;
      case 1:  // cut short
        bytes.resize(1 + chance.below(bytes.size() - 1));
        break;
      default:  // longer than it says
        bytes.resize(bytes.size() + 1 + chance.below(100));
    }
    say(socket, message(bytes));
    turn();
  }
  EXPECT_TRUE(until([&] { return bob.exchange.strangers() == unknown + count; }));
  expect_nothing_placed();
  honest_message();
  expect_nothing_placed();
}

}  // namespace
}  // namespace hamlyn::test
