#pragma once
// Refusals of a Split-C program, with the reason, and that it goes on afterwards.
#include <functional>
#include <optional>
#include <string>

#include "test/splitc/chores.h"

namespace hamlyn::test::splitc_refusals {

using namespace hamlyn::splitc;
using splitc_chores::require;

inline void refused(const std::function<void()>& what, ErrorCode code, const std::string& text) {
  try {
    what();
  } catch (const Error& error) {
    const bool found = error.code() == code && std::string(error.what()).find(text) != std::string::npos;
    return require(found, (std::string("refused otherwise: ") + error.what()).c_str());
  }
  require(false, ("not refused: " + text).c_str());
}

// Each way to use a pointer.
inline void each_use(global_ptr<std::uint64_t> bad, ErrorCode code, const std::string& text) {
  std::uint64_t word = 0;
  std::array<std::uint64_t, 2> words{};
  refused([&] { word = *bad; }, code, text);
  refused([&] { *bad = word; }, code, text);
  refused([&] { store(bad, word); }, code, text);
  refused([&] { get(word, bad); }, code, text);
  refused([&] { put(bad, word); }, code, text);
  refused([&] { fetch_add(bad, 1); }, code, text);
  refused([&] { add(bad, 1); }, code, text);
  refused([&] { bulk_read(words, bad); }, code, text);
  refused([&] { bulk_write(bad, words); }, code, text);
  refused([&] { bulk_store(bad, words); }, code, text);
  refused([&] { bulk_put(bad, words); }, code, text);
  refused([&] { bulk_get(words, bad); }, code, text);
}

inline void bad_pointers() {
  constexpr auto kInvalid = ErrorCode::invalid_argument;
  everywhere<std::uint64_t> words(4);
  const Rank next = (rank() + 1) % ranks();
  each_use({}, kInvalid, "a null global pointer");
  const std::uint64_t other_job = std::uint64_t{1} << internal_::splitc::kMarkShift;
  each_use(global_ptr<std::uint64_t>::from_word(words.at(next).word() ^ (other_job * 2)), kInvalid,
           "of another job");
  each_use(words.at(0).at(ranks()), kInvalid, "of another job");  // a rank that there is not
  const std::string outside = "out of the heap of rank " + std::to_string(next);
  each_use(words.at(next) + (std::ptrdiff_t{1} << 20), kInvalid, outside);
  each_use(words.at(next) - (std::ptrdiff_t{1} << 20), kInvalid, outside);
  each_use(global_ptr<std::uint64_t>::from_word(words.at(next).word() & ~internal_::splitc::kPlaces),
           kInvalid, outside);
  // The last word of the heap is good, and what begins there and is longer is not.
  const internal_::splitc::Here& view = *internal_::splitc::here;
  const auto end = global_ptr<std::uint64_t>::from_word(
      (words.at(next).word() & ~internal_::splitc::kPlaces) |
      ((view.first + view.bytes - sizeof(std::uint64_t)) & internal_::splitc::kPlaces));
  require(*end == *end, "the last word cannot be read");
  std::array<std::uint64_t, 2> two{};
  refused([&] { bulk_read(two, end); }, kInvalid, outside);
  constexpr Strides kWide{.chunk = 8, .x_chunks = 2, .x_stride = ~std::uint64_t{0}};
  refused([&] { bulk_read(two, words.at(next), &kWide); }, kInvalid, outside);
  constexpr Strides kOther{.chunk = 8, .x_chunks = 3, .x_stride = 8};
  refused([&] { bulk_write(words.at(next), two, &kOther); }, kInvalid, outside);
  const auto odd = global_ptr<std::uint64_t>::from_word(words.at(next).word() + 4);
  refused([&] { fetch_add(odd, 1); }, kInvalid, "not aligned");
  std::uint64_t elsewhere = 0;
  refused([&] { wait_for(elsewhere, 1); }, kInvalid, "not in this rank's heap");
  refused([&] { global_ptr<std::uint64_t>::of(&elsewhere); }, kInvalid, "not in this rank's heap");
  refused([&] { words.at(next, 4); }, kInvalid, "element 4 of 4");
  if (ranks() > 1)
    refused([&] { store(words.at(next), elsewhere, words.at((next + 1) % ranks())); }, kInvalid,
            "in the heap where");
  barrier();
}

inline void full_heaps() {
  refused([] { allocate<std::uint64_t>(1 << 20); }, ErrorCode::out_of_memory, "--heap");
  refused([] { allocate<std::uint64_t>(~std::size_t{0}); }, ErrorCode::out_of_memory,
          "in one piece are free");
  refused([] { everywhere<std::uint64_t> much(1 << 20); }, ErrorCode::out_of_memory, "--heap");
  // One rank's own blocks are in the way of all.
  const bool full = rank() == ranks() - 1;
  const auto own = full ? allocate<std::byte>(900'000) : global_ptr<std::byte>{};
  refused([] { everywhere<std::byte> much(300'000); }, ErrorCode::out_of_memory, "has taken 900032");
  deallocate(own);
  const everywhere<std::byte> much(300'000);
  refused([&] { deallocate(much.at(rank())); }, ErrorCode::invalid_argument, "not allocated");
  refused([] { spread_array<int> none(5, 0); }, ErrorCode::invalid_argument, "blocks of 0 elements");
  refused([] { spread_array<int> huge(5, std::size_t{1} << 63); }, ErrorCode::invalid_argument,
          "no more than heaps hold");
}

inline void do_nothing() {}
inline void wait_in_a_call(std::uint32_t what, global_ptr<std::uint64_t> word) {
  std::uint64_t count = 0;
  if (what == 0) barrier();
  if (what == 1) sync();
  if (what == 2) store_sync(1);
  if (what == 3) all_store_sync();
  if (what == 4) call<do_nothing>(0);
  if (what == 5) count = *word.at((rank() + 1) % ranks());
  if (what == 6) reduce_all(count);
  if (what == 7) everywhere<int> more;
  if (what == 8) poll();
  if (what == 10) get(count, word.at((rank() + 1) % ranks()));
  if (what == 9) wait_for(*word.at(rank()).local(), 1);
  store(word, std::uint64_t{1});  // may leave at any time: that is no wait
}

inline void waits_in_calls() {
  const everywhere<std::uint64_t> words;
  const Rank next = (rank() + 1) % ranks();
  for (std::uint32_t what = 0; what != 11; ++what)
    if ((what != 5 && what != 10) || ranks() > 1)
      refused([&] { call<wait_in_a_call>(next, what, words.at(rank())); }, ErrorCode::not_permitted,
              "inside a function that another rank has called");
  call<wait_in_a_call>(next, std::uint32_t{11}, words.at(rank()));
  barrier();  // it may run while that rank waits for all
  all_store_sync();
  require(words.mine()[0] == 1, "a function's store is missing");
  barrier();
}

inline void halves_of_barriers() {
  constexpr auto kInvalid = ErrorCode::invalid_argument;
  Barrier halves;
  refused([&] { halves.wait(); }, kInvalid, "nobody has arrived");
  halves.arrive();
  refused([] { barrier(); }, kInvalid, "a barrier between the two halves");
  refused([] { reduce_all(1); }, kInvalid, "a reduction of 4 bytes to rank 0 between the two halves");
  halves.wait();
  refused([] { broadcast(1, ranks()); }, kInvalid, "ranks");
  std::vector<int> few(ranks() - 1);
  refused([&] { gather_all(1, std::span(few)); }, kInvalid, "place");
  refused([] { call<do_nothing>(ranks()); }, kInvalid, "a call of rank");
}

// Memory that cannot be given back when its owner goes stays taken. The next call that waits says why.
inline void givings_back() {
  std::optional<everywhere<std::uint64_t>> words(std::in_place);
  const std::uint64_t word = words->at(rank()).word();
  Barrier halves;
  halves.arrive();
  words.reset();
  refused([&] { halves.wait(); }, ErrorCode::invalid_argument, "between the two halves");
  barrier();
  refused([&] { internal_::splitc::deallocate_everywhere(word + 64); }, ErrorCode::invalid_argument,
          "not allocated everywhere");
  internal_::splitc::deallocate_everywhere(word);
  if (ranks() > 1)
    refused(
        [&] {
          internal_::splitc::deallocate_everywhere(
              global_ptr<std::uint64_t>::from_word(word).at((rank() + 1) % ranks()).word());
        },
        ErrorCode::invalid_argument, "another rank's pointer");
}

inline void do_all() {
  bad_pointers();
  full_heaps();
  givings_back();
  waits_in_calls();
  halves_of_barriers();
}

// Every rank hears of it, and what each does.
inline void disagree() {
  if (rank() == ranks() - 1)
    broadcast(std::uint64_t{1}, 0);
  else
    barrier();
}

}  // namespace hamlyn::test::splitc_refusals
