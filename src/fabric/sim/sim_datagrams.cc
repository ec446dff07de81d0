#include "fabric/sim/sim_datagrams.h"

#include <algorithm>
#include <cstring>

namespace hamlyn::sim {

std::unique_ptr<SimDatagramPort> SimDatagramNet::make_port() {
  auto port = std::make_unique<SimDatagramPort>(*this, ports_.size());
  ports_.push_back(port.get());
  return port;
}

void SimDatagramNet::carry(std::uint64_t from, std::uint64_t to, const std::vector<std::byte>& bytes) {
  if (cut_ || (weather_.lost_one_in != 0 && chance_.one_in(weather_.lost_one_in))) {
    ++lost_;
    return;
  }
  put(from, to, bytes);
  if (weather_.repeated_one_in != 0 && chance_.one_in(weather_.repeated_one_in)) {
    ++repeated_;
    put(from, to, bytes);
  }
}

void SimDatagramNet::put(std::uint64_t from, std::uint64_t to, const std::vector<std::byte>& bytes) {
  SimDatagramPort* const port = ports_[to];
  if (port == nullptr || port->coming_.size() == weather_.standing) {
    ++lost_;
    return;
  }
  const std::uint64_t delay = chance_.between(weather_.least_delay, weather_.most_delay);
  port->coming_.push({now_ + delay, next_number_++, from, bytes});
}

SimDatagramPort::SimDatagramPort(SimDatagramNet& net, std::uint64_t number) : net_(net), number_(number) {
  leaving_.reserve(net.weather_.waiting);
}

SimDatagramPort::~SimDatagramPort() { net_.ports_[number_] = nullptr; }

std::span<const std::byte> SimDatagramPort::address() const noexcept {
  return std::as_bytes(std::span{&number_, 1});
}

fabric::DatagramPort::Peer SimDatagramPort::insert(std::span<const std::byte> address) {
  std::uint64_t number;
  if (address.size() != sizeof number) return kNobody;
  std::memcpy(&number, address.data(), sizeof number);
  if (number >= net_.ports_.size()) return kNobody;
  const auto known = std::find(peers_.begin(), peers_.end(), number);
  if (known != peers_.end()) return static_cast<Peer>(known - peers_.begin());
  const auto free = std::find(peers_.begin(), peers_.end(), kNobody);
  if (free != peers_.end()) {
    *free = number;
    return static_cast<Peer>(free - peers_.begin());
  }
  peers_.push_back(number);
  return peers_.size() - 1;
}

void SimDatagramPort::forget(Peer peer) noexcept {
  if (peer < peers_.size()) peers_[peer] = kNobody;
}

Status SimDatagramPort::send(Peer to, std::span<const std::byte> data) noexcept {
  if (to >= peers_.size() || peers_[to] == kNobody) return Status::invalid;
  if (data.size() > limit()) return Status::too_long;
  if (leaving_.size() == net_.weather_.waiting) return Status::queue_full;
  leaving_.push_back({peers_[to], {data.begin(), data.end()}});
  return Status::ok;
}

std::optional<fabric::DatagramPort::Arrival> SimDatagramPort::receive(std::span<std::byte> into) noexcept {
  for (const Leaving& each : leaving_) net_.carry(number_, each.to, each.bytes);
  leaving_.clear();
  while (!coming_.empty() && coming_.top().time <= net_.now_ && into.size() >= limit()) {
    const Coming first = coming_.top();
    coming_.pop();
    const auto known = std::find(peers_.begin(), peers_.end(), first.from);
    if (known == peers_.end() && !strangers_) {
      ++refused_;
      continue;
    }
    std::copy(first.bytes.begin(), first.bytes.end(), into.begin());
    const Peer from = known == peers_.end() ? kNobody : static_cast<Peer>(known - peers_.begin());
    return Arrival{from, first.bytes.size()};
  }
  return std::nullopt;
}

}  // namespace hamlyn::sim
