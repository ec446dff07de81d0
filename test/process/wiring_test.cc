// Pages that several areas have locked.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose mlock does nothing, and says it did

// Whether the kernel has locked that page (proc(5), VmFlags).
bool locked(const std::byte* page) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(page);
      here = from <= at && at < to;
    }
    if (here && line.starts_with("VmFlags:")) return line.find(" lo") != std::string::npos;
  }
  return false;
}

class Wired : public OnNodes {};

TEST_F(Wired, pages_stay_locked_until_the_last_area_over_them_has_gone) {
  Actor one([&](Line&) {
    constexpr std::size_t kPage = 4096;
    auto* const memory = static_cast<std::byte*>(
        ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    Interface interface(options());
    std::optional<MessageArea> low(std::in_place, interface, std::span(memory, 3 * kPage));
    std::optional<MessageArea> high(std::in_place, interface, std::span(memory + kPage, 3 * kPage));
    std::optional<MessageArea> middle(std::in_place, interface, std::span(memory + 2 * kPage, kPage));
    if (!low->wired() || !high->wired()) return 0;  // the system does not let us lock so much
    low.reset();
    if (locked(memory) || !locked(memory + kPage) || !locked(memory + 2 * kPage)) return 1;
    if (!high->wired()) return 2;
    high.reset();
    if (locked(memory + kPage) || !locked(memory + 2 * kPage) || locked(memory + 3 * kPage)) return 3;
    if (!middle->wired()) return 4;
    middle.reset();
    return locked(memory + 2 * kPage) ? 5 : 0;
  });
  EXPECT_EQ(one.wait(), 0);
}

TEST_F(Wired, what_a_segment_unpins_stays_locked_for_an_area_over_it) {
  Actor one([&](Line&) {
    constexpr std::size_t kPage = 4096;
    Interface interface(options());
    Segment segment(interface, {.bytes = 2 * kPage});
    std::byte* const memory = segment.bytes().data();
    if (!locked(memory)) return 0;
    std::optional<MessageArea> over(std::in_place, interface, std::span(memory, kPage));
    if (segment.unpin(0, 2 * kPage) != Status::ok) return 1;
    if (!locked(memory) || !over->wired() || locked(memory + kPage)) return 2;
    over.reset();
    if (locked(memory)) return 3;
    return segment.pin(0, 1) == Status::ok && locked(memory) && !locked(memory + kPage) ? 0 : 4;
  });
  EXPECT_EQ(one.wait(), 0);
}

#endif

}  // namespace
}  // namespace hamlyn::test
