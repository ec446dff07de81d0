// Compare-and-swap over this fabric's datagrams, of which requests and answers are lost, repeated and late:
// over many seeds every history is one that some order of its operations explains.
#include <gtest/gtest.h>

#include "test/conformance/datagrams.h"
#include "test/support/rough_datagrams.h"
#include "test/support/swap_storm.h"

namespace hamlyn::test {
namespace {

TEST(SwapStorms, over_datagrams_are_explained) {
  constexpr std::uint64_t kSeeds = 5;
  std::size_t known = 0;
  std::uint64_t lost = 0, repeated = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto world = make_datagram_world();
    sim::Generator chance(seed);
    const RoughDatagrams::Weather weather{.most_delay = chance.between(10, 400),
                                          .lost_one_in = chance.between(2, 6),
                                          .repeated_one_in = chance.between(1, 4)};
    RoughDatagrams ports[] = {{world->port(0), chance.next(), weather},
                              {world->port(1), chance.next(), weather},
                              {world->port(2), chance.next(), weather}};
    SwapStorm storm(chance, {&ports[0], &ports[1], &ports[2]}, [&](std::uint64_t time) {
      for (RoughDatagrams& each : ports) each.pass(time);
      world->pass();
    });
    storm.run();
    known += storm.known();
    for (const RoughDatagrams& each : ports) {
      lost += each.lost();
      repeated += each.repeated();
    }
  }
  EXPECT_GT(known, kSeeds * 50);
  EXPECT_GT(lost, kSeeds * 50);
  EXPECT_GT(repeated, kSeeds * 50);
}

}  // namespace
}  // namespace hamlyn::test
