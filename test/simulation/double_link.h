#pragma once
// A link for exploration: what is under way arrives when, and in the order that, the explorer says. Each rule
// of design.md's section 4 that a fabric or an interface keeps can be broken here, and only here.
#include <deque>
#include <functional>
#include <vector>

#include "interface/deposit.h"

namespace hamlyn::test {

// As it is built; each `true` is a fault.
struct Broken {
  bool arrivals_wait_for_places = false;  // what arrives waits until the queue has a free place
  bool grants_are_not_reserved = false;   // the sender is told of more places than are kept for it
  bool replies_share_the_ring = false;    // replies stand in line behind requests
  bool budget_is_ignored = false;         // a link is served until it is empty
  bool work_is_not_reserved = false;      // a request without room for its answer is not taken on
  bool answers_come_first = false;        // nothing is taken before all requests are answered
  bool departing_comes_first = false;     // nothing is taken before all messages have left
};

struct Channel {
  struct Parcel {
    interface::Packet packet;
    bool reply;
    std::vector<std::byte> data = {};  // longer than fits the packet
  };
  std::size_t window;  // packets under way or arrived, and not yet taken
  std::vector<Parcel> under_way = {};
  std::deque<Parcel> arrived = {};

  bool full() const noexcept { return under_way.size() + arrived.size() >= window; }
  void deliver(std::size_t which) {
    arrived.push_back(under_way[which]);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
  }
};

// One direction of a link.
struct Wire {
  Channel packets;
  Channel replies;
};

class DoubleLink final : public interface::Link {
 public:
  // `place_free`: whether the receiver's queue has one; only asked by those who wait for it.
  DoubleLink(std::uint64_t peer_number, Wire& out, Wire& in, Broken broken_rules,
             std::function<bool()> place_free)
      : out_(out), in_(in), rules_(broken_rules), place_free_(std::move(place_free)) {
    peer = peer_number;
  }

  using Link::put;
  Status put(const interface::Packet& packet, const std::byte* data, const std::byte*,
             Priority) noexcept override {
    if (out_.packets.full()) return Status::queue_full;
    Channel::Parcel parcel{packet, false};
    if (packet.lead.length > interface::kInlineData) {
      parcel.data.assign(data, data + packet.lead.length);
    } else {
      std::copy_n(data, packet.lead.length, parcel.packet.data);
    }
    out_.packets.under_way.push_back(parcel);
    return Status::ok;
  }
  Status put_reply(const interface::Packet& packet, const std::byte* data) noexcept override {
    Channel& channel = rules_.replies_share_the_ring ? out_.packets : out_.replies;
    if (channel.full()) return Status::queue_full;
    channel.under_way.push_back({packet, true});
    std::copy_n(data, packet.lead.length, channel.under_way.back().packet.data);  // short, too
    if (rules_.grants_are_not_reserved && packet.lead.operation == interface::Operation::grant)
      channel.under_way.back().packet.delta += 2;
    return Status::ok;
  }
  unsigned arrive(interface::Core& core, unsigned budget) noexcept override {
    if (rules_.answers_come_first && answers_due()) return 0;
    if (rules_.departing_comes_first && core.departures_wait()) return 0;
    while (!in_.replies.arrived.empty()) take(core, in_.replies);
    unsigned count = 0;
    while ((count < budget || rules_.budget_is_ignored) && !in_.packets.arrived.empty()) {
      // The worst interface that the rules allow: it has room for the reply to one request and no more.
      if (one_reply_at_a_time && replies_due) break;
      if (rules_.arrivals_wait_for_places && !place_free_()) break;
      take(core, in_.packets);
      ++count;
      if (taken) taken();
    }
    return count;
  }
  bool something_arrived() const noexcept override {
    return !in_.packets.arrived.empty() || !in_.replies.arrived.empty();
  }
  std::uint64_t arrived_at_most() const noexcept override {
    return in_.packets.arrived.size() + in_.replies.arrived.size();
  }
  bool has_room(Priority) noexcept override { return !out_.packets.full(); }
  bool has_reply_room() noexcept override { return !out_.replies.full(); }
  using Link::payload_limit;
  std::size_t payload_limit() const noexcept override { return interface::kReplyPayload; }
  std::size_t urgent_payload_limit() const noexcept override { return interface::kInlineData; }
  // No message of an exploration stands in an area that is lent.
  std::uint64_t put_count() const noexcept override { return 0; }
  std::uint64_t taken_count() noexcept override { return 0; }
  std::size_t payload_limit_ever() const noexcept override { return interface::kReplyPayload; }

  bool one_reply_at_a_time = false;
  std::function<void()> taken;  // called for each packet that was handed over

 private:
  void take(interface::Core& core, Channel& channel) noexcept {
    const Channel::Parcel parcel = channel.arrived.front();
    channel.arrived.pop_front();
    const bool too_many = rules_.work_is_not_reserved && !parcel.reply && out_.replies.full();
    const interface::Payload payload { .first = parcel.data.data(), .first_length = parcel.data.size() };
    const Refusal refusal = too_many ? Refusal::over_budget : core.deposit(*this, parcel.packet, payload);
    if (refusal != Refusal::none) core.refuse(*this, refusal, parcel.packet);
  }

  Wire& out_;
  Wire& in_;
  Broken rules_;
  std::function<bool()> place_free_;
};

}  // namespace hamlyn::test
