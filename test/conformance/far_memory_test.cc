// What a peer of another host costs while it is idle, of ours: its link and the buffers that it adds. (What
// libfabric keeps for a connection is not in it: here all links go over one.)
#include <chrono>
#include <cstdio>
#include <fstream>

#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/ofi_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kTarget = 65536;              // bytes for each idle peer
constexpr std::uint64_t kFirst = 128, kMore = 256;  // links; the first ones share what every endpoint has

struct Host {
  explicit Host(std::uint64_t number) : party(number) { party.core.set_gate(&exchange); }
  ~Host() {
    for (auto& link : links) party.core.end_link(*link);
    links.clear();
    party.core.set_gate(nullptr);
  }
  void join(Host& other, std::uint64_t count, bool initiator) {
    while (links.size() != count) {
      const std::uint64_t number = links.size() + 1;
      links.push_back(std::make_unique<ofi::OfiLink>(exchange, party, 1000 + number, other.endpoint.address(),
                                                     ofi::LinkIdentity{number, party.id, other.party.id},
                                                     initiator));
      party.core.add_link(*links.back());
    }
  }

  Party party;
  ofi::Endpoint endpoint{{.address = "127.0.0.1"}};
  ofi::Exchange exchange{endpoint, {.dead = 4000 * ofi::kMillisecond}};
  std::vector<std::unique_ptr<ofi::OfiLink>> links;
};

struct Memory {
  std::size_t reserved = 0, resident = 0;  // bytes
};
Memory memory() {
  Memory pages;
  std::ifstream("/proc/self/statm") >> pages.reserved >> pages.resident;
  return {pages.reserved * 4096, pages.resident * 4096};
}

TEST(FarMemory, an_idle_peer_costs_no_more_than_it_may) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's memory is not ours";
#endif
  Host one(101), other(102);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto until_all_have_heard = [&](std::uint64_t links) {
    one.join(other, links, true);
    other.join(one, links, false);
    const auto heard = [](const Host& host) {
      return std::ranges::all_of(host.links, [](const auto& link) { return link->protocol().heard(); });
    };
    while (!(heard(one) && heard(other)) && std::chrono::steady_clock::now() < end) {
      one.party.core.run();
      other.party.core.run();
    }
    return heard(one) && heard(other);
  };
  ASSERT_TRUE(until_all_have_heard(kFirst));
  const Memory before = memory();
  ASSERT_TRUE(until_all_have_heard(kFirst + kMore));
  const Memory after = memory();
  const auto each = [](std::size_t less, std::size_t more) { return (more - less) / (2 * kMore); };
  std::printf("an idle peer: %zu bytes reserved, %zu of them touched\n",
              each(before.reserved, after.reserved), each(before.resident, after.resident));
  EXPECT_LE(each(before.resident, after.resident), kTarget);
}

}  // namespace
}  // namespace hamlyn::test
