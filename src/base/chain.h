#pragma once
// A list whose links stand in its members, so that neither joining nor leaving it allocates or searches.
#include <cstddef>

#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

template <class T>
struct ChainLinks {
  T* next = nullptr;
  T* previous = nullptr;
};

template <class T, ChainLinks<T> T::*kLinks>
class Chain {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  T* first() const noexcept { return first_; }
  T* last() const noexcept { return last_; }
  static T* next(const T& one) noexcept { return (one.*kLinks).next; }

  void append(T& one) noexcept {
    HAMLYN_ASSERT((one.*kLinks).next == nullptr && (one.*kLinks).previous == nullptr && first_ != &one,
                  "who joins is in no list by these links");
    one.*kLinks = {nullptr, last_};
    (last_ == nullptr ? first_ : (last_->*kLinks).next) = &one;
    last_ = &one;
  }
  // Joins before one that is in the list; behind all, if that is null.
  void insert(T* behind_it, T& one) noexcept {
    if (behind_it == nullptr) return append(one);
    T* const previous = (behind_it->*kLinks).previous;
    HAMLYN_ASSERT((one.*kLinks).next == nullptr && (one.*kLinks).previous == nullptr && first_ != &one,
                  "who joins is in no list by these links");
    one.*kLinks = {behind_it, previous};
    (previous == nullptr ? first_ : (previous->*kLinks).next) = &one;
    (behind_it->*kLinks).previous = &one;
  }
  void remove(T& one) noexcept {
    const ChainLinks<T> links = one.*kLinks;
    HAMLYN_ASSERT(links.previous != nullptr || first_ == &one,
                  "who has nobody before it is the first of this list");
    HAMLYN_ASSERT(links.next != nullptr || last_ == &one,
                  "who has nobody behind it is the last of this list");
    (links.previous == nullptr ? first_ : (links.previous->*kLinks).next) = links.next;
    (links.next == nullptr ? last_ : (links.next->*kLinks).previous) = links.previous;
    one.*kLinks = {};
  }
  // The first becomes the last.
  void rotate() noexcept {
    if (first_ == last_) return;
    T& one = *first_;
    remove(one);
    append(one);
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace hamlyn::internal_::base
