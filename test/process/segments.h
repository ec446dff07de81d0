#pragma once
// What the tests of segments share: an exporter and an importer in a child of the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "hamlyn/segment/segment.h"
#include "test/process/on_nodes.h"
#include "test/support/said_by.h"

namespace hamlyn::test {

inline std::vector<std::byte> numbers(std::size_t count, int from = 1) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(from + static_cast<int>(i * 7));
  return bytes;
}

inline bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
  return std::ranges::equal(one, other);
}

template <class Work>
ErrorCode error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

class WithSegments : public OnNodes {
 protected:
  // Every kind there is, where it can be, of 3 * 65536 bytes.
  void with_each_kind(const std::function<void(Segment&, Import&, Interface&)>& work,
                      SegmentOptions options = {}) {
    with_two([&](Interface& exporter, Interface& importer) {
      for (const Sharing sharing :
           {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
        SCOPED_TRACE(static_cast<int>(sharing));
        options.name = "kinds";
        options.bytes = std::size_t{3} * 65536;
        options.sharing = sharing;
        Segment segment(exporter, options);
        Import import(importer, "kinds");
        const bool here = nodes == nullptr;
        EXPECT_EQ(import.reads_by_loads(), here && sharing != Sharing::guarded);
        EXPECT_EQ(import.writes_by_stores(), here && sharing == Sharing::mapped_read_write);
        work(segment, import, importer);
      }
    });
  }
};

}  // namespace hamlyn::test
