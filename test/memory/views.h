#pragma once
// A machine that does all that C++ allows for acquire, release, relaxed and fences, and with it ARM and
// POWER, but for two things, see below. Nothing that was stored is ever gone: a load may find any store to
// its word that the task has not seen a newer one than. What a task has seen is its view: of each word the
// number of a store. A store that releases carries its task's view, and a load that acquires takes it over. A
// full fence joins the view of the fences before it, and leaves its own to those behind it. (Kang et al., A
// promising semantics for relaxed-memory concurrency, POPL 2017, without the promises.)
//
// The two: a load does not find what is stored later (load buffering), and a store is newer than all that are
// there. So words that more than one task stores to, and words that are read before they are overwritten, are
// accessed plainly: plain accesses are raced for if the views do not order them, and that is found at once,
// for a view says also which loads of others are over.
#include <map>
#include <span>

#include "test/memory/machine.h"

namespace hamlyn::test {

class View {
 public:
  std::uint32_t of(std::size_t place) const {
    const auto found = seen_.find(place);
    return found == seen_.end() ? 0 : found->second;
  }
  void raise(std::size_t place, std::uint32_t number) {
    if (number > of(place)) seen_[place] = number;
  }
  void join(const View& other) {
    for (const auto& [place, number] : other.seen_) raise(place, number);
  }
  void add_to(std::string& key) const;

 private:
  std::map<std::size_t, std::uint32_t> seen_;
};

class Views final : public Machine {
 public:
  Views(std::span<const std::byte> memory, std::size_t tasks) : memory_(memory), tasks_(tasks) {}
  std::unique_ptr<Machine> copy() const override { return std::make_unique<Views>(*this); }

  std::vector<std::uint64_t> values(std::size_t task, Word word) const override;
  void loaded(std::size_t task, Word word, Order order, std::size_t which) override;
  void store(std::size_t task, Word word, std::uint64_t value, Order order) override;
  bool take(std::size_t task, Word word) override;

  bool may_pass(std::size_t) const override { return true; }
  void fence(std::size_t task) override;
  void load_fence(std::size_t task) override { tasks_[task].now.join(tasks_[task].read); }
  void light_fence(std::size_t task) override;
  void heavy_fence(std::size_t task) override;

  std::size_t moves() const override { return 0; }
  void move(std::size_t) override {}

  std::string wrong() const override { return wrong_; }
  void add_to(std::string& key) const override;

 private:
  struct Stored {
    std::uint64_t value = 0;
    View view;  // of whoever acquires it
  };
  struct History {
    std::size_t bytes = 0;
    std::vector<Stored> stores;                        // oldest first
    std::map<std::size_t, std::uint32_t> plain_loads;  // by task, by its own count of them
  };
  struct TaskViews {
    View now;
    View released;  // what its relaxed stores carry: as it was at its last fence
    View read;      // what it will take over at its next fence
  };

  History history(Word word) const;
  History& change(Word word);
  void append(std::size_t task, Word word, std::uint64_t value, View view);

  std::span<const std::byte> memory_;  // as it was at first
  std::vector<TaskViews> tasks_;
  std::map<std::size_t, std::shared_ptr<const History>> words_;  // shared with other states until it changes
  View fences_, light_, heavy_;
  std::string wrong_;
};

}  // namespace hamlyn::test
