// Reads of one import that are under way together, into any memory; and where segments' memory lies.
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/run_lock.h"
#include "library/engine.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Begun with the program, as a table of its own: whole pages of .data.
alignas(4096) std::byte in_data[8192] = {std::byte{1}, std::byte{2}, std::byte{3}};
alignas(4096) std::byte in_bss[8192];

class SegmentReads : public WithSegments {
 protected:
  struct Reading {
    std::vector<std::byte> into;
    std::size_t offset = 0;
    RemoteHandle handle;
    Status status = Status::queue_full;
  };
  static std::size_t under_way(std::span<const Reading> readings) {
    return static_cast<std::size_t>(std::ranges::count(readings, Status::pending, &Reading::status));
  }
  // Begins as many as there may be.
  static void begin(Import& import, std::span<Reading> readings, std::size_t bytes) {
    for (std::size_t i = 0; i != readings.size(); ++i) {
      Reading& reading = readings[i];
      reading.into.assign(bytes, std::byte{0xEE});
      reading.offset = i * 4096;
      do {
        reading.status = import.read(reading.offset, reading.into, &reading.handle);
      } while (reading.status == Status::connecting && import.run());
      if (reading.status == Status::queue_full) return;
    }
  }
  static void expect_all(Import& import, Segment& segment, std::span<Reading> readings) {
    for (Reading& reading : readings) {
      if (reading.status == Status::queue_full) continue;
      if (reading.status == Status::pending) reading.status = import.wait(reading.handle, kPatience).status;
      EXPECT_EQ(reading.status, Status::ok);
      EXPECT_TRUE(same(reading.into, segment.bytes().subspan(reading.offset, reading.into.size())));
    }
  }
  static void fill(Segment& segment) {
    const auto data = numbers(segment.bytes().size(), 3);
    std::memcpy(segment.bytes().data(), data.data(), data.size());
  }
};

TEST_F(SegmentReads, of_one_thread_are_under_way_together_and_beside_one_that_waits) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    fill(segment);
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{4096}, std::size_t{65536}}) {
      std::vector<Reading> readings(16);
      begin(import, readings, bytes);
      std::vector<std::byte> waited(100'000);
      ASSERT_EQ(import.read(8, waited, kPatience), Status::ok);
      EXPECT_TRUE(same(waited, segment.bytes().subspan(8, waited.size())));
      EXPECT_EQ(import.fetch(0, {.operand = 0}, kPatience).status, Status::ok);
      expect_all(import, segment, readings);
      for (const Reading& reading : readings) EXPECT_EQ(reading.status, Status::ok) << "16 have room";
    }
  });
}

TEST_F(SegmentReads, that_are_gathered_land_in_a_row) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    fill(segment);
    const Strides strides{.chunk = 16, .x_chunks = 100, .x_stride = 256};
    std::vector<std::byte> into(1600);
    RemoteHandle handle;
    Status status = Status::queue_full;
    while ((status = import.read(64, into, &handle, {.strides = &strides})) == Status::queue_full)
      import.run();
    if (status == Status::pending) status = import.wait(handle, kPatience).status;
    ASSERT_EQ(status, Status::ok);
    for (std::size_t i = 0; i != 100; ++i)
      EXPECT_TRUE(same(std::span(into).subspan(i * 16, 16), segment.bytes().subspan(64 + i * 256, 16)));
  });
}

TEST_F(SegmentReads, that_cannot_be_are_refused) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    std::vector<std::byte> into(65544);
    RemoteHandle handle;
    const auto few = std::span(into).first(64);
    EXPECT_EQ(import.read(0, few, static_cast<RemoteHandle*>(nullptr)), Status::invalid);
    EXPECT_EQ(import.read(0, few, &handle, {.notify = true}), Status::invalid);
    EXPECT_EQ(import.read(import.size(), few, &handle), Status::out_of_bounds);
    EXPECT_EQ(import.read(std::size_t(0) - 8, few, &handle), Status::out_of_bounds);
    if (!import.reads_by_loads()) {
      EXPECT_EQ(import.read(0, into, &handle), Status::too_long);
    }
    EXPECT_EQ(import.read(import.size(), few.first(0), &handle), Status::ok) << "nothing is there";
    EXPECT_EQ(import.read(import.size() + 8, few.first(0), &handle), Status::out_of_bounds);
    Import only_written(importer, segment.ticket(), {.access = Access::write_only});
    EXPECT_EQ(only_written.read(0, few, &handle), Status::refused);
    EXPECT_EQ(handle.sequence, 0u);
    segment.revoke();
    Status status = import.read(0, few, &handle);
    if (status == Status::pending) status = import.wait(handle, kPatience).status;
    EXPECT_EQ(status, Status::stale);
  });
}

// Memory is given back to its other uses when that was said.
TEST_F(SegmentReads, that_are_cancelled_land_no_more) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "long", .bytes = std::size_t{16} * 65536});
    fill(segment);
    auto import = std::make_unique<Import>(importer, "long");
    std::vector<std::byte> reading(65536, std::byte{0xEE});
    for (int round = 0; round != 50; ++round) {
      std::vector<RemoteHandle> handles(16);
      for (RemoteHandle& handle : handles) {
        Status status = Status::queue_full;
        while ((status = import->read(0, reading, &handle)) == Status::queue_full) importer.run();
        ASSERT_EQ(status, Status::pending);
      }
      for (const RemoteHandle& handle : handles) {
        const Status status = import->cancel(handle);
        ASSERT_TRUE(status == Status::ok) << name(status);
      }
      std::ranges::fill(reading, std::byte{0xEE});
      for (const RemoteHandle& handle : handles) {
        const Status status = import->wait(handle, kPatience).status;
        EXPECT_TRUE(status == Status::cancelled || status == Status::ok) << name(status);
      }
      ASSERT_EQ(std::ranges::count(reading, std::byte{0xEE}), static_cast<std::ptrdiff_t>(reading.size()));
    }
    // And when their import has gone.
    RemoteHandle handle;
    ASSERT_EQ(import->read(0, reading, &handle), Status::pending);
    import.reset();
    std::ranges::fill(reading, std::byte{0xEE});
    Import again(importer, "long");
    ASSERT_EQ(again.read(0, std::span(reading).first(8), kPatience), Status::ok);
    EXPECT_EQ(std::ranges::count(reading, std::byte{0xEE}), static_cast<std::ptrdiff_t>(reading.size() - 8));
    EXPECT_EQ(again.outcome({}).status, Status::invalid);
    EXPECT_EQ(again.cancel({}), Status::invalid);
  });
}

// --- how many there may be

TEST_F(SegmentReads, under_way_are_as_many_as_both_ends_want) {
  in_child([&] {
    // Asks for more than the exporter takes, for as many, and for fewer.
    struct Case {
      std::uint32_t of_exporter, of_importer;
      std::size_t most;
    };
    for (const Case& each :
         {Case{16, 16, 16}, Case{16, 32, 16}, Case{32, 16, 16}, Case{20, 64, 20}, Case{64, 24, 24}}) {
      SCOPED_TRACE(each.of_exporter * 100 + each.of_importer);
      auto of_exporter = options(), of_importer = other_options();
      of_exporter.requests = each.of_exporter;
      of_importer.requests = each.of_importer;
      Interface exporter(of_exporter), importer(of_importer);
      Segment segment(exporter, {.name = "wide", .bytes = std::size_t{64} * 4096});
      fill(segment);
      Import import(importer, "wide");
      // The exporter says how many it takes some time after the link is there.
      std::size_t most = 0;
      for (int round = 0; round != 2000 && (round < 10 || most < each.most); ++round) {
        std::vector<Reading> readings(64);
        {
          const base::RunLockGuard deaf(exporter.engine().lock());
          begin(import, readings, 512);
          most = std::max(most, under_way(readings));
        }
        expect_all(import, segment, readings);
      }
      EXPECT_EQ(most, each.most);
    }
    for (const std::uint32_t none : {0u, 15u, 65u, ~0u}) {
      auto wrong = options();
      wrong.requests = none;
      EXPECT_EQ(error_of([&] { Interface interface(wrong); }), ErrorCode::invalid_argument);
    }
  });
}

// As many as an import may have, whose outcomes are all kept until they were asked for.
TEST_F(SegmentReads, of_the_most_that_there_may_be_all_come) {
  in_child([&] {
    auto wide = options(), other = other_options();
    wide.requests = other.requests = 64;
    Interface exporter(wide), importer(other);
    Segment segment(exporter, {.name = "wide", .bytes = std::size_t{64} * 4096});
    fill(segment);
    Import import(importer, "wide");
    std::vector<Reading> readings(60);
    for (std::size_t i = 0; i != 6000; ++i) {
      Reading& reading = readings[i % readings.size()];
      if (i >= readings.size()) {
        ASSERT_EQ(import.wait(reading.handle, kPatience).status, Status::ok) << i;
        ASSERT_TRUE(same(reading.into, segment.bytes().subspan(reading.offset, reading.into.size())));
      }
      reading.into.assign(4096, std::byte{0xEE});
      reading.offset = i % 63 * 4096;
      while ((reading.status = import.read(reading.offset, reading.into, &reading.handle)) ==
             Status::queue_full)
        importer.run();
      ASSERT_EQ(reading.status, Status::pending);
    }
    for (const Reading& reading : readings)
      EXPECT_EQ(import.wait(reading.handle, kPatience).status, Status::ok);
  });
}

// --- memory

TEST_F(SegmentReads, find_bytes_at_a_page_of_every_kind_and_size) {
  with_two([](Interface& exporter, Interface&) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      for (const std::size_t bytes :
           {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{70'001}, std::size_t{3} << 20}) {
        SCOPED_TRACE(bytes);
        Segment segment(exporter, {.bytes = bytes, .sharing = sharing});
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.bytes().data()) % 4096, 0u);
        EXPECT_GE(segment.bytes().size(), bytes);
        EXPECT_EQ(segment.ticket().bound, bytes);
        if (bytes < 16) continue;
        segment.at<std::uint64_t>(8).store(7);
        EXPECT_EQ(error_of([&] { segment.at<std::uint64_t>(4); }), ErrorCode::invalid_argument);
        EXPECT_EQ(error_of([&] { segment.at<std::uint64_t>(bytes - bytes % 8); }),
                  ErrorCode::invalid_argument);
      }
    }
  });
}

TEST_F(SegmentReads, find_the_programs_own_variables_mapped) {
  with_two([](Interface& exporter, Interface& importer) {
    for (const auto memory : {std::span<std::byte>(in_data), std::span<std::byte>(in_bss)}) {
      const std::vector<std::byte> before(memory.begin(), memory.end());
      {
        Segment segment(exporter, {.name = "data", .memory = memory, .sharing = Sharing::mapped_read_write});
        EXPECT_EQ(segment.bytes().data(), memory.data()) << "it stays where it is";
        EXPECT_TRUE(same(memory, before));
        Import import(importer, "data");
        ASSERT_EQ(import.write(4096, numbers(64), kPatience), Status::ok);
        ASSERT_EQ(import.flush(kPatience), Status::ok);
        EXPECT_TRUE(same(memory.subspan(4096, 64), numbers(64)));
        memory[0] = std::byte{77};
        std::byte there{};
        ASSERT_EQ(import.load(0, there, kPatience), Status::ok);
        EXPECT_EQ(there, std::byte{77});
      }
      EXPECT_EQ(memory[0], std::byte{77}) << "and is the program's again";
      EXPECT_TRUE(same(memory.subspan(4096, 64), numbers(64)));
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
