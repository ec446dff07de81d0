#pragma once
// One of two processes that each have a segment, for figures of segments.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/segment/segment.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

// One of two processes, each with a segment that the other has imported.
class Exporter {
 public:
  Exporter(const std::string& meeting, int number, Place place, Sharing sharing, std::size_t bytes,
           std::uint32_t requests = 16)
      : interface_({.node = place == Place::ofi ? at_far_node(number) : std::string{}, .requests = requests}),
        own_(interface_,
             {.name = meeting + "-" + std::to_string(number), .bytes = bytes, .sharing = sharing}),
        other_(interface_, meeting + "-" + std::to_string(1 - number),
               {.timeout = std::chrono::seconds{10}}) {}

  Interface& interface() { return interface_; }
  Segment& own() { return own_; }
  Import& other() { return other_; }
  std::atomic_ref<std::uint64_t> word() { return own_.at<std::uint64_t>(0); }

  // The other side's writes land when this one runs its interface, or by themselves if it has it mapped.
  void wait_for(std::uint64_t value, int pauses) {
    const auto mine = word();
    if (other_.writes_by_stores()) {
      while (mine.load(std::memory_order_acquire) != value) hamlyn_rest(pauses);
    } else {
      while (mine.load(std::memory_order_acquire) != value) interface_.run();
    }
  }
  void write(std::span<const std::byte> data, const WriteOptions& options = {}, std::size_t offset = 0) {
    for (;;) {
      const Status status = other_.write(offset, data, options);
      if (status == Status::ok) return;
      expect(status == Status::queue_full || status == Status::no_place, name(status));
      interface_.run();
    }
  }
  // Tells the other side, by a word of its segment, that it has all.
  void say_over(std::size_t offset) {
    const std::uint64_t over = ~std::uint64_t{0};
    write(std::as_bytes(std::span(&over, 1)), {}, offset);
  }

  // Writes a block of any length; the buffer is free when it returns.
  void write_block(std::span<const std::byte> data) {
    expect(other_.write(0, data, std::chrono::seconds{10}) == Status::ok, "a block was not written");
  }

 private:
  Interface interface_;
  Segment own_;
  Import other_;
};

using SegmentWork = std::function<void(Exporter&, Room&)>;

// Runs both. `requests`: that each may have under way.
std::vector<double> run_sides(Cores cores, std::size_t results, Place place, Sharing sharing,
                              std::size_t bytes, const SegmentWork& first, const SegmentWork& second,
                              std::uint32_t requests = 16);

}  // namespace hamlyn::tool::perf
