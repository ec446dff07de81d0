#pragma once
// What the tests of the library between real processes share. The test's own process is the receiver; it is
// always the sender that is forked, before there is any interface here.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {

// In fast mode, as soon as there is a place.
inline bool send_word(Terminus& terminus, const Ticket& ticket, std::uint64_t word,
                      std::span<const std::byte> data = {}) {
  while (true) {
    const Status status = terminus.send_fast(ticket, data, word);
    if (status == Status::ok) return true;
    if (status != Status::no_place && status != Status::queue_full) return false;
    if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return false;
  }
}

// As an argument that cannot be.
template <class Make>
void refused(Make make) {
  try {
    make();
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

struct ReceivingEnd {
  explicit ReceivingEnd(const Interface::Options& options, std::size_t bytes = 1 << 20,
                        Slot::Options of = {.entries = 4})
      : interface(options), area(interface, bytes), slot(area, queue, of) {}
  Interface interface;
  MessageArea area;
  NotificationQueue queue{interface};
  Slot slot;
};

// A test process that starts its senders first: each waits for a ticket on its line.
class Library : public OnNodes {
 protected:
  using Part = std::function<int(Line&, Interface&, Terminus&, const Ticket&)>;

  Actor sender(const Part& part) {
    return Actor([this, part](Line& line) {
      const auto ticket = line.take<Ticket>();
      if (!ticket) return 91;
      Interface interface(other_options());
      Terminus terminus(interface);
      if (terminus.connect(*ticket, kPatience) != Status::ok) return 92;
      return part(line, interface, terminus, *ticket);
    });
  }
};

}  // namespace hamlyn::test
