#pragma once
// Two managers in a child of the test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hamlyn/hamlyn.h"
#include "library/engine.h"
#include "protocols/dispatcher.h"
#include "test/process/on_nodes.h"
#include "test/support/said_by.h"

namespace hamlyn::test {

// Whether the two managers of a test are one and the same, which must make no difference.
inline bool oneself() { return std::getenv("HAMLYN_TEST_ONESELF") != nullptr; }

// Stands in tests that cannot hold for one process.
#define NEEDS_TWO(why) \
  if (oneself()) GTEST_SKIP() << "SKIPPED: only for two processes: " why

struct Managers {
  Managers(const Interface::Options& there, const Interface::Options& here)
      : sender_options(here),
        receiver({.interface = there}),
        other(oneself() ? nullptr : std::make_unique<Manager>(Manager::Options{.interface = here})),
        sender(other != nullptr ? *other : receiver) {}
  const Interface::Options sender_options;  // for more of them
  Manager receiver;
  const std::unique_ptr<Manager> other;
  Manager& sender;
};

// A receiver of one's own: what comes to its slot is told to `arrived`, inside process_arrival.
class OwnReceiver final : public Receiver {
 public:
  OwnReceiver(Manager& manager, std::function<void(const Notification&)> arrived,
              const Slot::Options& options = {})
      : Receiver(manager),
        arrived_(std::move(arrived)),
        area_(manager.interface(), 64),
        slot_(area_, manager.queue(), options) {
    attach(slot_);
  }
  ~OwnReceiver() override {
    retire();
    detach(slot_);
  }
  Ticket ticket() const { return slot_.ticket(); }

 private:
  void process_arrival(const Notification& arrival) override { arrived_(arrival); }

  const std::function<void(const Notification&)> arrived_;
  MessageArea area_;
  Slot slot_;
};

// Keeps whoever waits at a manager from hearing anything, and then has it hear so much else first that a wait
// whose time is over ends before it hears what came meanwhile. Of one thread.
class Deafened {
 public:
  Deafened(Manager& manager, Manager& other)
      : receiver_(manager, [](const Notification&) {}, {.places = kMessages}) {
    Terminus terminus(other.interface());
    const Ticket ticket = receiver_.ticket();
    EXPECT_EQ(terminus.wait_for_place(ticket, kPatience), Status::ok);
    guard_.emplace(manager.inside());
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      Status status = terminus.send_fast(ticket, {}, i);
      for (; status == Status::queue_full; status = terminus.send_fast(ticket, {}, i))
        other.interface().run();
      EXPECT_EQ(status, Status::ok);
    }
  }
  void hear() { guard_.reset(); }

 private:
  static constexpr std::uint32_t kMessages = 1000;  // a wait hears 64 of them between looks at the time

  OwnReceiver receiver_;
  std::optional<protocols::Dispatcher::Guard> guard_;
};

class WithManagers : public OnNodes {
 protected:
  void with_both(const std::function<void(Managers&)>& work) {
    in_child([&] {
      Managers both(options(), other_options());
      work(both);
    });
  }
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The code of the Error that `work` throws; nothing if it throws none.
inline std::optional<ErrorCode> thrown_by(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

// Whether a thread has come so far as to wait for something to arrive.
inline bool waiting_in(Manager& manager) {
  const protocols::Dispatcher::Guard guard(manager.inside());
  return manager.inside().waiters() != 0;
}

}  // namespace hamlyn::test
