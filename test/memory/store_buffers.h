#pragma once
// x86-64 (total store order): what a task stores stays in a buffer of its own, seen by itself alone, until it
// leaves, in the order in which it was stored. Loads are done one by one.
#include <deque>
#include <span>

#include "test/memory/machine.h"

namespace hamlyn::test {

class StoreBuffers final : public Machine {
 public:
  StoreBuffers(std::span<const std::byte> memory, std::size_t tasks)
      : memory_(memory.begin(), memory.end()), buffers_(tasks) {}
  std::unique_ptr<Machine> copy() const override { return std::make_unique<StoreBuffers>(*this); }

  std::vector<std::uint64_t> values(std::size_t task, Word word) const override;
  void loaded(std::size_t, Word, Order, std::size_t) override {}
  void store(std::size_t task, Word word, std::uint64_t value, Order) override {
    buffers_[task].push_back({word, value});
  }
  bool take(std::size_t task, Word word) override;

  bool may_pass(std::size_t task) const override { return buffers_[task].empty(); }
  void fence(std::size_t) override {}
  void load_fence(std::size_t) override {}   // loads are done one by one
  void light_fence(std::size_t) override {}  // for the compiler alone, which does nothing here
  void heavy_fence(std::size_t) override {}

  std::size_t moves() const override { return buffers_.size(); }
  void move(std::size_t which) override;

  std::string wrong() const override { return {}; }
  void add_to(std::string& key) const override;

 private:
  struct Store {
    Word word;
    std::uint64_t value;
  };

  std::vector<std::byte> memory_;
  std::vector<std::deque<Store>> buffers_;
};

}  // namespace hamlyn::test
