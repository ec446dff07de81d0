// Short writes by one process to several peers, in turn.
#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "hamlyn/segment/segment.h"
#include "tool/perf/clock.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kBurst = 32;
constexpr std::uint64_t kBursts = 16000;

std::string name_of(const std::string& meeting, std::size_t peer) {
  return meeting + "-peer-" + std::to_string(peer);
}

// Bursts of short writes to one peer after the other.
class Bursts {
 public:
  Bursts(const std::string& meeting, Place place, std::size_t peers)
      : interface_({.node = place == Place::ofi ? at_far_node(0) : std::string{}}) {
    for (std::size_t i = 0; i < peers; ++i)
      imports_.push_back(
          std::make_unique<Import>(interface_, name_of(meeting, i), Import::Options{.timeout = seconds{10}}));
  }
  // How many a second.
  double rate() {
    go(kBursts / 10);
    const std::uint64_t start = hamlyn_ticks();
    go(kBursts);
    const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    return static_cast<double>(kBursts * kBurst) * 1e9 / ns;
  }

 private:
  void write(Import& to, std::uint64_t number) {
    const std::array<std::uint64_t, 2> words{number, ~number};
    const auto place = number % kBurst * sizeof words;
    for (;;) {
      const Status status = to.write(place, std::as_bytes(std::span{words}));
      if (status == Status::ok) return;
      expect(status == Status::queue_full, name(status));
      interface_.run();
    }
  }
  void go(std::uint64_t bursts) {
    for (std::uint64_t i = 0; i < bursts; ++i) {
      Import& to = *imports_[i % imports_.size()];
      for (std::uint64_t k = 0; k < kBurst; ++k) write(to, i * kBurst + k);
    }
    for (const auto& one : imports_) expect(one->flush(seconds{10}) == Status::ok, "a write has not landed");
  }

  Interface interface_;
  std::vector<std::unique_ptr<Import>> imports_;
};

// The peers: as many interfaces of one process.
class Targets {
 public:
  Targets(const std::string& meeting, Place place, std::size_t peers) {
    for (std::size_t i = 0; i < peers; ++i) {
      interfaces_.push_back(std::make_unique<Interface>(
          Interface::Options{.node = place == Place::ofi ? at_far_node(1) : std::string{}}));
      segments_.push_back(std::make_unique<Segment>(
          *interfaces_.back(), SegmentOptions{.name = name_of(meeting, i), .bytes = 4096}));
    }
  }
  void serve(std::atomic_ref<std::uint32_t> over) {
    while (over.load(std::memory_order_acquire) == 0) {
      for (const auto& one : interfaces_) one->run();
    }
  }

 private:
  std::vector<std::unique_ptr<Interface>> interfaces_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

}  // namespace

Meter peers_rate(Place place, std::size_t peers) {
  const auto round = [=](Cores cores, int) {
    const std::string meeting = new_meeting();
    if (place == Place::ofi) far_node(0);  // here, once for all rounds
    const auto writes = [=](Room& room) {
      room.meet();
      Bursts bursts{meeting, place, peers};
      room.report(bursts.rate());
      // Pairs with Targets::serve.
      std::atomic_ref(*reinterpret_cast<std::uint32_t*>(room.memory().data()))
          .store(1, std::memory_order_release);
    };
    const auto serves = [=](Room& room) {
      Targets targets{meeting, place, peers};
      room.meet();
      targets.serve(std::atomic_ref(*reinterpret_cast<std::uint32_t*>(room.memory().data())));
    };
    return run_pair(cores, {}, writes, serves);
  };
  return {.name = prefix(place) + "segment.write.16.peers." + std::to_string(peers) + ".rate",
          .round = round};
}

}  // namespace hamlyn::tool::perf
