#pragma once
// libfabric's objects with an owner each, and its errors as ours.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/ofi/libfabric.h"
#include "hamlyn/values/error.h"

namespace hamlyn::ofi {

inline constexpr std::size_t kAddressLimit = 64;  // bytes of an endpoint's address

[[noreturn]] inline void fail(const char* what, std::int64_t error) {
  throw Error(ErrorCode::system, std::string(what) + ": " + libfabric().strerror(static_cast<int>(-error)));
}
inline void check(const char* what, std::int64_t error) {
  if (error < 0) fail(what, error);
}

struct Close {
  template <class Object>
  void operator()(Object* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

// An endpoint and what it stands on, in the order in which they are made; they go in the reverse of it.
struct Opened {
  Owned<fid_fabric> fabric;
  Owned<fid_domain> domain;
  Owned<fid_cq> completions;  // of what leaves and what comes
  Owned<fid_av> addresses;
  Owned<fid_ep> endpoint;
  std::vector<std::byte> name;  // by which others reach it
};

// Opens an endpoint as `info` says, with `completions` of messages that may be waited for on `wait_on`.
inline Opened open_endpoint(fi_info& info, std::size_t completions, fi_wait_obj wait_on) {
  Opened opened;
  const auto made = [](const char* what, int error, auto& owner, auto*& object) {
    check(what, error);
    owner.reset(object);
  };
  fid_fabric* fabric = nullptr;
  made("fi_fabric", libfabric().fabric(info.fabric_attr, &fabric, nullptr), opened.fabric, fabric);
  fid_domain* domain = nullptr;
  made("fi_domain", fi_domain(fabric, &info, &domain, nullptr), opened.domain, domain);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = wait_on;
  queue.size = completions;
  fid_cq* cq = nullptr;
  made("fi_cq_open", fi_cq_open(domain, &queue, &cq, nullptr), opened.completions, cq);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  made("fi_av_open", fi_av_open(domain, &table, &addresses, nullptr), opened.addresses, addresses);
  fid_ep* endpoint = nullptr;
  made("fi_endpoint", fi_endpoint(domain, &info, &endpoint, nullptr), opened.endpoint, endpoint);
  check("fi_ep_bind of the completion queue", fi_ep_bind(endpoint, &cq->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind of the addresses", fi_ep_bind(endpoint, &addresses->fid, 0));
  check("fi_enable", fi_enable(endpoint));
  std::size_t length = kAddressLimit;
  opened.name.resize(length);
  check("fi_getname", fi_getname(&endpoint->fid, opened.name.data(), &length));
  opened.name.resize(length);
  return opened;
}

}  // namespace hamlyn::ofi
