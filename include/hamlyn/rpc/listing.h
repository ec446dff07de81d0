#pragma once
// Names the member functions of a class that may be called from outside. One line behind the class does it,
// in the class's own namespace:
//
//   struct Calculator {
//     std::int32_t add(std::int32_t a, std::int32_t b);
//   };
//   HAMLYN_RPC(Calculator, add)
//
// There is no other description and no generator: names and types are those of the class. A procedure's
// parameters are values, constant references or views; a first parameter `hamlyn::rpc::Call&` tells about the
// call and does not travel. Listed functions are not overloaded.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hamlyn/rpc/answer.h"
#include "hamlyn/rpc/layout.h"

namespace hamlyn {

namespace rpc {

class Call;

// Member functions that HAMLYN_RPC lists. A value of the compiler's.
template <auto... kFunctions>
struct Listing {
  std::string_view names;  // as they were written, with commas between
};

}  // namespace rpc

namespace internal_::rpc {

// FNV-1a of 64 bits.
constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char each : text) out = (out ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return out;
}

template <class... Types>
struct Pack {};

template <class Type>
constexpr bool is_parameter() noexcept {
  static_assert(!std::is_lvalue_reference_v<Type> || std::is_const_v<std::remove_reference_t<Type>>,
                "a call's parameters are values, constant references or views: return what is to come back");
  return may_be_argument<std::remove_cvref_t<Type>>();
}

template <class Owner, class Return, class... Parameters>
struct Shape {
  using Class = Owner;
  using Result = Return;
  using Declared = Pack<Parameters...>;
  using Arguments = std::tuple<std::remove_cvref_t<Parameters>...>;
  using Row = InRow<std::remove_cvref_t<Parameters>...>;
  static constexpr bool kAsksWho = false;
  static constexpr bool kAnswersLater = false;
};
// With a parameter through which it answers later.
template <class Owner, class Return, class Returned, class... Parameters>
struct Shape<Owner, Return, hamlyn::rpc::Answer<Returned>, Parameters...>
    : Shape<Owner, Returned, Parameters...> {
  static_assert(std::is_void_v<Return>, "a procedure that answers later returns nothing by itself");
  using Rest = Shape<Owner, Returned, Parameters...>;
  static_assert(!Rest::kAnswersLater, "a procedure has one Answer");
  static_assert(!Rest::kAsksWho, "a Call& stands in front of an Answer");
  static constexpr bool kAnswersLater = true;
};
// With a first parameter that does not travel.
template <class Owner, class Return, class... Parameters>
struct Shape<Owner, Return, hamlyn::rpc::Call&, Parameters...> : Shape<Owner, Return, Parameters...> {
  static_assert(!Shape<Owner, Return, Parameters...>::kAsksWho, "a procedure has one Call&");
  static constexpr bool kAsksWho = true;
};

template <class Function>
struct ShapeOf {
  static_assert(!std::is_same_v<Function, Function>, "HAMLYN_RPC names member functions that are not static");
};
template <class Owner, class Return, class... Parameters>
struct ShapeOf<Return (Owner::*)(Parameters...)> : Shape<Owner, Return, Parameters...> {};
template <class Owner, class Return, class... Parameters>
struct ShapeOf<Return (Owner::*)(Parameters...) const> : Shape<Owner, Return, Parameters...> {};
template <class Owner, class Return, class... Parameters>
struct ShapeOf<Return (Owner::*)(Parameters...) noexcept> : Shape<Owner, Return, Parameters...> {};
template <class Owner, class Return, class... Parameters>
struct ShapeOf<Return (Owner::*)(Parameters...) const noexcept> : Shape<Owner, Return, Parameters...> {};

template <auto kFunction>
using ShapeAt = ShapeOf<std::remove_const_t<decltype(kFunction)>>;

// Refuses at compile time what cannot travel.
template <class Declared>
struct Parameters;
template <class... Types>
struct Parameters<Pack<Types...>> {
  static constexpr bool kGood = (is_parameter<Types>() && ...);
};
template <class Shape>
struct Checked {
  static constexpr bool kGood =
      Parameters<typename Shape::Declared>::kGood && may_be_result<typename Shape::Result>();
};

// `name(types)->type`, in the library's own spelling.
template <class Shape>
std::string signature_of(std::string_view name) {
  static_assert(Checked<Shape>::kGood);
  std::string out(name);
  Shape::Row::spell(out, '(', ')');
  out += "->";
  if constexpr (std::is_void_v<typename Shape::Result>)
    out += "nothing";
  else
    Layout<typename Shape::Result>::spell(out);
  return out;
}

// A procedure, as a program knows it.
struct Procedure {
  std::string_view name;
  std::string signature;
  std::uint64_t named = 0;    // the hash of the name
  std::uint64_t signed_ = 0;  // that of the signature
};
inline Procedure procedure_of(std::string_view name, std::string signature) {
  const std::uint64_t signed_as = hash_of(signature);
  return {name, std::move(signature), hash_of(name), signed_as};
}

// The listing of a class, found in its own namespace.
template <class Type>
constexpr auto listing() noexcept {
  static_assert(
      requires { hamlyn_rpc_listing(static_cast<Type*>(nullptr)); },
      "no HAMLYN_RPC(class, functions...) stands behind that class, in its namespace");
  return hamlyn_rpc_listing(static_cast<Type*>(nullptr));
}

constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}
template <auto... kFunctions>
constexpr auto names_of(hamlyn::rpc::Listing<kFunctions...> listing) noexcept {
  std::array<std::string_view, sizeof...(kFunctions)> out;
  std::string_view rest = listing.names;
  for (std::string_view& each : out) {
    const std::size_t end = rest.find(',');
    each = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

// Compared as types: with -fsanitize=undefined g++ 12 takes no comparison of their pointers for a constant.
template <auto kFunction>
struct FunctionAt {};
template <auto kFirst, auto kSecond>
constexpr bool same_function() noexcept {
  return std::is_same_v<FunctionAt<kFirst>, FunctionAt<kSecond>>;
}
// The place of a function in its class's listing.
template <auto kFunction, auto... kFunctions>
constexpr std::size_t place_in(hamlyn::rpc::Listing<kFunctions...>) noexcept {
  std::size_t place = 0;
  const bool found = ((same_function<kFunction, kFunctions>() || (++place, false)) || ...);
  return found ? place : sizeof...(kFunctions);
}
template <class Type, auto kFunction>
constexpr std::size_t place_of() noexcept {
  constexpr std::size_t kPlace = place_in<kFunction>(listing<Type>());
  static_assert(kPlace != names_of(listing<Type>()).size(), "HAMLYN_RPC does not list this function");
  return kPlace;
}

}  // namespace internal_::rpc

}  // namespace hamlyn

// Lists up to 256 member functions of `Type`. A reserved word of the language is no name of one.
#define HAMLYN_RPC(Type, ...)                                                        \
  [[maybe_unused]] constexpr auto hamlyn_rpc_listing(Type*) noexcept {               \
    return ::hamlyn::rpc::Listing<HAMLYN_RPC_EACH(Type, __VA_ARGS__)>{#__VA_ARGS__}; \
  }

// Parts of it, which take a list apart, one name at a time: HAMLYN_RPC_EACH, HAMLYN_RPC_ONE, HAMLYN_RPC_NOW,
// HAMLYN_RPC_AGAIN, HAMLYN_RPC_MORE, HAMLYN_RPC_4, HAMLYN_RPC_3, HAMLYN_RPC_2 and HAMLYN_RPC_1.
#define HAMLYN_RPC_EACH(Type, ...) HAMLYN_RPC_MORE(HAMLYN_RPC_ONE(Type, __VA_ARGS__))
#define HAMLYN_RPC_ONE(Type, name, ...) \
  &Type::name __VA_OPT__(, HAMLYN_RPC_AGAIN HAMLYN_RPC_NOW(Type, __VA_ARGS__))
#define HAMLYN_RPC_NOW ()
#define HAMLYN_RPC_AGAIN() HAMLYN_RPC_ONE
#define HAMLYN_RPC_MORE(...) HAMLYN_RPC_4(HAMLYN_RPC_4(HAMLYN_RPC_4(HAMLYN_RPC_4(__VA_ARGS__))))
#define HAMLYN_RPC_4(...) HAMLYN_RPC_3(HAMLYN_RPC_3(HAMLYN_RPC_3(HAMLYN_RPC_3(__VA_ARGS__))))
#define HAMLYN_RPC_3(...) HAMLYN_RPC_2(HAMLYN_RPC_2(HAMLYN_RPC_2(HAMLYN_RPC_2(__VA_ARGS__))))
#define HAMLYN_RPC_2(...) HAMLYN_RPC_1(HAMLYN_RPC_1(HAMLYN_RPC_1(HAMLYN_RPC_1(__VA_ARGS__))))
#define HAMLYN_RPC_1(...) __VA_ARGS__
