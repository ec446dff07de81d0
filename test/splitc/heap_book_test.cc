// Which places of a heap are taken, and meetings, over random orders.
#include "splitc/heap_book.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "splitc/meeting.h"

namespace hamlyn::test {
namespace {

using internal_::splitc::HeapBook;
using namespace internal_::splitc;

struct Block {
  std::uint64_t place, bytes;
  bool everywhere;
};

bool overlap(const Block& a, const Block& b) {
  return a.place < b.place + Blocks::rounded(b.bytes) && b.place < a.place + Blocks::rounded(a.bytes);
}

TEST(SplitCHeapBook, gives_each_place_once_and_all_of_it_again) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    constexpr std::uint64_t kBytes = 8192;
    HeapBook book(kBytes);
    std::vector<Block> blocks;
    for (int i = 0; i != 500; ++i) {
      const std::uint64_t bytes = random() % 700;
      const bool everywhere = random() % 2 == 0;
      if (!blocks.empty() && random() % 2 == 0) {
        const std::size_t at = random() % blocks.size();
        const Block block = blocks[at];
        EXPECT_TRUE(block.everywhere ? book.give_everywhere(block.place) : book.give(block.place));
        EXPECT_FALSE(block.everywhere ? book.give_everywhere(block.place) : book.give(block.place));
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      auto place = everywhere ? book.reserve_everywhere(bytes) : book.take(bytes);
      if (everywhere && place && book.below() > *place) {
        book.leave_everywhere();
        continue;
      }
      if (everywhere && !place) book.leave_everywhere();
      if (!place) continue;
      if (everywhere) book.take_everywhere(*place, bytes);
      const Block block{*place, bytes, everywhere};
      EXPECT_LE(block.place + Blocks::rounded(bytes), kBytes);
      for (const Block& each : blocks) EXPECT_FALSE(overlap(each, block));
      blocks.push_back(block);
    }
    for (const Block& each : blocks)
      EXPECT_TRUE(each.everywhere ? book.give_everywhere(each.place) : book.give(each.place));
    EXPECT_EQ(book.largest(), kBytes);
  }
}

TEST(SplitCHeapBook, keeps_what_ranks_agree_on_free_meanwhile) {
  HeapBook book(1024);
  EXPECT_EQ(book.reserve_everywhere(512), 512u);
  EXPECT_FALSE(book.take(576));
  EXPECT_EQ(book.take(512), 0u);
  book.take_everywhere(512, 512);
  EXPECT_FALSE(book.take(1));
  EXPECT_TRUE(book.give_everywhere(512));
  EXPECT_TRUE(book.take(1));
  EXPECT_FALSE(book.take(2000));
  EXPECT_FALSE(book.reserve_everywhere(2000));
}

// Writes what the others would.
struct Control {
  explicit Control(std::uint32_t ranks) : bytes(heap_at(ranks)) {}
  void write(std::uint32_t rank, std::uint64_t meeting, std::uint64_t doing) {
    const Line line{.meeting = meeting, .doing = doing};
    std::memcpy(bytes.data() + line_at(rank, meeting), &line, sizeof line);
  }
  std::vector<std::byte> bytes;
};

TEST(SplitCMeeting, is_over_when_all_have_come) {
  Control own(3);
  Meeting meeting(own.bytes.data(), 1, 3);
  for (std::uint64_t number = 1; number != 5; ++number) {
    const Line line = meeting.begin(doing(Kind::barrier, 0, 0), nullptr, 0);
    EXPECT_EQ(line.meeting, number);
    own.write(2, number, line.doing);
    own.write(1, number, line.doing);
    EXPECT_FALSE(meeting.met());
    own.write(0, number - 1, line.doing);  // the one before
    EXPECT_FALSE(meeting.met());
    own.write(0, number, line.doing);
    EXPECT_TRUE(meeting.met());
    EXPECT_FALSE(meeting.end().has_value());
  }
}

TEST(SplitCMeeting, tells_who_does_something_else) {
  Control own(2);
  Meeting meeting(own.bytes.data(), 0, 2);
  const Line line = meeting.begin(doing(Kind::broadcast, 1, 8), nullptr, 0);
  own.write(0, 1, line.doing);
  own.write(1, 1, doing(Kind::broadcast, 0, 8));
  EXPECT_TRUE(meeting.met());
  const auto other = meeting.end();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->rank, 1u);
  EXPECT_EQ(words_of(other->doing), "a broadcast of 8 bytes from rank 0");
  EXPECT_EQ(words_of(~std::uint64_t{0}), "something that no rank does");
}

}  // namespace
}  // namespace hamlyn::test
