// Words of short messages over VIs, in 32 bits.
#include "am/vi_word.h"

#include <gtest/gtest.h>

#include <random>

namespace hamlyn::test {
namespace {

using namespace internal_::am;

// Counts of any size, and a word that is ahead of them by no more than may be under way.
TEST(AmViWord, says_in_32_bits_what_the_whole_word_does) {
  std::mt19937_64 chance(1);
  for (int i = 0; i != 100'000; ++i) {
    const PackedFrom from{chance() % 1'000'000, chance() % 1'000'000, chance() % 1'000'000};
    const std::uint64_t most = most_under_way(Way::vi3, kMostViCredits);
    const auto count = static_cast<std::uint8_t>(chance() % (kMostArguments + 1));
    const Word word{.kind = chance() % 2 == 0 ? Kind::request_short : Kind::reply_short,
                    .count = count,
                    .handler = static_cast<HandlerNumber>(chance()),
                    .number = static_cast<std::uint16_t>(from.expected + chance() % most),
                    .done = static_cast<std::uint16_t>(from.done + chance() % (most + 1)),
                    .credited = static_cast<std::uint16_t>((from.credited + chance() % (kMostViCredits + 1)) &
                                                           kCreditedMask)};
    const Word heard = unpacked(packed(word), std::size_t{4} * count, from);
    ASSERT_EQ(word_of(heard), word_of(word)) << i;
  }
}

TEST(AmViWord, whatever_bits_come_mean_a_word) {
  std::mt19937_64 chance(2);
  for (int i = 0; i != 100'000; ++i) {
    const PackedFrom from{chance(), chance(), chance()};
    const Word word = unpacked(static_cast<std::uint32_t>(chance()), chance() % 4300, from);
    // Within what may be under way: what no honest side says is refused as any other word is.
    ASSERT_LE(static_cast<std::uint16_t>(word.number - static_cast<std::uint16_t>(from.expected)),
              kPackedCount);
    ASSERT_LE(static_cast<std::uint16_t>(word.done - static_cast<std::uint16_t>(from.done)), kPackedCount);
    ASSERT_LE(
        static_cast<std::uint16_t>(word.credited - static_cast<std::uint16_t>(from.credited)) & kCreditedMask,
        kPackedCredits);
  }
}

// A queue of a VI has 256 descriptors, and each message fits a receive.
TEST(AmViWord, what_may_be_under_way_has_its_receives) {
  for (const Way way : {Way::vi, Way::vi3})
    for (std::uint32_t credits = 1; credits <= kMostViCredits; ++credits)
      for (std::size_t lane = 0; lane != lanes_of(way); ++lane) {
        const LaneShape shape = lane_shape(way, lane, credits);
        EXPECT_LE(shape.receives(), 256u);
        EXPECT_GE(shape.receives(), shape.room + internal_::vi::kLateReceives);
        EXPECT_GE(shape.sends(), 2u);
        EXPECT_GE(shape.weight() * shape.room, kWholeRing) << "a lane that is full is told of";
      }
  EXPECT_EQ(lane_shape(Way::vi, 0, 8).room, 17u) << "2 k + 1, as in the paper";
  for (int kind = 0; kind <= static_cast<int>(Kind::piece); ++kind) {
    const auto each = static_cast<Kind>(kind);
    const bool medium = each == Kind::request_medium || each == Kind::reply_medium;
    const std::size_t bytes = is_packed(each) ? 4 * kMostArguments
                              : medium        ? 8 + data_at(kMostArguments) + kMostMedium
                              : each == Kind::piece
                                  ? 8 + sizeof(PieceHead) + kMostMedium
                                  : 8 + std::max(head_bytes(each), sizeof(SegmentNews)) + 4 * kMostArguments;
    for (const Way way : {Way::vi, Way::vi3})
      EXPECT_GE(lane_shape(way, lane_of(way, each), 1).bytes, bytes) << kind;
  }
}

}  // namespace
}  // namespace hamlyn::test
