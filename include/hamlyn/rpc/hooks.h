#pragma once
// Hooks before and after each call, typed by the procedure (docs/calls.md). A class of hooks has any of
//
//   struct Hooks {                                        // of a server
//     template <auto kFunction, class... Arguments>
//     void before(hamlyn::rpc::Call& call, const Arguments&... arguments);
//     template <auto kFunction, class Returned>
//     void after(hamlyn::rpc::Call& call, const Returned* result) noexcept;
//   };
//   struct Hooks {                                        // of a client
//     template <auto kFunction, class... Arguments>
//     void before(const Arguments&... arguments);
//     template <auto kFunction, class Returned>
//     void after(const hamlyn::rpc::Result<Returned>& result) noexcept;
//   };
//
// Servers and clients are given them as a second argument of their template, and an object. A class that has
// neither, as that side calls them, is a compile error.
#include <type_traits>
#include <utility>
#include <variant>

namespace hamlyn {

namespace rpc {

// The hooks of whoever has none.
struct NoHooks {};

}  // namespace rpc

namespace internal_::rpc {

// Where somebody's hooks are.
template <class Hooks>
struct HooksAt {
  Hooks* hooks;
};
template <>
struct HooksAt<hamlyn::rpc::NoHooks> {};

template <class Hooks>
inline constexpr bool kHasHooks = !std::is_same_v<Hooks, hamlyn::rpc::NoHooks>;

// The type of the result of a procedure that returns nothing is std::monostate.
template <class Returned>
using ToHooks = std::conditional_t<std::is_void_v<Returned>, std::monostate, Returned>;

template <class Hooks, auto kFunction, class... Arguments>
concept HasBefore = kHasHooks<Hooks> && requires(Hooks& hooks, Arguments&... arguments) {
  hooks.template before<kFunction>(arguments...);
};
template <class Hooks, auto kFunction, class... Arguments>
concept HasAfter = kHasHooks<Hooks> && requires(Hooks& hooks, Arguments&&... arguments) {
  hooks.template after<kFunction>(std::forward<Arguments>(arguments)...);
};

// Calls `before` of a class of hooks that has one.
template <auto kFunction, class Hooks, class... Arguments>
void call_before(const HooksAt<Hooks>& at, Arguments&... arguments) {
  if constexpr (HasBefore<Hooks, kFunction, Arguments...>) at.hooks->template before<kFunction>(arguments...);
}
// Calls `after`, in the same way.
template <auto kFunction, class Hooks, class... Arguments>
void call_after(const HooksAt<Hooks>& at, Arguments&&... arguments) noexcept {
  if constexpr (HasAfter<Hooks, kFunction, Arguments...>)
    at.hooks->template after<kFunction>(std::forward<Arguments>(arguments)...);
}

}  // namespace internal_::rpc

}  // namespace hamlyn
