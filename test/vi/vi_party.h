#pragma once
// A NIC of a ViWorld with memory of its own, a part of it for descriptors; and two of them, for tests.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "test/vi/vi_world.h"

namespace hamlyn::test {

class ViParty {
 public:
  static constexpr std::size_t kBytes = 65536, kDescriptors = 512;

  ViParty(ViWorld& world, std::size_t nic, bool rdma = true) : world_(world), nic_(nic) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, kBytes + kDescriptors * 128)));
    std::memset(memory_.get(), 0, kBytes + kDescriptors * 128);
    EXPECT_EQ(machine().create_tag(tag), Result::success);
    EXPECT_EQ(machine().register_memory(all(), {tag, rdma, rdma}, handle), Result::success);
  }
  ViWorld::Nic& machine() { return world_.nic(nic_); }
  std::span<std::byte> all() { return {memory_.get(), kBytes + kDescriptors * 128}; }
  std::span<std::byte> bytes(std::size_t at, std::size_t length) { return all().subspan(at, length); }
  std::uint64_t address(std::size_t at) { return reinterpret_cast<std::uintptr_t>(memory_.get() + at); }
  void write(std::size_t at, std::string_view text) {
    std::memcpy(memory_.get() + at, text.data(), text.size());
  }
  std::string text(std::size_t at, std::size_t length) {
    return {reinterpret_cast<const char*>(memory_.get() + at), length};
  }

  std::uint32_t make_vi(Reliability reliability = Reliability::delivery, std::uint32_t send = 0,
                        std::uint32_t receive = 0) {
    std::uint32_t out = 0;
    EXPECT_EQ(
        machine().create_vi({.reliability = reliability, .tag = tag, .rdma_write = true, .rdma_read = true},
                            send, receive, out),
        Result::success);
    return out;
  }
  // A descriptor over parts of this memory.
  Descriptor* descriptor(std::vector<std::pair<std::size_t, std::uint32_t>> parts, std::uint16_t control = 0,
                         std::uint32_t immediate = 0) {
    return build({}, std::move(parts), control, immediate);
  }
  // A descriptor of RDMA with the other side's memory.
  Descriptor* remote(ViParty& other, std::size_t at, std::vector<std::pair<std::size_t, std::uint32_t>> parts,
                     std::uint16_t control, std::uint32_t immediate = 0) {
    return build({{other.address(at), other.handle, 0}}, std::move(parts), control, immediate);
  }
  Result post_send(std::uint32_t vi, Descriptor* what) { return machine().post_send(vi, what, handle); }
  Result post_receive(std::uint32_t vi, Descriptor* what) { return machine().post_receive(vi, what, handle); }
  // Status of the descriptor that is back, or 0.
  std::uint32_t done(std::uint32_t vi, Side side, Descriptor** out = nullptr) {
    const Completed completed = machine().take(vi, side);
    if (out != nullptr) *out = completed.descriptor;
    return completed.descriptor != nullptr ? completed.descriptor->status : 0;
  }
  State state(std::uint32_t vi) { return machine().vi(vi)->state; }

  Tag tag = 0;
  MemoryHandle handle = 0;

 private:
  struct Free {
    void operator()(std::byte* of) const noexcept { std::free(of); }
  };

  Descriptor* build(std::vector<Segment> segments, std::vector<std::pair<std::size_t, std::uint32_t>> parts,
                    std::uint16_t control, std::uint32_t immediate) {
    std::byte* const at = memory_.get() + kBytes + next_ * 128;
    next_ = (next_ + 1) % kDescriptors;
    Descriptor head;
    for (const auto& [offset, length] : parts) {
      segments.push_back({address(offset), handle, length});
      head.length += length;
    }
    head.control = control;
    head.immediate = immediate;
    head.segment_count = static_cast<std::uint16_t>(segments.size());
    std::memcpy(at, static_cast<const void*>(&head), 32);
    std::ranges::copy(std::as_bytes(std::span(segments)), at + 32);
    return reinterpret_cast<Descriptor*>(at);
  }

  ViWorld& world_;
  const std::size_t nic_;
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t next_ = 0;
};

// Connects a VI of each, by an address.
inline void join(ViWorld& world, ViParty& client, std::uint32_t from, ViParty& server, std::uint32_t to) {
  const Address address = Address::of(1, std::as_bytes(std::span{"here", 4}));
  const std::uint32_t waiter = server.machine().add_waiter(address);
  ASSERT_EQ(client.machine().ask_for(from, {}, address, server.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = server.machine().request_of(waiter);
  server.machine().remove_waiter(waiter);
  ASSERT_NE(request, 0u);
  ASSERT_EQ(server.machine().accept(request, to), Result::success);
  world.settle();
  ASSERT_EQ(client.machine().outcome(from), Result::success);
  ASSERT_EQ(client.state(from), State::connected);
  ASSERT_EQ(server.state(to), State::connected);
}

inline constexpr std::uint32_t kSent = kDone | kOfSend, kReceived = kDone | kOfReceive;

class ViMachine : public testing::Test {
 protected:
  void connect(Reliability level) {
    from = here.make_vi(level);
    to = there.make_vi(level);
    join(world, here, from, there, to);
  }

  ViWorld world{1, 3};
  ViParty here{world, 0}, there{world, 1};
  std::uint32_t from = 0, to = 0;
};

class ViLevels : public ViMachine, public testing::WithParamInterface<Reliability> {};

}  // namespace hamlyn::test
