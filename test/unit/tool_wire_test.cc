// Every field of every message of a transfer, wrong by a little: it must be refused, and the right one taken.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tool/transfer_wire.h"

namespace hamlyn::tool {
namespace {

constexpr std::uint64_t kPeer = 42;

Ticket fast_ticket() {
  return {.interface = kPeer, .slot = 1, .generation = 1, .key = 7, .base = 0, .bound = kMailboxBytes};
}

Ticket chunk_ticket(std::uint32_t place) {
  return {.interface = kPeer,
          .slot = 2,
          .generation = 1,
          .key = 9 + place,
          .entry = place,
          .incarnation = 1,
          .base = place * kChunkBytes,
          .bound = kChunkBytes};
}

Hello good_hello() { return {.mailbox = fast_ticket()}; }

Answer good_answer() {
  Answer answer;
  for (std::uint32_t place = 0; place < kPlaces; ++place) answer.tickets[place] = chunk_ticket(place);
  return answer;
}

Returned good_returned() { return {.place = 3, .sequence = 3, .ticket = chunk_ticket(3)}; }

template <typename Message>
using Spoil = std::function<void(Message&)>;

TEST(ToolWire, HelloIsTakenOnlyWhenEveryFieldIsRight) {
  EXPECT_EQ(invalid(good_hello(), kPeer), nullptr);
  EXPECT_NE(invalid(good_hello(), kPeer + 1), nullptr) << "the mailbox of a third process";
  const std::vector<Spoil<Hello>> spoils{
      [](Hello& hello) { hello.head.magic ^= 1; },
      [](Hello& hello) { hello.head.version += 1; },
      [](Hello& hello) { hello.head.kind = Kind::answer; },
      [](Hello& hello) { hello.mailbox.version += 1; },
      [](Hello& hello) { hello.mailbox.purpose = Ticket::kPurposes; },
      [](Hello& hello) { hello.mailbox = chunk_ticket(0); },
      [](Hello& hello) { hello.mailbox.bound = kMailboxBytes - 1; },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    Hello hello = good_hello();
    spoils[i](hello);
    EXPECT_NE(invalid(hello, kPeer), nullptr) << "spoilt as in " << i;
  }
}

TEST(ToolWire, AnswerIsTakenOnlyWhenEveryFieldIsRight) {
  EXPECT_EQ(invalid(good_answer(), kPeer), nullptr);
  const std::vector<Spoil<Answer>> spoils{
      [](Answer& answer) { answer.head.magic = 0; },
      [](Answer& answer) { answer.head.kind = Kind::hello; },
      [](Answer& answer) { answer.places = kPlaces + 1; },
      [](Answer& answer) { answer.places = 0; },
      [](Answer& answer) { answer.reserved = 1; },
      [](Answer& answer) { answer.tickets[kPlaces - 1] = Ticket{}; },
      [](Answer& answer) { answer.tickets[0].interface = kPeer + 1; },
      [](Answer& answer) { answer.tickets[0] = fast_ticket(); },
      [](Answer& answer) { answer.tickets[5].bound = kChunkBytes - 1; },
      [](Answer& answer) { answer.tickets[5].bound = kChunkBytes + 1; },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    Answer answer = good_answer();
    spoils[i](answer);
    EXPECT_NE(invalid(answer, kPeer), nullptr) << "spoilt as in " << i;
  }
}

TEST(ToolWire, ChunkIsTakenOnlyWhenItsLengthAndFlagsAgree) {
  EXPECT_EQ(invalid(ChunkNote{.length = 1}), nullptr);
  EXPECT_EQ(invalid(ChunkNote{.length = kChunkBytes}), nullptr);
  EXPECT_EQ(invalid(ChunkNote{.total = 5, .checksum = 6, .end = 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 0}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = kChunkBytes + 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = ~std::uint64_t{0}}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 1, .end = 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 1, .end = 2}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 1, .total = 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 1, .checksum = 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.length = 1, .reserved = 1}), nullptr);
  EXPECT_NE(invalid(ChunkNote{.head{.kind = Kind::hello}, .length = 1}), nullptr);
}

TEST(ToolWire, ReturnedPlaceIsTakenOnlyWhenEveryFieldIsRight) {
  EXPECT_EQ(invalid(good_returned(), kPeer), nullptr);
  EXPECT_NE(invalid(good_returned(), kPeer + 1), nullptr);
  const std::vector<Spoil<Returned>> spoils{
      [](Returned& returned) { returned.head.kind = Kind::verdict; },
      [](Returned& returned) { returned.place = kPlaces; },
      [](Returned& returned) { returned.place = ~0u; },
      [](Returned& returned) { returned.reserved = 1; },
      [](Returned& returned) { returned.ticket.bound = 0; },
      [](Returned& returned) { returned.ticket = fast_ticket(); },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    Returned returned = good_returned();
    spoils[i](returned);
    EXPECT_NE(invalid(returned, kPeer), nullptr) << "spoilt as in " << i;
  }
}

TEST(ToolWire, VerdictIsTakenOnlyWhenItIsOneWeKnow) {
  EXPECT_EQ(invalid(Verdict{.outcome = Outcome::whole}), nullptr);
  EXPECT_EQ(invalid(Verdict{.outcome = Outcome::interrupted}), nullptr);
  EXPECT_NE(invalid(Verdict{.outcome = Outcome{0}}), nullptr);
  EXPECT_NE(invalid(Verdict{.outcome = Outcome{5}}), nullptr);
  EXPECT_NE(invalid(Verdict{.outcome = Outcome::whole, .reserved = 1}), nullptr);
  EXPECT_NE(invalid(Verdict{.head{.version = kVersion + 1, .kind = Kind::verdict}}), nullptr);
}

TEST(ToolWire, MessagesOfAnotherLengthAreNotCopied) {
  const Verdict verdict{.outcome = Outcome::whole};
  Verdict out;
  EXPECT_TRUE(copy_message(bytes_of(verdict), out));
  EXPECT_EQ(out.outcome, Outcome::whole);
  EXPECT_FALSE(copy_message(bytes_of(verdict).first(sizeof verdict - 1), out));
  EXPECT_FALSE(copy_message(bytes_of(good_hello()), out));
  EXPECT_FALSE(copy_message({}, out));
  EXPECT_EQ(kind_of(bytes_of(verdict)), Kind::verdict);
  EXPECT_EQ(kind_of(bytes_of(verdict).first(7)), Kind{});
}

TEST(ToolWire, EveryCornerOfMailboxAndDoorIsApartAndInside) {
  EXPECT_LE(kAnswerAt + sizeof(Answer), kVerdictAt);
  EXPECT_LE(kVerdictAt + sizeof(Verdict), kReturnedAt);
  EXPECT_LE(sizeof(Returned), kReturnedStride);
  EXPECT_LE(sizeof(Hello), kDoorStride);
  EXPECT_LE(door_offset(~std::uint64_t{0}) + kDoorStride, kDoorStride * kDoorPlaces);
}

}  // namespace
}  // namespace hamlyn::tool
