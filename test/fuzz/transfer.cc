// What `hamlyn send` and `hamlyn receive` are told by the other side: greetings, trailers and verdicts, or
// anything.
//
// Besides not crashing: what is taken is of this version, and travels as the bytes that it came as; whoever
// is to be told how it went is the sender itself, at a place where a verdict fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/fuzz/input.h"
#include "test/fuzz/target.h"
#include "tool/transfer_wire.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::tool;

Goal goals[] = {{"greetings that were taken", 20},
                {"greetings of other versions", 20},
                {"trailers that were taken", 50},
                {"verdicts that were taken", 20}};
Goal &greetings = goals[0], &others = goals[1], &trailers = goals[2], &verdicts = goals[3];

constexpr std::uint64_t kSender = 77;

Head some_head(Input& input, std::uint16_t kind) {
  Head head{.kind = kind};
  const std::uint64_t form = input.pick(8);
  if (form == 0) head.kind = static_cast<std::uint16_t>(input.pick(5));
  if (form == 1) head.version = static_cast<std::uint16_t>(input.pick(6));
  if (form == 2) head.magic ^= 1u << input.pick(32);
  return head;
}

Seed some_seed(Input& input) {
  Seed seed;
  Ticket& ticket = seed.ticket;
  ticket.interface = input.pick(8) != 0 ? kSender : input.number();
  ticket.slot = static_cast<std::uint32_t>(input.pick(4));
  ticket.generation = 1;
  ticket.key = input.number();
  ticket.entry = input.pick(8) != 0 ? static_cast<std::uint32_t>(input.pick(4)) : Ticket::kFast;
  ticket.incarnation = ticket.fast() ? 0 : 1;
  ticket.bound = input.pick(8) != 0 ? sizeof(Verdict) : input.number();
  const auto kind = static_cast<std::uint32_t>(SeedKind::datagram);
  ticket.purpose = input.pick(8) != 0 ? kind : static_cast<std::uint32_t>(input.pick(9));
  return seed;
}

// The bytes of a message, or nearly.
template <class Message>
std::vector<std::byte> sent(Input& input, Message message) {
  if (input.pick(4) == 0) input.spoil(message);
  const std::span<const std::byte> bytes = bytes_of(message);
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  if (input.pick(8) == 0) out.resize(input.pick(2 * out.size()));
  return out;
}

template <class Message>
bool same(const Message& message, std::span<const std::byte> bytes) {
  return std::ranges::equal(bytes_of(message), bytes);
}

void greet(Input& input) {
  Greeting said;
  said.head = some_head(input, kGreeting);
  said.expected = input.number();
  said.verdict = some_seed(input);
  const std::vector<std::byte> bytes = sent(input, travelling(said));
  Greeting out;
  const char* const why = parse(bytes, kSender, out);
  greetings.times += why == nullptr;
  others.times += why == kOtherVersion;
  EXPECT_TRUE(why != nullptr || same(travelling(out), bytes));
  EXPECT_TRUE(why != kOtherVersion || out.head.version != kVersion);
  if (out.verdict.kind() == SeedKind::none) {
    EXPECT_NE(why, nullptr);
    return;
  }
  EXPECT_TRUE(why == nullptr || why == kOtherVersion) << why;
  EXPECT_EQ(hamlyn::invalid(out.verdict.ticket), nullptr);
  EXPECT_EQ(out.verdict.ticket.interface, kSender);
  EXPECT_EQ(out.verdict.kind(), SeedKind::datagram);
  EXPECT_FALSE(out.verdict.ticket.fast());
  EXPECT_GE(out.verdict.ticket.bound, sizeof(Verdict));
}

void end(Input& input) {
  Trailer said;
  said.head = some_head(input, kTrailer);
  said.total = input.number();
  said.checksum = input.number();
  const std::vector<std::byte> bytes = sent(input, travelling(said));
  Trailer out;
  if (parse(bytes, out) != nullptr) return;
  ++trailers.times;
  EXPECT_TRUE(same(travelling(out), bytes));
}

void judge(Input& input) {
  Verdict said;
  said.head = some_head(input, kVerdict);
  said.outcome = static_cast<Outcome>(input.pick(8));
  if (input.pick(8) == 0) said.reserved = static_cast<std::uint32_t>(input.number());
  said.total = input.number();
  said.checksum = input.number();
  const std::vector<std::byte> bytes = sent(input, travelling(said));
  Verdict out;
  if (parse(bytes, out) != nullptr) return;
  ++verdicts.times;
  EXPECT_TRUE(same(travelling(out), bytes));
  EXPECT_TRUE(out.outcome >= Outcome::whole && out.outcome <= Outcome::other_version);
}

}  // namespace

const RandomRuns random_runs{.runs = 4000, .bytes = 64, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  switch (input.pick(4)) {
    case 0:
      return greet(input);
    case 1:
      return end(input);
    case 2:
      return judge(input);
    default:  // anything
      Greeting greeting;
      Trailer trailer;
      Verdict verdict;
      const std::span<const std::byte> all = input.bytes(128);
      parse(all, kSender, greeting);
      parse(all, trailer);
      parse(all, verdict);
  }
}

}  // namespace hamlyn::fuzz
