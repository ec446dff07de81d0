#pragma once
// Chores of a rank of a Split-C program, on the simulator and in real processes alike: each part of
// the language, with every rank doing something to every other one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "hamlyn/splitc.h"

namespace hamlyn::test::splitc_chores {

using namespace hamlyn::splitc;

inline void require(bool kept, const char* otherwise) {
  if (!kept) throw std::runtime_error("rank " + std::to_string(rank()) + ": " + otherwise);
}

struct Node {
  std::uint32_t number = 0;
  std::uint32_t unused = 0;
  double value = 0;
  std::array<std::uint64_t, 4> parts{};
  global_ptr<Node> next;
};
struct Long {
  std::array<std::uint64_t, 13> words{};
};

inline std::uint64_t mark(Rank from, Rank to, std::uint64_t i = 0) {
  return from * 1'000'000 + to * 1000 + i;
}

// Pointers into the other heaps, their arithmetic, and lists that lead through all of them.
inline void follow_pointers() {
  everywhere<Node> nodes(2);
  const Rank next = (rank() + 1) % ranks();
  Node& own = nodes.mine()[1];
  own = {.number = rank(), .value = rank() + 0.5, .next = nodes.at(next, 1)};
  own.parts[3] = 33 + rank();
  barrier();
  global_ptr<Node> at = nodes.at(rank(), 1);
  for (Rank steps = 0; steps != ranks(); ++steps) {
    const Node node = *at;
    require(node.number == at.owner() && node.value == at.owner() + 0.5, "a list leads somewhere else");
    require(*at.member(&Node::value) == node.value, "a member is another");
    require(at.member(&Node::parts)[0].operator&().owner() == at.owner(), "a member is elsewhere");
    require(at.member(&Node::parts)[3] == 33 + at.owner(), "an array's element is another");
    at = node.next;
  }
  require(at == nodes.at(rank(), 1), "the list does not come back");
  require(nodes.at(next, 1) - nodes.at(next, 0) == 1 && nodes.at(next, 0) + 1 == nodes.at(next, 1) &&
              nodes.at(next, 1) - 1 == nodes.at(next, 0),
          "arithmetic is wrong");
  require(nodes.at(rank()).local() == nodes.mine().data() &&
              global_ptr<Node>::of(&nodes.mine()[1]) == nodes.at(rank(), 1),
          "an own object has another pointer");
  require(!global_ptr<Node>{} && global_ptr<Node>{} == nullptr, "null is something");
  barrier();
}

// Reads and writes that wait, of words and of longer values.
inline void read_and_write() {
  everywhere<std::uint64_t> words(ranks());
  everywhere<Long> longs(ranks());
  everywhere<std::uint8_t> bytes(ranks());
  for (Rank to = 0; to != ranks(); ++to) {
    words.at(to)[rank()] = mark(rank(), to);
    *longs.at(to, rank()) = Long{.words = {mark(rank(), to), 2, 3}};
    *bytes.at(to, rank()) = static_cast<std::uint8_t>(rank() * 7 + to);
    require(*words.at(to, rank()) == mark(rank(), to), "what was written is not read");
  }
  barrier();
  for (Rank from = 0; from != ranks(); ++from) {
    require(words.mine()[from] == mark(from, rank()), "a write is missing");
    require(longs.mine()[from].words[0] == mark(from, rank()) && longs.mine()[from].words[2] == 3,
            "a long write is missing");
    require(bytes.mine()[from] == static_cast<std::uint8_t>(from * 7 + rank()), "a byte is missing");
  }
  barrier();
}

// Gets and puts, more than may be under way at once, for the whole rank and in batches.
inline void get_and_put() {
  constexpr std::size_t kEach = 100;
  everywhere<std::uint64_t> there(ranks() * kEach), from(kEach);
  for (std::size_t i = 0; i != kEach; ++i) from.mine()[i] = mark(rank(), 0, i);
  barrier();
  std::vector<std::uint64_t> got(ranks() * kEach);
  for (std::size_t i = 0; i != kEach; ++i)
    for (Rank to = 0; to != ranks(); ++to) {
      put(there.at(to, rank() * kEach + i), mark(rank(), to, i));
      get(got[to * kEach + i], from.at(to, i));
    }
  sync();
  require(all_done(), "something is under way after sync");
  for (Rank to = 0; to != ranks(); ++to)
    for (std::size_t i = 0; i != kEach; ++i)
      require(got[to * kEach + i] == mark(to, 0, i), "a get brought something else");
  barrier();
  for (Rank source = 0; source != ranks(); ++source)
    for (std::size_t i = 0; i != kEach; ++i)
      require(there.mine()[source * kEach + i] == mark(source, rank(), i), "a put is missing");
  barrier();
  const Rank next = (rank() + 1) % ranks();
  std::vector<std::uint64_t> again(kEach);
  Batch gets, puts;
  bulk_get(again, from.at(next), &gets);
  bulk_put(there.at(next, rank() * kEach), std::span(got).first(kEach));
  sync();  // two that are under way to one place have no order
  put(there.at(next, rank() * kEach), std::uint64_t{5}, &puts);
  while (!puts.done()) {
  }
  require(*there.at(next, rank() * kEach) == 5, "a put of a batch has not landed");
  gets.sync();
  require(again[7] == mark(next, 0, 7), "a batch brought something else");
  sync();
  barrier();
}

// Stores, which their target waits for by bytes, by all, or by a counter.
inline void store_and_wait() {
  constexpr std::size_t kEach = 37;
  everywhere<std::uint64_t> there(ranks() * kEach), count(1);
  const Rank next = (rank() + 1) % ranks(), last = (rank() + ranks() - 1) % ranks();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i != kEach; ++i) store(there.at(next, i), mark(rank(), next, round * 100 + i));
    store_sync(kEach * sizeof(std::uint64_t));
    for (std::size_t i = 0; i != kEach; ++i)
      require(there.mine()[i] == mark(last, rank(), round * 100 + i), "a store is missing");
    barrier();
  }
  for (std::size_t i = 0; i != kEach; ++i)
    for (Rank to = 0; to != ranks(); ++to) store(there.at(to, rank() * kEach + i), mark(rank(), to, i));
  all_store_sync();
  for (Rank from = 0; from != ranks(); ++from)
    for (std::size_t i = 0; i != kEach; ++i)
      require(there.mine()[from * kEach + i] == mark(from, rank(), i), "a store is missing after all");
  barrier();
  // Stores that were waited for by all does not count for the next wait.
  store(there.at(next), mark(rank(), next, 9));
  store_sync(sizeof(std::uint64_t));
  require(there.mine()[0] == mark(last, rank(), 9), "a store counted twice");
  barrier();
  std::vector<std::uint64_t> many(kEach);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    std::ranges::fill(many, mark(rank(), next, round));
    bulk_store(there.at(next), many, count.at(next));
    wait_for(count.mine()[0], round);
    require(there.mine()[kEach - 1] == mark(last, rank(), round), "a counter came before its data");
    barrier();
  }
}

// Whole arrays, also longer than one packet, and scattered ones.
inline void move_arrays() {
  constexpr std::size_t kWords = 20'000;
  everywhere<std::uint64_t> there(kWords);
  const Rank next = (rank() + 1) % ranks(), last = (rank() + ranks() - 1) % ranks();
  std::vector<std::uint64_t> numbers(kWords), back(kWords);
  std::iota(numbers.begin(), numbers.end(), mark(rank(), next));
  bulk_write(there.at(next), numbers);
  bulk_read(back, there.at(next));
  // Reads that begin inside of a word ask twice each, and forget no get.
  std::uint64_t first = 0;
  get(first, there.at(next));
  const auto odd = global_ptr<std::uint64_t>::from_word(there.at(next).word() + 4);
  for (int i = 0; i != 40; ++i) static_cast<void>(std::uint64_t{*odd});
  sync();
  require(first == back[0], "a get was forgotten");
  require(back == numbers, "an array is another");
  std::ranges::fill(back, 0);
  bulk_get(back, there.at(next));
  sync();
  require(back == numbers, "an array that was got is another");
  barrier();
  require(there.mine()[kWords - 1] == mark(last, rank()) + kWords - 1, "an array did not land");
  barrier();
  bulk_store(there.at(next), numbers);
  all_store_sync();
  require(there.mine()[11] == mark(last, rank()) + 11, "an array was not stored");
  barrier();
  constexpr Strides kPlane{.chunk = 16, .x_chunks = 5, .y_chunks = 3, .x_stride = 64, .y_stride = 1024};
  const std::array<std::uint64_t, 30> plane = [&] {
    std::array<std::uint64_t, 30> out{};
    std::iota(out.begin(), out.end(), mark(rank(), next) * 3);
    return out;
  }();
  bulk_put(there.at(next), plane, nullptr, &kPlane);
  sync();
  barrier();
  for (std::size_t i = 0; i != plane.size(); ++i) {
    const std::size_t chunk = i / 2, at = chunk / 5 * 128 + chunk % 5 * 8 + i % 2;
    require(there.mine()[at] == mark(last, rank()) * 3 + i, "an array was not scattered");
  }
  std::array<std::uint64_t, 30> gathered{};
  bulk_read(gathered, there.at(next), &kPlane);
  require(gathered == plane, "an array was not gathered");
  barrier();
}

// Words that all ranks count in, and a lock.
inline void work_on_words() {
  constexpr std::uint64_t kTimes = 20;
  everywhere<std::uint64_t> words(3);
  everywhere<std::int32_t> narrow(1);
  for (std::uint64_t i = 0; i != kTimes; ++i) {
    fetch_add(words.at(0), 1);
    add(narrow.at(0), -1);
  }
  for (int i = 0; i != 3; ++i) {
    std::uint64_t free = 0;
    while (!compare_exchange(words.at(0, 1), free, std::uint64_t{rank()} + 1)) {
      free = 0;
      poll();
    }
    *words.at(0, 2) = *words.at(0, 2) + 1;
    require(exchange(words.at(0, 1), 0) == rank() + 1, "the lock was somebody else's");
  }
  sync();
  barrier();
  require(*words.at(0) == kTimes * ranks(), "an addition was lost");
  require(*words.at(0, 2) == 3 * ranks(), "two had the lock at a time");
  require(*narrow.at(0) == -static_cast<std::int32_t>(kTimes * ranks()), "a narrow addition was lost");
  barrier();
}

inline std::uint64_t square(std::uint32_t number) { return std::uint64_t{number} * number; }
inline void count_in(global_ptr<std::uint64_t> word, std::uint64_t by) { *word.local() += by; }
inline Rank who_runs() { return rank(); }
inline void complain(std::uint32_t number) {
  throw std::runtime_error("rank " + std::to_string(rank()) + " does not like " + std::to_string(number));
}
inline void wait_there() { barrier(); }

// Calls of everybody by everybody, more than may wait at one rank.
inline void call_each_other() {
  everywhere<std::uint64_t> count(1);
  for (Rank who = 0; who != ranks(); ++who) {
    require(call<square>(who, 7 + who) == square(7 + who), "a call returned something else");
    require(call<who_runs>(who) == who, "a call ran somewhere else");
    for (int i = 0; i != 20; ++i) call_later<count_in>(who, count.at(who), std::uint64_t{2});
    call<count_in>(who, count.at(who), std::uint64_t{1});
  }
  barrier();
  require(count.mine()[0] == 41 * ranks(), "a call was lost");
  const Rank next = (rank() + 1) % ranks();
  const auto refused = [&](auto what, ErrorCode code, const char* text) {
    try {
      what();
    } catch (const Error& error) {
      require(error.code() == code && std::string(error.what()).find(text) != std::string::npos,
              error.what());
      return;
    }
    require(false, "a call that fails did not");
  };
  refused([&] { call<complain>(next, 5u); }, ErrorCode::not_permitted, "does not like 5");
  refused([&] { call<wait_there>(next); }, ErrorCode::not_permitted, "a barrier inside a function");
  barrier();
}

inline std::uint64_t look_at(global_ptr<std::uint64_t> word) { return *word.local(); }
inline std::uint64_t answer_behind(global_ptr<std::uint64_t> word, std::uint64_t value) {
  put(word, value);
  return value;
}

// Puts of a batch in a function, which may not wait for it.
inline void put_in_batch(global_ptr<std::uint64_t> word, std::uint64_t value) {
  Batch batch;
  for (int i = 0; i != 5; ++i) put(word, value, &batch);
}

// A call sees what its rank has stored there before, and its caller what the function has put.
inline void call_behind_stores() {
  everywhere<std::uint64_t> words(2);
  const Rank next = (rank() + 1) % ranks();
  for (std::uint64_t i = 1; i != 8; ++i) {
    store(words.at(next), i);
    require(call<look_at>(next, words.at(next)) == i, "a call has overtaken a store");
    require(call<answer_behind>(next, words.at(rank(), 1), i) == i && words.mine()[1] == i,
            "a reply has overtaken a put");
  }
  call<put_in_batch>(next, words.at(rank(), 1), std::uint64_t{99});
  require(words.mine()[1] == 99, "a put of a batch has not landed");
  barrier();
}

// Collectives, also of values that take several meetings.
inline void gather_and_reduce() {
  const std::uint64_t sum = std::uint64_t{ranks()} * (ranks() + 1) / 2;
  require(reduce_all(std::uint64_t{rank()} + 1) == sum, "a sum is wrong");
  require(reduce_all(rank() + 0.5, maximum{}) == ranks() - 0.5, "a maximum is wrong");
  require(scan(std::uint64_t{rank()} + 1) == (std::uint64_t{rank()} + 1) * (rank() + 2) / 2,
          "a scan is wrong");
  const Rank root = ranks() - 1;
  const auto one = reduce_one(std::int32_t{1}, root);
  require(one == (rank() == root ? static_cast<std::int32_t>(ranks()) : 1), "one rank's sum is wrong");
  const Long told = broadcast(Long{.words = {rank(), 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9}}, root);
  require(told.words[0] == root && told.words[12] == 9, "something else was broadcast");
  std::vector<Long> all(ranks());
  gather_all(Long{.words = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, rank() + 100}}, std::span(all));
  for (Rank each = 0; each != ranks(); ++each)
    require(all[each].words[12] == each + 100, "something else was gathered");
  Barrier halves;
  halves.arrive();
  const auto own = allocate<std::uint64_t>(10);
  while (!halves.try_wait()) {
  }
  halves.wait();
  deallocate(own);
}

// Spread arrays whose last blocks are not whole.
inline void spread() {
  for (const std::size_t block : {1u, 3u, 8u}) {
    spread_array<std::uint32_t> array(50, block);
    std::size_t own = 0;
    for (std::size_t i = 0; i != array.size(); ++i) {
      own += array.owner(i) == rank();
      if (i % ranks() == rank()) array[i] = static_cast<std::uint32_t>(i * 3);
    }
    barrier();
    require(array.mine().size() == own, "a rank has another part");
    for (std::size_t k = 0; k != own; ++k)
      require(array.mine()[k] == array.index_of_mine(k) * 3, "an element is elsewhere");
    barrier();
  }
}

inline void do_all() {
  follow_pointers();
  read_and_write();
  get_and_put();
  store_and_wait();
  move_arrays();
  work_on_words();
  call_each_other();
  call_behind_stores();
  gather_and_reduce();
  spread();
}

}  // namespace hamlyn::test::splitc_chores
