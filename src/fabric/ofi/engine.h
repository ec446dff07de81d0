#pragma once
// Which of libfabric's engines carries frames here, and why. Two hosts must use the same one: it is part of
// what they tell each other.
#include <string>
#include <vector>

struct fi_info;

namespace hamlyn::ofi {

struct EngineChoice {
  std::string name;     // "efa", "net", "tcp", "verbs;ofi_rxm", "tcp;ofi_rxm"; empty: none can be used
  std::string version;  // of libfabric
  std::vector<std::string> reasons;  // a line for each that was looked at
  fi_info* info = nullptr;           // to be freed with libfabric().freeinfo
};

// Looks at what there is. `address`: the local address to be reached at; empty: any. Never chooses `ofi_rxm`
// (it trusts an index from the wire), unless `wanted` names it and the address is one of loopback; with
// `wanted`, that or nothing. Throws Error if there is no libfabric.
EngineChoice choose_engine(const std::string& address, const std::string& wanted = {});

// For people: what it would choose, with nothing to free. Without libfabric there is no name and no version,
// and one reason.
EngineChoice explain_engine();

}  // namespace hamlyn::ofi
