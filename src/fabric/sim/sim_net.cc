#include "fabric/sim/sim_net.h"

#include <algorithm>

#include "fabric/sim/sim_link.h"

namespace hamlyn::sim {

SimNet::SimNet(std::uint64_t seed, const Weather& weather) : weather_(weather), chance_(seed) {}
SimNet::~SimNet() = default;

std::pair<std::unique_ptr<SimLink>, std::unique_ptr<SimLink>> SimNet::join(std::uint64_t one,
                                                                           std::uint64_t other) {
  const std::size_t number = ends_.size();
  auto first = std::make_unique<SimLink>(*this, number, number + 1, other);
  auto second = std::make_unique<SimLink>(*this, number + 1, number, one);
  ends_.push_back(first.get());
  ends_.push_back(second.get());
  good_areas_.resize(ends_.size());
  return {std::move(first), std::move(second)};
}

std::unique_ptr<SimLink> SimNet::join_oneself(std::uint64_t one) {
  const std::size_t number = ends_.size();
  auto end = std::make_unique<SimLink>(*this, number, number, one);
  ends_.push_back(end.get());
  good_areas_.resize(ends_.size());
  return end;
}

void SimNet::cut(SimLink& end) noexcept {
  end.cut_ = true;
  if (SimLink* other = end.other()) other->cut_ = true;
}

void SimNet::hang_up(SimLink& end) noexcept {
  end.cut_ = true;
  ends_[end.number_] = nullptr;
}

void SimNet::forget(SimLink& end) noexcept {
  if (ends_[end.number_] != &end) return;
  cut(end);
  ends_[end.number_] = nullptr;
}

void SimNet::send(std::size_t end, std::shared_ptr<Parcel> parcel) {
  const std::uint64_t time = now_ + chance_.between(weather_.least_delay, weather_.most_delay);
  under_way_.push({time, next_sequence_++, end, std::move(parcel)});
}

bool SimNet::step() {
  if (under_way_.empty()) return false;
  const Arrival arrival = under_way_.top();
  under_way_.pop();
  now_ = arrival.time;
  SimLink* end = ends_[arrival.end];
  if (end == nullptr || end->cut_) return true;
  end->overtaken_ += arrival.sequence < end->last_sequence_;
  end->last_sequence_ = std::max(end->last_sequence_, arrival.sequence);
  const Parcel& parcel = *arrival.parcel;
  auto& arrived = parcel.reply                       ? end->replies_
                  : parcel.level == Priority::urgent ? end->urgent_
                                                     : end->arrived_;
  arrived.push_back(arrival.parcel);
  if (end->arrivals != nullptr) ++*end->arrivals;
  return true;
}

void SimNet::pass(std::uint64_t time) {
  const std::uint64_t until = now_ + time;
  while (!under_way_.empty() && under_way_.top().time <= until) step();
  now_ = until;
}

void SimNet::settle() {
  while (step()) {
  }
}

}  // namespace hamlyn::sim
