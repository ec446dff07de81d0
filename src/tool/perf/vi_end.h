#pragma once
// One side of a connected VI, for figures: a NIC, memory, and a completion queue that all receives end in.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "hamlyn/vi.h"
#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf {

inline void good(vi::Result result, const char* what) { expect(result == vi::Result::success, what); }

struct ViShape {
  std::uint32_t bytes = 16;     // of a message
  std::size_t receives = 64;    // that are posted
  std::size_t sends = 1;        // descriptors and buffers for them
  std::size_t others = 0;       // VIs that are connected, too, and idle
  bool sends_in_queue = false;  // ends of sends have entries in a completion queue of their own
  vi::Reliability level = vi::Reliability::delivery;
};

// Memory of the other side's, as it has told of it.
struct ViOffer {
  std::uint64_t address = 0;
  std::uint64_t handle = 0;
};

class ViEnd {
 public:
  explicit ViEnd(Interface& interface, const ViShape& shape = {})
      : nic_(interface),
        shape_(shape),
        buffer_((shape.bytes + 63) / 64 * 64),
        bytes_((shape.receives + shape.sends) * (sizeof(vi::Descriptor) + buffer_)),
        memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096))) {
    std::memset(memory_.get(), 0, bytes_);
    good(nic_.create_tag(tag_), "no tag");
    good(nic_.register_memory({memory_.get(), bytes_}, {tag_, true, true}, handle_), "no memory");
    good(nic_.create_queue(static_cast<std::uint32_t>(4 * (shape.receives + shape.sends)), queue_),
         "no completion queue");
    if (shape.sends_in_queue)
      good(nic_.create_queue(static_cast<std::uint32_t>(4 * shape.sends), send_queue_),
           "no completion queue");
    const vi::ViAttributes attributes{.reliability = shape.level,
                                      .max_transfer = std::max<std::uint64_t>(shape.bytes, 65536),
                                      .tag = tag_,
                                      .rdma_write = true,
                                      .rdma_read = true};
    for (std::size_t i = 0; i <= shape.others; ++i)
      good(nic_.create_vi(attributes, send_queue_, queue_, vis_.emplace_back()), "no VI");
    for (std::size_t i = 0; i != shape.receives + shape.sends; ++i) describe(i);
    for (std::size_t i = 0; i != shape.receives; ++i) post(receive_of(i));
  }
  ~ViEnd() {
    for (const std::uint32_t vi : vis_) static_cast<void>(nic_.disconnect(vi));
  }
  ViEnd(const ViEnd&) = delete;
  ViEnd& operator=(const ViEnd&) = delete;

  static vi::Address address_of(std::uint64_t interface) {
    const std::string name = "perf." + std::to_string(interface);
    return vi::Address::of(interface >> 48, std::as_bytes(std::span(name)));
  }
  void accept(const vi::Address& local) {
    for (const std::uint32_t vi : vis_) {
      vi::Incoming request;
      good(nic_.connect_wait(local, kPatience, request), "nobody asks for a connection");
      good(nic_.accept(request.number, vi), "the connection is not accepted");
    }
  }
  void request(const vi::Address& asked) {
    for (const std::uint32_t vi : vis_) {
      vi::Result result = vi::Result::no_match;
      while (result == vi::Result::no_match) result = nic_.request(vi, {}, asked, kPatience);
      good(result, "no connection");
    }
  }
  // Until the other side has ended its connections: otherwise both would, and one be told that nobody hears.
  void await_end() {
    for (const std::uint32_t vi : vis_) {
      vi::Nic::ViStatus status;
      do good(nic_.query_vi(vi, status), "no VI");
      while (status.state == vi::State::connected);
    }
  }

  vi::Descriptor* receive_of(std::size_t i) { return descriptor(i); }
  vi::Descriptor* send_of(std::size_t i) { return descriptor(shape_.receives + i); }
  std::span<std::byte> sent(std::size_t i) { return data(shape_.receives + i); }
  std::span<std::byte> received(const vi::Descriptor* of) {
    return {reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(of->segments[0].address)), of->length};
  }

  void post(vi::Descriptor* receive) {
    good(nic_.post_receive(vis_[0], receive, handle_), "no receive is posted");
  }
  void post_send(vi::Descriptor* send) { good(nic_.post_send(vis_[0], send, handle_), "nothing is sent"); }
  // Until the oldest send is over.
  void await_sent() {
    vi::Completed done;
    while ((done = nic_.send_done(vis_[0])).result == vi::Result::not_done) {
    }
    good(done.result, "a send has failed");
  }
  // Sends the first buffer; what is behind that does not hold it up.
  void send() {
    post_send(send_of(0));
    await_sent();
    send_of(0)->length = shape_.bytes;
  }
  vi::Descriptor* receive() {
    vi::Taken taken;
    while ((taken = nic_.queue_take(queue_)).result == vi::Result::not_done) {
    }
    good(taken.result, "a receive has failed");
    return taken.descriptor;
  }
  vi::Descriptor* receive_asleep() {
    const vi::Completion event = nic_.queue_wait(queue_, kPatience);
    good(event.result, "nothing has come");
    const vi::Completed done = nic_.receive_done(event.vi);
    good(done.result, "a receive has failed");
    return done.descriptor;
  }

  // Tells the other side of the first send's buffer, where it may write and read; and hears of its.
  void offer() {
    const ViOffer own{reinterpret_cast<std::uintptr_t>(sent(0).data()), handle_};
    std::memcpy(sent(0).data(), &own, sizeof own);
    send_of(0)->length = send_of(0)->segments[0].length = sizeof own;
    send();
    describe(shape_.receives);
    vi::Descriptor* const from = receive();
    std::memcpy(&other_, received(from).data(), sizeof other_);
    describe(static_cast<std::size_t>(from - descriptor(0)));
    post(from);
  }
  // Makes of a send RDMA with what the other side has offered.
  void describe_remote(std::size_t i, std::uint16_t control) {
    vi::Descriptor& of = *send_of(i);
    describe(shape_.receives + i);
    of.control = control;
    of.segment_count = 2;
    of.segments[1] = of.segments[0];
    of.segments[0] = {other_.address, static_cast<std::uint32_t>(other_.handle), 0};
  }

  vi::Nic& nic() { return nic_; }
  std::uint32_t number() const { return vis_[0]; }
  std::uint32_t queue() const { return queue_; }
  std::uint32_t send_queue() const { return send_queue_; }

 private:
  static constexpr std::chrono::seconds kPatience{10};
  struct Free {
    void operator()(std::byte* of) const noexcept { std::free(of); }
  };

  vi::Descriptor* descriptor(std::size_t i) { return reinterpret_cast<vi::Descriptor*>(memory_.get()) + i; }
  std::span<std::byte> data(std::size_t i) {
    return {memory_.get() + (shape_.receives + shape_.sends) * sizeof(vi::Descriptor) + i * buffer_,
            shape_.bytes};
  }
  void describe(std::size_t i) {
    vi::Descriptor& of = *descriptor(i);
    of.segment_count = 1;
    of.length = shape_.bytes;
    of.segments[0] = {reinterpret_cast<std::uintptr_t>(data(i).data()), handle_, shape_.bytes};
  }

  vi::Nic nic_;
  const ViShape shape_;
  const std::size_t buffer_, bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  vi::Tag tag_ = 0;
  vi::MemoryHandle handle_ = 0;
  std::uint32_t queue_ = 0, send_queue_ = 0;
  std::vector<std::uint32_t> vis_;
  ViOffer other_;
};

// Connects the two sides: the first asks, the second accepts.
inline void meet(Party& party, ViEnd& end, bool asks) {
  if (asks) return end.request(ViEnd::address_of(party.take_tickets(1).front().interface));
  const Ticket who{.interface = party.interface().id()};
  party.hand_over({&who, 1});
  end.accept(ViEnd::address_of(who.interface));
}

}  // namespace hamlyn::tool::perf
