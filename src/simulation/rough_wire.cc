#include "simulation/rough_wire.h"

#include <algorithm>
#include <cstring>

#include "base/byte_order.h"
#include "fabric/ofi/frame.h"
#include "fabric/ofi/packets.h"
#include "fabric/sim/turned.h"

namespace hamlyn::simulation {

namespace {

void turn_numbers(std::span<std::byte> frame) {
  ofi::FrameHeader header;
  if (ofi::decode(frame, header) != nullptr) return;
  interface::Packet packet;
  interface::Payload payload;
  for (std::size_t at = ofi::kFrameHeader; at < frame.size();) {
    const std::size_t bytes = ofi::read_packet(frame.data() + at, frame.size() - at, packet, payload);
    if (bytes == 0) return;
    const interface::Lead& lead = packet.lead;
    base::swap_elements(frame.data() + at + ofi::kPacketHeader + lead.metadata_length, lead.length,
                        sim::turned_element(packet));
    at += bytes;
  }
}

}  // namespace

std::unique_ptr<RoughPort> RoughNet::make_port() {
  auto port = std::make_unique<RoughPort>(*this, ports_.size());
  ports_.push_back(port.get());
  return port;
}

void RoughNet::inject(std::uint64_t to, std::vector<std::byte> bytes) {
  RoughPort* const port = ports_[to];
  if (port != nullptr) port->inbox_.push({now_, port->next_number_++, std::move(bytes)});
}

void RoughNet::meet(Mishap mishap, std::uint64_t from, std::uint64_t to) {
  if (on_mishap) on_mishap(mishap, from, to);
}

void RoughNet::carry(std::uint64_t from, std::uint64_t to, std::vector<std::byte> bytes) {
  const bool loses = weather_.lost_one_in != 0 && chance_.one_in(weather_.lost_one_in);
  if (ports_[to] == nullptr || loses || cuts_.count({from, to}) != 0) {
    ++lost;
    return meet(Mishap::lost, from, to);
  }
  if (weather_.orders_differ) turn_numbers(bytes);
  RoughPort& port = *ports_[to];
  const bool twice = weather_.repeated_one_in != 0 && chance_.one_in(weather_.repeated_one_in);
  if (twice) {
    ++repeated;
    meet(Mishap::repeated, from, to);
  }
  for (int i = twice ? 2 : 1; i != 0; --i) {
    const std::uint64_t delay = chance_.between(weather_.least_delay, weather_.most_delay);
    std::uint64_t& last = port.last_coming_[from];
    if (now_ + delay < last) meet(Mishap::overtaken, from, to);
    last = std::max(last, now_ + delay);
    port.inbox_.push({now_ + delay, port.next_number_++, bytes});
  }
}

std::vector<std::byte> RoughPort::whole_address() const {
  const auto bytes = std::as_bytes(std::span(&address_, 1));
  return {bytes.begin(), bytes.end()};
}

ofi::Destination RoughPort::insert(std::span<const std::byte> address) noexcept {
  ofi::Destination to = ofi::kNowhere;
  if (address.size() == sizeof to) std::memcpy(&to, address.data(), sizeof to);
  return to;
}

void RoughPort::expect(std::uint32_t links) {
  const std::uint32_t wanted = ofi::frames_for(links);
  while (frames_.size() < wanted) {
    free_frames_.push_back(&frames_.emplace_back());
    free_arrivals_.push_back(&arrivals_.emplace_back());
  }
}

ofi::Frame* RoughPort::take_frame() noexcept {
  ofi::Frame* const frame = free_frames_.back();
  free_frames_.pop_back();
  if (frame->bytes == nullptr) frame->bytes = memory_.emplace_back(new std::byte[net_.weather().frame]).get();
  return frame;
}

void RoughPort::give_back(ofi::Arrival& arrival) noexcept {
  free_arrivals_.push_back(static_cast<Came*>(&arrival));
}

bool RoughPort::send(ofi::Destination to, ofi::Frame& frame) noexcept {
  const std::uint64_t one_in = net_.weather().not_now_one_in;
  if (one_in != 0 && net_.chance().one_in(one_in)) return false;
  frame.under_way = true;
  under_way_.push_back({net_.now() + net_.chance().below(net_.weather().most_delay), to, &frame});
  return true;
}

bool RoughPort::send_short(ofi::Destination to, std::span<const std::byte> frame) noexcept {
  net_.carry(address_, to, {frame.begin(), frame.end()});
  return true;
}

std::uint64_t RoughPort::next_time() const noexcept {
  std::uint64_t next = inbox_.empty() ? ofi::kNever : inbox_.top().time;
  for (const Sending& sending : under_way_) next = std::min(next, sending.until);
  return next;
}

// A frame's bytes are read when the wire lets go of it: who changes them before changes what arrives.
bool RoughPort::poll(ofi::Sink& sink) noexcept {
  bool happened = false;
  for (std::size_t i = 0; i < under_way_.size();) {
    const Sending sending = under_way_[i];
    if (sending.until > net_.now()) {
      ++i;
      continue;
    }
    under_way_[i] = under_way_.back();
    under_way_.pop_back();
    last_sent.assign(sending.frame->bytes, sending.frame->bytes + sending.frame->length);
    net_.carry(address_, sending.to, last_sent);
    sink.let_go(*sending.frame);
    happened = true;
  }
  while (!inbox_.empty() && inbox_.top().time <= net_.now()) {
    std::vector<std::byte> bytes = inbox_.top().bytes;
    inbox_.pop();
    happened = true;
    if (free_arrivals_.empty() || bytes.size() > net_.weather().frame) {
      ++overruns;
      continue;
    }
    Came& arrival = *free_arrivals_.back();
    free_arrivals_.pop_back();
    arrival.memory = std::move(bytes);
    arrival.bytes = arrival.memory.data();
    arrival.length = static_cast<std::uint32_t>(arrival.memory.size());
    sink.arrived(arrival);
  }
  return happened;
}

}  // namespace hamlyn::simulation
