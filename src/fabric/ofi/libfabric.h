#pragma once
// libfabric, loaded when it is first needed: a process that talks to no other host does not pay for its
// providers, some of which take a quarter of a second to load and nearly a second to look around.
#include <rdma/fabric.h>

namespace hamlyn::ofi {

struct Libfabric {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
  decltype(&fi_version) version = nullptr;
};

// Throws Error(unsupported) if it is not installed.
const Libfabric& libfabric();

}  // namespace hamlyn::ofi
