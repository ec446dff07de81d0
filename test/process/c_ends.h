#pragma once
// What the tests of the C interface share: two interfaces, or two managers, in a child of the test.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "hamlyn/hamlyn.h"
#include "test/process/managers.h"

namespace hamlyn::test {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::int64_t kLong = std::chrono::nanoseconds(kPatience).count();

#define EXPECT_OK(call) EXPECT_EQ(call, HAMLYN_OK) << hamlyn_last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, HAMLYN_OK) << hamlyn_last_error()

inline std::string text_at(const void* data, std::size_t length) {
  return {static_cast<const char*>(data), length};
}

class CInterface : public WithManagers {
 protected:
  // The options that find the test's daemon.
  struct Node {
    explicit Node(std::string name) : socket(std::move(name)) {}
    hamlyn_interface_options options() const {
      hamlyn_interface_options out{};
      out.size = sizeof out;
      out.node = socket.c_str();
      out.flags = HAMLYN_NO_START;
      return out;
    }
    std::string socket;
  };
  Node node() const { return Node(folder_.file("node")); }
};

struct SlotAsked {
  std::uint32_t mode = 0, entries = 0, places = 0, gets = 0, flags = 0;
};

// A receiving interface with an area, a queue and a slot, and a sending one with a terminus.
struct Ends {
  Ends(const hamlyn_interface_options& options, const SlotAsked& asked,
       std::uint32_t sharing = HAMLYN_GUARDED) {
    const hamlyn_slot_options slot_options{
        sizeof slot_options, 0, 0, asked.mode, 0, asked.entries, asked.places, asked.gets, asked.flags, 0};
    EXPECT_OK(hamlyn_interface_make(&options, &receiver));
    EXPECT_OK(hamlyn_interface_make(&options, &sender));
    EXPECT_OK(hamlyn_area_make(receiver, 65536, sharing, &area));
    EXPECT_OK(hamlyn_queue_make(receiver, 0, &queue));
    EXPECT_OK(hamlyn_slot_make(area, queue, &slot_options, &slot));
    EXPECT_OK(hamlyn_terminus_make(sender, nullptr, &terminus));
  }
  ~Ends() {
    EXPECT_OK(hamlyn_terminus_free(terminus));
    EXPECT_OK(hamlyn_slot_free(slot));
    EXPECT_OK(hamlyn_queue_free(queue));
    EXPECT_OK(hamlyn_area_free(area));
    EXPECT_OK(hamlyn_interface_free(sender));
    EXPECT_OK(hamlyn_interface_free(receiver));
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  hamlyn_ticket ticket(std::uint32_t entry) {
    hamlyn_ticket out{};
    EXPECT_OK(hamlyn_slot_entry_ticket(slot, entry, &out));
    EXPECT_OK(hamlyn_connect(terminus, &out, kLong));
    return out;
  }
  hamlyn_ticket fast_ticket() {
    hamlyn_ticket out{};
    EXPECT_OK(hamlyn_slot_ticket(slot, &out));
    EXPECT_OK(hamlyn_connect(terminus, &out, kLong));
    return out;
  }
  std::string message(const hamlyn_notification& notification) {
    void* data = nullptr;
    std::size_t length = 0;
    EXPECT_OK(hamlyn_slot_message(slot, &notification, &data, &length));
    return text_at(data, length);
  }

  hamlyn_interface* receiver = nullptr;
  hamlyn_interface* sender = nullptr;
  hamlyn_area* area = nullptr;
  hamlyn_queue* queue = nullptr;
  hamlyn_slot* slot = nullptr;
  hamlyn_terminus* terminus = nullptr;
};

struct TwoManagers {
  explicit TwoManagers(const hamlyn_interface_options& interface) {
    hamlyn_manager_options options{};
    options.size = sizeof options;
    options.interface = &interface;
    EXPECT_OK(hamlyn_manager_make(&options, &receiver));
    EXPECT_OK(hamlyn_manager_make(&options, &sender));
  }
  ~TwoManagers() {
    EXPECT_OK(hamlyn_manager_free(sender));
    EXPECT_OK(hamlyn_manager_free(receiver));
  }
  TwoManagers(const TwoManagers&) = delete;
  TwoManagers& operator=(const TwoManagers&) = delete;

  hamlyn_manager* receiver = nullptr;
  hamlyn_manager* sender = nullptr;
};

}  // namespace hamlyn::test
