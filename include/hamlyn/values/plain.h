#pragma once
// Plain values: those that mean the same in every process. Calls that copy an object's bytes to another
// process, or out of memory that another one writes, take nothing else. A pointer, or a view of memory, would
// tell a stranger where this process keeps things, and would let that stranger choose where it reads next.
//
// Views are refused so that the call for bytes takes them: `call(std::as_bytes(span), ...)` sends what the
// span leads to, never the span. A caller that means the bytes of some other object says std::as_bytes.
// Padding between members is copied like everything else: values for strangers have none, or zeros there.
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace hamlyn {

// Asks the compiler. Nothing in here is for users.
namespace internal_ {

// Gives scalars what the question below needs: a class around them.
template <class Type>
struct Holder {
  Type value;
};
template <std::size_t kBytes>
struct Zeros {
  unsigned char bytes[kBytes] = {};
};
// True of what a constant of bytes can become. A class cannot that has a pointer, a reference, a pointer to
// member or a union in it, at any depth, private or not. Neither can one with constructors of which none is
// constexpr: the compiler does not look into that.
template <class Type>
concept MadeOfBytes = requires {
  typename std::bool_constant<(__builtin_bit_cast(Holder<Type>, Zeros<sizeof(Holder<Type>)>{}), true)>;
};

template <class Type>
constexpr bool holds_no_address() noexcept;

// Converts to whatever member of an aggregate it is to initialize, and only for a plain one without a throw.
// (GCC 12 does not look for pointers in arrays that are members: this does.)
template <class Whole, std::size_t>
struct Member {
  template <class Type>
  requires(!std::is_same_v<Type, Whole>) operator Type() const noexcept(holds_no_address<Type>());
};
template <class Whole, class Numbers>
inline constexpr bool kTakes = false;
template <class Whole, std::size_t... kAt>
inline constexpr bool kTakes<Whole, std::index_sequence<kAt...>> = requires {
  Whole{Member<Whole, kAt>{}...};
};
template <class Whole, class Numbers>
inline constexpr bool kMembersHoldNone = true;
template <class Whole, std::size_t... kAt>
requires(sizeof...(kAt) != 0) inline constexpr bool kMembersHoldNone<Whole, std::index_sequence<kAt...>> =
    noexcept(Whole{Member<Whole, kAt>{}...});

// Members of an aggregate that are looked at, where each element of a member that is an array counts as one.
inline constexpr std::size_t kMostMembers = 1024;
// Members before the last one that has to be initialized.
inline constexpr std::size_t kMostWithoutDefault = 16;

template <class Whole, std::size_t kLow, std::size_t kHigh>
constexpr std::size_t members_between() noexcept {
  constexpr std::size_t kMiddle = (kLow + kHigh) / 2;
  if constexpr (kMiddle == kLow)
    return kLow;
  else if constexpr (kTakes<Whole, std::make_index_sequence<kMiddle>>)
    return members_between<Whole, kMiddle, kHigh>();
  else
    return members_between<Whole, kLow, kMiddle>();
}
// Counts them.
template <class Whole, std::size_t kCount = 1>
constexpr std::size_t members() noexcept {
  if constexpr (!kTakes<Whole, std::make_index_sequence<kCount>> && kCount >= kMostWithoutDefault)
    return 0;
  else if constexpr (!kTakes<Whole, std::make_index_sequence<kCount>>)
    return members<Whole, kCount + 1>();
  else if constexpr (kCount >= kMostMembers)
    return kMostMembers;
  else if constexpr (kTakes<Whole, std::make_index_sequence<kCount * 2>>)
    return members<Whole, kCount * 2>();
  else
    return members_between<Whole, kCount, kCount * 2>();
}

template <class Type>
struct ArrayOf {};
template <class Type, std::size_t kCount>
struct ArrayOf<Type[kCount]> {
  using Element = std::remove_cv_t<Type>;
};
template <class Type, std::size_t kCount>
struct ArrayOf<std::array<Type, kCount>> {
  using Element = std::remove_cv_t<Type>;
};

template <class Type>
constexpr bool holds_no_address() noexcept {
  if constexpr (requires { typename ArrayOf<Type>::Element; })
    return holds_no_address<typename ArrayOf<Type>::Element>();
  else if constexpr (!std::is_class_v<Type>)
    return std::is_arithmetic_v<Type> || std::is_enum_v<Type>;
  else if constexpr (!MadeOfBytes<Type>)
    return false;
  else if constexpr (std::is_aggregate_v<Type>)
    return kMembersHoldNone<Type, std::make_index_sequence<members<Type>()>>;
  else
    return true;
}

// Holds of a value as far as the compiler can tell.
template <class Type>
concept HoldsNoAddress = holds_no_address<std::remove_cv_t<Type>>();

}  // namespace internal_

// A value whose bytes may be copied to another process, and from there: numbers, enumerations, arrays, and
// classes of them that are copied as bytes are. No pointer, reference or view, and nothing that holds one; no
// union and no std::optional, of which the compiler cannot tell what they hold.
template <class Type>
concept Plain = std::is_trivially_copyable_v<Type> && internal_::HoldsNoAddress<Type>;

}  // namespace hamlyn
