#pragma once
// One VI between two processes that send each other messages of bounded length (am/vi_port.h,
// splitc/vi/way.h), with memory for all that may be under way by it: descriptors in one row, their data in
// another. Its room is the credits that a layer above has at the other side.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/byte_order.h"
#include "base/namespaces.h"
#include "vi/machine.h"
#include "vi/port.h"

namespace hamlyn::internal_::vi {

// Objects that all lanes of a NIC share.
struct LaneRoots {
  Machine<Port>& nic;
  Tag tag = 0;
  std::uint32_t sent = 0, received = 0;  // completion queues
};

// Receives whose messages are handled, and which are not posted anew yet (vi/lane_nic.h).
inline constexpr std::uint32_t kLateReceives = 4;

// Size of a lane.
struct LaneSize {
  std::uint32_t receives = 0, sends = 0;
  std::uint32_t bytes = 0;   // of the longest message
  std::uint32_t weight = 0;  // of a message that has come, as the layer above counts it
};

class Lane {
 public:
  // Throws std::bad_alloc; as much, too, if the NIC has as many VIs as it may. Its receives are posted.
  Lane(const LaneRoots& of, void* for_owner, std::uint32_t as_index, const LaneSize& with)
      : owner(for_owner),
        index(as_index),
        weight(with.weight),
        roots_(of),
        receives_(with.receives),
        sends_(with.sends),
        stride_((with.bytes + 63) / 64 * 64) {
    try {
      open();
    } catch (...) {
      close();
      throw;
    }
  }
  ~Lane() { close(); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Asks for the VI that asks for this one. `room`: receives of the other side that messages with numbers
  // may take. `self`: that is this side's own, by a VI more.
  void connect(const Address& own, const Address& asked, const Ticket& door, std::uint32_t room,
               bool self) noexcept {
    room_ = room;
    used_ = 0;
    try {
      if (state(in_) != State::idle) rest();
      if (self && out_ == in_) out_ = make_vi();
      ask(in_, own, asked, door);
      if (out_ != in_) ask(out_, asked, own, door);
    } catch (const std::exception&) {
      broken_ = true;
    }
  }

  bool is_connected() const noexcept {
    return !broken_ && state(out_) == State::connected && state(in_) == State::connected;
  }
  // Whether something can be sent: since it was connected, and so were the other lanes.
  bool ready() const noexcept { return ready_; }
  void make_ready() noexcept { ready_ = true; }
  // Whether nothing can be any more; and that the other side has gone in good order.
  bool over() const noexcept {
    if (broken_ || state(in_) == State::error || state(out_) == State::error) return true;
    const ViObject<Port>* const vi = roots_.nic.vi(in_);
    return vi->state == State::connect_pending && vi->outcome != Result::not_done;
  }
  bool parted() const noexcept {
    const ViObject<Port>* const vi = roots_.nic.vi(in_);
    return !broken_ && vi->state == State::error && vi->parted == Reason::done;
  }
  bool has_room() const noexcept { return used_ < room_; }
  void take_room() noexcept { ++used_; }
  void give_room() noexcept {
    HAMLYN_ASSERT(used_ != 0, "only what was taken is given back");
    --used_;
  }
  bool has_send() const noexcept { return posted_ - reaped_ != sends_; }

  // Room for the next message's bytes, and that message, with its word in the immediate data. Needs a send.
  // False: it has not left.
  std::span<std::byte> next_bytes() noexcept { return {sent_bytes(posted_ % sends_), stride_}; }
  __attribute__((always_inline)) bool send_made(std::uint32_t word, std::size_t length) noexcept {
    HAMLYN_ASSERT(length <= stride_, "it was made in its room");
    Descriptor& send = next_send();
    send.control = kImmediate;
    send.immediate = word;
    // Nothing at all would not leave at once.
    send.length = send.segments[0].length = static_cast<std::uint32_t>(length == 0 ? 1 : length);
    return post(send);
  }
  // A message: its word in the immediate data, or in front of its bytes. Needs a send. False: it has not
  // left.
  __attribute__((always_inline)) bool send_packed(std::uint32_t word,
                                                  std::span<const std::byte> bytes) noexcept {
    Descriptor& send = next_send();
    std::byte* const at = sent_bytes(posted_ % sends_);
    // Nothing at all would not leave at once. A part of an argument counts for nothing.
    const std::uint32_t length = bytes.empty() ? 1 : static_cast<std::uint32_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    send.control = kImmediate;
    send.immediate = word;
    send.length = send.segments[0].length = length;
    return post(send);
  }
  bool send_whole(std::uint64_t word, std::span<const std::byte> bytes) noexcept {
    Descriptor& send = next_send();
    std::byte* const at = sent_bytes(posted_ % sends_);
    base::store_little(at, word);
    if (!bytes.empty()) std::memcpy(at + sizeof word, bytes.data(), bytes.size());
    send.control = 0;
    send.length = send.segments[0].length = static_cast<std::uint32_t>(sizeof word + bytes.size());
    return post(send);
  }
  // An RDMA write from registered memory. As the sends.
  bool write(const Segment& to, const Segment& from) noexcept {
    Descriptor& send = *send_of(posted_ % sends_);
    send = {};
    send.control = kRdmaWrite;
    send.segment_count = 2;
    send.length = from.length;
    send.segments = {to, from};
    return post(send);
  }
  std::uint32_t sends_left() const noexcept { return sends_ - static_cast<std::uint32_t>(posted_ - reaped_); }
  // Number of the last that was posted, from 1 on; and of the last that is over.
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t reaped() const noexcept { return reaped_; }
  void reap() noexcept { ++reaped_; }
  // Whether a write from that memory is not over.
  bool writes_from(MemoryHandle own) const noexcept {
    for (std::uint64_t i = reaped_; i != posted_; ++i) {
      const Descriptor& send = *send_of(i % sends_);
      if (send.control == kRdmaWrite && send.segments[1].handle == own) return true;
    }
    return false;
  }
  // Whether the other side's NIC is to say something before more can leave: that it is there, or where a
  // write may land.
  bool awaits_answer() const noexcept { return !ready_ || roots_.nic.vi(out_)->other.asked != 0; }

  // Place of a message that has come, and its bytes. Nothing: the descriptor is of no message.
  std::uint32_t place_of(const Descriptor* receive) const noexcept {
    return static_cast<std::uint32_t>(receive - receive_of(0));
  }
  std::span<std::byte> bytes_of(const Descriptor& receive, std::uint32_t place) noexcept {
    const bool plain = (receive.status & (kErrors | kOfRemoteWrite)) == kOfReceive;
    return {received_bytes(place), plain && receive.length <= stride_ ? receive.length : 0u};
  }
  // The receive of that place is posted anew. False: it cannot be, and the lane has broken off.
  bool free(std::uint32_t place) noexcept {
    if (broken_) return true;
    bool good = false;
    try {
      good = roots_.nic.post_receive(in_, receive_of(place), handle_) == Result::success;
    } catch (const std::exception&) {
    }
    if (!good) break_off();  // the other side counts on it
    return good;
  }
  // Both sides have said that they go: nobody needs to hear of the connection's end.
  void part() noexcept { tells_ = false; }
  // Nothing that was posted is read or written any more.
  void break_off() noexcept {
    broken_ = true;
    ready_ = false;
    for (const std::uint32_t vi : {in_, out_}) {
      try {
        if (vi != 0) static_cast<void>(roots_.nic.disconnect(vi, tells_));
      } catch (const std::exception&) {  // `close` sees it
      }
    }
  }
  // Entries of each completion queue that it may have.
  std::uint32_t entries() const noexcept { return std::max(receives_, sends_); }
  std::uint32_t in() const noexcept { return in_; }
  std::uint32_t out() const noexcept { return out_; }

  void* const owner;  // that the layer above has given
  const std::uint32_t index;
  const std::uint32_t weight;  // of a message that has come

 private:
  struct Free {
    void operator()(std::byte* at) const noexcept { std::free(at); }
  };

  State state(std::uint32_t number) const noexcept { return roots_.nic.vi(number)->state; }
  Descriptor* receive_of(std::size_t i) const noexcept {
    return reinterpret_cast<Descriptor*>(memory_.get()) + i;
  }
  Descriptor* send_of(std::size_t i) const noexcept { return receive_of(receives_ + i); }
  std::byte* received_bytes(std::size_t i) const noexcept {
    return memory_.get() + std::size_t{receives_ + sends_} * sizeof(Descriptor) + i * stride_;
  }
  std::byte* sent_bytes(std::size_t i) const noexcept { return received_bytes(receives_ + i); }
  Descriptor& next_send() noexcept {
    const std::size_t i = posted_ % sends_;
    Descriptor& send = *send_of(i);
    if (send.segment_count != 1) [[unlikely]]  // it was a write
      describe(send, sent_bytes(i));
    return send;
  }
  void describe(Descriptor& out, std::byte* data) noexcept {
    out = {};
    out.segment_count = 1;
    out.segments[0] = {reinterpret_cast<std::uintptr_t>(data), handle_, stride_};
  }
  __attribute__((always_inline)) bool post(Descriptor& send) noexcept {
    try {
      if (roots_.nic.post_send(out_, &send, handle_) != Result::success) return false;
    } catch (const std::exception&) {
      return false;
    }
    ++posted_;
    return true;
  }

  // Throws.
  std::uint32_t make_vi() {
    std::uint32_t out = 0;
    const ViAttributes attributes{.max_transfer = kMostTransfer, .tag = roots_.tag, .rdma_write = true};
    if (roots_.nic.create_vi(attributes, roots_.sent, roots_.received, out) != Result::success)
      throw std::bad_alloc();
    return out;
  }
  void open() {
    const std::size_t all = std::size_t{receives_ + sends_} * (sizeof(Descriptor) + stride_);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kDescriptorAlignment, all)));
    if (memory_ == nullptr) throw std::bad_alloc();
    if (roots_.nic.register_memory({memory_.get(), all}, {.tag = roots_.tag}, handle_) != Result::success)
      throw std::bad_alloc();
    in_ = out_ = make_vi();
    for (std::size_t i = 0; i != receives_; ++i) {
      describe(*new (receive_of(i)) Descriptor, received_bytes(i));
      if (roots_.nic.post_receive(in_, receive_of(i), handle_) != Result::success) throw std::bad_alloc();
    }
    for (std::size_t i = 0; i != sends_; ++i) describe(*new (send_of(i)) Descriptor, sent_bytes(i));
  }
  void ask(std::uint32_t vi, const Address& own, const Address& asked, const Ticket& door) {
    constexpr auto kForEver = std::chrono::steady_clock::time_point::max();
    if (roots_.nic.peer_request(vi, own, asked, kForEver) != Result::success) throw std::bad_alloc();
    roots_.nic.knock_at(vi, door);
  }
  // Begins anew: nothing was heard of the other side.
  void rest() {
    for (const std::uint32_t vi : {in_, out_}) static_cast<void>(roots_.nic.disconnect(vi));
    drain();
    ready_ = false;
    reaped_ = posted_;
    for (std::size_t i = 0; i != receives_; ++i)
      if (roots_.nic.post_receive(in_, receive_of(i), handle_) != Result::success) throw std::bad_alloc();
  }
  void drain() noexcept {
    for (const std::uint32_t vi : {in_, out_}) {
      for (const Side side : {Side::send, Side::receive})
        while (roots_.nic.take(vi, side).descriptor != nullptr) {
        }
      for (const std::uint32_t queue : {roots_.sent, roots_.received})
        roots_.nic.queue(queue)->entries.remove(vi);
    }
  }
  void close() noexcept {
    bool clean = true;
    if (in_ != 0) {
      break_off();
      drain();
      clean = roots_.nic.destroy_vi(in_) == Result::success;
      if (out_ != in_) clean &= roots_.nic.destroy_vi(out_) == Result::success;
    }
    try {
      if (handle_ != 0) static_cast<void>(roots_.nic.deregister_memory(memory_.get(), handle_));
    } catch (const std::exception&) {
      clean = false;
    }
    if (!clean) static_cast<void>(memory_.release());  // something may still land there
  }

  const LaneRoots roots_;
  const std::uint32_t receives_, sends_, stride_;
  std::unique_ptr<std::byte, Free> memory_;
  MemoryHandle handle_ = 0;
  std::uint32_t in_ = 0, out_ = 0;  // VIs: one, or of a loop two
  bool ready_ = false, broken_ = false, tells_ = true;
  std::uint32_t room_ = 0, used_ = 0;  // of receives at the other side
  std::uint64_t posted_ = 0, reaped_ = 0;
};

}  // namespace hamlyn::internal_::vi
