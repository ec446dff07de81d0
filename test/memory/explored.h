#pragma once
// The memory policy of tasks that are explored. It knows each place of the source that asks for an order, and
// can leave that order out, to show that the explorer misses it.
#include <cstring>
#include <source_location>
#include <vector>

#include "test/memory/explorer.h"

namespace hamlyn::test {

// A place of the production source that asks for an order.
class OrderedPlace {
 public:
  // Whether `what` ("acquire", "release" ...) is done there: it is, unless it was left out.
  static bool kept(const char* what, const std::source_location& place);

  // All that have been passed since the last reset, by name: "Bell::must_ring fence".
  static std::vector<std::string> passed();
  // Leaves out one of them, or with "" none, and forgets which were passed.
  static void reset(const std::string& left_out = "");
};

struct Explored {
  using Here = std::source_location;

  template <class T>
  static T load_acquire(const T& word, const Here& here = Here::current()) noexcept {
    return load(word, OrderedPlace::kept("acquire", here) ? Order::ordered : Order::relaxed);
  }
  template <class T>
  static T load_relaxed(const T& word) noexcept {
    return load(word, Order::relaxed);
  }
  template <class T>
  static void store_release(T& word, T value, const Here& here = Here::current()) noexcept {
    store(word, value, OrderedPlace::kept("release", here) ? Order::ordered : Order::relaxed);
  }
  template <class T>
  static void store_relaxed(T& word, T value) noexcept {
    store(word, value, Order::relaxed);
  }
  static void fence(const Here& here = Here::current()) noexcept {
    if (OrderedPlace::kept("fence", here)) Explorer::fence();
  }
  static void load_fence(const Here& here = Here::current()) noexcept {
    if (OrderedPlace::kept("load fence", here)) Explorer::load_fence();
  }
  static void copy_from_peer(void* to, const void* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::size_t part = bytes - i < 8 ? bytes - i : 8;
      const std::uint64_t word = Explorer::load(static_cast<const std::byte*>(from) + i, part, Order::plain);
      std::memcpy(static_cast<std::byte*>(to) + i, &word, part);
    }
  }
  static void copy_to_peer(void* to, const void* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::size_t part = bytes - i < 8 ? bytes - i : 8;
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(from) + i, part);
      Explorer::store(static_cast<std::byte*>(to) + i, word, part, Order::plain);
    }
  }

 protected:
  template <class T>
  static T load(const T& word, Order order) noexcept {
    const std::uint64_t bits = Explorer::load(&word, sizeof word, order);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  template <class T>
  static void store(T& word, T value, Order order) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    Explorer::store(&word, bits, sizeof word, order);
  }
};

}  // namespace hamlyn::test
