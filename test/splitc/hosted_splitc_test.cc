// Split-C programs on simulated hosts: all of the language over seeds, and deaths at any time.
#include <cstring>
#include <random>

#include "examples/splitc/em3d.h"
#include "examples/splitc/radix_sort.h"
#include "examples/splitc/sample_sort.h"
#include "splitc/functions.h"
#include "splitc/splitc_wire.h"
#include "test/simulation/idle.h"
#include "test/splitc/chores.h"
#include "test/splitc/hosted_program.h"
#include "test/splitc/refusals.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kHeap = std::size_t{1} << 20;

void run_whole(std::uint64_t seed, std::uint32_t ranks, Way way, std::uint32_t credits = 0) {
  SCOPED_TRACE(seed);
  Hosted hosted(rough_rules(seed), seed);
  HostedProgram program(hosted, ranks, options_of(way, kHeap, credits), splitc_chores::do_all);
  hosted.run();
  for (std::uint32_t rank = 0; rank != ranks; ++rank) EXPECT_EQ(program.errors[rank], "") << rank;
  EXPECT_EQ(program.ended, ranks);
}

TEST(HostedSplitC, does_all_of_the_language_guarded) {
  for (std::uint64_t seed = 1; seed <= 3 && !testing::Test::HasFailure(); ++seed)
    run_whole(seed, 1 + static_cast<std::uint32_t>(seed) % 4, Way::guarded);
}

TEST(HostedSplitC, does_all_of_the_language_mapped_or_between_hosts) {
  for (std::uint64_t seed = 1; seed <= 3 && !testing::Test::HasFailure(); ++seed)
    run_whole(seed, 2 + static_cast<std::uint32_t>(seed) % 3, Way::mapped);
}

TEST(HostedSplitC, does_all_of_the_language_over_vi) {
  for (std::uint64_t seed = 1; seed <= more(4) && !testing::Test::HasFailure(); ++seed)
    run_whole(seed, 1 + static_cast<std::uint32_t>(seed) % 4, Way::vi);
}

// With one credit everybody waits for everybody, from inside waits.
TEST(HostedSplitC, does_all_of_the_language_over_vi_with_few_credits_and_with_most) {
  for (const std::uint32_t credits : {1u, 3u, 32u})
    for (std::uint64_t seed = 1; seed <= more(2) && !testing::Test::HasFailure(); ++seed)
      run_whole(seed, 2 + static_cast<std::uint32_t>(seed) % 3, Way::vi, credits);
}

// Words of the other rank in some order, into room in some order, by batches and none: each get brings its
// own, whichever of them leave together.
void get_in_any_order(std::mt19937_64& random) {
  constexpr std::size_t kWords = 300;
  const splitc::everywhere<std::uint64_t> words(kWords);
  const auto other = (splitc::rank() + 1) % splitc::ranks();
  for (std::size_t i = 0; i != kWords; ++i) words.mine()[i] = splitc::rank() * kWords + i;
  splitc::barrier();
  for (int round = 0; round != 2; ++round) {
    std::vector<std::uint64_t> room(kWords, ~std::uint64_t{0}), from(kWords, kWords);
    {
      splitc::Batch one, two;
      splitc::Batch* const batches[] = {nullptr, &one, &two};
      for (std::size_t i = 0; i != kWords;) {  // runs at some distance, also backwards and of the same word
        const std::size_t length = std::min<std::size_t>(1 + random() % 80, kWords - i), step = random() % 5;
        const bool backwards = random() % 3 == 0;
        std::size_t at = random() % kWords;
        splitc::Batch* const batch = batches[random() % 3];
        for (std::size_t k = 0; k != length; ++k, at = (at + step) % kWords) {
          const std::size_t into = i + (backwards ? length - 1 - k : k);
          splitc::get(room[into], words.at(other, at), batch);
          from[into] = at;
        }
        i += length;
        if (random() % 4 == 0) one.sync();
        if (random() % 8 == 0) static_cast<void>(two.done());
      }
    }
    splitc::sync();
    for (std::size_t i = 0; i != kWords; ++i) ASSERT_EQ(room[i], other * kWords + from[i]) << i;
  }
  splitc::barrier();
}

TEST(HostedSplitC, gets_words_that_leave_together_and_alone) {
  for (std::uint64_t seed = 1; seed <= more(4) && !testing::Test::HasFailure(); ++seed)
    for (const Way way : kWays) {
      SCOPED_TRACE(seed);
      Hosted hosted(rough_rules(seed), seed);
      HostedProgram program(hosted, 2, options_of(way, kHeap), [seed] {
        std::mt19937_64 random(seed * 2 + splitc::rank());
        get_in_any_order(random);
      });
      hosted.run();
      for (const std::string& each : program.errors) EXPECT_EQ(each, "");
      EXPECT_EQ(program.ended, 2u);
    }
}

TEST(HostedSplitC, refuses_what_cannot_be_and_goes_on) {
  for (const std::uint32_t ranks : {1u, 2u, 3u})
    for (const Way way : kWays) {
      SCOPED_TRACE(ranks);
      Hosted hosted;
      HostedProgram program(hosted, ranks, options_of(way, kHeap), splitc_refusals::do_all);
      hosted.run();
      for (const std::string& each : program.errors) EXPECT_EQ(each, "");
      EXPECT_EQ(program.ended, ranks);
    }
}

TEST(HostedSplitC, tells_all_ranks_that_they_disagree) {
  for (const Way way : kWays) {
    Hosted hosted;
    HostedProgram program(hosted, 3, options_of(way, kHeap), splitc_refusals::disagree);
    hosted.run();
    const std::string other = ", rank 2 in a broadcast of 8 bytes from rank 0";
    EXPECT_EQ(program.errors[0], "ranks disagree: rank 0 is in a barrier" + other);
    EXPECT_EQ(program.errors[1], "ranks disagree: rank 1 is in a barrier" + other);
    EXPECT_EQ(program.errors[2],
              "ranks disagree: rank 2 is in a broadcast of 8 bytes from rank 0, rank 0 in a barrier");
  }
}

// A rank writes any bits where the other ones look.
void scribble(std::mt19937_64& random) {
  using namespace internal_::splitc;
  std::byte* const block = here->heaps[0].memory - here->first;
  const auto any = [&](std::uint64_t place, std::size_t bytes) {
    std::vector<std::byte> bits(bytes);
    for (std::byte& each : bits) each = std::byte(random());
    std::memcpy(block + place, bits.data(), bytes);
  };
  any(random() % 3 == 0 ? 0 : other_at(1) + random() % sizeof(Other) / 8 * 8, 8);
  Request request{.number = random() % 12, .function = static_cast<std::uint32_t>(random() % 64)};
  request.bytes = static_cast<std::uint32_t>(random() % 2 == 0 ? random() : random() % 24);
  request.answered = 1;
  if (request.function < functions().size())  // what may be called may do anything: so a wrong length
    request.bytes = functions()[request.function].arguments + 1 + static_cast<std::uint32_t>(random() % 8);
  std::memcpy(block + request_at(1, request.number), &request, sizeof request);
  const Reply reply{.number = random() % 4, .done = static_cast<Done>(random() % 4), .bytes = ~0u};
  std::memcpy(block + other_at(1) + offsetof(Other, reply), &reply, sizeof reply);
}

TEST(HostedSplitC, takes_any_bits_in_a_control_block) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted;
    std::mt19937_64 random(seed);
    HostedProgram program(hosted, 2, {.heap = 65536}, [&] {
      for (int i = 0; i != 50; ++i) {
        if (splitc::rank() == 1) scribble(random);
        splitc::poll();
      }
      if (splitc::rank() == 1) throw std::runtime_error("leaves");
      for (int i = 0; i != 3; ++i) {
        const auto code = code_of([] { splitc::call<splitc_chores::square>(1, 3u); });
        EXPECT_TRUE(code == ErrorCode{} || code == ErrorCode::not_permitted ||
                    code == ErrorCode::invalid_argument || code == ErrorCode::peer_died)
            << name(code);
        EXPECT_EQ(code_of([] { splitc::store_sync(~std::size_t{0}); }), ErrorCode::peer_died);
      }
      splitc::barrier();
    });
    hosted.run();
    EXPECT_NE(program.errors[0], "");
  }
}

// Pointers of a program that has ended lead nowhere in the next one of that process.
void begin_twice() {
  std::uint64_t word = 0;
  for (int i = 0; i != 2; ++i) {
    Interface interface;
    splitc::Program program(interface, {}, {.heap = kHeap});
    const auto own = splitc::allocate<std::uint64_t>();
    *own = 3;
    EXPECT_EQ(*own, 3u);
    if (i == 0) word = own.word();
    const bool same_mark = internal_::splitc::mark_of(word) == internal_::splitc::mark_of(own.word());
    const auto write = [&] { *splitc::global_ptr<std::uint64_t>::from_word(word) = 1; };
    EXPECT_EQ(code_of(write), same_mark ? ErrorCode{} : ErrorCode::invalid_argument);
  }
  EXPECT_EQ(code_of([] { splitc::barrier(); }), ErrorCode::invalid_argument);
}

TEST(HostedSplitC, tells_programs_of_one_process_apart) {
  Hosted hosted;
  hosted.add([](Hosted&) { begin_twice(); });
  hosted.run();
}

// Memory at the same place everywhere that outlives its program is given back to nobody.
void outlive_a_program() {
  std::optional<splitc::everywhere<std::uint64_t>> older;
  std::uint64_t word = 0;
  {
    Interface interface;
    splitc::Program program(interface, {}, {.heap = kHeap});
    older.emplace();
    word = older->at(0).word();
  }
  Interface interface;
  splitc::Program program(interface, {}, {.heap = kHeap});
  const splitc::everywhere<std::uint64_t> own;
  using namespace internal_::splitc;
  ASSERT_EQ(place_of(word), place_of(own.at(0).word())) << "it would not matter";
  if (mark_of(word) == mark_of(own.at(0).word())) return;  // one time of thousands
  EXPECT_EQ(code_of([&] { deallocate_everywhere(word); }), ErrorCode::invalid_argument);
  older.reset();
  const splitc::everywhere<std::uint64_t> more;
  EXPECT_NE(more.at(0).word(), own.at(0).word());
  EXPECT_NO_THROW(deallocate_everywhere(0));
  splitc::barrier();
}

TEST(HostedSplitC, takes_nothing_back_of_a_program_that_has_ended) {
  Hosted hosted;
  hosted.add([](Hosted&) { outlive_a_program(); });
  hosted.run();
}

// A rank that there cannot be looks nothing up: nobody serves that job.
TEST(HostedSplitC, refuses_places_that_are_none) {
  Hosted hosted;
  hosted.add([](Hosted&) {
    Interface interface;
    const auto begin = [&](std::uint32_t rank, std::uint32_t size, std::size_t heap) {
      return code_of([&] {
        splitc::Program program(interface, {.job = "none", .rank = rank, .size = size}, {.heap = heap});
      });
    };
    constexpr std::uint32_t kMost = internal_::splitc::kMostRanks;
    EXPECT_EQ(begin(0, 0, kHeap), ErrorCode::invalid_argument);
    EXPECT_EQ(begin(1, 1, kHeap), ErrorCode::invalid_argument);
    EXPECT_EQ(begin(0, kMost, kHeap), ErrorCode::invalid_argument);
    EXPECT_EQ(begin(0, ~0u, kHeap), ErrorCode::invalid_argument);
    EXPECT_EQ(begin(0, 1, 0), ErrorCode::invalid_argument);
  });
  hosted.run();
}

// A rank dies at any time: the others hear of it, by its number, and none of them waits for ever.
void run_with_a_death(std::uint64_t time, Way way, std::uint32_t& told, std::uint32_t& ended) {
  SCOPED_TRACE(time);
  Hosted hosted;
  hosted.kill(3, time);
  HostedProgram program(hosted, 3, options_of(way, 65536), [] {
    splitc_chores::get_and_put();
    splitc_chores::store_and_wait();
    splitc_chores::call_each_other();
    splitc_chores::gather_and_reduce();
  });
  hosted.run();
  for (const std::uint32_t rank : {0u, 2u}) {
    const std::string& error = program.errors[rank];
    told += error.find("rank 1 has ended with status 137") != std::string::npos;
    ended += error.empty();
    EXPECT_TRUE(error.empty() || error.find("rank 1") != std::string::npos) << error;
  }
}

TEST(HostedSplitC, tells_the_others_of_a_rank_that_dies_at_any_time) {
  for (const Way way : kWays) {
    std::uint32_t told = 0, ended = 0, all = 0;
    for (std::uint64_t time = 50'000; ended < 4 && !testing::Test::HasFailure(); time += 50'000, all += 2)
      run_with_a_death(time, way, told, ended);
    EXPECT_GT(told, all / 4);
  }
}

TEST(HostedSplitC, tells_of_a_link_that_was_cut) {
  std::uint32_t told = 0;
  for (std::uint64_t time = 100'000; time < 4'000'000; time += 100'000) {
    SCOPED_TRACE(time);
    Hosted hosted;
    hosted.host.after(time,
                      [&] { hosted.host.cut(hosted.host.inhabitant(2), hosted.host.inhabitant(3), 0); });
    HostedProgram program(hosted, 3, options_of(kWays[time / 100'000 % 3], 65536), [] {
      splitc_chores::get_and_put();
      splitc_chores::store_and_wait();
      splitc_chores::gather_and_reduce();
    });
    hosted.run();
    for (const std::string& each : program.errors) {
      const bool of_link = each.find("the link with rank") != std::string::npos;
      EXPECT_TRUE(each.empty() || of_link || each.find("has ended with status") != std::string::npos) << each;
      told += of_link;
    }
  }
  EXPECT_GT(told, 5u);
}

// Rank 0 waits while rank 1 computes for longer than wakes are counted. Stores into mapped heaps wake nobody,
// and are looked for by the clock: they are not here. The desk looks at its ranks all the time.
TEST(HostedSplitC, sleeps_while_others_compute) {
  constexpr std::uint64_t kFrom = 500 * kMillisecond, kTo = 1'500 * kMillisecond;
  const std::function<void()> waits[] = {
      [] { splitc::barrier(); },
      [] { static_cast<void>(splitc::reduce_all(1)); },
  };
  for (const Way way : kWays) {
    for (const auto& wait : waits) {
      Hosted hosted;
      IdleWatch watch(hosted, 2, kFrom, kTo);
      HostedProgram program(hosted, 2, options_of(way, kHeap), [&] {
        if (splitc::rank() == 1) {
          internal_::splitc::Here* const own = internal_::splitc::here;  // the others have theirs meanwhile
          hosted.host.pause(kTo);
          internal_::splitc::here = own;
        }
        wait();
        if (splitc::rank() == 0) watch.returned();
      });
      hosted.run();
      for (const std::string& each : program.errors) EXPECT_EQ(each, "");
      watch.expect_idle();
    }
  }
}

template <class Run>
void run_example(Run run, std::vector<std::string> words) {
  for (const Way way : kWays) {
    Hosted hosted;
    HostedProgram program(hosted, 16, options_of(way, kHeap), [&] {
      std::vector<char*> all;
      for (std::string& each : words) all.push_back(each.data());
      run(static_cast<int>(all.size()), all.data());
    });
    hosted.run();
    for (const std::string& each : program.errors) EXPECT_EQ(each, "");
    EXPECT_EQ(program.ended, 16u);
  }
}

TEST(HostedSplitC, runs_em3d_on_16_ranks) { run_example(em3d::run, {"em3d", "8"}); }
TEST(HostedSplitC, runs_sample_sort_on_16_ranks) { run_example(sample_sort::run, {"sample_sort", "200"}); }
TEST(HostedSplitC, runs_radix_sort_on_16_ranks) { run_example(radix_sort::run, {"radix_sort", "30"}); }

}  // namespace
}  // namespace hamlyn::test
