#include "fabric/sim/sim_link.h"
#include "test/conformance/fabric.h"

namespace hamlyn::test {

namespace {

constexpr std::uint64_t kSeed = 1996;

class SimFabric final : public Fabric {
 public:
  explicit SimFabric(std::size_t mtu) : net_(kSeed, {.mtu = mtu}) {}

  void join(Party& one, Party& other) override {
    auto [first, second] = net_.join(one.id, other.id);
    ends_.add(one, other, std::move(first));
    ends_.add(other, one, std::move(second));
  }
  void pass() override {
    net_.pass(10);
    ends_.show_areas([](const interface::SendArea& area) { return area.data; });
  }
  std::byte* area_memory(std::size_t bytes) override {
    return memories_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  void withdraw(Party& owner, std::uint32_t area) override { ends_.withdraw(owner, area); }
  void settle() override { net_.settle(); }
  void kill(Party& victim, Party& survivor) override { kill_of(ends_, victim, survivor); }
  void end(Party& at, Party& peer, WhyNoLink why) override { end_of(ends_, at, peer, why); }

 private:
  sim::SimNet net_;
  Ends<sim::SimLink> ends_;
  std::vector<std::unique_ptr<std::byte[]>> memories_;
};

}  // namespace

std::unique_ptr<Fabric> make_sim_fabric(std::size_t mtu) { return std::make_unique<SimFabric>(mtu); }

}  // namespace hamlyn::test
