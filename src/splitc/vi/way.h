#pragma once
// A program's way over VIs: one to each other rank (paper 2, section 6), and what is heard by them.
//
// One thread. Nothing in here waits: the run-time polls, and looks again.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "splitc/vi/partner.h"
#include "vi/lanes.h"

namespace hamlyn::internal_::splitc {

// Sizes a VI for so many requests of each side, and their replies.
constexpr vi::LaneSize lane_size(std::uint32_t credits) noexcept {
  return {.receives = 2 * credits + vi::kLateReceives,
          .sends = 2 * credits,
          .bytes = static_cast<std::uint32_t>(kMostBytes)};
}

class ViWay {
 public:
  // A lane, as a partner sends by it.
  class Line {
   public:
    Line(vi::Lane& lane, vi::Lanes& all) noexcept : lane_(&lane), all_(&all) {}
    bool has_room() const noexcept { return lane_->has_room(); }
    void take_room() noexcept { lane_->take_room(); }
    void give_room() noexcept { lane_->give_room(); }
    bool may_send() noexcept {
      if (!lane_->ready()) return false;
      if (!lane_->has_send()) all_->reap();
      return lane_->has_send();
    }
    std::span<std::byte> next_bytes() noexcept { return lane_->next_bytes(); }
    bool send(std::uint32_t word, std::size_t length) noexcept {
      all_->note_sent();
      if (lane_->send_made(word, length)) return true;
      all_->lose(*lane_);
      return false;
    }

   private:
    vi::Lane* lane_;
    vi::Lanes* all_;
  };
  using To = Partner<Line>;

  // Throws Error, std::bad_alloc.
  ViWay(Interface& interface, std::uint32_t ranks, std::uint32_t credits);
  ~ViWay();
  ViWay(const ViWay&) = delete;
  ViWay& operator=(const ViWay&) = delete;

  // So many ranks may there be: for all that may come of them at once there is a place.
  static constexpr std::uint32_t most_ranks(std::uint32_t credits) noexcept {
    return vi::Lanes::most(lane_size(credits)) + 1;
  }
  std::uint32_t credits() const noexcept { return credits_; }
  // Where this rank's NIC hears, and what its VIs are called by.
  Ticket door() const { return lanes_.door(); }
  std::uint64_t session() const noexcept { return session_; }
  // Asks for the VI to that rank. Throws Error, std::bad_alloc.
  void connect(std::uint32_t own, std::uint32_t rank, std::uint64_t session, const Ticket& door,
               const OwnHeap& heap);
  // Looks whether all are connected, and have heard so. Otherwise a rank to which no VI is.
  struct Connecting {
    bool over = false;                  // all are, or one never will be
    std::optional<std::uint32_t> rank;  // to which no VI is; nothing: to all
  };
  Connecting connecting() noexcept;

  // Handles one thing that has come, or looks after all partners. An empty look costs as much as a message:
  // who waits for something looks whether it was that. False: nothing has come.
  bool poll() noexcept;
  // Handles all that has come, of a flood a part. False: nothing is left.
  bool drain() noexcept {
    for (int left = kAtOnce; left != 0; --left)
      if (!poll()) return false;
    return true;
  }
  To& with(std::uint32_t rank) noexcept { return *all_[rank].to; }
  Line line(std::uint32_t rank) noexcept { return {*all_[rank].lane, lanes_}; }
  // The rank to which the VI has ended first.
  std::optional<std::uint32_t> first_ended() const noexcept { return first_ended_; }
  // Requests of all ranks that were handled.
  std::uint64_t handled() const noexcept { return handled_; }
  // A rank that has broken a rule: nothing more is heard of it.
  struct Breach {
    std::uint32_t rank = 0;
    Broken rule = Broken::none;
  };
  const std::optional<Breach>& breach() const noexcept { return breach_; }
  // As Partner's, of all.
  void forget() noexcept;
  void forget(const std::uint32_t* under_way) noexcept;

 private:
  static constexpr int kAtOnce = 64;
  // Places of the queue: for all that may come from all ranks at once.
  static constexpr std::size_t places(std::uint32_t ranks, std::uint32_t credits) noexcept {
    return std::size_t{ranks} * 2 * (2 * credits + vi::kLateReceives) + 1024;
  }

  struct Other {
    std::unique_ptr<vi::Lane> lane;
    std::unique_ptr<To> to;
    bool ended = false;
  };

  void hear(const vi::Lanes::Event& event) noexcept;
  void hear_message(std::uint32_t rank, const vi::Descriptor& receive) noexcept;
  void go_on() noexcept;
  void judge(std::uint32_t rank, Broken rule) noexcept;
  void end(std::uint32_t rank) noexcept;

  const std::uint32_t credits_;
  const std::uint64_t session_;
  vi::Lanes lanes_;
  std::vector<Other> all_;
  bool behind_ = false;  // some partner may have something left to do
  std::uint64_t handled_ = 0;
  std::optional<std::uint32_t> first_ended_;
  std::optional<Breach> breach_;
};

}  // namespace hamlyn::internal_::splitc
