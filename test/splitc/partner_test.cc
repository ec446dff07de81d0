// The machine of two ranks over a VI, with a line of the test's own: what it does, what it refuses, and that
// nobody waits for ever, whatever overtakes what.
#include "splitc/vi/partner.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <numeric>
#include <random>

#include "splitc/vi/pieces.h"

namespace hamlyn::test {
namespace {

using namespace internal_::splitc;

constexpr std::uint64_t kFirst = 4096, kHeap = 16384;

struct Message {
  std::uint32_t word = 0;
  std::vector<std::byte> bytes;
};

// State of a line, which the test looks at.
struct Wire {
  std::deque<Message> sent;
  std::array<std::byte, kMostBytes> next{};
  std::uint32_t room = 0, used = 0;
  bool may_send = true;
};

class FakeLine {
 public:
  explicit FakeLine(Wire& wire) : wire_(&wire) {}
  bool has_room() const { return wire_->used < wire_->room; }
  void take_room() { ++wire_->used; }
  void give_room() {
    ASSERT_NE(wire_->used, 0u);
    --wire_->used;
  }
  bool may_send() const { return wire_->may_send; }
  std::span<std::byte> next_bytes() { return wire_->next; }
  bool send(std::uint32_t word, std::size_t length) {
    wire_->sent.push_back(
        {word, {wire_->next.begin(), wire_->next.begin() + std::max<long>(1, long(length))}});
    return true;
  }

 private:
  Wire* wire_;
};

// A rank: its heap, and the machine for the other one.
struct Side {
  explicit Side(std::uint32_t credits)
      : to(FakeLine(wire), {segment.data(), kFirst, kHeap, segment.data() + 64}, credits) {
    wire.room = credits;
    std::iota(reinterpret_cast<std::uint32_t*>(segment.data() + kFirst),
              reinterpret_cast<std::uint32_t*>(segment.data() + segment.size()), 1u);
  }
  std::uint64_t word(std::uint64_t place) const { return word_at(segment.data() + place); }
  std::uint64_t stored() const { return word_at(segment.data() + 64); }
  // The other's message comes.
  Partner<FakeLine>::Heard hear(const Message& message) {
    inbox.push_back(message);
    return to.hear(message.word, inbox.back().bytes, static_cast<std::uint32_t>(inbox.size()));
  }
  Broken hear(const Word& word, std::vector<std::byte> bytes) {
    return hear({bits_of(word), std::move(bytes)}).broken;
  }

  Wire wire;
  alignas(64) std::array<std::byte, kFirst + kHeap> segment{};
  std::deque<Message> inbox;  // whose bytes stay
  Partner<FakeLine> to;
};

template <class... Parts>
std::vector<std::byte> bytes_of(const Parts&... parts) {
  std::vector<std::byte> out;
  const auto add = [&](const auto& part) {
    const auto bytes = std::as_bytes(std::span(&part, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  (add(parts), ...);
  return out;
}
Message taken(Wire& wire) {
  Message out = wire.sent.front();
  wire.sent.pop_front();
  return out;
}

TEST(SplitCPartner, reads_writes_stores_and_operates) {
  Side here(8), there(8);
  std::uint32_t under_way = 0;
  std::uint64_t got = 0, before = 0;
  const std::uint64_t value = 77;
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  EXPECT_TRUE(here.to.write({kFirst + 8, 0, 0, 8, 1}, from, &++under_way));
  EXPECT_TRUE(here.to.read({kFirst + 8, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&got), &++under_way));
  EXPECT_TRUE(here.to.fetch(kFirst + 8, {.op = FetchOp::add, .operand = 3},
                            reinterpret_cast<std::byte*>(&before), nullptr));
  EXPECT_TRUE(here.to.store({kFirst + 16, 0, 0, 8, 1}, from));
  EXPECT_TRUE(here.to.count(kFirst + 24));
  const std::uint64_t counted = there.word(kFirst + 24);
  while (!here.wire.sent.empty()) EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
  EXPECT_EQ(there.word(kFirst + 8), 80u);
  EXPECT_EQ(there.word(kFirst + 16), 77u);
  EXPECT_EQ(there.word(kFirst + 24), counted + 1);
  EXPECT_EQ(there.stored(), 8u);
  EXPECT_EQ(there.wire.sent.size(), 4u) << "three replies, and one acknowledgement of two stores";
  while (!there.wire.sent.empty()) EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
  EXPECT_EQ(got, 77u);
  EXPECT_EQ(before, 77u);
  EXPECT_EQ(under_way, 0u);
  EXPECT_EQ(here.wire.used, 0u) << "all credits are back";
  EXPECT_EQ(here.to.answered(), here.to.asked());
}

TEST(SplitCPartner, moves_rows_of_chunks) {
  Side here(32), there(32);
  constexpr Strides kPlane{.chunk = 24, .x_chunks = 7, .y_chunks = 5, .x_stride = 32, .y_stride = 1024};
  std::array<std::byte, 24 * 35> plane, back{};
  for (std::size_t i = 0; i != plane.size(); ++i) plane[i] = static_cast<std::byte>(i * 7);
  int messages = 0;
  for_each_piece(kFirst + 8, plane.size(), &kPlane, [&](const Piece& piece) {
    ++messages;
    EXPECT_TRUE(here.to.write(piece, plane.data() + piece.at, nullptr));
    EXPECT_TRUE(here.to.read(piece, back.data() + piece.at, nullptr));
  });
  EXPECT_EQ(messages, 5) << "one for each row";
  while (!here.wire.sent.empty()) EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
  while (!there.wire.sent.empty()) EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
  EXPECT_EQ(back, plane);
  for (std::size_t y = 0; y != 5; ++y)
    for (std::size_t x = 0; x != 7; ++x)
      EXPECT_EQ(std::memcmp(there.segment.data() + kFirst + 8 + y * 1024 + x * 32,
                            plane.data() + (y * 7 + x) * 24, 24),
                0);
}

TEST(SplitCPartner, cuts_transfers_of_any_shape_into_messages) {
  std::mt19937_64 random(5);
  for (int i = 0; i != 500; ++i) {
    const Strides shape{.chunk = 1 + static_cast<std::uint32_t>(random() % (i % 2 == 0 ? 40 : 9000)),
                        .x_chunks = 1 + static_cast<std::uint32_t>(random() % 5),
                        .y_chunks = 1 + static_cast<std::uint32_t>(random() % 5),
                        .x_stride = random() % 20000,
                        .y_stride = random() % 100000};
    const std::size_t bytes = std::size_t{shape.chunk} * shape.x_chunks * shape.y_chunks;
    std::vector<std::uint64_t> wanted, made;  // places, byte by byte
    for_each_chunk(bytes, &shape, [&](std::size_t distance, std::size_t, std::size_t chunk) {
      for (std::size_t at = 0; at != chunk; ++at) wanted.push_back(distance + at);
    });
    for_each_piece(0, bytes, &shape, [&](const Piece& piece) {
      EXPECT_EQ(piece.at, made.size());
      EXPECT_LE(piece.bytes(), kMostMessage);
      for (std::uint32_t chunk = 0; chunk != piece.count; ++chunk)
        for (std::uint32_t at = 0; at != piece.chunk; ++at)
          made.push_back(piece.place + chunk * piece.stride + at);
    });
    ASSERT_EQ(made, wanted) << i;
  }
}

TEST(SplitCPartner, acknowledges_a_quarter_of_the_credits_together) {
  for (const std::uint32_t credits : {1u, 3u, 8u, 32u}) {
    Side here(credits), there(credits);
    const std::uint64_t value = 1;
    std::uint32_t stores = 0;
    while (here.to.may_ask()) {
      EXPECT_TRUE(here.to.store({kFirst, 0, 0, 8, 1}, reinterpret_cast<const std::byte*>(&value)));
      ++stores;
    }
    EXPECT_EQ(stores, credits);
    while (!here.wire.sent.empty()) EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
    EXPECT_EQ(there.wire.sent.size(), credits / std::max(credits / 4, 1u));
    while (!there.wire.sent.empty()) EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
    EXPECT_TRUE(here.to.may_ask());
  }
}

TEST(SplitCPartner, keeps_what_cannot_be_answered_now_and_what_is_behind_it) {
  Side here(8), there(8);
  std::uint64_t got = 0;
  const std::uint64_t value = 5;
  EXPECT_TRUE(here.to.read({kFirst, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&got), nullptr));
  EXPECT_TRUE(here.to.store({kFirst, 0, 0, 8, 1}, reinterpret_cast<const std::byte*>(&value)));
  const std::uint64_t before = there.word(kFirst);
  there.wire.may_send = false;
  EXPECT_TRUE(there.hear(taken(here.wire)).kept);
  EXPECT_TRUE(there.hear(taken(here.wire)).kept) << "a read must not see what was stored after it";
  EXPECT_TRUE(there.to.is_behind());
  int freed = 0;
  EXPECT_EQ(there.to.go_on([&](std::uint32_t) { ++freed; }), Broken::none);
  EXPECT_EQ(freed, 0);
  there.wire.may_send = true;
  EXPECT_EQ(there.to.go_on([&](std::uint32_t) { ++freed; }), Broken::none);
  EXPECT_EQ(freed, 2);
  EXPECT_FALSE(there.to.is_behind());
  EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
  EXPECT_EQ(got, before);
  EXPECT_EQ(there.word(kFirst), 5u);
}

TEST(SplitCPartner, forgets_where_answers_were_to_land) {
  Side here(8), there(8);
  std::uint64_t got = 0;
  std::uint32_t under_way = 1;
  EXPECT_TRUE(here.to.read({kFirst, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&got), &under_way));
  EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
  here.to.forget();
  EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
  EXPECT_EQ(got, 0u);
  EXPECT_EQ(under_way, 1u);
}

TEST(SplitCPartner, forgets_a_count_that_goes) {
  Side here(8), there(8);
  std::array<std::uint32_t, 2> under_way{1, 1};
  const std::uint64_t value = 1;
  for (std::uint32_t& each : under_way)
    EXPECT_TRUE(here.to.write({kFirst, 0, 0, 8, 1}, reinterpret_cast<const std::byte*>(&value), &each));
  here.to.forget(&under_way[0]);
  while (!here.wire.sent.empty()) EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
  while (!there.wire.sent.empty()) EXPECT_EQ(here.hear(taken(there.wire)).broken, Broken::none);
  EXPECT_EQ(under_way, (std::array<std::uint32_t, 2>{1, 0}));
}

// --- what is refused

struct Lie {
  Word word;
  std::vector<std::byte> bytes;
  Broken broken;
};

TEST(SplitCPartner, refuses_requests_that_cannot_be) {
  const std::uint64_t value = 9;
  const auto place = [](std::uint64_t at) { return Place{at}; };
  constexpr std::uint64_t kEnd = kFirst + kHeap;
  const std::vector<std::byte> page(kMostMessage);
  auto long_write = bytes_of(place(kFirst));
  long_write.insert(long_write.end(), page.begin(), page.end());
  const std::vector<Lie> lies = {
      {{Say{0}, 0, 0}, {}, Broken::kind},
      {{Say{12}, 0, 0}, {}, Broken::kind},
      {{Say{15}, 0, 8}, bytes_of(place(kFirst)), Broken::kind},
      // Out of the heap, on both sides, and around.
      {{Say::read, 0, 8}, bytes_of(place(kFirst - 1)), Broken::place},
      {{Say::read, 0, 8}, bytes_of(place(0)), Broken::place},
      {{Say::read, 0, 8}, bytes_of(place(kEnd - 7)), Broken::place},
      {{Say::read, 0, 1}, bytes_of(place(kEnd)), Broken::place},
      {{Say::read, 0, 8}, bytes_of(place(~std::uint64_t{0} - 3)), Broken::place},
      {{Say::write, 0, 8}, bytes_of(place(kEnd - 7), value), Broken::place},
      {{Say::write, 0, 8}, bytes_of(place(64), value), Broken::place},
      {{Say::store, 0, 8}, bytes_of(place(kFirst - 8), value), Broken::place},
      {{Say::count, 0, 0}, bytes_of(place(kEnd)), Broken::place},
      {{Say::count, 0, 0}, bytes_of(place(64)), Broken::place},
      {{Say::count, 0, 0}, bytes_of(place(kFirst + 4)), Broken::operation},
      // Lengths.
      {{Say::read, 0, 0}, bytes_of(place(kFirst)), Broken::length},
      {{Say::read, 0, 4097}, bytes_of(place(kFirst)), Broken::length},
      {{Say::read, 0, 65535}, bytes_of(place(kFirst)), Broken::length},
      {{Say::read, 0, 8}, bytes_of(place(kFirst), value), Broken::length},
      {{Say::read, 0, 8}, {}, Broken::length},
      {{Say::read, 0, 8}, bytes_of(std::uint32_t{0}), Broken::length},
      {{Say::write, 0, 8}, bytes_of(place(kFirst)), Broken::length},
      {{Say::write, 0, 16}, bytes_of(place(kFirst), value), Broken::length},
      {{Say::write, 0, 0}, bytes_of(place(kFirst)), Broken::length},
      {{Say::write, 0, 4095}, long_write, Broken::length},
      {{Say::store, 0, 7}, bytes_of(place(kFirst), value), Broken::length},
      {{Say::count, 0, 8}, bytes_of(place(kFirst)), Broken::length},
      // Rows.
      {{Say::read_rows, 0, 16}, bytes_of(Rows{kFirst, kHeap - 7, 8, 2}), Broken::place},
      {{Say::read_rows, 0, 16}, bytes_of(Rows{kFirst, ~std::uint64_t{0}, 8, 2}), Broken::place},
      {{Say::read_rows, 0, 24}, bytes_of(Rows{kFirst, std::uint64_t{1} << 63, 8, 3}), Broken::place},
      {{Say::read_rows, 0, 16}, bytes_of(Rows{kFirst - 8, 8, 8, 2}), Broken::place},
      {{Say::read_rows, 0, 8}, bytes_of(Rows{kFirst, 8, 8, 1}), Broken::length},
      {{Say::read_rows, 0, 0}, bytes_of(Rows{kFirst, 8, 0, 2}), Broken::length},
      {{Say::read_rows, 0, 0}, bytes_of(Rows{kFirst, 8, 1u << 31, 2}), Broken::length},
      {{Say::read_rows, 0, 0}, bytes_of(Rows{kFirst, 0, 1u << 16, 1u << 16}), Broken::length},
      {{Say::read_rows, 0, 4098}, bytes_of(Rows{kFirst, 1, 1, 4098}), Broken::length},
      {{Say::write_rows, 0, 16}, bytes_of(Rows{kFirst, 8, 8, 2}, value), Broken::length},
      {{Say::store_rows, 0, 16}, bytes_of(Rows{kEnd - 8, 8, 8, 2}, value, value), Broken::place},
      {{Say::store_rows, 0, 16}, bytes_of(place(kFirst), value), Broken::length},
      // Words.
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst + 4, 1, 0, 1, 8}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst, 1, 0, 1, 2}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst, 1, 0, 1, 0}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst, 1, 0, 0, 8}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst, 1, 0, 2, 8}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kFirst, 1, 0, 257, 8}), Broken::operation},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{kEnd, 1, 0, 1, 8}), Broken::place},
      {{Say::fetch, 0, 0}, bytes_of(WordRequest{64, 1, 0, 1, 8}), Broken::place},
      {{Say::fetch, 0, 8}, bytes_of(WordRequest{kFirst, 1, 0, 1, 8}), Broken::length},
      {{Say::fetch, 0, 0}, bytes_of(place(kFirst)), Broken::length},
      // Turns.
      {{Say::read, 8, 8}, bytes_of(place(kFirst)), Broken::number},
      {{Say::read, 4095, 8}, bytes_of(place(kFirst)), Broken::number},
  };
  for (std::size_t i = 0; i != lies.size(); ++i) {
    SCOPED_TRACE(i);
    Side there(8);
    const auto whole = there.segment;
    EXPECT_EQ(there.hear(lies[i].word, lies[i].bytes), lies[i].broken);
    EXPECT_EQ(there.segment, whole) << "nothing was written";
    EXPECT_TRUE(there.wire.sent.empty());
  }
}

TEST(SplitCPartner, refuses_more_than_there_are_credits_for_and_a_number_twice) {
  Side there(3);
  there.wire.may_send = false;
  const auto ask = [&](std::uint16_t number) {
    return there.hear({Say::read, number, 8}, bytes_of(Place{kFirst}));
  };
  EXPECT_EQ(ask(1), Broken::none);
  EXPECT_EQ(ask(1), Broken::number);
  EXPECT_EQ(ask(3), Broken::number) << "no honest rank may have sent it yet";
  EXPECT_EQ(ask(2), Broken::none);
  EXPECT_EQ(ask(0), Broken::none);
  EXPECT_EQ(ask(3), Broken::credits);
}

TEST(SplitCPartner, refuses_answers_to_nothing_that_was_asked) {
  const auto answers = [](const Word& word, std::vector<std::byte> bytes) {
    Side here(8);
    std::array<std::uint64_t, 3> got{1, 1, 1};
    const std::uint64_t value = 4;
    EXPECT_TRUE(here.to.read({kFirst, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&got[1]), nullptr));
    EXPECT_TRUE(here.to.write({kFirst, 0, 0, 8, 1}, reinterpret_cast<const std::byte*>(&value), nullptr));
    EXPECT_TRUE(here.to.store({kFirst, 0, 0, 8, 1}, reinterpret_cast<const std::byte*>(&value)));
    const Broken out = here.hear(word, std::move(bytes));
    EXPECT_EQ(got, (std::array<std::uint64_t, 3>{1, 1, 1}));
    EXPECT_EQ(here.wire.used, 3u) << "no credit comes back";
    return out;
  };
  const std::uint64_t value = 7;
  const std::vector<std::byte> one(1);
  EXPECT_EQ(answers({Say::data, 2, 8}, bytes_of(value)), Broken::unasked) << "of a store";
  EXPECT_EQ(answers({Say::data, 3, 8}, bytes_of(value)), Broken::unasked);
  EXPECT_EQ(answers({Say::data, 4095, 8}, bytes_of(value)), Broken::unasked);
  EXPECT_EQ(answers({Say::data, 0, 16}, bytes_of(value, value)), Broken::length);
  EXPECT_EQ(answers({Say::data, 0, 4}, bytes_of(std::uint32_t{3})), Broken::length);
  EXPECT_EQ(answers({Say::data, 0, 4}, bytes_of(value)), Broken::length);
  EXPECT_EQ(answers({Say::data, 1, 8}, bytes_of(value)), Broken::length) << "of a write";
  EXPECT_EQ(answers({Say::done, 0, 0}, one), Broken::length) << "of a read";
  EXPECT_EQ(answers({Say::done, 1, 0}, bytes_of(value)), Broken::length);
  EXPECT_EQ(answers({Say::done, 2, 0}, one), Broken::unasked);
  EXPECT_EQ(answers({Say::acknowledge, 0, 0}, one), Broken::store);
  EXPECT_EQ(answers({Say::acknowledge, 0, 2}, one), Broken::store);
  EXPECT_EQ(answers({Say::acknowledge, 1, 1}, one), Broken::store);
  EXPECT_EQ(answers({Say::acknowledge, 0, 1}, {}), Broken::length);
  Side nobody(8);
  EXPECT_EQ(nobody.hear({Say::data, 0, 8}, bytes_of(value)), Broken::unasked);
  EXPECT_EQ(nobody.hear({Say::done, 0, 0}, one), Broken::unasked);
  EXPECT_EQ(nobody.hear({Say::acknowledge, 0, 1}, one), Broken::store);
}

TEST(SplitCPartner, refuses_an_answer_twice) {
  Side here(8), there(8);
  std::array<std::uint64_t, 2> got{};
  for (std::uint64_t& each : got)
    EXPECT_TRUE(here.to.read({kFirst, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&each), nullptr));
  while (!here.wire.sent.empty()) EXPECT_EQ(there.hear(taken(here.wire)).broken, Broken::none);
  const Message second = there.wire.sent.back();
  EXPECT_EQ(here.hear(second).broken, Broken::none) << "it has overtaken the first";
  EXPECT_EQ(here.hear(second).broken, Broken::unasked);
}

TEST(SplitCPartner, takes_any_bytes) {
  std::mt19937_64 random(1);
  int looked_into = 0;  // whose turn it was
  for (int i = 0; i != 20000; ++i) {
    Side there(8);
    std::uint64_t got = 0;
    EXPECT_TRUE(there.to.read({kFirst, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&got), nullptr));
    std::vector<std::byte> bytes(random() % 80);
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    if (bytes.size() >= 8 && random() % 2 == 0) {
      const std::uint64_t place = kFirst + random() % (kHeap + 16) - 8;
      std::memcpy(bytes.data(), &place, 8);
    }
    const auto control = std::vector(there.segment.begin() + 128, there.segment.begin() + kFirst);
    Word word = word_of(static_cast<std::uint32_t>(random()));
    if (random() % 4 != 0) word.number = 0;
    if (random() % 2 == 0) word.bytes = 8;
    looked_into += there.hear(word, bytes) != Broken::number ? 1 : 0;
    EXPECT_TRUE(std::ranges::equal(control, std::span(there.segment).subspan(128, kFirst - 128)));
  }
  EXPECT_GT(looked_into, 10000);
}

// --- two of them, whatever overtakes what: each has requests under way as long as it has credits

struct Asker {
  explicit Asker(std::uint32_t credits) : side(credits) {}
  // Begins the next request, if it may.
  bool ask(std::mt19937_64& random) {
    if (left == 0 || !side.to.may_ask()) return false;
    --left;
    const std::uint64_t value = random();
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    const std::uint64_t place = kFirst + 8 * (random() % 16);
    switch (random() % 4) {
      case 0:
        return side.to.read({place, 0, 0, 8, 1}, reinterpret_cast<std::byte*>(&into), &++under_way);
      case 1:
        model[(place - kFirst) / 8] = value;
        return side.to.write({place, 0, 0, 8, 1}, from, &++under_way);
      case 2:
        model[(place - kFirst) / 8] += value;
        return side.to.fetch(place, {.op = FetchOp::add, .operand = value}, nullptr, &++under_way);
      default:
        model[(place - kFirst) / 8] = value;
        return side.to.store({place, 0, 0, 8, 1}, from);
    }
  }
  Side side;
  int left = 300;
  std::uint32_t under_way = 0;
  std::uint64_t into = 0;
  std::array<std::uint64_t, 16> model{};  // of the other's heap
};

void run_two(std::uint64_t seed, std::uint32_t credits, bool overtakes) {
  std::mt19937_64 random(seed);
  Asker one(credits), two(credits);
  for (std::size_t i = 0; i != 16; ++i) one.model[i] = two.model[i] = two.side.word(kFirst + 8 * i);
  const auto deliver = [&](Asker& from, Asker& to) {
    auto& sent = from.side.wire.sent;
    if (sent.empty()) return;
    const auto which = overtakes ? sent.begin() + static_cast<long>(random() % sent.size()) : sent.begin();
    const Message message = *which;
    sent.erase(which);
    ASSERT_EQ(to.side.hear(message).broken, Broken::none);
  };
  for (int quiet = 0; quiet != 100;) {
    quiet = one.left != 0 || two.left != 0 || !one.side.wire.sent.empty() || !two.side.wire.sent.empty() ||
                    one.side.to.is_behind() || two.side.to.is_behind()
                ? quiet
                : quiet + 1;
    for (Asker* const each : {&one, &two}) {
      each->side.wire.may_send = random() % 4 != 0;
      if (random() % 2 == 0) each->ask(random);
      deliver(*each, each == &one ? two : one);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_EQ(each->side.to.go_on([](std::uint32_t) {}), Broken::none);
    }
  }
  for (Asker* const each : {&one, &two}) {
    EXPECT_EQ(each->under_way, 0u);
    EXPECT_LT(each->side.wire.used, std::max(credits / 4, 1u)) << "what is not acknowledged yet";
    const Asker& other = each == &one ? two : one;
    for (std::size_t i = 0; i != 16; ++i) EXPECT_EQ(other.side.word(kFirst + 8 * i), each->model[i]);
  }
}

TEST(SplitCPartner, gets_all_answers_with_any_credits_whatever_overtakes_what) {
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed)
    for (const std::uint32_t credits : {1u, 2u, 3u, 8u, 32u}) {
      SCOPED_TRACE(testing::Message() << seed << " " << credits);
      run_two(seed, credits, seed % 2 == 0);
    }
}

}  // namespace
}  // namespace hamlyn::test
