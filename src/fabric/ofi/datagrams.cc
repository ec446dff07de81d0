#include "fabric/ofi/datagrams.h"

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

fi_info* find(const std::string& address, const std::string& service) {
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
  const int error = library.getinfo(FI_VERSION(1, 17), address.c_str(),
                                    service.empty() ? nullptr : service.c_str(), FI_SOURCE, hints, &found);
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
  std::vector<std::byte> memory;
  std::vector<Slot> slots;
  Opened opened;
  std::vector<std::pair<std::vector<std::byte>, Peer>> peers;
  Slot* free = nullptr;     // to send from
  Slot* to_post = nullptr;  // to receive in
  std::uint64_t refused = 0;
  bool strangers = false;  // are taken, too

  bool named(Peer peer) const noexcept {
    return std::any_of(peers.begin(), peers.end(), [peer](const auto& each) { return each.second == peer; });
  }
  void post() noexcept {
    while (Slot* const slot = to_post) {
      if (fi_recv(opened.endpoint.get(), slot->bytes, limit, nullptr, FI_ADDR_UNSPEC, slot->own) != 0) return;
      to_post = slot->next;
    }
  }
};

Datagrams::Datagrams(const std::string& address, const std::string& service)
    : parts_(std::make_unique<Parts>()) {
  NoForks::check();
  const NoForks guard;
  Parts& parts = *parts_;
  parts.info.reset(find(address, service));
  parts.limit = parts.info->ep_attr->max_msg_size;
  parts.opened = open_endpoint(*parts.info, 2 * kSlots, FI_WAIT_FD);
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

Datagrams::~Datagrams() {
  const NoForks guard;
  parts_.reset();
}

std::size_t Datagrams::limit() const noexcept { return parts_->limit - kHeader; }
std::span<const std::byte> Datagrams::address() const noexcept { return parts_->opened.name; }
std::uint64_t Datagrams::refused() const noexcept { return parts_->refused; }

Datagrams::Peer Datagrams::insert(std::span<const std::byte> address) {
  Parts& parts = *parts_;
  // Length and family as our own has them: the provider looks at neither.
  constexpr std::size_t kFamily = sizeof(std::uint16_t);
  if (address.size() != parts.opened.name.size() ||
      std::memcmp(address.data(), parts.opened.name.data(), kFamily) != 0)
    return kNobody;
  for (const auto& [known, peer] : parts.peers) {
    if (std::equal(known.begin(), known.end(), address.begin())) return peer;
  }
  // Without memory nothing was inserted.
  parts.peers.push_back({{address.begin(), address.end()}, kNobody});
  fi_addr_t inserted = FI_ADDR_UNSPEC;
  if (fi_av_insert(parts.opened.addresses.get(), address.data(), 1, &inserted, 0, nullptr) != 1) {
    parts.peers.pop_back();
    return kNobody;
  }
  parts.peers.back().second = inserted;
  return inserted;
}

void Datagrams::forget(Peer peer) noexcept {
  fi_addr_t address = peer;
  if (std::erase_if(parts_->peers, [peer](const auto& each) { return each.second == peer; }) != 0)
    fi_av_remove(parts_->opened.addresses.get(), &address, 1, 0);
}
void Datagrams::take_strangers() noexcept { parts_->strangers = true; }

int Datagrams::descriptor() const noexcept {
  int descriptor = -1;
  return fi_control(&parts_->opened.completions->fid, FI_GETWAIT, &descriptor) == 0 ? descriptor : -1;
}
bool Datagrams::may_sleep() noexcept {
  fid* queue = &parts_->opened.completions->fid;
  return fi_trywait(parts_->opened.fabric.get(), &queue, 1) == 0;
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
  const auto error =
      fi_send(parts.opened.endpoint.get(), slot->bytes, kHeader + data.size(), nullptr, to, slot->own);
  if (error == -FI_EAGAIN) return Status::queue_full;
  // Lost, if the kernel sends nothing there: others are none the worse.
  if (error == 0) parts.free = slot->next;
  return Status::ok;
}

std::optional<Datagrams::Arrival> Datagrams::receive(std::span<std::byte> into) noexcept {
  Parts& parts = *parts_;
  if (into.size() < limit()) return std::nullopt;
  fi_cq_msg_entry entry;
  fi_addr_t from = FI_ADDR_NOTAVAIL;
  while (true) {
    const auto count = fi_cq_readfrom(parts.opened.completions.get(), &entry, 1, &from);
    std::size_t length = 0;  // of what has come
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(parts.opened.completions.get(), &error, 0) <= 0) return std::nullopt;
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
    const bool named = parts.named(from);
    const bool good = length >= kHeader && base::load_little<std::uint32_t>(slot->bytes) == kMagic &&
                      base::load_little<std::uint32_t>(slot->bytes + 4) == data && (named || parts.strangers);
    if (good) std::copy_n(slot->bytes + kHeader, data, into.begin());
    slot->next = std::exchange(parts.to_post, slot);
    parts.post();
    if (good) return Arrival{named ? from : kNobody, data};
    ++parts.refused;
  }
}

}  // namespace hamlyn::ofi
