#pragma once
// A rank of a random program: it writes where nobody else does, in every way that there is, and keeps a model
// of it.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "test/splitc/chores.h"

namespace hamlyn::test {

class RandomRank {
 public:
  static constexpr std::size_t kWords = 2048;  // of each rank at each other

  // Collective.
  RandomRank(std::uint64_t seed, int steps)
      : random_(seed * 1000 + splitc::rank()),
        steps_(steps),
        there_(kWords * splitc::ranks()),
        model_(splitc::ranks(), std::vector<std::uint64_t>(kWords)) {}

  void run() {
    using namespace splitc;
    for (int round = 0; round != 3; ++round) {
      next_.assign(ranks(), 0);
      for (int step = 0; step != steps_; ++step) take_step();
      hamlyn::splitc::sync();
      all_store_sync();
      for (Rank to = 0; to != ranks(); ++to) check(to);
      barrier();
    }
  }

 private:
  using Word = splitc::global_ptr<std::uint64_t>;

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  // Own part of that rank's array.
  Word at(splitc::Rank to, std::size_t i) const { return there_.at(to, splitc::rank() * kWords + i); }

  // Two transfers to one place have no order unless one was waited for: so each of a round has another.
  // False: there is none left.
  bool take_room(splitc::Rank to, std::size_t words, std::size_t& i) {
    if (next_[to] + words > kWords) return false;
    i = std::exchange(next_[to], next_[to] + words);
    return true;
  }

  void take_step() {
    using namespace splitc;
    const auto to = static_cast<Rank>(below(ranks()));
    switch (below(7)) {
      case 0:
        return write_many(to, 1 + below(below(2) == 0 ? 20 : 900));
      case 1:
        return scatter(to);
      case 2:
        return static_cast<void>(call<splitc_chores::square>(to, 3u));
      case 3: {
        std::uint64_t got = 0;
        Batch batch;
        get(got, at(to, below(kWords)), &batch);
        while (below(3) != 0 && !batch.done()) {
        }
        return;
      }
      case 4:
        return poll();
      default:
        if (std::size_t i = 0; take_room(to, 1, i)) change_word(to, i, random_());
    }
  }
  void change_word(splitc::Rank to, std::size_t i, std::uint64_t value) {
    using namespace splitc;
    const std::uint64_t before = std::exchange(model_[to][i], value);
    switch (below(4)) {
      case 0:
        *at(to, i) = value;
        return splitc_chores::require(*at(to, i) == value, "what was written is not read");
      case 1:
        return put(at(to, i), value);
      case 2:
        return store(at(to, i), value);
      default:
        splitc_chores::require(exchange(at(to, i), value) == before, "another word stood there");
    }
  }
  void write_many(splitc::Rank to, std::size_t words) {
    std::size_t i = 0;
    if (!take_room(to, words, i)) return;
    std::vector<std::uint64_t> values(words);
    for (std::uint64_t& each : values) each = random_();
    std::ranges::copy(values, model_[to].begin() + static_cast<std::ptrdiff_t>(i));
    if (below(2) == 0) return splitc::bulk_store(at(to, i), values);
    if (below(2) == 0) return splitc::bulk_write(at(to, i), values);
    splitc::Batch batch;
    splitc::bulk_put(at(to, i), values, &batch);
    batch.sync();
  }
  void scatter(splitc::Rank to) {
    const Strides shape{.chunk = 8 * (1 + static_cast<std::uint32_t>(below(4))),
                        .x_chunks = 1 + static_cast<std::uint32_t>(below(6)),
                        .y_chunks = 1 + static_cast<std::uint32_t>(below(4)),
                        .x_stride = 40,
                        .y_stride = 40 * 6};
    std::size_t i = 0;
    if (!take_room(to, 5 * 6 * 4, i)) return;
    std::vector<std::uint64_t> values(std::size_t{shape.chunk} / 8 * shape.x_chunks * shape.y_chunks);
    for (std::uint64_t& each : values) each = random_();
    std::size_t from = 0;
    for (std::uint32_t y = 0; y != shape.y_chunks; ++y)
      for (std::uint32_t x = 0; x != shape.x_chunks; ++x)
        for (std::uint32_t word = 0; word != shape.chunk / 8; ++word)
          model_[to][i + 30 * y + 5 * x + word] = values[from++];
    if (below(2) == 0) return splitc::bulk_store(at(to, i), values, &shape);
    splitc::bulk_write(at(to, i), values, &shape);
    std::vector<std::uint64_t> back(values.size());
    splitc::bulk_read(back, at(to, i), &shape);
    splitc_chores::require(back == values, "scattered words were gathered otherwise");
  }
  void check(splitc::Rank to) {
    std::vector<std::uint64_t> all(kWords);
    splitc::bulk_read(all, at(to, 0));
    splitc_chores::require(all == model_[to], "another word than the last stands there");
  }

  std::mt19937_64 random_;
  const int steps_;
  splitc::everywhere<std::uint64_t> there_;
  std::vector<std::vector<std::uint64_t>> model_;
  std::vector<std::size_t> next_;  // that is free, by rank
};

}  // namespace hamlyn::test
