#include "fabric/ofi/datagrams.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_order.h"
#include "fabric/ofi/owned.h"

namespace hamlyn::ofi {

namespace {

constexpr std::uint32_t kMagic = 0x4D474448;  // "HDGM"
constexpr std::size_t kHeader = 8;
constexpr std::size_t kSlots = 32;  // that wait to leave, and as many that may come

// Memory of one datagram that libfabric has, or may have.
struct Slot {
  alignas(std::uint64_t) std::byte own[64];  // libfabric's; first, so that it leads back here
  std::byte* bytes = nullptr;
  bool comes = false;
  Slot* next = nullptr;
};

fi_info* find(const std::string& address) {
  const Libfabric& library = libfabric();
  const KeptSignals signals;
  fi_info* const hints = library.dupinfo(nullptr);
  if (hints == nullptr) throw std::bad_alloc();
  hints->ep_attr->type = FI_EP_DGRAM;
  hints->caps = FI_MSG | FI_SOURCE;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->fabric_attr->prov_name = strdup("udp");
  fi_info* found = nullptr;
  const int error = library.getinfo(FI_VERSION(1, 17), address.c_str(), nullptr, FI_SOURCE, hints, &found);
  library.freeinfo(hints);
  check("fi_getinfo of udp", error);
  return found;
}

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { libfabric().freeinfo(info); }
};

}  // namespace

// In the order in which they are made; they go in the reverse of it.
struct Datagrams::Parts {
  std::unique_ptr<fi_info, FreeInfo> info;
  std::size_t limit = 0;  // of a whole datagram
  Owned<fid_fabric> fabric;
  Owned<fid_domain> domain;
  Owned<fid_cq> completions;
  Owned<fid_av> addresses;
  std::vector<std::byte> memory;
  std::vector<Slot> slots;
  Owned<fid_ep> endpoint;
  std::vector<std::byte> address;
  std::vector<std::pair<std::vector<std::byte>, Peer>> peers;
  Slot* free = nullptr;     // to send from
  Slot* to_post = nullptr;  // to receive in
  std::uint64_t refused = 0;

  bool named(Peer peer) const noexcept {
    return std::any_of(peers.begin(), peers.end(), [peer](const auto& each) { return each.second == peer; });
  }
  void post() noexcept {
    while (Slot* const slot = to_post) {
      if (fi_recv(endpoint.get(), slot->bytes, limit, nullptr, FI_ADDR_UNSPEC, slot->own) != 0) return;
      to_post = slot->next;
    }
  }
};

Datagrams::Datagrams(const std::string& address) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.info.reset(find(address));
  fi_info* const info = parts.info.get();
  parts.limit = info->ep_attr->max_msg_size;
  const auto made = [](const char* what, int error, auto& owner, auto*& object) {
    check(what, error);
    owner.reset(object);
  };
  fid_fabric* fabric = nullptr;
  made("fi_fabric", libfabric().fabric(info->fabric_attr, &fabric, nullptr), parts.fabric, fabric);
  fid_domain* domain = nullptr;
  made("fi_domain", fi_domain(fabric, info, &domain, nullptr), parts.domain, domain);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.size = 2 * kSlots;
  fid_cq* completions = nullptr;
  made("fi_cq_open", fi_cq_open(domain, &queue, &completions, nullptr), parts.completions, completions);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  made("fi_av_open", fi_av_open(domain, &table, &addresses, nullptr), parts.addresses, addresses);
  fid_ep* endpoint = nullptr;
  made("fi_endpoint", fi_endpoint(domain, info, &endpoint, nullptr), parts.endpoint, endpoint);
  check("fi_ep_bind of the completion queue", fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind of the addresses", fi_ep_bind(endpoint, &addresses->fid, 0));
  check("fi_enable", fi_enable(endpoint));
  std::size_t length = kAddressLimit;
  parts.address.resize(length);
  check("fi_getname", fi_getname(&endpoint->fid, parts.address.data(), &length));
  parts.address.resize(length);
  parts.memory.resize(2 * kSlots * parts.limit);
  parts.slots.resize(2 * kSlots);
  for (std::size_t i = 0; i < parts.slots.size(); ++i) {
    Slot& slot = parts.slots[i];
    slot.bytes = parts.memory.data() + i * parts.limit;
    slot.comes = i < kSlots;
    Slot*& chain = slot.comes ? parts.to_post : parts.free;
    slot.next = std::exchange(chain, &slot);
  }
  parts.post();
}

Datagrams::~Datagrams() { parts_->endpoint.reset(); }  // lets go of all slots

std::size_t Datagrams::limit() const noexcept { return parts_->limit - kHeader; }
std::span<const std::byte> Datagrams::address() const noexcept { return parts_->address; }
std::uint64_t Datagrams::refused() const noexcept { return parts_->refused; }

Datagrams::Peer Datagrams::insert(std::span<const std::byte> address) {
  Parts& parts = *parts_;
  // Length and family as our own has them: the provider looks at neither.
  constexpr std::size_t kFamily = sizeof(std::uint16_t);
  if (address.size() != parts.address.size() ||
      std::memcmp(address.data(), parts.address.data(), kFamily) != 0)
    return kNobody;
  for (const auto& [known, peer] : parts.peers) {
    if (std::equal(known.begin(), known.end(), address.begin())) return peer;
  }
  fi_addr_t inserted = FI_ADDR_UNSPEC;
  if (fi_av_insert(parts.addresses.get(), address.data(), 1, &inserted, 0, nullptr) != 1) return kNobody;
  parts.peers.push_back({{address.begin(), address.end()}, inserted});
  return inserted;
}

Status Datagrams::send(Peer to, std::span<const std::byte> data) noexcept {
  Parts& parts = *parts_;
  if (!parts.named(to)) return Status::invalid;
  if (data.size() > limit()) return Status::too_long;
  Slot* const slot = parts.free;
  if (slot == nullptr) return Status::queue_full;
  base::store_little(slot->bytes, kMagic);
  base::store_little(slot->bytes + 4, static_cast<std::uint32_t>(data.size()));
  std::copy(data.begin(), data.end(), slot->bytes + kHeader);
  if (fi_send(parts.endpoint.get(), slot->bytes, kHeader + data.size(), nullptr, to, slot->own) != 0)
    return Status::queue_full;
  parts.free = slot->next;
  return Status::ok;
}

std::optional<Datagrams::Arrival> Datagrams::receive(std::span<std::byte> into) noexcept {
  Parts& parts = *parts_;
  if (into.size() < limit()) return std::nullopt;
  fi_cq_msg_entry entry;
  fi_addr_t from = FI_ADDR_NOTAVAIL;
  while (true) {
    const auto count = fi_cq_readfrom(parts.completions.get(), &entry, 1, &from);
    std::size_t length = 0;  // of what has come
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(parts.completions.get(), &error, 0) <= 0) return std::nullopt;
      entry.op_context = error.op_context;
    } else if (count == 1) {
      length = entry.len;
    } else {
      return std::nullopt;
    }
    Slot* const slot = static_cast<Slot*>(entry.op_context);
    if (slot == nullptr) continue;
    if (!slot->comes) {
      slot->next = std::exchange(parts.free, slot);
      continue;
    }
    const std::size_t data = length < kHeader ? 0 : length - kHeader;
    const bool good = length >= kHeader && base::load_little<std::uint32_t>(slot->bytes) == kMagic &&
                      base::load_little<std::uint32_t>(slot->bytes + 4) == data && parts.named(from);
    if (good) std::copy_n(slot->bytes + kHeader, data, into.begin());
    slot->next = std::exchange(parts.to_post, slot);
    parts.post();
    if (good) return Arrival{from, data};
    ++parts.refused;
  }
}

}  // namespace hamlyn::ofi
