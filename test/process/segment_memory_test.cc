// Where segments lie: over memory that is there, guarded or moved, and again and again in other segments'
// places.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "library/memory/area_range.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

class SegmentsMemory : public WithSegments {};

std::span<std::byte> map(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int descriptor = -1) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  return {static_cast<std::byte*>(memory), bytes};
}

// As the kernel lists it.
bool is_private(std::span<const std::byte> memory) {
  return error_of([&] { library::check_private(memory); }) == ErrorCode{};
}

TEST_F(SegmentsMemory, may_be_there_already) {
  with_two([](Interface& exporter, Interface& importer) {
    const auto bytes = map(8192);
    {
      Segment segment(exporter, {.name = "heap", .memory = bytes});
      EXPECT_EQ(segment.bytes().data(), bytes.data());
      Import import(importer, "heap");
      EXPECT_EQ(import.size(), 8192u);
      EXPECT_EQ(import.write(8000, numbers(100), kPatience), Status::ok);
      EXPECT_EQ(import.flush(kPatience), Status::ok);
    }
    EXPECT_TRUE(same(bytes.subspan(8000, 100), numbers(100)));
    EXPECT_EQ(error_of([&] { Segment(exporter, {.memory = bytes.subspan(1)}); }),
              ErrorCode::invalid_argument);
    ::munmap(bytes.data(), bytes.size());
  });
}

TEST_F(SegmentsMemory, for_writes_that_wait_is_not_used_until_one_does) {
  with_two([](Interface& exporter, Interface&) {
    const auto resident = [] {
      std::size_t all = 0, pages = 0;
      std::ifstream("/proc/self/statm") >> all >> pages;
      return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    };
    constexpr std::uint32_t kHold = 1u << 30;
    const std::size_t before = resident();
    Segment segment(exporter, {.bytes = 64, .hold = kHold});
    EXPECT_LT(resident(), before + kHold / 2);
  });
}

TEST_F(SegmentsMemory, that_is_moved_is_mapped_and_the_callers_again) {
  with_two([&](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      const auto all = map(5 * 4096);
      std::ranges::copy(numbers(all.size()), all.begin());
      const auto bytes = all.subspan(4096, 3 * 4096);
      {
        Segment segment(exporter, {.name = "moved", .memory = bytes, .sharing = sharing});
        EXPECT_EQ(segment.bytes().data(), bytes.data());
        EXPECT_FALSE(is_private(bytes));
        EXPECT_TRUE(same(all, numbers(all.size()))) << "it was changed by the move";
        Import import(importer, "moved");
        EXPECT_EQ(import.reads_by_loads(), nodes == nullptr);
        std::vector<std::byte> back(bytes.size());
        ASSERT_EQ(import.read(0, back, kPatience), Status::ok);
        EXPECT_TRUE(same(back, bytes));
        bytes[5] = std::byte{99};  // its owner goes on using it
        ASSERT_EQ(import.read(5, std::span(back).first(1), kPatience), Status::ok);
        EXPECT_EQ(back[0], std::byte{99});
        EXPECT_EQ(import.write(8000, numbers(100, 7), kPatience), Status::ok);
        EXPECT_EQ(import.flush(kPatience), Status::ok);
        segment.revoke();
        EXPECT_TRUE(same(bytes.subspan(8000, 100), numbers(100, 7)));
        EXPECT_EQ(import.read(0, back, kPatience), Status::stale);
        Import again(importer, "moved");
        ASSERT_EQ(again.read(8000, std::span(back).first(100), kPatience), Status::ok);
        EXPECT_TRUE(same(std::span(back).first(100), numbers(100, 7)));
      }
      EXPECT_TRUE(is_private(all)) << "others could still see it";
      EXPECT_EQ(bytes[5], std::byte{99});
      EXPECT_TRUE(same(bytes.subspan(8000, 100), numbers(100, 7)));
      EXPECT_TRUE(same(all.first(4096), numbers(4096))) << "beside it";
      ::munmap(all.data(), all.size());
    }
  });
}

TEST_F(SegmentsMemory, that_cannot_be_moved_is_as_it_was) {
  with_two([&](Interface& exporter, Interface& importer) {
    const auto refused = [&](std::span<std::byte> memory) {
      return error_of([&] { Segment(exporter, {.memory = memory, .sharing = Sharing::mapped_read_write}); });
    };
    const auto memory = map(8 * 4096);
    std::ranges::copy(numbers(memory.size()), memory.begin());
    EXPECT_EQ(refused(memory.subspan(1, 4096)), ErrorCode::invalid_argument);
    EXPECT_EQ(refused(memory.first(4095)), ErrorCode::invalid_argument);
    {
      const Segment guarded(exporter, {.memory = memory.subspan(4096, 4096)});
      EXPECT_EQ(refused(memory), ErrorCode::invalid_argument) << "another area has some of it";
      const Segment moved(importer,
                          {.memory = memory.subspan(8192, 4096), .sharing = Sharing::mapped_read_only});
      EXPECT_EQ(refused(memory.subspan(8192, 8192)), ErrorCode::invalid_argument) << "it is shared already";
    }
    const Segment taken(exporter, {.name = "taken", .bytes = 4096});
    EXPECT_EQ(error_of([&] {
                Segment(exporter, {.name = "taken", .memory = memory, .sharing = Sharing::mapped_read_only});
              }),
              ErrorCode::name_taken);
    EXPECT_TRUE(is_private(memory));
    EXPECT_TRUE(same(memory, numbers(memory.size())));

    ::mprotect(memory.data() + 4096, 4096, PROT_READ);
    EXPECT_EQ(refused(memory), ErrorCode::invalid_argument) << "a page of it is not writable";
    ::munmap(memory.data() + 4096, 4096);
    EXPECT_EQ(refused(memory), ErrorCode::invalid_argument) << "a page of it is not there";
    const auto shared = map(8192, MAP_SHARED | MAP_ANONYMOUS);
    EXPECT_EQ(refused(shared), ErrorCode::invalid_argument);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const auto of_file = map(4096, MAP_PRIVATE, file);
    ::close(file);
    EXPECT_EQ(refused(of_file), ErrorCode::invalid_argument);
    // A local variable may stand elsewhere under AddressSanitizer.
    const auto page = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) & ~std::uintptr_t{4095};
    EXPECT_EQ(refused({reinterpret_cast<std::byte*>(page), 4096}), ErrorCode::invalid_argument)
        << "the stack";
    for (const auto each : {memory.first(4096), memory.subspan(8192), shared, of_file})
      ::munmap(each.data(), each.size());
  });
}

// What the kernel lists of a mapped file ends with its path, which somebody has chosen.
TEST_F(SegmentsMemory, is_not_private_because_a_path_says_so) {
  char folder[] = "/tmp/hamlyn-path-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const auto shared = map(4096, MAP_SHARED | MAP_ANONYMOUS);
  // An end of a line is listed as four characters: so many that the list's line goes on for thousands, and
  // then looks like one of private memory.
  std::string path = folder;
  for (int i = 0; i < 8; ++i) path += "/" + std::string(250, '\n');
  std::filesystem::create_directories(path);
  char like[120];
  std::snprintf(like, sizeof like, "%zx-%zx rw-p 00000000 00:00 0 ",
                reinterpret_cast<std::size_t>(shared.data()),
                reinterpret_cast<std::size_t>(shared.data() + shared.size()));
  path += "/" + std::string(160, ' ') + like;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, 4096), 0);
  const auto before = map(4096, MAP_PRIVATE, file);
  ::close(file);
  EXPECT_LT(before.data(), shared.data()) << "it would be listed too late";
  EXPECT_FALSE(is_private(shared));
  for (const auto each : {before, shared}) ::munmap(each.data(), each.size());
  std::filesystem::remove_all(folder);
}

TEST_F(SegmentsMemory, of_one_is_anothers_next_and_old_handles_are_only_stale) {
  with_two([](Interface& exporter, Interface& importer) {
    constexpr int kExports = 1000;
    const auto memory = map(4096);
    const auto exported = [&] {
      return std::make_unique<Segment>(exporter, SegmentOptions{.memory = memory});
    };
    auto segment = exported();
    Import old(importer, segment->ticket());
    segment.reset();
    std::byte room[8];
    EXPECT_EQ(old.read(0, room, kPatience), Status::stale);
    const auto data = numbers(8);
    std::atomic<bool> over{false};
    int uses = 0, wrong = 0;
    std::thread user([&] {
      std::byte own[8];
      for (; !over || uses == 0; ++uses) {
        wrong += old.write(0, data, kPatience) != Status::stale ? 1 : 0;
        wrong += old.read(0, own, kPatience) != Status::stale ? 1 : 0;
        wrong += old.compare_and_swap(0, 0, 1, kPatience).status != Status::stale ? 1 : 0;
      }
    });
    for (int i = 0; i < kExports; ++i) {
      segment = exported();
      if (i % 100 == 0) {
        Import fresh(importer, segment->ticket());
        EXPECT_EQ(fresh.read(0, room, kPatience), Status::ok);
      }
      segment.reset();
    }
    over = true;
    user.join();
    EXPECT_EQ(wrong, 0) << "of " << uses;
    EXPECT_EQ(std::ranges::count(memory, std::byte{0}), 4096) << "a successor was touched";
    ::munmap(memory.data(), memory.size());
  });
}

}  // namespace
}  // namespace hamlyn::test
