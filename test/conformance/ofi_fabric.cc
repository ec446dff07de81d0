// Links between hosts, over a wire that loses, repeats and reorders frames, in virtual time. (Over libfabric
// itself: test/host.)
#include <map>

#include "fabric/ofi/ofi_link.h"
#include "test/conformance/fabric.h"
#include "test/support/rough_wire.h"

namespace hamlyn::test {

namespace {

constexpr std::uint64_t kSeed = 1996;
constexpr std::uint64_t kPass = 20'000;

class OfiFabric final : public Fabric {
 public:
  explicit OfiFabric(std::size_t mtu)
      : limits_{.frame = mtu + 192,  // one long packet
                .mtu = mtu,
                .window = 16,
                .least_window = 16,
                .resend = 500'000,
                .gather = ~std::uint64_t{0} >> 1},
        net_(kSeed, {.lost_one_in = 50, .repeated_one_in = 50, .not_now_one_in = 50}) {}
  ~OfiFabric() override {
    for (auto& [party, host] : hosts_) party->core.set_gate(nullptr);
  }

  void join(Party& one, Party& other) override {
    const std::uint64_t number = net_.chance().next();
    Host &first = host(one), &second = host(other);
    ends_.add(one, other,
              std::make_unique<ofi::OfiLink>(*first.exchange, one, other.id, second.port->whole_address(),
                                             ofi::LinkIdentity{number, 1, 2}, true));
    ends_.add(other, one,
              std::make_unique<ofi::OfiLink>(*second.exchange, other, one.id, first.port->whole_address(),
                                             ofi::LinkIdentity{number, 2, 1}, false));
  }
  // Whoever polls or not, its interface thread sends what is due.
  void pass() override {
    net_.pass(kPass);
    for (auto& [party, host] : hosts_) {
      host.exchange->pump();
      host.exchange->send_due(true);
      host.exchange->look_at_clocks(net_.now());
    }
  }
  void settle() override {
    std::uint64_t before = 0;
    for (int quiet = 0; quiet < 100;) {  // longer than until something is sent again
      pass();
      const std::uint64_t now = arrived();
      quiet = now == before ? quiet + 1 : 0;
      before = now;
    }
  }
  std::byte* area_memory(std::size_t bytes) override {
    return memories_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  void withdraw(Party&, std::uint32_t) override {}
  void kill(Party& victim, Party& survivor) override {
    kill_of(ends_, victim, survivor);
    const auto host = hosts_.find(&victim);
    if (host == hosts_.end() || ends_.any(victim)) return;
    victim.core.set_gate(nullptr);  // it may go before the fabric does
    gone_.push_back(std::move(host->second));
    hosts_.erase(host);
  }
  void end(Party& at, Party& peer, WhyNoLink why) override { end_of(ends_, at, peer, why); }

 private:
  struct Host {
    std::unique_ptr<RoughPort> port;
    std::unique_ptr<ofi::Exchange> exchange;
  };
  Host& host(Party& party) {
    Host& host = hosts_[&party];
    if (host.port == nullptr) {
      host.port = net_.make_port();
      host.exchange = std::make_unique<ofi::Exchange>(*host.port, limits_);
      party.core.set_gate(host.exchange.get());
    }
    return host;
  }
  // A figure that moves while anything arrives.
  std::uint64_t arrived() {
    std::uint64_t sum = 0;
    ends_.each([&](std::uint64_t, std::uint64_t, ofi::OfiLink& end) {
      sum +=
          end.protocol().received() + end.protocol().acknowledged() + end.protocol().room(ofi::Lane::normal);
    });
    return sum;
  }

  ofi::Limits limits_;
  RoughNet net_;
  std::map<Party*, Host> hosts_;
  std::vector<Host> gone_;  // what is still sent there arrives nowhere
  Ends<ofi::OfiLink> ends_;
  std::vector<std::unique_ptr<std::byte[]>> memories_;
};

}  // namespace

std::unique_ptr<Fabric> make_ofi_fabric(std::size_t mtu) { return std::make_unique<OfiFabric>(mtu); }

}  // namespace hamlyn::test
