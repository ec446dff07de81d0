#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "tool/perf/pair.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void* map_shared(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (at != MAP_FAILED) return at;
  throw std::runtime_error("cannot map " + std::to_string(bytes) + " shared bytes: " + std::strerror(errno));
}

}  // namespace

struct Room::Head {
  std::atomic<std::uint32_t> arrived{0};
  std::array<std::array<char, 512>, 2> failures{};
  std::size_t count = 0;
  double values[1];

  static std::size_t bytes(std::size_t results) {
    return whole_pages(sizeof(Head) + results * sizeof(double));
  }
};

Room::Room(std::size_t bytes, std::size_t results)
    : head_(new (map_shared(Head::bytes(results))) Head),
      results_(results),
      memory_(nullptr),
      bytes_(whole_pages(bytes)) {
  memory_ = static_cast<std::byte*>(map_shared(bytes_));
}

Room::~Room() {
  munmap(memory_, bytes_);
  munmap(head_, Head::bytes(results_));
}

void Room::meet() {
  // Release: what this side wrote before is seen by the other after; acquire below is the partner.
  head_->arrived.fetch_add(1, std::memory_order_release);
  while (head_->arrived.load(std::memory_order_acquire) < 2) hamlyn_rest(1);
}

void Room::report(std::span<const double> results) {
  head_->count = std::min(results.size(), results_);
  std::copy_n(results.begin(), head_->count, static_cast<double*>(head_->values));
}

std::vector<double> Room::results() const {
  const double* from = static_cast<const double*>(head_->values);
  return {from, from + head_->count};
}

void Room::fail(int side, const char* why) {
  auto& text = head_->failures[static_cast<std::size_t>(side)];
  std::strncpy(text.data(), why, text.size() - 1);
}

const char* Room::failure(int side) const { return head_->failures[static_cast<std::size_t>(side)].data(); }

}  // namespace hamlyn::tool::perf
