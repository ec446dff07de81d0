// The layout of what travels with calls, its spelling, and what has none.
#include "hamlyn/rpc/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <variant>

#include "hamlyn/rpc/listing.h"
#include "hamlyn/values/seed.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::test {

struct Place {
  double x = 0, y = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
struct Padded {
  char letter = 0;
  std::int32_t number = 0;
  friend bool operator==(const Padded&, const Padded&) = default;
};
struct Marked {
  Padded first;
  std::array<char, 3> name{};
  bool good = false;
  friend bool operator==(const Marked&, const Marked&) = default;
};

struct Listed {
  std::int32_t minus(std::int32_t a, std::int32_t b);
  void nothing() noexcept;
  std::vector<Marked> all(std::span<const Padded> of, const std::string& name) const;
  std::optional<Place> find(rpc::Call& call, std::string_view name) const noexcept;
};
HAMLYN_RPC(Listed, minus, nothing, all, find)

namespace {

using namespace internal_::rpc;

enum class Small : std::int16_t { one = 1 };
enum Unfixed { unfixed };
struct WithArray {
  int first;
  char text[20];
  int last;
};
struct WithShortArray {
  char text[2];
};
struct WithPointer {
  const char* text;
};
struct Base {
  int one;
};
struct Derived : Base {
  int two;
};
class Hidden {
 public:
  int value() const { return value_; }

 private:
  int value_ = 0;
};
struct Empty {};
struct ThirtyThree {
  std::array<std::int32_t, 2> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z,
      aa, bb, cc, dd, ee, ff, gg;
};

static_assert(Travels<bool> && Travels<char> && Travels<std::uint64_t> && Travels<double> &&
              Travels<std::byte>);
static_assert(Travels<Small> && Travels<std::chrono::milliseconds> && Travels<Place> && Travels<Marked>);
static_assert(Travels<Ticket> && Travels<Seed> && Travels<std::array<Place, 3>>);
static_assert(Travels<std::pair<int, std::string>> && Travels<std::tuple<Place, std::optional<bool>>>);
static_assert(Travels<std::vector<std::vector<std::string>>> && Travels<std::span<const Marked>>);
static_assert(!Travels<long double> && !Travels<wchar_t> && !Travels<void*> && !Travels<const char*>);
static_assert(!Travels<Unfixed> && !Travels<WithArray> && !Travels<WithShortArray> && !Travels<WithPointer>);
static_assert(!Travels<Derived> && !Travels<Hidden> && !Travels<Empty> && !Travels<ThirtyThree>);
static_assert(!Travels<std::span<int>> && !Travels<std::span<const std::string>>);
static_assert(!Travels<std::unique_ptr<int>> && !Travels<std::map<int, int>> && !Travels<std::variant<int>>);
static_assert(!Travels<std::vector<const char*>> && !Travels<std::tuple<>> && !Travels<int&>);
static_assert(Returns<std::string> && !Returns<std::string_view> && !Returns<std::span<const int>>);
static_assert(!Returns<std::vector<std::string_view>> && !Returns<std::optional<std::span<const int>>>);
static_assert(Layout<Place>::kInPlace && !Layout<Padded>::kInPlace && !Layout<Marked>::kInPlace);

template <class Type>
std::string spell() {
  std::string out;
  Layout<Type>::spell(out);
  return out;
}

TEST(RpcLayout, spells_types_by_itself) {
  EXPECT_EQ(spell<long>(), spell<long long>());
  EXPECT_EQ(spell<unsigned char>(), "u8");
  EXPECT_EQ(spell<Marked>(), "{{char,i32},char[3],bool}");
  EXPECT_EQ(spell<Small>(), "enum i16");
  EXPECT_EQ(spell<std::chrono::milliseconds>(), "time i64*1/1000");
  EXPECT_EQ((spell<std::tuple<std::string, std::optional<std::vector<Place>>>>()),
            "(text,maybe list {f64,f64})");
  EXPECT_EQ(spell<std::span<const std::byte>>(), spell<std::vector<std::byte>>());
  EXPECT_EQ(spell<std::string_view>(), spell<std::string>());
}

TEST(RpcLayout, names_procedures_as_they_are_listed) {
  const auto names = names_of(listing<Listed>());
  EXPECT_EQ((std::vector<std::string_view>(names.begin(), names.end())),
            (std::vector<std::string_view>{"minus", "nothing", "all", "find"}));
  EXPECT_EQ(signature_of<ShapeAt<&Listed::minus>>("minus"), "minus(i32,i32)->i32");
  EXPECT_EQ(signature_of<ShapeAt<&Listed::nothing>>("nothing"), "nothing()->nothing");
  EXPECT_EQ(signature_of<ShapeAt<&Listed::all>>("all"),
            "all(list {char,i32},text)->list {{char,i32},char[3],bool}");
  EXPECT_EQ(signature_of<ShapeAt<&Listed::find>>("find"), "find(text)->maybe {f64,f64}");
  static_assert(place_of<Listed, &Listed::all>() == 2);
  EXPECT_EQ(hash_of("minus(i32,i32)->i32"), 1442239465237131513u);
}

template <class Type>
std::vector<std::byte> written(const Type& value) {
  std::vector<std::byte> out(4096);
  Writer to(out);
  Layout<Type>::put(to, value);
  out.resize(to.size());
  return out;
}
// Whether that value comes back, from exactly its bytes and from no fewer.
template <class Type>
void comes_back(const Type& value) {
  std::vector<std::byte> bytes = written(value);
  Type out{};
  Reader whole(bytes);
  Layout<Type>::get(whole, out);
  EXPECT_TRUE(whole.whole());
  EXPECT_EQ(out, value);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    Reader cut(part);
    Layout<Type>::get(cut, out);
    EXPECT_FALSE(cut.good()) << length;
  }
}

TEST(RpcLayout, brings_values_back_and_takes_none_that_is_cut) {
  comes_back(true);
  comes_back(std::int64_t{-5});
  comes_back(2.5f);
  comes_back(Small::one);
  comes_back(std::chrono::microseconds{7});
  comes_back(Place{1, 2});
  comes_back(Marked{{'a', -1}, {'x', 'y', 'z'}, true});
  comes_back(std::array<Padded, 2>{{{'a', 1}, {'b', 2}}});
  comes_back(std::string("some text"));
  comes_back(std::optional<std::string>("text"));
  comes_back(std::optional<std::string>());
  comes_back(std::vector<std::string>{"a", "", "ccc"});
  comes_back(std::vector<bool>{true, false, true});
  comes_back(std::vector<Place>{{1, 2}, {3, 4}});
  comes_back(std::tuple<char, std::vector<Padded>, double>{'x', {{'a', 1}}, 0.5});
}

TEST(RpcLayout, is_little_endian_at_multiples_with_zeros_between) {
  const std::vector<std::byte> bytes =
      written(std::tuple<char, std::int32_t, std::string>{'a', 0x01020304, "b"});
  const std::vector<unsigned char> wanted = {'a', 0, 0, 0, 4, 3, 2, 1, 1, 0, 0, 0, 'b', 0, 0, 0};
  ASSERT_EQ(bytes.size(), wanted.size());
  EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), wanted.size()), 0);
}

TEST(RpcLayout, leaks_nothing_between_members) {
  std::vector<std::byte> memory(sizeof(Padded), std::byte{0xFF});
  Padded* const padded = new (memory.data()) Padded;
  padded->letter = 'a';
  padded->number = 1;
  EXPECT_EQ(written(*padded), written(Padded{'a', 1}));
  EXPECT_EQ(written(*padded)[1], std::byte{0});
}

TEST(RpcLayout, reads_views_where_they_stand) {
  std::vector<std::byte> bytes = written(std::vector<Place>{{1, 2}, {3, 4}});
  Reader from(bytes);
  std::span<const Place> out;
  Layout<std::span<const Place>>::get(from, out);
  ASSERT_TRUE(from.whole());
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(static_cast<const void*>(out.data()), bytes.data() + 8);
  EXPECT_EQ(out[1].y, 4);
}

TEST(RpcLayout, takes_no_bool_of_another_value_and_no_count_beyond_the_frame) {
  std::vector<std::byte> two(1, std::byte{2});
  bool truth = false;
  Reader of_bool(two);
  Layout<bool>::get(of_bool, truth);
  EXPECT_FALSE(of_bool.good());

  std::vector<std::byte> marks = written(std::vector<Marked>{{}, {}});
  marks[4 + 8 + 3] = std::byte{7};
  Reader of_marks(marks);
  std::span<const Marked> seen;
  Layout<std::span<const Marked>>::get(of_marks, seen);
  EXPECT_FALSE(of_marks.good());
  EXPECT_TRUE(seen.empty());

  std::vector<std::byte> many(64, std::byte{0xFF});
  std::vector<std::string> texts;
  Reader of_texts(many);
  Layout<std::vector<std::string>>::get(of_texts, texts);
  EXPECT_FALSE(of_texts.good());
  EXPECT_EQ(texts.capacity(), 0u);
  std::vector<std::uint64_t> numbers;
  Reader of_numbers(many);
  Layout<std::vector<std::uint64_t>>::get(of_numbers, numbers);
  EXPECT_FALSE(of_numbers.good());
  EXPECT_EQ(numbers.capacity(), 0u);
}

TEST(RpcLayout, counts_what_does_not_fit_and_writes_no_further) {
  std::array<std::byte, 16> room;
  room.fill(std::byte{0xAA});
  Writer to(std::span<std::byte>(room).first(8));
  Layout<std::string>::put(to, "0123456789");
  EXPECT_FALSE(to.fits());
  EXPECT_EQ(to.size(), 14u);
  for (std::size_t i = 8; i != room.size(); ++i) EXPECT_EQ(room[i], std::byte{0xAA});
}

TEST(RpcWords, carry_time_left_never_longer_than_it_is) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(time_of(0), nanoseconds::max());
  EXPECT_EQ(time_of(time_word(nanoseconds{0})), nanoseconds{64});
  EXPECT_EQ(time_word(nanoseconds::max()), 0u);
  EXPECT_EQ(time_word(std::chrono::hours{100}), 0u);
  for (std::int64_t time = 64; time < std::int64_t{70} * 3600 * 1'000'000'000; time += 1 + time / 7) {
    const nanoseconds back = time_of(time_word(nanoseconds{time}));
    EXPECT_LE(back.count(), time);
    EXPECT_GE(back.count(), time - time / 1000 - 64);
  }
}

TEST(RpcWords, are_taken_apart_as_they_were_put_together) {
  const CallBits back(word_of(CallWord{0x1234, 0x5678, 0x9ABC, 15, true, false}));
  EXPECT_TRUE(back.good() && back.urgent() && !back.traced() && back.procedure() == 0x1234 &&
              back.left() == 0x5678 && back.sequence() == 0x9ABC && back.depth() == 15);
  EXPECT_TRUE(CallBits(word_of(CallWord{.traced = true})).traced());
  const ReplyWord reply{0x1234, Kind::failed, Cause::threw, true};
  const ReplyWord again = reply_of(word_of(reply));
  EXPECT_TRUE(again.good && again.begun && again.cause == Cause::threw && again.sequence == 0x1234);
  EXPECT_FALSE(reply_of(word_of(ReplyWord{1, Kind::result, Cause::threw})).good);
  EXPECT_FALSE(reply_of(word_of(ReplyWord{1, Kind::failed, Cause::none})).good);
  EXPECT_FALSE(reply_of(word_of(ReplyWord{1, Kind::failed, Cause::count})).good);
  EXPECT_EQ(next_sequence(0xFFFF), 0x1'0001u) << "0 is no number in words";
  EXPECT_TRUE(follows(1, 0xFFFF) && follows(1, 0) && !follows(1, 1) && !follows(0, 0xFFFF));
}

}  // namespace
}  // namespace hamlyn::test
