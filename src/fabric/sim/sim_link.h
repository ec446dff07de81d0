#pragma once
// One end of a simulated link. It lives and dies with the interface that holds it; the net knows both ends.
#include <array>
#include <deque>
#include <memory>
#include <set>

#include "fabric/sim/sim_net.h"
#include "interface/areas/good_areas.h"
#include "interface/link.h"

namespace hamlyn::sim {

class SimLink final : public interface::Link {
 public:
  SimLink(SimNet& net, std::size_t number, std::size_t other, std::uint64_t peer);
  ~SimLink() override;

  using Link::put;
  Status put(const interface::Packet& packet, const std::byte* data, const std::byte* metadata,
             Priority level) noexcept override;
  Status put_reply(const interface::Packet& packet, const std::byte* data) noexcept override;
  unsigned arrive(interface::Core& core, unsigned budget) noexcept override;
  bool something_arrived() const noexcept override {
    return !arrived_.empty() || !replies_.empty() || !urgent_.empty();
  }
  std::uint64_t arrived_at_most() const noexcept override {
    return arrived_.size() + replies_.size() + urgent_.size();
  }
  // Nothing leaves by a cut link any more: what waits for room fails when it ends.
  bool has_room(Priority level) noexcept override { return !cut_ && untaken(level) < window(level); }
  bool has_reply_room() noexcept override {
    return !cut_ && !broken && untaken_replies_ < net_.weather().reply_window;
  }
  using Link::payload_limit;
  std::size_t payload_limit() const noexcept override { return net_.weather().mtu; }
  std::uint64_t put_count() const noexcept override { return next_put_; }
  std::uint64_t taken_count() noexcept override {
    return untaken_puts_.empty() ? next_put_ : *untaken_puts_.begin();
  }
  std::size_t urgent_payload_limit() const noexcept override;
  std::size_t payload_limit_ever() const noexcept override { return net_.weather().mtu; }
  bool area_good(std::uint32_t number) const noexcept override {
    return interface::GoodAreas<>::told(net_.good_areas_[other_], number);
  }

  // The other end has gone, or the link was cut: whoever keeps the links drains and ends this one.
  bool cut() const noexcept { return cut_; }
  // Packets that came here before one that had left earlier.
  std::uint64_t overtaken() const noexcept { return overtaken_; }
  // Cuts the link when so many more packets were put: in the middle of what is being sent.
  void cut_after(std::uint64_t packets) noexcept { left_ = packets; }

  std::uint64_t* arrivals = nullptr;  // counts what arrives, if anybody wants to know

 private:
  friend class SimNet;
  using Arrived = std::deque<std::shared_ptr<Parcel>>;

  void tell_areas(std::uint64_t good) noexcept override {
    interface::GoodAreas<>::tell(net_.good_areas_[number_], good);
  }
  interface::Operation take(interface::Core& core, Arrived& from) noexcept;
  std::shared_ptr<Parcel> packed(const interface::Packet& packet, const std::byte* data) const;
  void deposit(interface::Core& core, const Parcel& parcel) noexcept;
  std::size_t& untaken(Priority level) noexcept { return untaken_[static_cast<std::size_t>(level)]; }
  std::size_t window(Priority level) const noexcept {
    return level == Priority::normal ? net_.weather().window : net_.weather().urgent_window;
  }
  SimLink* other() const noexcept { return net_.ends_[other_]; }

  SimNet& net_;
  std::size_t number_;
  std::size_t other_;
  bool cut_ = false;
  std::uint64_t overtaken_ = 0;
  std::uint64_t last_sequence_ = 0;  // that arrived here, of the net's
  std::uint64_t left_ = ~std::uint64_t{0};
  std::uint64_t next_put_ = 0;
  std::set<std::uint64_t> untaken_puts_;  // they overtake each other, but all below the first are taken
  std::array<std::size_t, kPriorities> untaken_{};  // sent, and not yet taken by the other end
  std::size_t untaken_replies_ = 0;
  bool rings_for_room_ = false;  // somebody has found no room since a packet was taken
  Arrived arrived_;
  Arrived urgent_;
  unsigned urgent_in_a_row_ = 0;
  Arrived replies_;
};

}  // namespace hamlyn::sim
