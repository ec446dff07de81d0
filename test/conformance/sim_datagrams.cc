#include "fabric/sim/sim_datagrams.h"

#include <gtest/gtest.h>

#include "test/conformance/datagrams.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::test {

namespace {

class SimDatagramWorld final : public DatagramWorld {
 public:
  fabric::DatagramPort& port(int which) override { return *ports_[static_cast<std::size_t>(which)]; }
  void pass() override { net_.pass(10); }

 private:
  sim::SimDatagramNet net_{1994};
  std::unique_ptr<sim::SimDatagramPort> ports_[3] = {net_.make_port(), net_.make_port(), net_.make_port()};
};

// The four things that a protocol on top must live with do happen, and by the seed alone.
TEST(SimDatagrams, are_lost_repeated_delayed_and_reordered_by_the_seed) {
  const auto run = [](std::uint64_t seed) {
    sim::SimDatagramNet net(seed, {.most_delay = 1000});
    const auto one = net.make_port(), other = net.make_port();
    const auto to = one->insert(other->address());
    other->insert(one->address());
    std::vector<std::byte> into(one->limit());
    std::vector<std::uint8_t> order;
    for (int i = 0; i < 2000; ++i) {
      if (i < 200) {
        const std::byte number{static_cast<std::uint8_t>(i)};
        EXPECT_EQ(one->send(to, {&number, 1}), Status::ok);
        one->receive(into);
      }
      net.pass(10);
      while (other->receive(into)) order.push_back(std::to_integer<std::uint8_t>(into[0]));
    }
    EXPECT_GT(net.lost(), 0u);
    EXPECT_GT(net.repeated(), 0u);
    EXPECT_EQ(order.size(), 200 - net.lost() + net.repeated());
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
    return order;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace

std::unique_ptr<DatagramWorld> make_datagram_world() { return std::make_unique<SimDatagramWorld>(); }

}  // namespace hamlyn::test
