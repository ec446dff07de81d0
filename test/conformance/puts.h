#pragma once
// The fixture of what is said of puts: one slot of bob's that takes them, and a terminus of alice's.
#include <algorithm>
#include <vector>

#include "test/conformance/conformance.h"

namespace hamlyn::test {

class Puts : public Conformance {
 protected:
  Puts() { std::fill(area.bytes().begin(), area.bytes().end(), kBefore); }

  Status put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options = {}) {
    SendHandle handle;
    Status status = Status::connecting;
    until([&] {
      status = terminus.put(ticket, data, options, &handle);
      return status != Status::connecting && status != Status::queue_full;
    });
    if (status != Status::pending) return status;
    until([&] { return terminus.status(handle) != Status::pending; });
    return terminus.status(handle);
  }
  Outcome fence(const Ticket& ticket) {
    RemoteHandle handle;
    Status status = Status::queue_full;
    until([&] {
      status = terminus.requests().fence(ticket, {}, nullptr, &handle);
      return status != Status::queue_full && status != Status::connecting;
    });
    if (status != Status::pending) return {status, Refusal::none, 0};
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  }
  // What is asked for before anybody has run, so that no news can have come.
  Outcome look() {
    RemoteHandle handle;
    const Status status = terminus.requests().look(slot.ticket(), &handle);
    if (status != Status::pending) return {status, Refusal::none, 0};
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  }
  std::size_t touched() const {
    const auto bytes = const_cast<Area&>(area).bytes();
    return bytes.size() - static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), kBefore));
  }
  bool there(std::size_t offset, std::span<const std::byte> data) {
    return same(area.bytes().subspan(offset, data.size()), data);
  }
  // Everything but the refusals.
  std::vector<Notification> told() {
    rest();
    std::vector<Notification> all;
    while (const auto one = take(bob, queue)) {
      if (!of_refusals(*one)) all.push_back(*one);
    }
    return all;
  }

  static constexpr std::byte kBefore{0xEE};
  Area area{1u << 16};
  TestSlot slot{bob,
                area,
                queue,
                {.fast = false, .places = 4, .fetches = true, .gets = 65536, .puts = true, .hold = 4096}};
  interface::Terminus terminus {
    alice.core, 63
  };
};

}  // namespace hamlyn::test
