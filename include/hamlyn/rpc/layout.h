#pragma once
// The one layout of what travels with a call (docs/wire.md, "Calls"): little-endian, each value at a multiple
// of its alignment from the frame's start, with zeros between. Each type has a spelling of the library's own,
// equal for all compilers: two programs understand each other if they spell alike.
//
// Types that may travel: numbers, bool, enumerations with a named underlying type, std::chrono durations;
// arrays, pairs, tuples and optionals of those; classes of public members, up to 32; strings and vectors.
// Arguments may be std::string_view and std::span<const Type>, too, and are read in place. Anything else is a
// compile error.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hamlyn/rpc/members.h"

namespace hamlyn {

// Parts of calls. Nothing in here is for users.
namespace internal_::rpc {

inline constexpr bool kInOrder = std::endian::native == std::endian::little;

// Writes a frame into memory of a certain length. What does not fit is counted and not written.
class Writer {
 public:
  // `room` at a multiple of 8.
  explicit constexpr Writer(std::span<std::byte> room) noexcept : data_(room.data()), room_(room.size()) {}

  void align(std::size_t to) noexcept {
    while (at_ % to != 0) {
      if (at_ < room_) data_[at_] = std::byte{0};
      ++at_;
    }
  }
  void bytes(const void* from, std::size_t count) noexcept {
    if (count != 0 && at_ <= room_ && count <= room_ - at_) std::memcpy(data_ + at_, from, count);
    at_ += count;
  }
  template <class Number>
  void number(Number value) noexcept {
    align(sizeof value);
    std::array<unsigned char, sizeof value> out =
        std::bit_cast<std::array<unsigned char, sizeof value>>(value);
    if constexpr (!kInOrder) std::reverse(out.begin(), out.end());
    bytes(out.data(), sizeof out);
  }
  // Counts all that was to be written.
  std::size_t size() const noexcept { return at_; }
  bool fits() const noexcept { return at_ <= room_; }
  std::size_t left() const noexcept { return fits() ? room_ - at_ : 0; }
  std::span<const std::byte> written() const noexcept { return {data_, at_}; }

 private:
  std::byte* data_;
  std::size_t room_;
  std::size_t at_ = 0;
};

// Reads a frame: any bytes whatever, in memory that nobody else writes. What is not as it should be spoils
// the whole, and reads as zeros.
class Reader {
 public:
  // `frame` at a multiple of 8.
  explicit constexpr Reader(std::span<std::byte> frame) noexcept : data_(frame.data()), size_(frame.size()) {}

  void align(std::size_t to) noexcept {
    const std::size_t at = (at_ + to - 1) / to * to;
    if (at > size_)
      spoil();
    else
      at_ = at;
  }
  // Null: there are not so many.
  std::byte* bytes(std::size_t count) noexcept {
    if (count > size_ - at_) {
      spoil();
      return nullptr;
    }
    std::byte* const out = data_ + at_;
    at_ += count;
    return out;
  }
  template <class Number>
  Number number() noexcept {
    align(sizeof(Number));
    const std::byte* const from = bytes(sizeof(Number));
    if (from == nullptr) return Number{};
    std::array<unsigned char, sizeof(Number)> raw;
    std::memcpy(raw.data(), from, sizeof raw);
    if constexpr (!kInOrder) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<Number>(raw);
  }
  void spoil() noexcept {
    good_ = false;
    at_ = size_;
  }
  std::size_t left() const noexcept { return size_ - at_; }
  bool good() const noexcept { return good_; }
  // Whether all was read, and nothing was wrong.
  bool whole() const noexcept { return good_ && at_ == size_; }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t at_ = 0;
  bool good_ = true;
};

// For each type that may travel: `kAlign`; `kSize`, or 0 if it varies; `kLeast`, bytes that it takes at
// least; `kInPlace`, whether its memory is as it travels; `kOwns`, whether it holds what it says by itself;
// put, get, spell.
template <class Type>
struct Layout {
  static constexpr bool kTravels = false;
};

template <class Type>
concept Travels = Layout<Type>::kTravels;
// Holds of a type that may be a result as well: no view.
template <class Type>
concept Returns = Travels<Type> && Layout<Type>::kOwns;
// Holds of a type that has one size always.
template <class Type>
concept Fixed = Travels<Type> &&(Layout<Type>::kSize != 0);

template <class Number>
constexpr std::string_view spelling() noexcept {
  if constexpr (std::is_same_v<Number, char>)
    return "char";
  else if constexpr (std::is_same_v<Number, std::byte>)
    return "byte";
  else if constexpr (std::is_same_v<Number, char8_t>)
    return "char8";
  else if constexpr (std::is_same_v<Number, char16_t>)
    return "char16";
  else if constexpr (std::is_same_v<Number, char32_t>)
    return "char32";
  else if constexpr (std::is_floating_point_v<Number>)
    return sizeof(Number) == 4 ? "f32" : "f64";
  else if constexpr (std::is_signed_v<Number>)
    return sizeof(Number) == 1 ? "i8" : sizeof(Number) == 2 ? "i16" : sizeof(Number) == 4 ? "i32" : "i64";
  else
    return sizeof(Number) == 1 ? "u8" : sizeof(Number) == 2 ? "u16" : sizeof(Number) == 4 ? "u32" : "u64";
}

template <class Type>
concept Number =
    (std::is_integral_v<Type> && !std::is_same_v<Type, bool> && !std::is_same_v<Type, wchar_t> &&
     sizeof(Type) <= 8) ||
    std::is_same_v<Type, float> || std::is_same_v<Type, double> || std::is_same_v<Type, std::byte>;

template <Number Type>
struct Layout<Type> {
  static constexpr bool kTravels = true, kOwns = true, kInPlace = kInOrder;
  static constexpr std::size_t kAlign = sizeof(Type), kSize = sizeof(Type), kLeast = kSize;
  static void put(Writer& to, Type value) noexcept { to.number(value); }
  static void get(Reader& from, Type& out) noexcept { out = from.number<Type>(); }
  static void spell(std::string& to) { to += spelling<Type>(); }
};

template <>
struct Layout<bool> {
  static constexpr bool kTravels = true, kOwns = true, kInPlace = false;
  static constexpr std::size_t kAlign = 1, kSize = 1, kLeast = 1;
  static void put(Writer& to, bool value) noexcept { to.number(std::uint8_t{value}); }
  static void get(Reader& from, bool& out) noexcept {
    const auto value = from.number<std::uint8_t>();
    if (value > 1) from.spoil();
    out = value == 1;
  }
  static void spell(std::string& to) { to += "bool"; }
};

// One that has each value of its underlying type, and so none that a stranger could invent.
template <class Type>
concept Enumeration = std::is_enum_v<Type> && !std::is_same_v<Type, std::byte> && requires {
  Type{0};
}
&&Travels<std::underlying_type_t<Type>>;

template <Enumeration Type>
struct Layout<Type> {
  using Under = std::underlying_type_t<Type>;
  static constexpr bool kTravels = true, kOwns = true, kInPlace = Layout<Under>::kInPlace;
  static constexpr std::size_t kAlign = sizeof(Type), kSize = sizeof(Type), kLeast = kSize;
  static void put(Writer& to, Type value) noexcept { Layout<Under>::put(to, static_cast<Under>(value)); }
  static void get(Reader& from, Type& out) noexcept {
    Under value{};
    Layout<Under>::get(from, value);
    out = static_cast<Type>(value);
  }
  static void spell(std::string& to) {
    to += "enum ";
    Layout<Under>::spell(to);
  }
};

template <Number Count, class Period>
struct Layout<std::chrono::duration<Count, Period>> {
  using Type = std::chrono::duration<Count, Period>;
  static constexpr bool kTravels = true, kOwns = true, kInPlace = kInOrder;
  static constexpr std::size_t kAlign = sizeof(Count), kSize = sizeof(Count), kLeast = kSize;
  static void put(Writer& to, Type value) noexcept { to.number(value.count()); }
  static void get(Reader& from, Type& out) noexcept { out = Type(from.number<Count>()); }
  static void spell(std::string& to) {
    to += "time ";
    Layout<Count>::spell(to);
    to += '*' + std::to_string(Period::num) + '/' + std::to_string(Period::den);
  }
};

// --- several in a row

constexpr std::size_t rounded(std::size_t at, std::size_t to) noexcept { return (at + to - 1) / to * to; }

template <class... Types>
struct InRow {
  static constexpr bool kAllTravel = (Travels<Types> && ...);
  static constexpr std::size_t align() noexcept {
    std::size_t out = 1;
    ((out = std::max(out, Layout<Types>::kAlign)), ...);
    return out;
  }
  // 0: it varies, or there are none.
  static constexpr std::size_t size() noexcept {
    std::size_t at = 0;
    bool fixed = true;
    ((at = rounded(at, Layout<Types>::kAlign) + Layout<Types>::kSize, fixed &= Layout<Types>::kSize != 0),
     ...);
    return fixed ? rounded(at, align()) : 0;
  }
  // Without what stands between.
  static constexpr std::size_t least() noexcept {
    std::size_t at = 0;
    ((at += Layout<Types>::kLeast), ...);
    return at;
  }
  static void put(Writer& to, const Types&... values) noexcept {
    to.align(align());
    (Layout<Types>::put(to, values), ...);
    to.align(align());
  }
  static void get(Reader& from, Types&... out) {
    from.align(align());
    (Layout<Types>::get(from, out), ...);
    from.align(align());
  }
  static void spell(std::string& to, char open, char close) {
    to += open;
    [[maybe_unused]] bool first = true;
    ((to += std::exchange(first, false) ? "" : ",", Layout<Types>::spell(to)), ...);
    to += close;
  }
};

// A class of public members.
template <class Type>
concept Record = can_be_taken_apart<Type>() && std::is_default_constructible_v<Type>;

template <class Type>
struct RowOf {
  template <class... Members>
  static InRow<std::remove_cvref_t<Members>...> of(Members&...);
  using Row =
      decltype(with_members(std::declval<Type&>(), [](auto&... all) { return decltype(of(all...)){}; }));
};

template <Record Type>
requires(!Number<Type> && RowOf<Type>::Row::kAllTravel) struct Layout<Type> {
  using Row = typename RowOf<Type>::Row;
  static_assert(Row::size() == sizeof(Type),
                "a class that travels has whole members in their usual places: no bit-fields, no alignas");
  template <class... Members>
  static constexpr bool in_place(InRow<Members...>*) noexcept {
    return kInOrder && (Layout<Members>::kInPlace && ...) && Row::least() == sizeof(Type);
  }
  static constexpr bool kTravels = true, kOwns = true, kInPlace = in_place(static_cast<Row*>(nullptr));
  static constexpr std::size_t kAlign = Row::align(), kSize = Row::size(), kLeast = kSize;
  static void put(Writer& to, const Type& value) noexcept {
    if constexpr (kInPlace) {
      to.align(kAlign);
      to.bytes(&value, sizeof value);
    } else {
      with_members(value, [&](const auto&... all) { Row::put(to, all...); });
    }
  }
  static void get(Reader& from, Type& out) {
    if constexpr (kInPlace) {
      from.align(kAlign);
      const std::byte* const bytes = from.bytes(sizeof out);
      if (bytes != nullptr) std::memcpy(static_cast<void*>(&out), bytes, sizeof out);
    } else {
      with_members(out, [&](auto&... all) { Row::get(from, all...); });
    }
  }
  static void spell(std::string& to) { Row::spell(to, '{', '}'); }
};

template <Travels Type, std::size_t kCount>
requires(kCount != 0) struct Layout<std::array<Type, kCount>> {
  using Each = Layout<Type>;
  static constexpr bool kTravels = true, kOwns = Each::kOwns, kInPlace = Each::kInPlace;
  static constexpr std::size_t kAlign = Each::kAlign, kSize = Each::kSize * kCount,
                               kLeast = Each::kLeast * kCount;
  static void put(Writer& to, const std::array<Type, kCount>& value) noexcept {
    if constexpr (kInPlace) {
      to.align(kAlign);
      to.bytes(value.data(), sizeof value);
    } else {
      for (const Type& each : value) Each::put(to, each);
    }
  }
  static void get(Reader& from, std::array<Type, kCount>& out) {
    if constexpr (kInPlace) {
      from.align(kAlign);
      const std::byte* const bytes = from.bytes(sizeof out);
      if (bytes != nullptr) std::memcpy(static_cast<void*>(out.data()), bytes, sizeof out);
    } else {
      for (Type& each : out) Each::get(from, each);
    }
  }
  static void spell(std::string& to) {
    Each::spell(to);
    to += '[' + std::to_string(kCount) + ']';
  }
};

template <Travels First, Travels Second>
struct Layout<std::pair<First, Second>> {
  using Row = InRow<First, Second>;
  static constexpr bool kTravels = true, kInPlace = false;
  static constexpr bool kOwns = Layout<First>::kOwns && Layout<Second>::kOwns;
  static constexpr std::size_t kAlign = Row::align(), kSize = Row::size(), kLeast = Row::least();
  static void put(Writer& to, const std::pair<First, Second>& value) noexcept {
    Row::put(to, value.first, value.second);
  }
  static void get(Reader& from, std::pair<First, Second>& out) { Row::get(from, out.first, out.second); }
  static void spell(std::string& to) { Row::spell(to, '(', ')'); }
};

template <Travels... Types>
requires(sizeof...(Types) != 0) struct Layout<std::tuple<Types...>> {
  using Row = InRow<Types...>;
  static constexpr bool kTravels = true, kInPlace = false, kOwns = (Layout<Types>::kOwns && ...);
  static constexpr std::size_t kAlign = Row::align(), kSize = Row::size(), kLeast = Row::least();
  static void put(Writer& to, const std::tuple<Types...>& value) noexcept {
    std::apply([&](const Types&... all) { Row::put(to, all...); }, value);
  }
  static void get(Reader& from, std::tuple<Types...>& out) {
    std::apply([&](Types&... all) { Row::get(from, all...); }, out);
  }
  static void spell(std::string& to) { Row::spell(to, '(', ')'); }
};

// A byte that says whether there is one, and the value.
template <Travels Type>
requires std::is_default_constructible_v<Type>
struct Layout<std::optional<Type>> {
  static constexpr bool kTravels = true, kOwns = Layout<Type>::kOwns, kInPlace = false;
  static constexpr std::size_t kAlign = 1, kSize = 0, kLeast = 1;
  static void put(Writer& to, const std::optional<Type>& value) noexcept {
    Layout<bool>::put(to, value.has_value());
    if (value) Layout<Type>::put(to, *value);
  }
  static void get(Reader& from, std::optional<Type>& out) {
    bool there = false;
    Layout<bool>::get(from, there);
    out.reset();
    if (there && from.good()) Layout<Type>::get(from, out.emplace());
  }
  static void spell(std::string& to) {
    to += "maybe ";
    Layout<Type>::spell(to);
  }
};

// --- of any length: a count of 32 bits, and so many elements

// Reads the count of a row whose elements take so many bytes each, at least.
inline std::size_t count_of(Reader& from, std::size_t least) noexcept {
  const std::size_t count = from.number<std::uint32_t>();
  if (count <= from.left() / least) return count;
  from.spoil();
  return 0;
}
template <class Type>
void put_row(Writer& to, const Type* data, std::size_t count) noexcept {
  // A count that does not fit its 32 bits is one of more bytes than any frame has.
  to.number(static_cast<std::uint32_t>(count));
  if (count == 0) return;
  if constexpr (Layout<Type>::kInPlace) {
    to.align(Layout<Type>::kAlign);
    to.bytes(data, count * sizeof(Type));
  } else {
    for (std::size_t i = 0; i != count; ++i) Layout<Type>::put(to, data[i]);
  }
}
// Elements that may be read where they stand: of one size, which is that in memory.
template <class Type>
concept Element = Travels<Type> && Layout<Type>::kSize == sizeof(Type) && std::is_trivially_copyable_v<Type>;

struct Text {
  static constexpr bool kTravels = true, kInPlace = false;
  static constexpr std::size_t kAlign = 4, kSize = 0, kLeast = 4;
  static void spell(std::string& to) { to += "text"; }
};
template <>
struct Layout<std::string> : Text {
  static constexpr bool kOwns = true;
  static void put(Writer& to, const std::string& value) noexcept { put_row(to, value.data(), value.size()); }
  static void get(Reader& from, std::string& out) {
    const std::size_t count = count_of(from, 1);
    const std::byte* const bytes = from.bytes(count);
    if (bytes != nullptr) out.assign(reinterpret_cast<const char*>(bytes), count);
  }
};
template <>
struct Layout<std::string_view> : Text {
  static constexpr bool kOwns = false;
  static void put(Writer& to, std::string_view value) noexcept { put_row(to, value.data(), value.size()); }
  static void get(Reader& from, std::string_view& out) noexcept {
    const std::size_t count = count_of(from, 1);
    const std::byte* const bytes = from.bytes(count);
    if (bytes != nullptr) out = {reinterpret_cast<const char*>(bytes), count};
  }
};

template <class Type>
struct List {
  static constexpr bool kTravels = true, kInPlace = false;
  static constexpr std::size_t kAlign = 4, kSize = 0, kLeast = 4;
  static void spell(std::string& to) {
    to += "list ";
    Layout<Type>::spell(to);
  }
};
template <Travels Type>
requires std::is_default_constructible_v<Type>
struct Layout<std::vector<Type>> : List<Type> {
  static constexpr bool kOwns = Layout<Type>::kOwns;
  static void put(Writer& to, const std::vector<Type>& value) noexcept {
    if constexpr (std::is_same_v<Type, bool>) {
      to.number(static_cast<std::uint32_t>(value.size()));
      for (const bool each : value) Layout<bool>::put(to, each);
    } else {
      put_row(to, value.data(), value.size());
    }
  }
  static_assert(sizeof(Type) <= 256 || sizeof(Type) <= 16 * Layout<Type>::kLeast,
                "an element that is long in memory and may be short on its way would let a caller take much "
                "memory with few bytes");
  // Takes memory for what came, and no more.
  static void get(Reader& from, std::vector<Type>& out) {
    const std::size_t count = count_of(from, Layout<Type>::kLeast);
    out.clear();
    if (count == 0) return;
    if constexpr (Element<Type> && Layout<Type>::kInPlace) {
      from.align(Layout<Type>::kAlign);
      const std::byte* const bytes = from.bytes(count * sizeof(Type));
      if (bytes == nullptr) return;
      out.resize(count);
      std::memcpy(static_cast<void*>(out.data()), bytes, count * sizeof(Type));
    } else {
      // A list that is longer in memory than where it came from grows as it is read.
      if constexpr (Fixed<Type>) out.reserve(count);
      for (std::size_t i = 0; i != count && from.good(); ++i) {
        Type each{};
        Layout<Type>::get(from, each);
        out.push_back(std::move(each));
      }
    }
  }
};
template <Element Type>
struct Layout<std::span<const Type>> : List<Type> {
  static constexpr bool kOwns = false;
  static void put(Writer& to, std::span<const Type> value) noexcept {
    put_row(to, value.data(), value.size());
  }
  // Elements whose bytes may be wrong, or are in another order, are looked at first, and set right in place.
  static void get(Reader& from, std::span<const Type>& out) {
    const std::size_t count = count_of(from, Layout<Type>::kLeast);
    out = {};
    if (count == 0) return;
    from.align(Layout<Type>::kAlign);
    std::byte* const bytes = from.bytes(count * sizeof(Type));
    if (bytes == nullptr) return;
    if constexpr (!Layout<Type>::kInPlace) {
      for (std::size_t i = 0; i != count; ++i) {
        Type each{};
        Reader one({bytes + i * sizeof(Type), sizeof(Type)});
        Layout<Type>::get(one, each);
        if (!one.good()) from.spoil();
        std::memcpy(bytes + i * sizeof(Type), &each, sizeof each);
      }
    }
    if (from.good()) out = {reinterpret_cast<const Type*>(bytes), count};
  }
};

// --- what the compiler says of the rest

template <class Type>
constexpr bool may_be_argument() noexcept {
  static_assert(!std::is_pointer_v<Type>, "a call carries no pointer: pass the value, a span or a string");
  static_assert(Travels<Type>, "this type has no layout for calls (hamlyn/rpc/layout.h says which have)");
  return true;
}
template <class Type>
constexpr bool may_be_result() noexcept {
  if constexpr (!std::is_void_v<Type>) {
    static_assert(!std::is_pointer_v<Type> && !std::is_reference_v<Type>,
                  "a call returns no pointer and no reference: return the value");
    if constexpr (Travels<Type>)
      static_assert(Returns<Type>,
                    "a call returns no view: return a std::string, a std::vector or a std::array");
    else
      static_assert(Travels<Type>, "this type has no layout for calls (hamlyn/rpc/layout.h says which have)");
  }
  return true;
}

}  // namespace internal_::rpc

}  // namespace hamlyn
