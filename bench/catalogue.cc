#include "bench/catalogue.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bench/peers.h"
#include "tool/perf/catalogue.h"

namespace hamlyn::tool::perf {
namespace {

// Puts figures of installed peers behind those of ours.
class Peers {
 public:
  explicit Peers(std::vector<Meter>& all) : all_(all) {}

  // Puts the peers that are named next behind this figure, in their order.
  Peers& behind(const std::string& name) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Meter& m) { return m.name == name; });
    if (found == all_.end()) throw std::logic_error("no figure is called " + name);
    next_ = std::distance(all_.begin(), found) + 1;
    return *this;
  }
  Peers& ucx(const UcxTest& test) { return ucx_ ? add(ucx_meter(test)) : *this; }
  Peers& ucx_am(Meter meter) { return ucx_am_ ? add(std::move(meter)) : *this; }
  Peers& openmpi(Meter meter) { return openmpi_ ? add(std::move(meter)) : *this; }
  Peers& oshmem(Meter meter) { return oshmem_ ? add(std::move(meter)) : *this; }
  Peers& calls(const std::string& peer, const std::string& how) {
    return calls_installed(peer) ? add(calls_meter(peer, how)) : *this;
  }
  Peers& libfabric(Meter meter) { return libfabric_ ? add(std::move(meter)) : *this; }

 private:
  Peers& add(Meter meter) {
    all_.insert(all_.begin() + next_++, std::move(meter));
    return *this;
  }

  std::vector<Meter>& all_;
  std::ptrdiff_t next_ = 0;
  const bool ucx_ = ucx_installed(), ucx_am_ = ucx_am_installed(), openmpi_ = openmpi_installed(),
             oshmem_ = oshmem_installed(), libfabric_ = libfabric_probe_installed();
};

void add_messages(Peers& peers) {
  peers.behind("shm.get.16.roundtrip")
      .oshmem(oshmem_put())
      .ucx({"posix", "put", 8, "oneway"})
      .ucx({"posix", "am", 8, "oneway"})
      .ucx({"posix", "tag", 8, "oneway"})
      .openmpi(openmpi_send(8));
  peers.behind("shm.datagram.64.oneway").ucx({"posix", "tag", 64, "oneway"}).openmpi(openmpi_send(64));
  peers.behind("shm.datagram.1024.oneway").ucx({"posix", "tag", 1024, "oneway"}).openmpi(openmpi_send(1024));
  peers.behind("shm.message.4096.oneway").ucx({"posix", "tag", 4096, "oneway"}).openmpi(openmpi_send(4096));
  peers.behind("shm.am.short.16.oneway").ucx({"posix", "am", 16, "oneway"});
  peers.behind("shm.am.args16.oneway").ucx({"posix", "am", 64, "oneway"});
  peers.behind("shm.am.medium.4096.oneway").ucx_am(ucx_am_touched("oneway"));
  peers.behind("shm.am.medium.touched.4096.bandwidth").ucx_am(ucx_am_touched("bandwidth"));
  peers.behind("shm.am.short.128.rate").ucx({"posix", "am", 16, "rate"});
  peers.behind("shm.fast.row.16.rate").ucx({"posix", "tag", 8, "rate"});
}

void add_bandwidths(Peers& peers) {
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1048576}}) {
    const std::string in_bytes = std::to_string(bytes) + ".bandwidth";
    peers.behind("shm.area." + in_bytes)
        .ucx({"posix", "tag", bytes, "bandwidth"})
        .ucx({"cma", "tag", bytes, "bandwidth"});
    peers.behind("shm.mapped.write." + in_bytes).ucx({"posix", "put", bytes, "bandwidth"});
    peers.behind("ofi.message." + in_bytes)
        .ucx({"tcp", "tag", bytes, "bandwidth"})
        .libfabric(libfabric_meter("bandwidth", bytes));
  }
  peers.behind("shm.stream.64.bandwidth").ucx({"posix", "tag", 64, "bandwidth"});
  peers.behind("shm.stream.4096.bandwidth").ucx({"posix", "tag", 4096, "bandwidth"});
  peers.behind("shm.area.touched.65536.bandwidth").openmpi(openmpi_touched(65536));
  peers.behind("shm.segment.write.mapped.4096.bandwidth").ucx({"posix", "put", 4096, "bandwidth"});
}

void add_calls(Peers& peers) {
  peers.behind("rpc.null.roundtrip").calls("grpc", "roundtrip").calls("capnp", "roundtrip");
  peers.behind("rpc.minus.rate").calls("grpc", "rate").calls("capnp", "rate");
  peers.behind("rpc.null.blocked.roundtrip").calls("grpc", "blocked").calls("capnp", "blocked");
  peers.behind("blast.rpc.null.roundtrip").calls("tcp_calls", "null");
  peers.behind("blast.rpc.minus.roundtrip").calls("tcp_calls", "minus");
  peers.behind("blast.rpc.maxarg.1500.roundtrip").calls("tcp_calls", "maxarg");
}

void add_far(Peers& peers) {
  peers.behind("ofi.fast.16.oneway")
      .libfabric(libfabric_meter("oneway", 64))
      .ucx({"tcp", "tag", 8, "oneway"});
  peers.behind("ofi.fast.blocked.16.oneway").libfabric(libfabric_meter("blocked", 64));
  peers.behind("ofi.fast.16.rate").ucx({"tcp", "tag", 8, "rate"});
}

}  // namespace

std::vector<Meter> catalogue_with(bool peers) {
  std::vector<Meter> all = catalogue();
  if (!peers) return all;
  Peers added{all};
  add_messages(added);
  add_bandwidths(added);
  add_calls(added);
  add_far(added);
  return all;
}

}  // namespace hamlyn::tool::perf
