#pragma once
// The fixture of what is said of fetch-and-op and remote get: alice asks, of a slot of bob's.
#include <algorithm>
#include <cstring>

#include "test/conformance/conformance.h"

namespace hamlyn::test {

class Remotes : public Conformance {
 protected:
  // The number of the first request of the normal level on a link.
  static constexpr std::uint64_t kFirst =
      interface::kOutstanding * static_cast<std::uint64_t>(Priority::normal);

  explicit Remotes(std::size_t mtu = kMtu) : Conformance(mtu) {
    std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
  }

  std::uint64_t word_at(std::size_t offset, std::size_t bytes = 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, area.data() + offset, bytes);
    return word;
  }
  void set_word(std::size_t offset, std::uint64_t value) {
    std::memcpy(area.data() + offset, &value, sizeof value);
  }
  Outcome end_of(RemoteHandle handle) {
    EXPECT_TRUE(until([&] { return asks.outcome(handle).status != Status::pending; }));
    return asks.outcome(handle);
  }
  Outcome fetch(const Ticket& ticket, const Fetch& what, const RemoteOptions& options = {}) {
    RemoteHandle handle;
    const Status status = asks.fetch(ticket, what, options, nullptr, &handle);
    return status == Status::pending ? end_of(handle) : Outcome{status, Refusal::none, 0};
  }
  Outcome get(const Ticket& ticket, std::size_t length, std::uint64_t offset = 0, std::uint64_t at = 0) {
    RemoteHandle handle;
    const Status status =
        asks.get(ticket, {landing.index(), at, length}, {.offset = offset}, nullptr, &handle);
    return status == Status::pending ? end_of(handle) : Outcome{status, Refusal::none, 0};
  }
  // Bytes of alice's landing that are not as they were before anything landed.
  std::size_t landed() const {
    return own_bytes().size() -
           static_cast<std::size_t>(std::count(own_bytes().begin(), own_bytes().end(), std::byte{0xEE}));
  }
  std::span<const std::byte> own_bytes() const { return const_cast<Area&>(own).bytes(); }
  std::uint64_t unasked() const { return alice.refused(Refusal::unasked_reply); }
  // A reply that bob, or whoever, makes up.
  void forge(Party& liar, interface::Operation operation, std::uint64_t word, std::size_t length = 0,
             std::uint64_t offset = 0, std::uint32_t delta = 0) {
    interface::Packet reply {};
    set_lead(reply, operation, length, 0);
    reply.word = word;
    reply.offset = offset;
    reply.delta = delta;
    interface::Link* link = liar.core.find_link(alice.id);
    ASSERT_TRUE(until([&] { return link->put_reply(reply, junk) != Status::queue_full; }));
    rest_of(alice);
  }
  // Only this one runs: what the others have to say stays with them.
  void rest_of(Party& party) {
    for (int i = 0; i < 8; ++i) {
      fabric->settle();
      party.core.run();
    }
  }

  Area area{1u << 17};  // bob's
  Area own{1u << 17};   // alice's
  TestSlot slot{bob, area, queue, {.fetches = true, .gets = 65536}};
  interface::Queue* alices = alice.core.make_queue(16);
  TestSlot landing{alice, own, alices, {}};
  interface::Terminus terminus {
    alice.core, 63
  };
  interface::Requests& asks = terminus.requests();
};

}  // namespace hamlyn::test
