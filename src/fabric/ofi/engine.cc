#include "fabric/ofi/engine.h"

#include <rdma/fi_endpoint.h>

#include <cstring>
#include <utility>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/libfabric.h"
#include "fabric/ofi/limits.h"
#include "hamlyn/error.h"

namespace hamlyn::ofi {

namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);

// As providers are named, and by which engine two hosts agree. Best first. `tcp` has datagram endpoints of
// its own from 1.18 on, where `net` is no more; before, as `verbs` always, it has them by ofi_rxm only.
struct Engine {
  const char* name;
  const char* provider;
};
constexpr Engine kEngines[] = {{"efa", "efa"}, {"verbs", "verbs;ofi_rxm"}, {"net", "net"}, {"tcp", "tcp"}};

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
const char* unfit(const fi_info& info, bool wanted) {
  if (info.ep_attr->max_msg_size < kFrameLimit) return "its messages are too short";
  if (info.tx_attr->inject_size < kFrameHeader) return "it sends no header without a buffer";
  const char* const name = info.fabric_attr->prov_name;
  if (!wanted && name != nullptr && std::strstr(name, "ofi_rxm") != nullptr)
    return "only by ofi_rxm, which trusts an index from the wire: on request only";
  return nullptr;
}

}  // namespace

EngineChoice choose_engine(const std::string& address, const std::string& wanted) {
  const Libfabric& library = libfabric();
  const KeptSignals signals;
  EngineChoice choice;
  const std::uint32_t version = library.version();
  choice.version = std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
  for (const Engine& engine : kEngines) {
    if (!wanted.empty() && wanted != engine.name) continue;
    int error = 0;
    fi_info* const info = ask(library, engine.provider, address, error);
    if (info == nullptr) {
      choice.reasons.push_back(std::string(engine.name) + ": " + library.strerror(-error));
      continue;
    }
    if (const char* const why = unfit(*info, !wanted.empty())) {
      choice.reasons.push_back(std::string(engine.name) + ": " + why);
      library.freeinfo(info);
      continue;
    }
    choice.name = engine.name;
    choice.info = info;
    choice.reasons.push_back(std::string(engine.name) + ": chosen, " + info->fabric_attr->prov_name +
                             " reliable datagrams");
    break;
  }
  return choice;
}

EngineChoice explain_engine() {
  EngineChoice choice;
  try {
    choice = choose_engine({});
    if (choice.info != nullptr) libfabric().freeinfo(std::exchange(choice.info, nullptr));
  } catch (const Error& error) {
    choice.reasons.emplace_back(error.what());
  }
  return choice;
}

}  // namespace hamlyn::ofi
