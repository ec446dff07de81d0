#include "fabric/ofi/engine.h"

#include <arpa/inet.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/libfabric.h"
#include "fabric/ofi/limits.h"
#include "hamlyn/values/error.h"

namespace hamlyn::ofi {

namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);

// As providers are named, and by which engine two hosts agree. Best first. `tcp` has datagram endpoints of
// its own from 1.18 on, where `net` is no more; before, as `verbs` always, it has them by ofi_rxm only.
constexpr const char* kEngines[] = {"efa", "verbs;ofi_rxm", "net", "tcp", "tcp;ofi_rxm"};

bool by_rxm(std::string_view provider) { return provider.find("ofi_rxm") != std::string_view::npos; }

// Anybody may be behind another address of this host.
bool is_loopback(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

fi_info* ask(const Libfabric& library, const char* provider, const std::string& address, int& error) {
  fi_info* const hints = library.dupinfo(nullptr);
  if (hints == nullptr) return nullptr;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->fabric_attr->prov_name = strdup(provider);
  fi_info* found = nullptr;
  error = library.getinfo(kVersion, address.empty() ? nullptr : address.c_str(), nullptr,
                          address.empty() ? 0 : FI_SOURCE, hints, &found);
  library.freeinfo(hints);
  return error == 0 ? found : nullptr;
}

// Null, or why it will not do.
const char* unfit(const fi_info& info, bool rxm_wanted) {
  if (info.ep_attr->max_msg_size < kFrameLimit) return "its messages are too short";
  if (info.tx_attr->inject_size < kFrameHeader) return "it sends no header without a buffer";
  const char* const name = info.fabric_attr->prov_name;
  if (!rxm_wanted && name != nullptr && by_rxm(name))
    return "only by ofi_rxm, which trusts an index from the wire: on request only (cluster.engine)";
  return nullptr;
}

// Whether the engine of that name can be used; then it is the choice.
bool look_at(const Libfabric& library, const std::string& engine, const std::string& address, bool wanted,
             EngineChoice& choice) {
  const auto no = [&](const std::string& why) {
    choice.reasons.push_back(engine + ": " + why);
    return false;
  };
  if (wanted && by_rxm(engine) && !is_loopback(address))
    return no("not at " + (address.empty() ? "an address that is not known" : address) +
              ", where strangers may reach it: loopback only");
  int error = 0;
  fi_info* const info = ask(library, engine.c_str(), address, error);
  if (info == nullptr) return no(library.strerror(-error));
  if (const char* const why = unfit(*info, wanted && by_rxm(engine))) {
    library.freeinfo(info);
    return no(why);
  }
  choice.name = engine;
  choice.info = info;
  choice.reasons.push_back(engine + ": chosen, " + info->fabric_attr->prov_name + " reliable datagrams");
  return true;
}

}  // namespace

EngineChoice choose_engine(const std::string& address, const std::string& wanted) {
  const Libfabric& library = libfabric();
  const KeptSignals signals;
  EngineChoice choice;
  const std::uint32_t version = library.version();
  choice.version = std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
  if (wanted.empty()) {
    for (const std::string engine : kEngines) {
      if (look_at(library, engine, address, false, choice)) break;
    }
  } else if (std::ranges::find(kEngines, wanted) == std::end(kEngines)) {
    choice.reasons.push_back(wanted + ": no engine that is known");
  } else {
    look_at(library, wanted, address, true, choice);
  }
  return choice;
}

EngineChoice explain_engine() {
  EngineChoice choice;
  try {
    choice = choose_engine({});
    if (choice.info != nullptr) libfabric().freeinfo(std::exchange(choice.info, nullptr));
    // An engine that a node could ask for, at loopback addresses.
    EngineChoice asked = choose_engine("127.0.0.1", "tcp;ofi_rxm");
    if (asked.info != nullptr) {
      libfabric().freeinfo(asked.info);
      choice.reasons.emplace_back(
          "tcp;ofi_rxm: on request only (cluster.engine), and at loopback addresses only");
    }
  } catch (const Error& error) {
    choice.reasons.emplace_back(error.what());
  }
  return choice;
}

}  // namespace hamlyn::ofi
