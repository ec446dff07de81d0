#pragma once
// Machines on which tasks share memory: what a load may find there, and what a store and a fence do. A
// machine is a plain value, so that an explorer may try one way on, and then another one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hamlyn::test {

enum class Order : std::uint8_t {
  plain,  // no atomic: nobody else may be at it
  relaxed,
  ordered,  // a load acquires, a store releases
};

// A word of the shared memory.
struct Word {
  std::size_t at = 0;
  std::size_t bytes = 0;
};

class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::unique_ptr<Machine> copy() const = 0;

  // What a load may find; then, that it has found one of them.
  virtual std::vector<std::uint64_t> values(std::size_t task, Word word) const = 0;
  virtual void loaded(std::size_t task, Word word, Order order, std::size_t which) = 0;
  virtual void store(std::size_t task, Word word, std::uint64_t value, Order order) = 0;
  // Exchanges 1 for 0, as whoever takes a mutex does; false if there is no 0, or not yet.
  virtual bool take(std::size_t task, Word word) = 0;

  // Whether a fence of that task is over; then it is done.
  virtual bool may_pass(std::size_t task) const = 0;
  virtual void fence(std::size_t task) = 0;
  // Earlier loads of that task are done before later ones.
  virtual void load_fence(std::size_t task) = 0;
  // A pair of which one costs nothing: it orders only against the other (membarrier). A heavy one comes after
  // it may_pass for every task.
  virtual void light_fence(std::size_t task) = 0;
  virtual void heavy_fence(std::size_t task) = 0;

  // What the machine may do by itself.
  virtual std::size_t moves() const = 0;
  virtual void move(std::size_t which) = 0;

  // What the tasks did that no machine promises anything about.
  virtual std::string wrong() const = 0;
  virtual void add_to(std::string& key) const = 0;
};

inline void add_number(std::string& key, std::uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace hamlyn::test
