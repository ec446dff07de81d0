// Plain: what it refuses, and that every template of the public headers that copies an object's bytes asks
// for it. Nothing here runs: a template that takes more than it should does not compile.
#include "hamlyn/values/plain.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "hamlyn/hamlyn.h"

namespace hamlyn {
namespace {

using namespace std::chrono_literals;

enum class Color : std::uint8_t { red, green };
struct Point {
  double x, y;
};
struct Named : Point {
  std::array<char, 16> name;
  Color color;
};
struct Flags {
  unsigned one : 1;
  unsigned many : 31;
};
struct Many {
  std::array<Named, 100> all;
  char text[200];
};
class Closed {
 public:
  constexpr explicit Closed(int value) : value_(value) {}
  int value() const { return value_; }

 private:
  int value_;
};
struct NoDefault {
  int first;
  Closed second;
};

static_assert(Plain<bool> && Plain<char> && Plain<std::uint64_t> && Plain<double> && Plain<long double>);
static_assert(Plain<std::byte> && Plain<Color> && Plain<const Point> && Plain<Named> && Plain<Many>);
static_assert(Plain<Closed> && Plain<NoDefault> && Plain<int[3][4]> && Plain<std::array<Many, 9>>);
static_assert(Plain<std::bitset<64>> && Plain<std::chrono::nanoseconds>);
static_assert(Plain<std::array<char, 1 << 20>> && Plain<std::monostate>);
#ifndef __clang__  // which, as of 14, makes no constants of them
static_assert(Plain<Flags> && Plain<std::complex<float>>);
#endif
static_assert(Plain<Ticket> && Plain<Seed> && Plain<Share> && Plain<BulkRingOffer> && Plain<BulkFreed>);

// An address of this process, in each way of holding one.
struct Pointer {
  int kind;
  const char* text;
};
struct PointerInBase : Pointer {
  int more;
};
struct PointerInArray {
  char text[100];
  Point* points[3];
};
struct PointersInMembersArray {
  Pointer all[2];
};
struct ViewsInMembersArray {
  int count;
  std::array<std::string_view, 2> all;
};
struct Reference {
  int& to;
};
struct Function {
  void (*call)(int);
};
struct Member {
  int Pointer::*kind;
};
struct MemberFunction {
  int (Closed::*value)() const;
};
class ClosedPointer {
 public:
  constexpr ClosedPointer() = default;

 private:
  int kind_ = 0;
  void* pointer_ = nullptr;
};
class ClosedView {  // of which the compiler sees nothing in a constant
 public:
  ClosedView(const char* data, std::size_t size) : data_(data), size_(size) {}
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const char* data_;
  std::size_t size_;
};
class Smart {
 public:
  constexpr explicit Smart(Point* point) : point_(point) {}
  Point& operator*() const { return *point_; }

 private:
  Point* point_;
};
union Either {
  std::uint64_t number;
  void* pointer;
};
struct WithUnion {
  int kind;
  union {
    std::uint64_t number;
    void* pointer;
  };
};
struct Virtual {
  virtual ~Virtual() = default;
};

template <class... Types>
constexpr bool kNonePlain = (!Plain<Types> && ...);

static_assert(kNonePlain<int*, void*, const char*, int&, std::nullptr_t, void (*)(), int Pointer::*, void>);
static_assert(kNonePlain<int* [3], Pointer[2], std::array<int*, 2>, std::array<Pointer, 2>>);
static_assert(
    kNonePlain<Pointer, PointerInBase, PointerInArray, PointersInMembersArray, ViewsInMembersArray>);
static_assert(kNonePlain<Reference, Function, Member, MemberFunction, ClosedPointer, ClosedView, Smart>);
static_assert(kNonePlain<Either, WithUnion, Virtual>);
static_assert(
    kNonePlain<std::span<int>, std::span<const std::byte>, std::span<std::byte, 8>, std::string_view>);
static_assert(kNonePlain<std::span<const std::byte>[2], std::array<std::span<int>, 2>>);
static_assert(
    kNonePlain<std::string, std::vector<int>, std::vector<int>::iterator, std::initializer_list<int>>);
static_assert(
    kNonePlain<std::pair<int, int*>, std::tuple<int, int*>, std::optional<int*>, std::optional<int>>);
static_assert(kNonePlain<std::variant<int, int*>, std::reference_wrapper<int>, std::function<void()>>);
static_assert(
    kNonePlain<std::unique_ptr<int>, std::shared_ptr<int>, std::atomic<int*>, std::coroutine_handle<>>);

// --- the templates

template <class Word>
concept WordOfMapping = requires(MappedSlot& slot) {
  slot.word<Word>(0);
};
template <class Word>
concept WordOfSegment = requires(Segment& segment) {
  segment.at<Word>(0);
};
template <class Word>
concept Loaded = requires(Import& import, Word& word) {
  import.load(0, word, 1s);
};
template <class Word>
concept Stored = requires(Import& import, const Word& word) {
  import.store(0, word);
};
template <class Word>
concept Called = requires(LocalClient& client, const Word& word, int& reply) {
  client.call(word, reply, 1s);
};
template <class Word>
concept Replied = requires(LocalClient& client, Word& reply) {
  client.call(1, reply, 1s);
};
template <class Word>
concept InRecord = requires {
  typename Versioned<Word>;
};
template <class Word>
concept InOwnRecord = requires {
  typename OwnVersioned<Word>;
};
template <class Word>
concept InFarRecord = requires {
  typename FarVersioned<Word>;
};
template <class Key, class Value>
concept InShape = requires {
  typename CacheShape<Key, Value>;
};
template <class Key, class Value>
concept InOwnCache = requires {
  typename OwnCacheArea<Key, Value>;
};
template <class Key, class Value>
concept InFarCache = requires {
  typename FarCacheArea<Key, Value>;
};

template <class Word>
constexpr bool kEverywhere =
    !(!WordOfMapping<Word> || !WordOfSegment<Word> || !Loaded<Word> || !Stored<Word> || !Called<Word> ||
      !Replied<Word> || !InRecord<Word> || !InOwnRecord<Word> || !InFarRecord<Word> || !InShape<Word, Word> ||
      !InOwnCache<Word, Word> || !InFarCache<Word, Word>);
template <class Word>
constexpr bool kNowhere =
    !(WordOfMapping<Word> || WordOfSegment<Word> || Loaded<Word> || Stored<Word> || Called<Word> ||
      Replied<Word> || InRecord<Word> || InOwnRecord<Word> || InFarRecord<Word> || InShape<Word, int> ||
      InShape<int, Word> || InOwnCache<Word, int> || InOwnCache<int, Word> || InFarCache<Word, int> ||
      InFarCache<int, Word>);

static_assert(kEverywhere<std::uint64_t>);
static_assert(kNowhere<int*> && kNowhere<Pointer> && kNowhere<PointerInArray> && kNowhere<ClosedView>);
static_assert(kNowhere<std::string_view> && kNowhere<std::span<const int>> && kNowhere<std::string>);
static_assert(kNowhere<std::vector<int>> && kNowhere<std::optional<int*>> &&
              kNowhere<std::reference_wrapper<int>>);

// Bytes, and what holds them, are the call for bytes: its reply is a view.
template <class Bytes>
concept CalledWithBytes = requires(LocalClient& client, Bytes bytes, std::span<const std::byte>& reply) {
  client.call(bytes, reply, 1s);
};
static_assert(CalledWithBytes<std::span<const std::byte>> && CalledWithBytes<std::span<std::byte>>);
static_assert(CalledWithBytes<std::span<const std::byte, 12>> && CalledWithBytes<std::span<std::byte, 12>>);
static_assert(CalledWithBytes<std::vector<std::byte>> && CalledWithBytes<std::array<std::byte, 4>>);
static_assert(CalledWithBytes<std::string_view> && CalledWithBytes<std::string> &&
              CalledWithBytes<const char*>);
static_assert(!CalledWithBytes<std::span<int>> && !CalledWithBytes<std::uint64_t> &&
              !CalledWithBytes<Pointer>);

// A value may answer bytes, too.
template <class Bytes>
concept CalledForValue = requires(LocalClient& client, Bytes bytes, std::uint64_t& reply) {
  client.call(bytes, reply, 1s);
};
static_assert(CalledForValue<std::span<const std::byte, 12>> && CalledForValue<std::vector<std::byte>>);
static_assert(CalledForValue<std::uint64_t> && CalledForValue<Named>);
static_assert(!CalledForValue<std::string_view> && !CalledForValue<std::span<int>> &&
              !CalledForValue<Pointer>);

TEST(Plain, is_asked_for_by_every_template_that_copies_bytes) { SUCCEED(); }

}  // namespace
}  // namespace hamlyn
