#pragma once
// Takes a class of public members apart, for the layout of what travels with a call. Nothing in here is for
// users: hamlyn/rpc/layout.h says what may travel.
#include <cstddef>
#include <type_traits>
#include <utility>

#include "hamlyn/values/plain.h"

namespace hamlyn {

namespace internal_ {

// Members that are taken apart at most.
inline constexpr std::size_t kMostParts = 32;

template <class Whole, class Before, class Behind>
inline constexpr bool kTakesPair = false;
template <class Whole, std::size_t... kBefore, std::size_t... kBehind>
inline constexpr bool kTakesPair<Whole, std::index_sequence<kBefore...>, std::index_sequence<kBehind...>> =
    requires {
  Whole{Member<Whole, kBefore>{}..., {Member<Whole, 0>{}, Member<Whole, 1>{}}, Member<Whole, kBehind>{}...};
};
// Whether the initializer of that number is one of several that go to an array `Type member[n]`: two in
// braces of their own take the place of more than one.
template <class Whole, std::size_t kCount, std::size_t kAt>
constexpr bool begins_array() noexcept {
  using Before = std::make_index_sequence<kAt>;
  return kTakesPair<Whole, Before, std::index_sequence<>> &&
         !kTakesPair<Whole, Before, std::make_index_sequence<kCount - kAt - 1>>;
}
template <class Whole, std::size_t kCount, std::size_t... kAt>
constexpr bool has_array(std::index_sequence<kAt...>) noexcept {
  return (begins_array<Whole, kCount, kAt>() || ...);
}

// Turns into a base class of `Whole` and nothing else.
template <class Whole>
struct BaseOf {
  template <class Type>
  requires(std::is_base_of_v<Type, Whole> && !std::is_same_v<Type, Whole>) operator Type() const noexcept;
};
template <class Whole>
concept HasBase = requires {
  Whole{BaseOf<Whole>{}};
};

// Whether a class can be taken apart: an aggregate without a base that has members, and none that is written
// as `Type member[n]`.
template <class Whole>
constexpr bool can_be_taken_apart() noexcept {
  if constexpr (!std::is_aggregate_v<Whole> || !std::is_class_v<Whole> || std::is_empty_v<Whole> ||
                HasBase<Whole> || !Plain<Whole>) {
    return false;
  } else {
    constexpr std::size_t kCount = members<Whole>();
    if constexpr (kCount == 0 || kCount > kMostParts)
      return false;
    else
      return !has_array<Whole, kCount>(std::make_index_sequence<kCount>{});
  }
}

// Calls what(member...) with all of them, in their order.
template <class Whole, class What>
constexpr decltype(auto) with_members(Whole& whole, What what) {
  constexpr std::size_t kCount = members<std::remove_const_t<Whole>>();
  if constexpr (kCount == 1) {
    auto& [m0] = whole;
    return what(m0);
  }
  if constexpr (kCount == 2) {
    auto& [m0, m1] = whole;
    return what(m0, m1);
  }
  if constexpr (kCount == 3) {
    auto& [m0, m1, m2] = whole;
    return what(m0, m1, m2);
  }
  if constexpr (kCount == 4) {
    auto& [m0, m1, m2, m3] = whole;
    return what(m0, m1, m2, m3);
  }
  if constexpr (kCount == 5) {
    auto& [m0, m1, m2, m3, m4] = whole;
    return what(m0, m1, m2, m3, m4);
  }
  if constexpr (kCount == 6) {
    auto& [m0, m1, m2, m3, m4, m5] = whole;
    return what(m0, m1, m2, m3, m4, m5);
  }
  if constexpr (kCount == 7) {
    auto& [m0, m1, m2, m3, m4, m5, m6] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6);
  }
  if constexpr (kCount == 8) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7);
  }
  if constexpr (kCount == 9) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8);
  }
  if constexpr (kCount == 10) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
  }
  if constexpr (kCount == 11) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  }
  if constexpr (kCount == 12) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  }
  if constexpr (kCount == 13) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  }
  if constexpr (kCount == 14) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  }
  if constexpr (kCount == 15) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  }
  if constexpr (kCount == 16) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  }
  if constexpr (kCount == 17) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  }
  if constexpr (kCount == 18) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  }
  if constexpr (kCount == 19) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  }
  if constexpr (kCount == 20) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  }
  if constexpr (kCount == 21) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] =
        whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19,
                m20);
  }
  if constexpr (kCount == 22) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
           m21] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21);
  }
  if constexpr (kCount == 23) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22);
  }
  if constexpr (kCount == 24) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23);
  }
  if constexpr (kCount == 25) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24);
  }
  if constexpr (kCount == 26) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25);
  }
  if constexpr (kCount == 27) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26);
  }
  if constexpr (kCount == 28) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26, m27] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26, m27);
  }
  if constexpr (kCount == 29) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26, m27, m28] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26, m27, m28);
  }
  if constexpr (kCount == 30) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26, m27, m28, m29] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26, m27, m28, m29);
  }
  if constexpr (kCount == 31) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26, m27, m28, m29, m30] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26, m27, m28, m29, m30);
  }
  if constexpr (kCount == 32) {
    auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21,
           m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = whole;
    return what(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20,
                m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
  }
}

}  // namespace internal_

}  // namespace hamlyn
