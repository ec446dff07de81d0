// What segments refuse, of each kind: edges, shapes that overflow, what is no more, and more notifications
// than there are places for.
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

class SegmentsRefuse : public WithSegments {
 protected:
  static bool untouched(std::span<const std::byte> memory) {
    return std::ranges::all_of(memory, [](std::byte each) { return each == std::byte{0}; });
  }
  // How a read into a segment ends, whoever finds out.
  static Status end_of(Import& import, Status status, RemoteHandle handle) {
    if (status != Status::pending) return status;
    const Outcome outcome = import.wait(handle, kPatience);
    return outcome.cause == Refusal::out_of_bounds ? Status::out_of_bounds : outcome.status;
  }
};

TEST_F(SegmentsRefuse, words_at_and_past_every_edge) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    const std::size_t size = import.size();
    EXPECT_EQ(import.fetch(size - 8, {.operand = 0}, kPatience).status, Status::ok);
    EXPECT_EQ(import.fetch(size - 4, {.bytes = 4, .operand = 0}, kPatience).status, Status::ok);
    for (const std::uint64_t past : {std::uint64_t{size - 4}, std::uint64_t{size}, kMost - 7, kMost - 3}) {
      EXPECT_EQ(import.fetch(past, {.operand = 1}, kPatience).status, Status::out_of_bounds) << past;
      EXPECT_EQ(import.compare_and_swap(past, 0, 1, kPatience).status, Status::out_of_bounds) << past;
    }
    EXPECT_EQ(import.fetch(size - 6, {.bytes = 4, .operand = 1}, kPatience).status, Status::misaligned);
    // A signal that cannot be is found out before its data is written.
    const auto data = numbers(40);
    const auto signal = [&](std::uint64_t offset, std::uint64_t at) {
      return import.write_signal(offset, data, at, 1, Import::Signal::add, kPatience);
    };
    for (const std::uint64_t past : {std::uint64_t{size}, kMost - 7})
      EXPECT_EQ(signal(0, past), Status::out_of_bounds) << past;
    EXPECT_EQ(signal(0, size - 4), Status::misaligned);
    for (const std::uint64_t past : {std::uint64_t{size - 39}, std::uint64_t{size}, kMost - 8})
      EXPECT_EQ(signal(past, 0), Status::out_of_bounds) << past;
    const auto ready = [](std::uint64_t) { return true; };
    EXPECT_EQ(segment.wait_until(size, ready, kPatience), Status::out_of_bounds);
    EXPECT_EQ(segment.wait_until(kMost - 7, ready, kPatience), Status::out_of_bounds);
    EXPECT_EQ(segment.wait_until(size - 4, ready, kPatience), Status::out_of_bounds);
    EXPECT_EQ(segment.wait_until(12, ready, kPatience), Status::misaligned);
    EXPECT_EQ(segment.wait_until(size - 8, ready, kPatience), Status::ok);
    EXPECT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_TRUE(untouched(segment.bytes()));
    // What is read into a segment has two places that it may leave.
    std::ranges::fill(segment.bytes(), std::byte{1});
    Segment own(importer, {.bytes = 4096});
    const auto read = [&](std::uint64_t from, std::uint64_t to, std::size_t length) {
      RemoteHandle handle;
      const Status status = import.read(from, own, to, length, &handle);
      return end_of(import, status, handle);
    };
    for (const std::uint64_t past : {std::uint64_t{size - 39}, std::uint64_t{size}, kMost - 39})
      EXPECT_EQ(read(past, 0, 40), Status::out_of_bounds) << past;
    for (const std::uint64_t past : {std::uint64_t{4096 - 39}, std::uint64_t{4096}, kMost - 39})
      EXPECT_NE(read(0, past, 40), Status::ok) << past;
    EXPECT_TRUE(untouched(own.bytes()));
    EXPECT_EQ(read(size - 40, 4096 - 40, 40), Status::ok);
  });
}

// A ticket may say anything, and a locked instruction across two lines would hold up every processor.
TEST_F(SegmentsRefuse, words_of_a_ticket_that_begins_at_no_words_place) {
  with_each_kind([](Segment& segment, Import&, Interface& importer) {
    Ticket ticket = importer.lookup("kinds", kPatience);
    ticket.base = 60;
    ticket.bound = 4096;
    Import import(importer, ticket);
    EXPECT_FALSE(import.reads_by_loads());
    EXPECT_FALSE(import.writes_by_stores());
    EXPECT_EQ(import.fetch(0, {.operand = 1}, kPatience).status, Status::refused);
    EXPECT_EQ(import.fetch(4, {.operand = 1}, kPatience).status, Status::misaligned);
    static_cast<void>(import.write_signal(0, {}, 0, 1, Import::Signal::add, kPatience));
    EXPECT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_TRUE(untouched(segment.bytes()));
  });
}

TEST_F(SegmentsRefuse, shapes_that_overflow) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    Segment own(importer, {.bytes = 4096});
    struct Case {
      std::uint64_t offset;
      Strides strides;
    };
    // As many bytes of data as there are, and products and sums that are small again modulo 2^64.
    const Case cases[] = {
        {0, {.chunk = 8, .x_chunks = 3, .y_chunks = 1, .x_stride = kHalf}},
        {0, {.chunk = 8, .x_chunks = 1, .y_chunks = 3, .y_stride = kHalf}},
        {0, {.chunk = 6, .x_chunks = 2, .y_chunks = 2, .x_stride = kHalf, .y_stride = kHalf}},
        {0, {.chunk = 12, .x_chunks = 2, .y_chunks = 1, .x_stride = kMost - 11}},
        {16, {.chunk = 12, .x_chunks = 2, .y_chunks = 1, .x_stride = kMost - 27}},
        {kMost - 15, {.chunk = 12, .x_chunks = 2, .y_chunks = 1, .x_stride = 16}},
        {0, {.chunk = 1, .x_chunks = 24, .y_chunks = 1, .x_stride = kMost / 23 + 1}},
    };
    const auto data = numbers(24);
    std::vector<std::byte> room(24);
    for (const auto& [offset, strides] : cases) {
      SCOPED_TRACE(testing::Message() << offset << " " << strides.x_stride << " " << strides.y_stride);
      EXPECT_EQ(import.write(offset, data, {.strides = &strides}), Status::out_of_bounds);
      EXPECT_EQ(import.write(offset, data, kPatience, {.strides = &strides}), Status::out_of_bounds);
      EXPECT_EQ(import.read(offset, room, kPatience, {.strides = &strides}), Status::out_of_bounds);
      RemoteHandle handle;
      EXPECT_EQ(import.read(offset, own, 0, 24, {.strides = &strides}, &handle), Status::out_of_bounds);
    }
    // More data than there can be, in numbers that are small again modulo 2^32 and 2^64.
    constexpr std::uint32_t kMany = 1u << 16, kFull = ~std::uint32_t{0};
    for (const Strides& strides : {Strides{.chunk = kMany, .x_chunks = kMany, .y_chunks = 1},
                                   Strides{.chunk = 24, .x_chunks = kMany, .y_chunks = kMany},
                                   Strides{.chunk = kFull, .x_chunks = kFull, .y_chunks = kFull}}) {
      EXPECT_EQ(import.write(0, data, kPatience, {.strides = &strides}), Status::invalid);
      EXPECT_EQ(import.write(0, {}, kPatience, {.strides = &strides}), Status::invalid);
      EXPECT_EQ(import.read(0, room, kPatience, {.strides = &strides}), Status::invalid);
      EXPECT_EQ(import.write(kMost, data, kPatience, {.strides = &strides}), Status::out_of_bounds) << "too";
    }
    EXPECT_EQ(import.write(4, data, kPatience, {.element = 8}), Status::misaligned);
    EXPECT_EQ(import.write(0, data, {.element = 3}), Status::invalid);
    EXPECT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_TRUE(untouched(segment.bytes()));
  });
}

// Also where it is open already, and the news has not come: the exporter is asked.
TEST_F(SegmentsRefuse, imports_of_what_is_no_more) {
  with_each_kind([this](Segment& segment, Import& import, Interface& importer) {
    for (int round = 0; round < 20; ++round) {
      const Ticket each = segment.ticket();
      Import(importer, each);
      segment.revoke();
      ASSERT_EQ(error_of([&] { Import(importer, each); }), ErrorCode::seed_stale) << "round " << round;
    }
    const Ticket old = segment.ticket();
    segment.revoke();
    std::byte room[8];
    Interface other(other_options());
    EXPECT_EQ(error_of([&] { Import(other, old); }), ErrorCode::seed_stale);
    EXPECT_EQ(import.read(0, room, kPatience), Status::stale);
  });
  with_two([](Interface& exporter, Interface& importer) {
    auto segment = std::make_unique<Segment>(exporter, SegmentOptions{.name = "short", .bytes = 64});
    const Ticket old = segment->ticket();
    segment.reset();
    const Import::Options at_once{.timeout = std::chrono::milliseconds{0}};
    EXPECT_EQ(error_of([&] { Import(importer, "short", at_once); }), ErrorCode::name_unknown);
    EXPECT_EQ(error_of([&] { Import(importer, old); }), ErrorCode::seed_stale);
  });
}

TEST_F(SegmentsRefuse, to_be_opened_beside_256_others_of_their_process_that_are_in_use) {
  with_two([](Interface& exporter, Interface& importer) {
    const SegmentOptions small{.bytes = 64, .records = 16, .hold = 64};
    std::vector<std::unique_ptr<Segment>> segments;
    for (int i = 0; i < 300; ++i) {
      segments.push_back(std::make_unique<Segment>(exporter, small));
      Import(importer, segments.back()->ticket());  // and gives it back
    }
    const std::array<std::byte, 8> data{};
    std::vector<std::unique_ptr<Import>> imports;
    for (std::size_t i = 0; i < 256; ++i) {
      imports.push_back(std::make_unique<Import>(importer, segments[i]->ticket()));
      ASSERT_EQ(imports.back()->write(0, data), Status::ok);
    }
    const Ticket more = segments.back()->ticket();
    const Import::Options soon{.timeout = std::chrono::milliseconds{50}};
    EXPECT_EQ(error_of([&] { Import(importer, more, soon); }), ErrorCode::out_of_memory);
    Import(importer, segments[255]->ticket());
    ASSERT_EQ(imports[7]->flush(kPatience), Status::ok);
    Import(importer, more);
    ASSERT_EQ(imports[8]->flush(kPatience), Status::ok);
    ASSERT_EQ(imports[7]->write(0, data, kPatience), Status::ok) << "it is opened anew";
    ASSERT_EQ(imports[7]->flush(kPatience), Status::ok);
  });
}

// Of other users: nobody refuses the superuser anything.
class SegmentsOfUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "other users' processes need the superuser";
    if (std::getenv("HAMLYN_TEST_FAR") != nullptr) {
      nodes_ = std::make_unique<TwoNodes>("", true);
    } else {
      daemon_ = std::make_unique<Daemon>(folder_.file("node"), std::vector<std::string>{"--service"});
    }
  }
  Interface::Options options(int node) const {
    if (nodes_ != nullptr) return nodes_->at(node);
    return {.node = folder_.file("node"), .start_node = false};
  }

  Folder folder_{0755};
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<TwoNodes> nodes_;
};

// As soon as `protect` has returned, though the importer has one that was made before.
TEST_F(SegmentsOfUsers, are_shut_and_opened_at_once) {
  constexpr int kRounds = 50;
  constexpr std::uint32_t kModes[] = {0606, 0604, 0600, 0602};
  Actor exporter(
      [&](Line& line) {
        Interface interface(options(1));
        Segment segment(interface, {.bytes = 4096, .protection = {.mode = kModes[0]}});
        line.put(segment.ticket());
        while (const auto mode = line.take<std::uint32_t>()) {
          static_cast<void>(segment.protect({.mode = *mode}));
          line.put('p');
        }
        return 0;
      },
      41001);
  const auto ticket = exporter.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  Actor importer(
      [&](Line& line) {
        Interface interface(options(2));
        const auto may = [&](Access access) {
          return error_of([&] { Import(interface, *ticket, {.access = access}); }) == ErrorCode{};
        };
        while (line.take<char>())
          line.put((may(Access::write_only) ? 2u : 0u) | (may(Access::read_only) ? 4u : 0u));
        return 0;
      },
      41002);
  for (int round = 0; round < kRounds; ++round) {
    for (const std::uint32_t mode : kModes) {
      exporter.line().put(mode);
      ASSERT_TRUE(exporter.line().take<char>());
      importer.line().put('i');
      ASSERT_EQ(importer.line().take<std::uint32_t>(), mode & 6) << "round " << round;
    }
  }
}

// Each stands for itself until it is read: one more than that is not taken, and what asked for it is not
// done, but in memory that is mapped.
TEST_F(SegmentsRefuse, more_notifications_than_there_are_places) {
  with_each_kind(
      [](Segment& segment, Import& import, Interface&) {
        constexpr std::chrono::milliseconds kSoon{1};
        const auto data = numbers(40);
        std::vector<std::byte> room(40);
        for (int round = 0; round < 3; ++round) {
          ASSERT_EQ(import.write(0, data, kPatience, {.notify = true}), Status::ok);
          ASSERT_EQ(import.read(0, room, kPatience, {.tell_exporter = true}), Status::ok);
          EXPECT_EQ(import.write(64, data, {.notify = true}), Status::no_place);
          EXPECT_EQ(import.write(64, data, kSoon, {.notify = true}), Status::timed_out);
          EXPECT_NE(import.read(64, room, kSoon, {.tell_exporter = true}), Status::ok);
          EXPECT_NE(import.fetch(128, {}, kSoon, {.notify = true}).status, Status::ok);
          ASSERT_EQ(import.write(64, data, kPatience), Status::ok) << "without control it is as ever";
          ASSERT_EQ(import.read(64, room, kPatience), Status::ok);
          SegmentRecord record;
          ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
          EXPECT_EQ(record.kind, SegmentRecord::Kind::written);
          ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
          EXPECT_EQ(record.kind, SegmentRecord::Kind::got);
          EXPECT_FALSE(segment.poll());
        }
      },
      {.places = 2});
}

// Nor is it done in memory that is mapped.
TEST_F(SegmentsRefuse, notifications_where_no_places_are_kept_at_once) {
  with_each_kind(
      [](Segment& segment, Import& import, Interface&) {
        const auto data = numbers(40);
        std::vector<std::byte> room(40);
        EXPECT_EQ(import.write(0, data, kPatience, {.notify = true}), Status::refused);
        EXPECT_EQ(import.fetch(0, {.operand = 1}, kPatience, {.notify = true}).status, Status::refused);
        EXPECT_EQ(import.read(0, room, kPatience, {.tell_exporter = true}), Status::refused);
        EXPECT_EQ(import.flush(kPatience), Status::ok);
        EXPECT_TRUE(untouched(segment.bytes().first(40)));
        EXPECT_EQ(import.write(0, data, kPatience), Status::ok);
        EXPECT_EQ(import.flush(kPatience), Status::ok);
        EXPECT_EQ(import.read(0, room, kPatience), Status::ok);
        EXPECT_TRUE(same(room, data));
        EXPECT_FALSE(segment.poll());
      },
      {.places = 0});
}

TEST_F(SegmentsRefuse, imports_for_an_access_that_there_is_not) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.bytes = 64});
    EXPECT_EQ(error_of([&] { Import(importer, segment.ticket(), {.access = Access{3}}); }),
              ErrorCode::invalid_argument);
  });
}

TEST_F(SegmentsRefuse, to_have_no_size) {
  with_two([](Interface& exporter, Interface&) {
    std::string text;
    try {
      const Segment segment(exporter, {.name = "s"});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      text = error.what();
    }
    EXPECT_NE(text.find("SegmentOptions::bytes"), std::string::npos) << text;
  });
}

TEST_F(SegmentsRefuse, controls_that_there_are_not) {
  with_two([](Interface& exporter, Interface&) {
    constexpr Control kNone = static_cast<Control>(3);
    EXPECT_EQ(error_of([&] { Segment(exporter, {.bytes = 8, .control = kNone}); }),
              ErrorCode::invalid_argument);
    Segment segment(exporter, {.bytes = 8});
    EXPECT_EQ(segment.set_control(kNone), Status::invalid);
    EXPECT_EQ(segment.set_control(Control::never), Status::ok);
  });
}

// Of threads that export one name at the same time one has it.
TEST_F(SegmentsRefuse, a_name_to_all_but_one_of_several_threads) {
  with_two([](Interface& exporter, Interface& importer) {
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> ready{0}, taken{0}, over{0};
      std::vector<std::thread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
          for (++ready; ready.load() != 2;) std::this_thread::yield();
          const ErrorCode code = error_of([&] {
            const Segment segment(exporter, {.name = "one", .bytes = 8});
            ++over;
            for (const auto end = std::chrono::steady_clock::now() + kPatience;
                 over.load() != 2 && std::chrono::steady_clock::now() < end;)
              std::this_thread::yield();
          });
          taken += code == ErrorCode::name_taken ? 1 : 0;
          ++over;
        });
      }
      for (std::thread& each : threads) each.join();
      ASSERT_EQ(taken.load(), 1) << "round " << round;
      ASSERT_EQ(error_of([&] { Import(importer, "one", {.timeout = std::chrono::milliseconds{0}}); }),
                ErrorCode::name_unknown);
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
