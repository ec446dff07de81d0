// The books of a transfer: chunks in any order come out in the sender's, and nothing out of turn is taken.
#include <gtest/gtest.h>

#include "tool/transfer_book.h"

namespace hamlyn::tool {
namespace {

ChunkNote chunk(std::uint64_t sequence, std::uint64_t length = 10) {
  return {.sequence = sequence, .length = length};
}
ChunkNote end(std::uint64_t sequence) { return {.sequence = sequence, .end = 1}; }

Answer answer() {
  Answer answer;
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    answer.tickets[place] = {.slot = 2, .key = 100 + place, .entry = place, .base = place * kChunkBytes};
  }
  return answer;
}

Returned back(std::uint32_t place, std::uint64_t sequence) {
  Returned returned{.place = place, .sequence = sequence, .ticket = answer().tickets[place]};
  returned.ticket.key += 1000;
  return returned;
}

TEST(ToolArrivalBook, HandsOutChunksInTheSendersOrder) {
  ArrivalBook book;
  ASSERT_EQ(book.arrived(2, chunk(2), 10), nullptr);
  ASSERT_EQ(book.arrived(1, chunk(1), 10), nullptr);
  EXPECT_FALSE(book.next().has_value());
  ASSERT_EQ(book.arrived(5, chunk(0), 10), nullptr);
  const std::uint32_t places[] = {5, 1, 2};
  for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
    const auto arrival = book.next();
    ASSERT_TRUE(arrival.has_value());
    EXPECT_EQ(arrival->note.sequence, sequence);
    EXPECT_EQ(arrival->place, places[sequence]);
  }
  EXPECT_FALSE(book.next().has_value());
}

TEST(ToolArrivalBook, RefusesWhatIsOutOfTurn) {
  ArrivalBook book;
  EXPECT_NE(book.arrived(kPlaces, chunk(0), 10), nullptr) << "no such place";
  EXPECT_NE(book.arrived(0, chunk(0), 9), nullptr) << "fewer bytes than it says";
  EXPECT_NE(book.arrived(0, chunk(0), 11), nullptr) << "more bytes than it says";
  EXPECT_NE(book.arrived(0, chunk(kPlaces), 10), nullptr) << "too far ahead";
  EXPECT_NE(book.arrived(0, chunk(~std::uint64_t{0}), 10), nullptr) << "much too far ahead";
  ASSERT_EQ(book.arrived(0, chunk(1), 10), nullptr);
  EXPECT_NE(book.arrived(0, chunk(2), 10), nullptr) << "a place that is taken";
  EXPECT_NE(book.arrived(1, chunk(1), 10), nullptr) << "a chunk that waits already";
  ASSERT_EQ(book.arrived(1, chunk(0), 10), nullptr);
  ASSERT_TRUE(book.next() && book.next());
  EXPECT_NE(book.arrived(2, chunk(0), 10), nullptr) << "a chunk that was handed out";
  EXPECT_EQ(book.arrived(2, chunk(kPlaces + 1), 10), nullptr) << "the furthest there may be now";
}

TEST(ToolArrivalBook, NothingComesAfterTheEnd) {
  ArrivalBook book;
  ASSERT_EQ(book.arrived(0, chunk(2), 10), nullptr);
  EXPECT_NE(book.arrived(1, end(1), 0), nullptr) << "a later chunk is here already";
  ASSERT_EQ(book.arrived(1, end(3), 0), nullptr);
  EXPECT_NE(book.arrived(2, chunk(4), 10), nullptr);
  EXPECT_NE(book.arrived(2, end(4), 0), nullptr);
  EXPECT_EQ(book.arrived(2, chunk(0), 10), nullptr) << "an earlier one may still come";
}

TEST(ToolArrivalBook, EveryPlaceCanWaitAtOnce) {
  ArrivalBook book;
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    ASSERT_EQ(book.arrived(place, chunk(kPlaces - 1 - place), 10), nullptr);
  }
  for (std::uint32_t taken = 0; taken < kPlaces; ++taken) {
    const auto arrival = book.next();
    ASSERT_TRUE(arrival.has_value());
    EXPECT_EQ(arrival->place, kPlaces - 1 - taken);
  }
}

TEST(ToolDepartureBook, UsesPlacesInTurnWithTheTicketThatCameLast) {
  DepartureBook book(answer());
  for (std::uint32_t place = 0; place < kPlaces; ++place) {
    const auto departure = book.take();
    ASSERT_TRUE(departure.has_value());
    EXPECT_EQ(departure->place, place);
    EXPECT_EQ(departure->sequence, place);
    EXPECT_EQ(departure->ticket.key, 100 + place);
  }
  EXPECT_FALSE(book.take().has_value());
  ASSERT_EQ(book.returned(back(1, 1)), nullptr);
  EXPECT_FALSE(book.has_free_place()) << "place 0 is next in turn";
  ASSERT_EQ(book.returned(back(0, 0)), nullptr);
  const auto departure = book.take();
  ASSERT_TRUE(departure.has_value());
  EXPECT_EQ(departure->place, 0u);
  EXPECT_EQ(departure->sequence, kPlaces);
  EXPECT_EQ(departure->ticket.key, 1100u);
}

TEST(ToolDepartureBook, RefusesPlacesThatComeBackWrongly) {
  DepartureBook book(answer());
  EXPECT_NE(book.returned(back(0, 0)), nullptr) << "it is free";
  ASSERT_TRUE(book.take());
  ASSERT_TRUE(book.take());
  EXPECT_NE(book.returned(back(0, 1)), nullptr) << "with another chunk";
  Returned elsewhere = back(0, 0);
  elsewhere.ticket.entry = 1;
  EXPECT_NE(book.returned(elsewhere), nullptr) << "another entry";
  elsewhere = back(0, 0);
  elsewhere.ticket.slot = 3;
  EXPECT_NE(book.returned(elsewhere), nullptr) << "another slot";
  elsewhere = back(0, 0);
  elsewhere.ticket.base = kChunkBytes;
  EXPECT_NE(book.returned(elsewhere), nullptr) << "another base";
  Returned beyond = back(0, 0);
  beyond.place = kPlaces;
  EXPECT_NE(book.returned(beyond), nullptr) << "no such place";
  ASSERT_EQ(book.returned(back(0, 0)), nullptr);
  EXPECT_NE(book.returned(back(0, 0)), nullptr) << "twice";
}

}  // namespace
}  // namespace hamlyn::tool
