// Every field of every message of a transfer, wrong by a little: it must be refused, and the right one taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tool/transfer_wire.h"

namespace hamlyn::tool {
namespace {

constexpr std::uint64_t kPeer = 42;

Greeting good_greeting() {
  Greeting greeting;
  greeting.verdict.ticket = {.interface = kPeer, .slot = 1, .generation = 1, .key = 7, .entry = 0};
  greeting.verdict.ticket.incarnation = 1;
  greeting.verdict.ticket.bound = sizeof(Verdict);
  greeting.verdict.ticket.purpose = static_cast<std::uint32_t>(SeedKind::datagram);
  return greeting;
}

TEST(ToolWire, GreetingIsTakenOnlyWhenEveryFieldIsRight) {
  Greeting out;
  const Greeting good = good_greeting();
  EXPECT_EQ(parse(bytes_of(good), kPeer, out), nullptr);
  EXPECT_EQ(out.verdict, good.verdict);
  EXPECT_NE(parse(bytes_of(good), kPeer + 1, out), nullptr) << "the seed of a third process";
  EXPECT_NE(parse(bytes_of(good).first(sizeof good - 1), kPeer, out), nullptr);
  EXPECT_NE(parse({}, kPeer, out), nullptr);
  std::vector<std::byte> longer(sizeof good + 1);
  std::ranges::copy(bytes_of(good), longer.begin());
  EXPECT_NE(parse(longer, kPeer, out), nullptr);
  const std::vector<std::function<void(Greeting&)>> spoils{
      [](Greeting& greeting) { greeting.head.magic ^= 1; },
      [](Greeting& greeting) { greeting.head.kind = kTrailer; },
      [](Greeting& greeting) { greeting.verdict.ticket.version += 1; },
      [](Greeting& greeting) { greeting.verdict.ticket.purpose = 0; },
      [](Greeting& greeting) {
        greeting.verdict.ticket.purpose = static_cast<std::uint32_t>(SeedKind::stream);
      },
      [](Greeting& greeting) { greeting.verdict.ticket.entry = Ticket::kFast; },
      [](Greeting& greeting) { greeting.verdict.ticket.bound = sizeof(Verdict) - 1; },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    Greeting greeting = good_greeting();
    spoils[i](greeting);
    const char* why = parse(bytes_of(greeting), kPeer, out);
    EXPECT_TRUE(why != nullptr && why != kOtherVersion) << "spoilt as in " << i;
    EXPECT_EQ(out.verdict.kind(), SeedKind::none) << "nobody is told";
  }
}

TEST(ToolWire, AGreetingOfAnotherVersionSaysWhomToTell) {
  Greeting other = good_greeting(), out;
  other.head.version = kVersion + 1;
  std::vector<std::byte> bytes(sizeof other + 20);
  std::ranges::copy(bytes_of(other), bytes.begin());
  EXPECT_EQ(parse(bytes, kPeer, out), kOtherVersion);
  EXPECT_EQ(out.verdict, other.verdict);
  EXPECT_EQ(parse(bytes, kPeer + 1, out), kOtherVersion);
  EXPECT_EQ(out.verdict.kind(), SeedKind::none) << "not a third process";
}

TEST(ToolWire, TrailerIsTakenOnlyWhenItIsOne) {
  Trailer trailer{.total = 5, .checksum = 6}, out;
  EXPECT_EQ(parse(bytes_of(trailer), out), nullptr);
  EXPECT_EQ(out.total, 5u);
  EXPECT_EQ(out.checksum, 6u);
  EXPECT_NE(parse(bytes_of(trailer).first(sizeof trailer - 1), out), nullptr);
  trailer.head.kind = kVerdict;
  EXPECT_NE(parse(bytes_of(trailer), out), nullptr);
}

TEST(ToolWire, VerdictIsTakenOnlyWhenItIsOneWeKnow) {
  const auto wrong = [](const Verdict& verdict) {
    Verdict out;
    return parse(bytes_of(verdict), out);
  };
  EXPECT_EQ(wrong({.outcome = Outcome::whole}), nullptr);
  EXPECT_EQ(wrong({.outcome = Outcome::other_version}), nullptr);
  EXPECT_NE(wrong({.outcome = Outcome{0}}), nullptr);
  EXPECT_NE(wrong({.outcome = Outcome{6}}), nullptr);
  EXPECT_NE(wrong({.outcome = Outcome::whole, .reserved = 1}), nullptr);
  EXPECT_EQ(wrong({.head{.version = kVersion + 1, .kind = kVerdict}}), kOtherVersion);
}

}  // namespace
}  // namespace hamlyn::tool
