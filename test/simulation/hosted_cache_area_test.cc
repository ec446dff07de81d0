// Cache areas that change while others read them and push into them, where packets are lost, late and
// repeated.
#include "hamlyn/segment/cache_area.h"

#include <array>

#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Values of so many words, and areas of them.
template <std::size_t kWords>
struct Areas {
  struct Price {
    std::uint64_t words[kWords];
    static Price of(std::uint64_t number) {
      Price out;
      for (std::uint64_t i = 0; i < kWords; ++i) out.words[i] = number * 1000 + i;
      return out;
    }
    bool whole() const { return *this == of(words[0] / 1000); }
    friend bool operator==(const Price&, const Price&) = default;
  };
  using Shape = CacheShape<std::uint64_t, Price>;
  using Own = OwnCacheArea<std::uint64_t, Price>;
  using Far = FarCacheArea<std::uint64_t, Price>;
  static constexpr std::uint64_t kKeys = 24, kLooks = 160;
  static constexpr Shape kOwners{0, 8, 77}, kReaders{Shape::bytes(8), 1};
  static constexpr std::size_t kDone = Shape::bytes(9), kAreas = kDone + 8;

  static void are_read_and_pushed_to_while_they_change(std::uint64_t seeds);
  static void are_read_again_while_they_change();
  static void are_read_to_an_end_whatever_their_owner_does_to_them();
};
using Short = Areas<6>;
using Long = Areas<200>;  // whose keys are read first, within a host
static_assert(!Short::Shape::kLong && Long::Shape::kLong);

using Price = Short::Price;
using Shape = Short::Shape;
using Own = Short::Own;
using Far = Short::Far;

// A process that may write there can write any turn. What is put beside it, or in its place, is found all the
// same.
TEST(CacheAreas, a_record_with_the_last_turn_hides_no_push) {
  Shape::Bucket bucket;
  const auto put = [&](std::uint64_t key, std::uint64_t number) {
    std::uint64_t turn = 0;
    const std::size_t way = Shape::place_for(bucket, key, turn);
    bucket[way] = Shape::Record::of({turn, key, Price::of(number)}, bucket[way].version + 2);
  };
  const auto found = [&](std::uint64_t key) {
    const std::size_t way = Shape::find(bucket, key);
    return way == Shape::kWays ? 0 : bucket[way].value.value.words[0] / 1000;
  };
  for (const std::uint64_t last : {Shape::kLastTurn, Shape::kLastTurn - 1}) {
    bucket = {};
    bucket[1] = Shape::Record::of({last, 7, Price::of(70)}, 2);
    for (std::uint64_t number = 1; number != 12; ++number) {
      put(number % 3, number);
      EXPECT_EQ(found(number % 3), number);
    }
    put(7, 71);
    EXPECT_EQ(found(7), 71u) << "in its own place";
    put(7, 72);
    EXPECT_EQ(found(7), 72u);
  }
}

// The owner changes prices, and takes some out; the other reads them, by hints that are good or not, and
// pushes its own. Each finds whole records alone, of the key that it wanted, and never an older one than
// before.
template <std::size_t kWords>
void Areas<kWords>::are_read_and_pushed_to_while_they_change(std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    hosted.add([seed](Hosted& all) {
      Interface interface;
      const Sharing sharing = seed % 2 == 0 ? Sharing::guarded : Sharing::mapped_read_only;
      Segment segment(interface, {.name = "areas", .bytes = kAreas, .sharing = sharing});
      Own own(segment, kOwners), pushed(segment, kReaders);
      for (std::uint64_t round = 1; segment.at<std::uint64_t>(kDone) == 0; ++round) {
        const std::uint64_t key = all.host.chance().below(kKeys);
        if (all.host.chance().one_in(5)) own.remove(key);
        own.put(key, Price::of(round * kKeys + key));
        Price price;
        if (pushed.find(key % 4, price) == Status::ok)
          all.expect(price.whole() && price.words[0] / 1000 % 4 == key % 4, "something else was pushed");
        all.host.pause(kMillisecond / 40);
        if (all.host.time() > 3000 * kMillisecond) break;
      }
      for (std::uint64_t key = 0; key < 4; ++key) {
        Price price;
        all.expect(pushed.find(key, price) == Status::ok && price == Price::of(kLooks - 4 + key),
                   "not the last one");
      }
    });
    hosted.add([](Hosted& all) {
      Interface interface;
      Import import(interface, "areas");
      Far far(import, kOwners), pushes(import, kReaders);
      std::array<Hint, kKeys> hints;
      std::array<std::uint64_t, kKeys> last{};
      int found = 0;
      for (std::uint64_t turn = 0; turn < kLooks; ++turn) {
        const std::uint64_t key = all.host.chance().below(kKeys);
        if (all.host.chance().one_in(8)) hints[key] = hints[all.host.chance().below(kKeys)];
        if (all.host.chance().one_in(8)) hints[key].place = all.host.chance().below(2 * kAreas);
        Price price;
        const Status status = far.read(key, price, 1s, &hints[key]);
        all.expect(status == Status::ok || status == Status::not_ready, "no answer");
        all.expect(pushes.push(turn % 4, Price::of(turn), 1s) == Status::ok, "not pushed");
        if (status != Status::ok) continue;
        ++found;
        const std::uint64_t number = price.words[0] / 1000;
        all.expect(price.whole() && number % kKeys == key, "of another key, or torn");
        all.expect(number >= last[key], "an older one");
        last[key] = number;
      }
      all.expect(found > 0, "nothing was ever there");
      all.expect(import.flush(1s) == Status::ok, "what was pushed has not landed");
      const std::uint64_t done = 1;
      all.expect(import.store(kDone, done) == Status::ok, "not said");
      all.host.pause(100 * kMillisecond);
    });
    hosted.run();
  }
}

TEST(HostedCacheAreas, are_read_and_pushed_to_while_they_change) {
  Short::are_read_and_pushed_to_while_they_change(kRoughSeeds / 6);
  Long::are_read_and_pushed_to_while_they_change(kRoughSeeds / 6);
}

// A record that changes for less time than eight reads take.
template <std::size_t kWords>
void Areas<kWords>::are_read_again_while_they_change() {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    Segment segment(interface, {.name = "areas", .bytes = kAreas});
    Own own(segment, kOwners);
    own.put(1, Price::of(1));
    while (segment.at<std::uint64_t>(kDone) == 0) {
      for (std::size_t at = 0; at != Shape::bytes(8); at += 8) segment.at<std::uint64_t>(at) ^= 1;
      all.host.pause(4'000);
      for (std::size_t at = 0; at != Shape::bytes(8); at += 8) segment.at<std::uint64_t>(at) ^= 1;
      all.host.pause(20'000);
    }
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    Import import(interface, "areas");
    Far far(import, kOwners);
    Price price;
    for (int i = 0; i < 50; ++i) {
      all.expect(far.read(1, price, 1s) == Status::ok && price == Price::of(1), "it is missing");
      all.host.pause(all.host.chance().below(20'000));
    }
    const std::uint64_t done = 1;
    all.expect(import.store(kDone, done) == Status::ok, "not said");
    all.host.pause(kMillisecond);
  });
  hosted.run();
}

TEST(HostedCacheAreas, are_read_again_while_they_change) {
  Short::are_read_again_while_they_change();
  Long::are_read_again_while_they_change();
}

// Whatever stands there: a call ends, in its time, and finds nothing that was not put there.
template <std::size_t kWords>
void Areas<kWords>::are_read_to_an_end_whatever_their_owner_does_to_them() {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    Segment segment(interface, {.name = "areas", .bytes = kAreas});
    Own own(segment, kOwners);
    for (std::uint64_t key = 0; key < 5; ++key) own.put(key, Price::of(key));
    while (segment.at<std::uint64_t>(kDone) == 0) {
      for (std::size_t at = 0; at != Shape::bytes(8); at += 8) {
        const std::uint64_t word = segment.at<std::uint64_t>(at);
        segment.at<std::uint64_t>(at) = word + all.host.chance().below(2);
      }
      all.host.pause(kMillisecond / 10);
    }
    // Torn records are nobody's: what is put there is found again.
    for (std::uint64_t key = 0; key < 5; ++key) own.put(key, Price::of(100 + key));
    segment.at<std::uint64_t>(kDone) = 0;
    while (segment.at<std::uint64_t>(kDone) == 0) all.host.pause(kMillisecond / 10);
    segment.revoke();
    all.host.pause(100 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    Import import(interface, "areas");
    Far far(import, kOwners);
    Hint hint;
    Price price;
    all.host.pause(kMillisecond);
    for (std::uint64_t key = 0; key < 8; ++key) {
      const std::uint64_t begun = all.host.time();
      const Status status = far.read(key, price, 2ms, &hint);
      all.expect(status == Status::not_ready, "a scribbled record is found");
      all.expect(hint.place == Hint::kNone, "it is somewhere");
      all.expect(all.host.time() - begun < 3 * kMillisecond, "it took more than its time");
    }
    const auto say = [&] {
      const std::uint64_t done = 1;
      all.expect(import.store(kDone, done) == Status::ok, "not said");
    };
    say();
    all.host.pause(kMillisecond);
    for (std::uint64_t key = 0; key < 5; ++key) {
      all.expect(far.read(key, price, 2ms, &hint) == Status::ok && price == Price::of(100 + key),
                 "not there");
      Hint other = hint;
      all.expect(far.read((key + 1) % 5, price, 2ms, &other) == Status::ok, "a wrong hint hides it");
      for (const std::uint64_t place : {Hint::kNone, hint.place + 1, kAreas - 8, std::uint64_t{1} << 63}) {
        other.place = place;
        all.expect(far.read(key, price, 2ms, &other) == Status::ok && other.place == hint.place,
                   "a hint to nowhere");
      }
    }
    for (const std::uint64_t key : {0u, 4u}) {
      all.expect(far.remove(key, 1s) == Status::ok, "it was not there");
      all.expect(far.remove(key, 1s) == Status::not_ready, "it stays there");
      all.expect(far.read(key, price, 1s, &hint) == Status::not_ready && hint.place == Hint::kNone, "found");
    }
    static_cast<void>(far.read(3, price, 1s, &hint));
    say();
    all.host.pause(10 * kMillisecond);
    all.expect(far.read(3, price, 1s, &hint) == Status::stale, "it was taken back");
    all.expect(far.push(3, price, 1s) == Status::stale, "there is somebody to push to");
  });
  hosted.run();
}

TEST(HostedCacheAreas, are_read_to_an_end_whatever_their_owner_does_to_them) {
  Short::are_read_to_an_end_whatever_their_owner_does_to_them();
  Long::are_read_to_an_end_whatever_their_owner_does_to_them();
}

// Of no bucket, at no word's place, or beyond the segment, if by a number that is too large to be added.
TEST(HostedCacheAreas, that_do_not_fit_into_their_segment_are_refused) {
  static constexpr std::size_t kTold = Shape::bytes(2), kMany = ~std::size_t{0} / sizeof(Shape::Bucket);
  static constexpr Shape kWrong[] = {{0, 0},  {4, 1},         {16, 2},    {0, 3},
                                     {64, 2}, {0, kMany + 1}, {8, kMany}, {~std::size_t{7}, 1}};
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    Segment segment(interface, {.name = "areas", .bytes = kTold + 8});
    for (const Shape& wrong : kWrong) {
      bool refused = false;
      try {
        Own{segment, wrong};
      } catch (const Error& error) {
        refused = error.code() == ErrorCode::invalid_argument;
      }
      all.expect(refused, "it was taken");
    }
    Own{segment, Shape(8, 2)}.put(1, Price::of(1));
    while (segment.at<std::uint64_t>(0) == 0) all.host.pause(kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    Import import(interface, "areas");
    Price price;
    for (const Shape& wrong : kWrong) {
      Far far(import, wrong);
      Hint hint{0};
      all.expect(far.read(1, price, 1s, &hint) == Status::out_of_bounds, "it was read");
      all.expect(far.push(1, price, 1s) == Status::out_of_bounds, "it was pushed to");
      all.expect(far.remove(1, 1s) == Status::out_of_bounds, "it was removed from");
    }
    const std::uint64_t told = 1;
    all.expect(import.store(0, told) == Status::ok, "not said");
    all.host.pause(kMillisecond);
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
