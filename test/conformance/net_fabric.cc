// Links between hosts over libfabric, on loopback: three endpoints in one process and one thread. They are
// made once, because the first takes a second.
#include <time.h>

#include <array>

#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/ofi_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {

namespace {

constexpr int kHosts = 3;

ofi::Endpoint& endpoint(int host) {
  static std::array<std::unique_ptr<ofi::Endpoint>, kHosts> endpoints;
  auto& one = endpoints[static_cast<std::size_t>(host)];
  if (one == nullptr) one = std::make_unique<ofi::Endpoint>(ofi::Endpoint::Options{.address = "127.0.0.1"});
  return *one;
}

class NetFabric final : public Fabric {
 public:
  explicit NetFabric(std::size_t mtu) {
    limits_ = {.frame = mtu + 192, .mtu = mtu, .window = 16, .least_window = 16};
    limits_.dead = 60'000 * ofi::kMillisecond;
  }
  ~NetFabric() override {
    for (auto& host : hosts_) {
      if (host.party != nullptr) host.party->core.set_gate(nullptr);
    }
  }

  void join(Party& one, Party& other) override {
    static std::uint64_t number = 1;
    ++number;
    add(one, other, number, true);
    add(other, one, number, false);
  }
  void pass() override {
    for (auto& host : hosts_) {
      if (host.exchange == nullptr) continue;
      host.exchange->pump();
      host.exchange->send_due(true);
      host.exchange->look_at_clocks(host.exchange->now());
    }
  }
  // Nothing has moved for far longer than a frame takes.
  void settle() override {
    std::uint64_t before = 0;
    for (int quiet = 0; quiet < 10;) {
      const timespec pause{0, 100'000};
      nanosleep(&pause, nullptr);
      pass();
      const std::uint64_t now = arrived();
      quiet = now == before ? quiet + 1 : 0;
      before = now;
    }
  }
  std::byte* area_memory(std::size_t) override { return nullptr; }
  void withdraw(Party&, std::uint32_t) override {}
  void kill(Party& victim, Party& survivor) override { kill_of(ends_, victim, survivor); }
  void end(Party& at, Party& peer, WhyNoLink why) override { end_of(ends_, at, peer, why); }

 private:
  struct Host {
    Party* party = nullptr;
    std::unique_ptr<ofi::Exchange> exchange;
  };
  int number_of(Party& party) {
    for (int i = 0; i < kHosts; ++i) {
      Host& host = hosts_[static_cast<std::size_t>(i)];
      if (host.party == nullptr) {
        host.party = &party;
        host.exchange = std::make_unique<ofi::Exchange>(endpoint(i), limits_);
        party.core.set_gate(host.exchange.get());
      }
      if (host.party == &party) return i;
    }
    ADD_FAILURE() << "more parties than endpoints";
    return 0;
  }
  void add(Party& owner, Party& peer, std::uint64_t link, bool initiator) {
    const int mine = number_of(owner), theirs = number_of(peer);
    const ofi::LinkIdentity identity{link, initiator ? 1u : 2u, initiator ? 2u : 1u};
    ends_.add(owner, peer,
              std::make_unique<ofi::OfiLink>(*hosts_[static_cast<std::size_t>(mine)].exchange, owner, peer.id,
                                             endpoint(theirs).address(), identity, initiator));
  }
  std::uint64_t arrived() {
    std::uint64_t sum = 0;
    ends_.each([&](std::uint64_t, std::uint64_t, ofi::OfiLink& end) {
      sum +=
          end.protocol().received() + end.protocol().acknowledged() + end.protocol().room(ofi::Lane::normal);
    });
    return sum;
  }

  ofi::Limits limits_;
  std::array<Host, kHosts> hosts_;
  Ends<ofi::OfiLink> ends_;
};

}  // namespace

std::vector<FabricKind> fabrics() {
  return {
      {"net", [](std::size_t mtu) -> std::unique_ptr<Fabric> { return std::make_unique<NetFabric>(mtu); }}};
}

const char* why_not_oneself() { return nullptr; }

}  // namespace hamlyn::test
