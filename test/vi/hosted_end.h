#pragma once
// A VI and what it needs, in a process of a simulated host.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>

#include "hamlyn/vi.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

using vi::Result;

inline constexpr std::size_t kWindow = 8;  // receives that are posted
inline constexpr std::uint32_t kRow = 48;  // sends that are posted at once: more than may await an answer
inline constexpr std::uint32_t kLength = 3000;  // bytes of a message: some packets between hosts

class HostedEnd {
 public:
  HostedEnd(Hosted& all, vi::Reliability level) : all_(all), nic_(interface_) {
    std::uint32_t queue = 0, number = 0;
    vi::MemoryHandle handle = 0;
    const auto room = std::as_writable_bytes(std::span(room_.get(), 1));
    good(nic_.create_tag(tag_), "a tag");
    good(nic_.register_memory(room, {.tag = tag_, .rdma_write = true, .rdma_read = true}, handle), "memory");
    memory_ = vi::Memory{nic_, room, handle};
    good(nic_.create_queue(1, queue), "a completion queue");
    queue_ = vi::CompletionQueue{nic_, queue};
    good(queue_.resize(2 * kRow), "room for all that can be over");
    good(nic_.create_vi({.reliability = level, .tag = tag_, .rdma_write = true, .rdma_read = true}, 0, queue,
                        number),
         "a VI");
    vi_ = vi::Vi{nic_, number};
  }
  ~HostedEnd() {
    static_cast<void>(vi_.disconnect());
    while (vi_.receive_done().descriptor != nullptr || vi_.send_done().descriptor != nullptr) {
    }
    vi_ = {}, queue_ = {}, memory_ = {};
    good(nic_.destroy_tag(tag_), "a VI that has everything back goes, and so does its memory");
  }
  HostedEnd(const HostedEnd&) = delete;
  HostedEnd& operator=(const HostedEnd&) = delete;

  bool accept(std::chrono::nanoseconds time) {
    vi::Incoming request;
    return nic_.connect_wait(address(), time, request) == Result::success &&
           vi_.accept(request) == Result::success;
  }
  bool connect(std::chrono::nanoseconds time) {
    const auto until = vi::Nic::Time{time};
    for (vi::Nic::Time waited{0}; waited < until; waited += std::chrono::microseconds{100}) {
      vi::Address asked = address();
      asked.host = server_host_ != 0 ? server_host_ : nic_.host();
      const Result result = vi_.request({}, asked, time);
      if (result == Result::success) return true;
      all_.host.pause(kMillisecond / 10);
    }
    return false;
  }
  void server_is_on(std::uint64_t host) { server_host_ = host; }
  void post_receive(std::size_t place, std::size_t length = kLength) {
    vi::Descriptor& descriptor = room_->receives[place];
    describe(descriptor, std::span(room_->received[place]).first(length));
    descriptor.next = place;
    good(vi_.post_receive(&descriptor, memory_.handle()), "a receive");
  }
  Result post_send(std::uint64_t number) {
    fill(number);
    describe(room_->send, room_->sent);
    return vi_.post_send(&room_->send, memory_.handle());
  }
  // Posts number `i` of a row: each fifth is of several packets.
  void post_in_row(std::uint32_t i) {
    const std::span<std::byte> bytes(room_->of_row[i]);
    std::memcpy(bytes.data(), &i, sizeof i);
    describe(room_->row[i], i % 5 == 4 ? bytes : bytes.first(16));
    good(vi_.post_send(&room_->row[i], memory_.handle()), "a send of a row");
  }
  // Posts write `i` of a row, which tells of it: of as many bytes as `there` has, all of them `i`.
  void write_in_row(std::uint32_t i, const vi::Segment& there) {
    const auto bytes = std::span(room_->of_row[i]).first(there.length);
    std::ranges::fill(bytes, static_cast<std::byte>(i));
    vi::Descriptor& write = room_->row[i];
    describe(write, bytes);
    write.segments[1] = write.segments[0];
    write.segments[0] = there;
    write.segment_count = 2;
    write.control = vi::kRdmaWrite | vi::kImmediate;
    write.immediate = i;
    good(vi_.post_send(&write, memory_.handle()), "a write of a row");
  }
  std::uint32_t number_in_row(const vi::Descriptor& receive) {
    std::uint32_t out = 0;
    std::memcpy(&out, room_->received[receive.next].data(), sizeof out);
    all_.expect(receive.length == (out % 5 == 4 ? kLength : 16), "its length is its own");
    return out;
  }
  vi::Completed sent(std::chrono::nanoseconds time) { return vi_.send_wait(time); }
  vi::Completed received(std::chrono::nanoseconds time) {
    const vi::Completion event = queue_.wait(time);
    if (event.result != Result::success) return {event.result, nullptr};
    all_.expect(event.receive && event.vi == vi_.number(), "an entry is of this receive queue");
    return vi_.receive_done();
  }
  std::uint64_t number(const vi::Descriptor& receive) {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, room_->received[receive.next].data(), sizeof first);
    std::memcpy(&last, room_->received[receive.next].data() + kLength - sizeof last, sizeof last);
    all_.expect(first == last, "a message is whole");
    return first;
  }
  // Writes the number to both ends of `there`, memory of the other side, and tells of it.
  Result write(std::uint64_t number, const vi::Segment& there) {
    fill(number);
    describe(room_->send, room_->sent);
    room_->send.segments[1] = room_->send.segments[0];
    room_->send.segments[0] = there;
    room_->send.segment_count = 2;
    room_->send.control = vi::kRdmaWrite | vi::kImmediate;
    room_->send.immediate = static_cast<std::uint32_t>(number);
    return vi_.post_send(&room_->send, memory_.handle());
  }
  vi::Segment memory() {
    return {reinterpret_cast<std::uintptr_t>(room_->sent.data()), memory_.handle(), kLength};
  }
  bool holds(std::uint64_t number) {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, room_->sent.data(), sizeof first);
    std::memcpy(&last, room_->sent.data() + kLength - sizeof last, sizeof last);
    return first == number && last == number;
  }
  vi::Nic& nic() { return nic_; }
  vi::Tag tag() const { return tag_; }
  Interface& interface() { return interface_; }
  void good(Result result, const char* what) { all_.expect(result == Result::success, what); }

 private:
  struct Room {
    std::array<vi::Descriptor, kRow> receives, row;
    vi::Descriptor send;
    std::array<std::array<std::byte, kLength>, kRow> received, of_row;
    std::array<std::byte, kLength> sent;
  };

  void fill(std::uint64_t number) {
    std::memcpy(room_->sent.data(), &number, sizeof number);
    std::memcpy(room_->sent.data() + kLength - sizeof number, &number, sizeof number);
  }
  static vi::Address address() { return vi::Address::of(0, bytes_of("hosted")); }
  void describe(vi::Descriptor& descriptor, std::span<std::byte> bytes) {
    descriptor = {};
    descriptor.segment_count = 1;
    descriptor.length = static_cast<std::uint32_t>(bytes.size());
    descriptor.segments[0] = {reinterpret_cast<std::uintptr_t>(bytes.data()), memory_.handle(),
                              descriptor.length};
  }

  Hosted& all_;
  Interface interface_;
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
  vi::Nic nic_;
  vi::Tag tag_ = 0;
  vi::Memory memory_;
  vi::CompletionQueue queue_;
  vi::Vi vi_;
  std::uint64_t server_host_ = 0;
};

}  // namespace hamlyn::test
