#pragma once
// Calls on another rank: a function of this program runs there when that rank polls or waits, between two
// statements of its own. It may not wait, nor call.
//
//   std::uint64_t longer(std::uint64_t by);
//   const std::uint64_t now = call<longer>(3, 10);
//
// Threads: that of the Program. Errors: as `*p`; not_permitted: the function threw there, as the text says.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hamlyn/splitc/global_ptr.h"

namespace hamlyn::internal_::splitc {

inline constexpr std::size_t kMostArguments = 104, kMostResult = 112;  // bytes

// A function as others name it.
struct Function {
  void (*run)(const std::byte* arguments, std::byte* result);
  std::uint32_t arguments, result;  // bytes
  const char* name;
};
// Enters it into the program's list, before `main` begins. Returns its number: the same in all copies of a
// program.
std::uint32_t enter(const Function& function);

void call(std::uint32_t who, std::uint32_t function, const std::byte* arguments, std::byte* result);

template <class Signature>
struct Shape;
template <class R, class... A>
struct Shape<R (*)(A...)> {
  static_assert((Plain<std::remove_cvref_t<A>> && ...), "arguments of a call are plain");
  static_assert(std::is_void_v<R> || Plain<R>, "what a call returns is plain");
  using Result = R;
  static constexpr std::size_t kArguments = (std::size_t{0} + ... + sizeof(std::remove_cvref_t<A>));
  static constexpr std::size_t result() noexcept {
    if constexpr (std::is_void_v<R>)
      return 0;
    else
      return sizeof(R);
  }
  static_assert(kArguments <= kMostArguments && result() <= kMostResult, "too much for a call");

  template <auto kFunction>
  static void run(const std::byte* arguments, std::byte* out) {
    std::tuple<std::remove_cvref_t<A>...> values;
    std::size_t at = 0;
    [[maybe_unused]] const auto take = [&](auto& value) {
      std::memcpy(&value, arguments + at, sizeof value);
      at += sizeof value;
    };
    std::apply([&](auto&... each) { (take(each), ...); }, values);
    if constexpr (std::is_void_v<R>) {
      std::apply(kFunction, std::move(values));
    } else {
      const R value = std::apply(kFunction, std::move(values));
      std::memcpy(out, &value, sizeof value);
    }
  }
  static std::array<std::byte, kArguments + 1> pack(const std::remove_cvref_t<A>&... values) noexcept {
    std::array<std::byte, kArguments + 1> out{};
    std::size_t at = 0;
    [[maybe_unused]] const auto give = [&](const auto& value) {
      std::memcpy(out.data() + at, &value, sizeof value);
      at += sizeof value;
    };
    (give(values), ...);
    return out;
  }
};
template <class R, class... A>
struct Shape<R (*)(A...) noexcept> : Shape<R (*)(A...)> {};

template <auto kFunction>
struct Entered {
  using Form = Shape<decltype(kFunction)>;
  static const char* name() noexcept { return __PRETTY_FUNCTION__; }
  static inline const std::uint32_t number =
      enter({&Form::template run<kFunction>, Form::kArguments, Form::result(), name()});
};

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Runs the function at that rank, and waits for what it returns.
template <auto kFunction, class... A>
auto call(Rank who, const A&... arguments) {
  using Form = typename internal_::splitc::Entered<kFunction>::Form;
  const auto packed = Form::pack(arguments...);
  alignas(8) std::byte room[Form::result() + 1];
  internal_::splitc::call(who, internal_::splitc::Entered<kFunction>::number, packed.data(), room);
  if constexpr (!std::is_void_v<typename Form::Result>) {
    typename Form::Result result;
    std::memcpy(&result, room, sizeof result);
    return result;
  }
}
// Has it run there, and does not wait for it. What it throws is thrown there, out of the call that polled.
template <auto kFunction, class... A>
void call_later(Rank who, const A&... arguments) {
  using Form = typename internal_::splitc::Entered<kFunction>::Form;
  static_assert(std::is_void_v<typename Form::Result>, "nobody would hear what it returns");
  const auto packed = Form::pack(arguments...);
  internal_::splitc::call(who, internal_::splitc::Entered<kFunction>::number, packed.data(), nullptr);
}

}  // namespace hamlyn::splitc
