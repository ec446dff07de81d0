// Split-C over VI on simulated hosts: random programs with deaths, ranks that compute, and ranks that lie.
#include <array>
#include <cstring>

#include "splitc/runtime.h"
#include "splitc/vi/way.h"
#include "test/splitc/hosted_program.h"
#include "test/splitc/random_program.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kViHeap = std::size_t{1} << 18;

void run_random(std::uint64_t seed, Way way, std::uint32_t credits) {
  SCOPED_TRACE(seed);
  const auto ranks = 1 + static_cast<std::uint32_t>(seed % 4);
  Hosted hosted(rough_rules(seed / 4), seed);
  HostedProgram program(hosted, ranks, options_of(way, kViHeap, credits),
                        [&] { RandomRank(seed, 30).run(); });
  hosted.run();
  for (const std::string& each : program.errors) EXPECT_EQ(each, "");
  EXPECT_EQ(program.ended, ranks);
}

TEST(HostedSplitCPrograms, do_what_they_would_do_alone_over_vi) {
  constexpr std::uint32_t kCredits[] = {1, 2, 8, 32};
  for (std::uint64_t seed = 1; seed <= more(12) && !HasFailure(); ++seed)
    run_random(seed, Way::vi, kCredits[seed / 3 % 4]);
}

// Where packets overtake each other a fence waits until all before it was taken, and its rank sleeps
// meanwhile.
TEST(HostedSplitCPrograms, do_what_they_would_do_alone_guarded) {
  for (std::uint64_t seed = 1; seed <= more(12) && !HasFailure(); ++seed) run_random(seed, Way::guarded, 0);
}

// Whenever a rank dies, the others hear of it or have done all of it, and none waits for ever.
TEST(HostedSplitCPrograms, tell_of_a_rank_that_dies_while_all_use_each_others_heaps_over_vi) {
  std::uint32_t told = 0;
  for (std::uint64_t seed = 1; seed <= more(40) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.kill(2 + seed % 3, 1'000'000 + hosted.host.chance().below(6'000'000));
    HostedProgram program(hosted, 3, options_of(Way::vi, kViHeap, 1 + static_cast<std::uint32_t>(seed % 9)),
                          [&] { RandomRank(seed, 20).run(); });
    hosted.run();
    const std::string dead = "rank " + std::to_string(seed % 3);
    for (std::uint32_t rank = 0; rank != 3; ++rank) {
      const std::string& error = program.errors[rank];
      EXPECT_TRUE(error.empty() || error.find("rank") != std::string::npos) << error;
      told += error.find(dead + " has ended with status 137") != std::string::npos;
    }
  }
  EXPECT_GT(told, more(40) / 2);
}

// A rank that computes delays those alone who want something of it.
TEST(HostedSplitCOverVi, delays_nobody_else_while_a_rank_computes) {
  Hosted hosted;
  bool computes = false, has_computed = false;
  int others_were_done = 0;
  HostedProgram program(hosted, 3, options_of(Way::vi, kViHeap), [&] {
    using namespace splitc;
    everywhere<std::uint64_t> words(8);
    barrier();
    if (rank() == 1) {
      computes = true;
      internal_::splitc::Here* const own = internal_::splitc::here;  // the others have theirs meanwhile
      hosted.host.pause(500 * kMillisecond);
      internal_::splitc::here = own;
      has_computed = true;
    } else {
      const Rank other = 2 - rank();
      for (int i = 0; i != 8; ++i) store(words.at(1), std::uint64_t{1});  // as much as may be under way there
      for (std::uint64_t i = 0; i != 50; ++i) {
        *words.at(other) = i;
        fetch_add(words.at(other, 1), 1);
        store(words.at(other, 2), i);
      }
      others_were_done += computes && !has_computed ? 1 : 0;
    }
    barrier();
  });
  hosted.run();
  for (const std::string& each : program.errors) EXPECT_EQ(each, "");
  EXPECT_EQ(others_were_done, 2);
}

// --- rank 1 lies to rank 0

using internal_::splitc::bits_of;
using internal_::splitc::Say;
using internal_::splitc::ViWay;

void send(std::uint32_t word, std::span<const std::byte> bytes) {
  ViWay::Line line = internal_::splitc::runtime().vi()->line(0);
  if (!line.may_send()) return;
  if (!bytes.empty()) std::memcpy(line.next_bytes().data(), bytes.data(), bytes.size());
  static_cast<void>(line.send(word, bytes.size()));
}
void send(const internal_::splitc::Word& word, std::uint64_t place = 0, std::size_t bytes = 8) {
  std::array<std::byte, 64> all{};
  std::memcpy(all.data(), &place, sizeof place);
  send(bits_of(word), std::span(all).first(bytes));
}
std::uint64_t first_place() { return internal_::splitc::here->first; }

struct HostedLie {
  const char* text;  // that rank 0 says
  std::function<void()> tell;
  bool in_order = false;  // it is another one if messages overtake each other
};

std::vector<HostedLie> lies() {
  return {
      {"a message of no kind that there is",
       [] {
         send({Say{14}, 0, 0});
       }},
      {"a request out of its turn",
       [] {
         send({Say::read, 99, 8}, first_place());
       }},
      {"a message of a length that cannot be",
       [] {
         send({Say::write, 0, 8}, first_place());
       }},
      {"a request that leads out of the heap",
       [] {
         send({Say::read, 0, 8}, 0);
       }},
      {"a request that leads out of the heap",
       [] {
         send({Say::store, 0, 8}, first_place() + kViHeap - 4, 16);
       }},
      {"an operation that there is not",
       [] {
         send({Say::count, 0, 0}, first_place() + 4);
       }},
      {"an answer to nothing that was asked",
       [] {
         send({Say::data, 0, 8});
       }},
      {"an acknowledgement of stores that are not under way",
       [] {
         send({Say::acknowledge, 0, 1}, 0, 1);
       }},
      {"more requests than its credits",
       [] {
         for (const std::uint16_t number : std::to_array<std::uint16_t>({0, 2, 3, 4, 5, 6, 7, 8, 1}))
           send({Say::store, number, 8}, first_place(), 16);
       },
       true},
  };
}

// Rank 0 says what was wrong, goes on for itself, and keeps its memory.
void run_lie(const HostedLie& lie, std::uint64_t seed) {
  Hosted hosted(rough_rules(lie.in_order ? 3 * seed : seed), seed);
  HostedProgram program(hosted, 2, options_of(Way::vi, kViHeap), [&] {
    using namespace splitc;
    everywhere<std::uint64_t> words(4);
    words.mine()[1] = 17;
    barrier();
    if (rank() == 1) lie.tell();
    if (rank() == 0) {
      EXPECT_EQ(code_of([&] { store_sync(1 << 20); }), ErrorCode::not_permitted);
      EXPECT_EQ(code_of([&] { std::uint64_t{*words.at(1)}; }), ErrorCode::not_permitted) << "it stays so";
      EXPECT_EQ(words.mine()[1], 17u);
    }
    barrier();
  });
  hosted.run();
  EXPECT_NE(program.errors[0].find(lie.text), std::string::npos) << program.errors[0];
  EXPECT_NE(program.errors[0].find("rank 1 has sent"), std::string::npos) << program.errors[0];
  EXPECT_NE(program.errors[1], "");
}

TEST(HostedSplitCOverVi, says_which_rank_has_broken_which_rule) {
  for (const HostedLie& lie : lies())
    for (std::uint64_t seed = 1; seed <= more(3); ++seed) {
      SCOPED_TRACE(testing::Message() << lie.text << " " << seed);
      run_lie(lie, seed);
    }
}

TEST(HostedSplitCOverVi, takes_any_bits) {
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= more(60); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    std::mt19937_64 random(seed);
    HostedProgram program(hosted, 2, options_of(Way::vi, 65536), [&] {
      using namespace splitc;
      everywhere<std::uint64_t> words(4);
      barrier();
      for (std::uint32_t i = 0; rank() == 1 && i != 20; ++i) {
        std::array<std::byte, 4200> bytes;
        for (std::byte& each : bytes) each = static_cast<std::byte>(random());
        const std::uint64_t place = first_place() + random() % 70000;
        if (random() % 4 != 0) std::memcpy(bytes.data(), &place, sizeof place);
        const internal_::splitc::Word word{
            static_cast<Say>(random() % 13),
            static_cast<std::uint16_t>(random() % 3 == 0 ? random() : std::uint64_t{i}),
            static_cast<std::uint16_t>(random() % 5000)};
        send(bits_of(word),
             std::span(bytes).first(random() % 2 == 0 ? random() % 4100 : word.bytes % 4000 + 8));
      }
      for (std::uint64_t i = 0; i != 10; ++i) *words.at(1 - rank()) = i;
      barrier();
    });
    hosted.run();
    refused += program.errors[0].find("rank 1 has sent") != std::string::npos;
  }
  EXPECT_GT(refused, more(60) * 3 / 4);
}

}  // namespace
}  // namespace hamlyn::test
