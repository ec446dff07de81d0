#pragma once
// The process's way to other hosts: the endpoint and the links over it (src/fabric/ofi). The way exists once
// a process far away was wanted, or wants us. Used under the run lock, by threads that have the process's
// descriptors.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/exchange.h"

namespace hamlyn::internal_::library {

class FarFabric {
 public:
  // `address`: the local one to be reached at, as the node's daemon knows it; empty: the first that is not a
  // loopback. `wanted`: the engine that its node asks for; empty: the best. Throws Error.
  FarFabric(const std::string& address, const std::string& wanted, std::chrono::milliseconds dead);

  const std::string& engine() const noexcept { return endpoint_.engine(); }
  const std::vector<std::byte>& address() const noexcept { return endpoint_.address(); }
  ofi::Exchange& exchange() noexcept { return exchange_; }

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Sends what is owed. False: there is something to do, do not sleep; otherwise until `deadline` at most.
  bool prepare_sleep(Deadline& deadline) noexcept;
  // Descriptor for FarSleepers and watch_arrivals.
  int descriptor() const noexcept { return endpoint_.descriptor(); }

 private:
  ofi::Endpoint endpoint_;
  ofi::Exchange exchange_;
};

}  // namespace hamlyn::internal_::library
