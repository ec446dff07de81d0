#pragma once
// Global pointers (Parallel Programming in Split-C, 1993; paper 2, section 4.2): a rank and a place in its
// heap, in 8 bytes. Reading and writing by `*p` wait, as a program's own loads and stores do.
//
// Threads: that of the Program. Owner: values. What is refused throws Error (docs/splitc.md).
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hamlyn/splitc/here.h"
#include "hamlyn/values/plain.h"

namespace hamlyn::internal_::splitc {

// Type of what a member that is an array has.
template <class Member>
struct Element {
  using Type = std::remove_all_extents_t<Member>;
};
template <class Member, std::size_t kCount>
struct Element<std::array<Member, kCount>> : Element<Member> {};

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Number of a rank.
using Rank = std::uint32_t;

// Stands for `*p`, see below.
template <class T>
class global_ref;

// A pointer to a T in some rank's heap. As 8 plain bytes it may itself be stored, put and swapped. Null is 0.
template <class T>
class global_ptr {
 public:
  // Null.
  constexpr global_ptr() noexcept = default;
  constexpr global_ptr(std::nullptr_t) noexcept {}
  // Points to the place in that rank's heap at which this rank's `of` has it. Throws Error: invalid_argument:
  // `mine` is no object in this rank's heap.
  static global_ptr of(T* mine) { return global_ptr(internal_::splitc::word_of(mine)); }
  // Points to where another rank has what stands at the same place.
  constexpr global_ptr at(Rank owner) const noexcept {
    return global_ptr(internal_::splitc::of_rank(word_, owner));
  }
  // Makes it of its 8 bytes, and gives them.
  static constexpr global_ptr from_word(std::uint64_t word) noexcept { return global_ptr(word); }
  // Gives its 8 bytes.
  constexpr std::uint64_t word() const noexcept { return word_; }

  // Rank in whose heap it leads.
  constexpr Rank owner() const noexcept { return internal_::splitc::rank_of(word_); }
  // Whether loads and stores reach it from here: it is this rank's own, or mapped. `local` is null otherwise.
  bool is_local() const noexcept { return local() != nullptr; }
  T* local() const noexcept { return reinterpret_cast<T*>(internal_::splitc::local(word_, sizeof(T))); }

  global_ref<T> operator*() const noexcept { return global_ref<T>(*this); }
  global_ref<T> operator[](std::ptrdiff_t i) const noexcept { return *(*this + i); }
  // Points to a member of what it points to; of an array, to its first element.
  template <class Member, class Class>
  requires std::same_as<Class, T>
  auto member(Member Class::*field) const noexcept {
    alignas(T) static constexpr unsigned char kRoom[sizeof(T)] = {};
    const auto* const whole = reinterpret_cast<const Class*>(kRoom);
    const auto* const part = reinterpret_cast<const unsigned char*>(&(whole->*field));
    return global_ptr<typename internal_::splitc::Element<Member>::Type>::from_word(
        internal_::splitc::moved(word_, static_cast<std::uint64_t>(part - kRoom)));
  }

  // Arithmetic by less than 128 GiB. What has left the owner's heap is refused where the pointer is used.
  constexpr global_ptr operator+(std::ptrdiff_t n) const noexcept {
    return global_ptr(
        internal_::splitc::moved(word_, static_cast<std::uint64_t>(n) * std::uint64_t{sizeof(T)}));
  }
  constexpr global_ptr operator-(std::ptrdiff_t n) const noexcept { return *this + -n; }
  constexpr global_ptr& operator+=(std::ptrdiff_t n) noexcept { return *this = *this + n; }
  constexpr global_ptr& operator-=(std::ptrdiff_t n) noexcept { return *this = *this - n; }
  constexpr global_ptr& operator++() noexcept { return *this += 1; }
  constexpr global_ptr& operator--() noexcept { return *this -= 1; }
  // Elements between two pointers into one heap.
  constexpr std::ptrdiff_t operator-(global_ptr other) const noexcept {
    const auto bytes = static_cast<std::int64_t>(internal_::splitc::place_of(word_)) -
                       static_cast<std::int64_t>(internal_::splitc::place_of(other.word_));
    return bytes / static_cast<std::int64_t>(sizeof(T));
  }
  constexpr explicit operator bool() const noexcept { return word_ != 0; }
  // Points to the same place, as to another type.
  template <class Other>
  constexpr global_ptr<Other> cast() const noexcept {
    return global_ptr<Other>::from_word(word_);
  }
  friend constexpr auto operator<=>(global_ptr, global_ptr) noexcept = default;

 private:
  explicit constexpr global_ptr(std::uint64_t word) noexcept : word_(word) {}

  std::uint64_t word_ = 0;
};

// Stands for `*p`: reads when it is converted to T, writes when T is assigned. Each waits until it is done.
template <class T>
class global_ref {
 public:
  // Stands for what `to` points to.
  explicit global_ref(global_ptr<T> to) noexcept : to_(to) {}

  operator T() const requires Plain<T> {
    T out;
    if (const std::byte* const from = internal_::splitc::reach_to_read(to_.word(), sizeof(T));
        from != nullptr)
      internal_::splitc::load<sizeof(T)>(&out, from);
    else
      internal_::splitc::read(to_.word(), &out, sizeof(T));
    return out;
  }
  const global_ref& operator=(const T& value) const requires Plain<T> {
    if (std::byte* const to = internal_::splitc::reach(to_.word(), sizeof(T)); to != nullptr)
      internal_::splitc::stored<sizeof(T)>(to, &value);
    else
      internal_::splitc::write(to_.word(), &value, sizeof(T));
    return *this;
  }
  const global_ref& operator=(const global_ref& other) const requires Plain<T> {
    return *this = static_cast<T>(other);
  }
  global_ref(const global_ref&) noexcept = default;
  global_ptr<T> operator&() const noexcept { return to_; }

 private:
  global_ptr<T> to_;
};

}  // namespace hamlyn::splitc
