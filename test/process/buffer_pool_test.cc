// Message buffers out of an area: what a pool gives, and what it refuses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kArea = 64 * 1024;

class Buffers : public OnNodes {
 protected:
  // In a child, with an interface and an area.
  void with_area(const std::function<void(MessageArea&)>& work) {
    in_child([&] {
      Interface interface(options());
      MessageArea area(interface, kArea);
      work(area);
    });
  }
};

std::optional<ErrorCode> refusal_of(MessageArea& area, const std::vector<BufferClass>& classes) {
  try {
    const BufferPool pool(area, classes);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST_F(Buffers, are_the_smallest_that_are_long_enough_and_lie_apart) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{1000, 2}, {100, 3}, {5000, 1}});
    EXPECT_EQ(pool.free_buffers(), 6u);
    std::vector<Buffer> all(6);
    const std::size_t wanted[] = {1, 100, 50, 101, 100, 1};  // the last two from longer ones
    std::set<std::size_t> lines;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(pool.take(wanted[i], all[i]), Status::ok);
      EXPECT_EQ(all[i].bytes().size(), wanted[i]);
      EXPECT_EQ(all[i].bytes().data(), area.bytes().data() + all[i].offset());
      EXPECT_EQ(all[i].offset() % 64, 0u);
      for (std::size_t at = all[i].offset(); at < all[i].offset() + wanted[i]; at += 64)
        EXPECT_TRUE(lines.insert(at).second) << "of two";
      EXPECT_LE(all[i].offset() + wanted[i], area.bytes().size());
    }
    EXPECT_EQ(pool.free_buffers(), 0u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(all[i].offset() >= 2 * 1024 && all[i].offset() < 2 * 1024 + 3 * 128) << i;
    all.clear();
    EXPECT_EQ(pool.free_buffers(), 6u);
  });
}

TEST_F(Buffers, are_refused_when_there_are_none) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{100, 1}, {200, 1}});
    Buffer one, two, three;
    EXPECT_EQ(pool.take(201, one), Status::too_long);
    EXPECT_EQ(pool.take(0, one), Status::invalid);
    EXPECT_EQ(pool.take(~std::size_t{0}, one), Status::too_long);
    EXPECT_FALSE(one);
    EXPECT_EQ(pool.take(100, one), Status::ok);
    EXPECT_EQ(pool.take(100, two), Status::ok);
    EXPECT_EQ(pool.take(1, three), Status::no_buffer);
    EXPECT_FALSE(three);
    EXPECT_EQ(pool.take(300, three), Status::too_long) << "no waiting helps";
    one.give_back();
    EXPECT_FALSE(one);
    EXPECT_EQ(pool.take(200, three), Status::no_buffer) << "it is too short";
    EXPECT_EQ(pool.take(1, three), Status::ok);
  });
}

TEST_F(Buffers, that_are_taken_anew_give_up_the_one_before) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{100, 1}});
    Buffer buffer, other;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.take(100, buffer), Status::ok);
    other = std::move(buffer);
    EXPECT_FALSE(buffer);  // NOLINT: what was moved from is empty
    EXPECT_EQ(pool.free_buffers(), 0u);
    Buffer& itself = other;
    other = std::move(itself);
    EXPECT_TRUE(other) << "nothing is lost by a move to itself";
    other = Buffer();
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

TEST_F(Buffers, come_back_once_and_from_nowhere_else) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{100, 2}, {1000, 1}}), other(area, {{4096, 1}});
    Buffer buffer;
    ASSERT_EQ(pool.take(100, buffer), Status::ok);
    const std::byte* const at = buffer.bytes().data();
    EXPECT_EQ(buffer.release(), at);
    EXPECT_FALSE(buffer);
    EXPECT_EQ(pool.free_buffers(), 2u) << "it is the caller's";
    const std::byte elsewhere{};
    EXPECT_EQ(pool.give_back(&elsewhere), Status::invalid);
    EXPECT_EQ(pool.give_back(nullptr), Status::invalid);
    const std::byte* const first = area.bytes().data();
    for (const std::byte* const wrong :
         {at + 1, at + 64, first - 64, first + 128, first + 256, first + kArea - 64})
      EXPECT_EQ(pool.give_back(wrong), Status::invalid) << wrong - first;
    EXPECT_EQ(other.give_back(at), Status::invalid) << "of another pool";
    EXPECT_EQ(pool.free_buffers(), 2u);
    EXPECT_EQ(pool.give_back(at), Status::ok);
    EXPECT_EQ(pool.give_back(at), Status::invalid) << "twice";
    EXPECT_EQ(pool.free_buffers(), 3u);
  });
}

// Else it would be two owners', and the first of them gives the other's back.
TEST_F(Buffers, come_back_by_their_address_only_when_they_were_released) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{100, 1}});
    Buffer buffer, next;
    ASSERT_EQ(pool.take(100, buffer), Status::ok);
    EXPECT_EQ(pool.give_back(buffer.bytes().data()), Status::invalid) << "it is still the buffer's";
    EXPECT_EQ(pool.take(100, next), Status::no_buffer);
    std::byte* const at = buffer.release();
    EXPECT_EQ(buffer.release(), nullptr) << "it has none";
    EXPECT_EQ(pool.give_back(at), Status::ok);
    ASSERT_EQ(pool.take(100, next), Status::ok);
    EXPECT_EQ(pool.give_back(at), Status::invalid) << "a late second one takes it from nobody";
    buffer.give_back();
    EXPECT_EQ(pool.free_buffers(), 0u);
    next.give_back();
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

// What a buffer was moved to keeps it where it is; what it was moved from says nothing of it.
TEST_F(Buffers, move_with_all_that_they_know) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{64, 2}});
    Buffer first, second;
    ASSERT_EQ(pool.take(64, first), Status::ok);
    ASSERT_EQ(pool.take(10, second), Status::ok);
    const std::size_t offset = second.offset();
    ASSERT_NE(offset, 0u);
    Buffer third = std::move(second);
    EXPECT_EQ(third.offset(), offset);
    EXPECT_EQ(third.bytes().size(), 10u);
    EXPECT_EQ(second.offset(), 0u);  // NOLINT: what was moved from is empty
    EXPECT_EQ(second.bytes().size(), 0u);
    second = std::move(third);
    EXPECT_EQ(second.offset(), offset);
    EXPECT_EQ(third.offset(), 0u);  // NOLINT
    second.give_back();
    EXPECT_EQ(second.offset(), 0u);
    std::swap(first, second);
    EXPECT_TRUE(second && !first);
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

TEST_F(Buffers, are_made_only_of_an_area_that_has_room) {
  with_area([](MessageArea& area) {
    using enum ErrorCode;
    EXPECT_EQ(refusal_of(area, {}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{0, 1}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{1, 0}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, std::vector<BufferClass>(9, {64, 1})), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{1, kArea / 64 + 1}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{kArea, 1}, {1, 1}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{kArea + 1, 1}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{~std::size_t{0}, ~std::uint32_t{0}}}), invalid_argument);
    EXPECT_EQ(refusal_of(area, {{1, kArea / 64}}), std::nullopt);
    EXPECT_EQ(refusal_of(area, {{kArea, 1}}), std::nullopt);
  });
}

TEST_F(Buffers, are_not_there_in_a_forked_child) {
  with_area([](MessageArea& area) {
    BufferPool pool(area, {{64, 2}});
    Buffer buffer;
    ASSERT_EQ(pool.take(64, buffer), Status::ok);
    const pid_t child = ::fork();
    if (child == 0) {
      Buffer other;
      bool right = pool.take(1, other) == Status::forked && refusal_of(area, {{1, 1}}) == ErrorCode::forked;
      right = right && pool.give_back(buffer.bytes().data()) == Status::forked && pool.free_buffers() == 0;
      buffer.give_back();
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

// What they are for: one of a send buffer area leaves from where it is, and lands in one of a message area.
TEST_F(Buffers, are_sent_and_landed_in) {
  in_child([&] {
    Interface sender(options()), receiver(other_options());
    SendBufferArea source(sender, kArea);
    MessageArea target(receiver, kArea);
    BufferPool sources(source, {{5000, 3}}), targets(target, {{6000, 2}});
    Buffer from, to, other;
    ASSERT_EQ(sources.take(1, other), Status::ok);
    ASSERT_EQ(sources.take(5000, from), Status::ok);
    ASSERT_EQ(targets.take(1, other), Status::ok);
    ASSERT_EQ(targets.take(6000, to), Status::ok);
    NotificationQueue queue(receiver);
    Slot slot(target, queue, {.base = to.offset(), .bound = to.bytes().size(), .entries = 1});
    Terminus terminus(sender);
    ASSERT_EQ(terminus.connect(slot.ticket(0), kPatience), Status::ok);
    ASSERT_EQ(terminus.bind(0, source), Status::ok);
    std::memset(from.bytes().data(), 0x5A, from.bytes().size());
    const Piece piece{0, from.offset(), from.bytes().size()};
    SendHandle handle;
    const Status sent = terminus.send_gathered(slot.ticket(0), {&piece, 1}, {}, &handle);
    ASSERT_TRUE(sent == Status::ok || sent == Status::pending);
    Notification arrival;
    ASSERT_EQ(queue.receive(arrival, kPatience), Status::ok);
    EXPECT_EQ(arrival.length, from.bytes().size());
    EXPECT_EQ(std::memcmp(to.bytes().data(), from.bytes().data(), from.bytes().size()), 0);
  });
}

TEST_F(Buffers, of_long_private_areas_lie_in_huge_pages_where_there_are_any) {
  in_child([&] {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    Interface interface(options());
    MessageArea area(interface, 4 * kHuge), little(interface, kHuge - 4096);
    std::string offered;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), offered);
    const bool any = !offered.empty() && offered.find("[never]") == std::string::npos;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(area.bytes().data()) % kHuge, 0u);
    EXPECT_EQ(area.huge_bytes() % kHuge, 0u);
    EXPECT_LE(area.huge_bytes(), any ? 4 * kHuge : 0) << "it may have run out of them";
    EXPECT_EQ(little.huge_bytes(), 0u);
    RecordProperty("huge_bytes", std::to_string(area.huge_bytes()));
    BufferPool pool(area, {{kHuge, 4}});
    Buffer buffer;
    EXPECT_EQ(pool.take(kHuge, buffer), Status::ok);
  });
}

}  // namespace
}  // namespace hamlyn::test
