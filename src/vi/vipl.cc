// VIPL 1.0 (vipl.h) over hamlyn/vi/nic.h.
#include "vipl.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/vi/nic.h"
#include "vi/handles.h"
#include "vi/hosts.h"

namespace hamlyn::internal_::vi {

namespace {

static_assert(sizeof(VIP_DESCRIPTOR) == sizeof(Descriptor) && alignof(VIP_DESCRIPTOR) == alignof(Descriptor));
static_assert(static_cast<int>(Result::not_supported) == VIP_ERROR_NOT_SUPPORTED);
static_assert(static_cast<int>(Result::descriptor_error) == VIP_DESCRIPTOR_ERROR);
static_assert(static_cast<int>(State::error) == VIP_STATE_ERROR);
static_assert(static_cast<int>(Fault::catastrophic) == VIP_ERROR_CATASTROPHIC);
static_assert(kErrors == VIP_STATUS_ERROR_MASK && kHasImmediate == VIP_STATUS_IMMEDIATE &&
              kOfRead == VIP_STATUS_OP_RDMA_READ);

constexpr std::size_t kReservedBytes = 40;  // that programs have for a host and a discriminator

VIP_RETURN answer(Result result) noexcept { return static_cast<VIP_RETURN>(result); }

// --- values

Nic::Time time_of(VIP_ULONG milliseconds) noexcept {
  constexpr VIP_ULONG kForEver = 0xFFFFFFFF;  // and whatever is longer, VIP_INFINITE among them
  return milliseconds >= kForEver ? Nic::Time::max() : std::chrono::milliseconds{milliseconds};
}

std::optional<Address> address_of(const VIP_NET_ADDRESS* from) noexcept {
  if (from == nullptr || from->DiscriminatorLen > Address::kMost) return std::nullopt;
  if (from->HostAddressLen != 0 && from->HostAddressLen != kAddressBytes) return std::nullopt;
  const auto* const bytes = reinterpret_cast<const std::byte*>(from) + offsetof(VIP_NET_ADDRESS, HostAddress);
  std::uint64_t host = 0;
  std::memcpy(&host, bytes, from->HostAddressLen);
  return Address::of(host, {bytes + from->HostAddressLen, from->DiscriminatorLen});
}

void put_host(std::uint64_t host, VIP_NET_ADDRESS* to) noexcept {
  to->HostAddressLen = kAddressBytes;
  to->DiscriminatorLen = 0;
  std::memcpy(reinterpret_cast<std::byte*>(to) + offsetof(VIP_NET_ADDRESS, HostAddress), &host, sizeof host);
}

// As much of it as programs have room for.
void put_address(const Address& from, VIP_NET_ADDRESS* to) noexcept {
  auto* const bytes = reinterpret_cast<std::byte*>(to) + offsetof(VIP_NET_ADDRESS, HostAddress);
  const auto length = std::min<std::size_t>(from.length, kReservedBytes - kAddressBytes);
  to->HostAddressLen = kAddressBytes;
  to->DiscriminatorLen = static_cast<VIP_UINT16>(length);
  std::memcpy(bytes, &from.host, kAddressBytes);
  std::memcpy(bytes + kAddressBytes, from.bytes.data(), length);
}

std::optional<ViAttributes> attributes_of(const VIP_VI_ATTRIBUTES& from, const Named& nic) noexcept {
  const auto tag = number_of(from.Ptag, Kind::tag, nic, false);
  if (!tag) return std::nullopt;
  return ViAttributes{static_cast<Reliability>(from.ReliabilityLevel),
                      from.MaxTransferSize,
                      reinterpret_cast<std::uintptr_t>(from.QoS),
                      *tag,
                      from.EnableRdmaWrite != 0,
                      from.EnableRdmaRead != 0};
}

void put_attributes(const ViAttributes& from, const Named& nic, VIP_VI_ATTRIBUTES* to) noexcept {
  if (to == nullptr) return;
  *to = {};
  to->ReliabilityLevel = static_cast<VIP_RELIABILITY_LEVEL>(from.reliability);
  to->MaxTransferSize = from.max_transfer;
  to->QoS = reinterpret_cast<VIP_QOS>(static_cast<std::uintptr_t>(from.qos));
  to->Ptag = nic.handle(Kind::tag, from.tag);
  to->EnableRdmaWrite = from.rdma_write ? VIP_TRUE : VIP_FALSE;
  to->EnableRdmaRead = from.rdma_read ? VIP_TRUE : VIP_FALSE;
}

std::optional<MemoryAttributes> attributes_of(const VIP_MEM_ATTRIBUTES& from, const Named& nic) noexcept {
  const auto tag = number_of(from.Ptag, Kind::tag, nic, false);
  if (!tag) return std::nullopt;
  return MemoryAttributes{*tag, from.EnableRdmaWrite != 0, from.EnableRdmaRead != 0};
}

Descriptor* descriptor_of(VIP_DESCRIPTOR* from) noexcept { return reinterpret_cast<Descriptor*>(from); }
VIP_DESCRIPTOR* descriptor_of(Descriptor* from) noexcept { return reinterpret_cast<VIP_DESCRIPTOR*>(from); }

VIP_RETURN put(const Completed& done, VIP_DESCRIPTOR** to) noexcept {
  *to = descriptor_of(done.descriptor);
  return answer(done.result);
}

VIP_RETURN put(const Completion& event, const Named& queue, VIP_VI_HANDLE* vi,
               VIP_BOOLEAN* receive) noexcept {
  if (event.result == Result::success) {
    *vi = queue.handle(Kind::vi, event.vi);
    *receive = event.receive ? VIP_TRUE : VIP_FALSE;
  }
  return answer(event.result);
}

VIP_ERROR_DESCRIPTOR error_of(const ErrorEvent& event, const Named& nic) noexcept {
  VIP_ERROR_DESCRIPTOR out{};
  out.NicHandle = nic.handle(Kind::nic, 0);
  out.ViHandle = nic.handle(Kind::vi, event.vi);
  out.CQHandle = nic.handle(Kind::queue, event.queue);
  out.DescriptorPtr = descriptor_of(event.descriptor);
  out.OpCode = event.operation;
  out.ResourceCode = VIP_RESOURCE_VI;
  if (event.descriptor != nullptr) out.ResourceCode = VIP_RESOURCE_DESCRIPTOR;
  if (event.queue != 0) out.ResourceCode = VIP_RESOURCE_CQ;
  out.ErrorCode = static_cast<VIP_ERROR_CODE>(event.fault);
  return out;
}

Hosts hosts_of(const Named& nic) { return {nic.nic().host(), nic.open->node}; }

template <class What>
VIP_RETURN with_memory(What what) noexcept {
  try {
    return what();
  } catch (const std::exception&) {
    return VIP_ERROR_RESOURCE;
  }
}

// --- calls of which there are two

VIP_RETURN notify(VIP_VI_HANDLE vi, VIP_PVOID context, VIP_VI_CALLBACK handler,
                  Result (Nic::*ask)(std::uint32_t, Nic::Handler) noexcept) noexcept {
  const Named named = find(vi, Kind::vi);
  if (!named || handler == nullptr) return VIP_INVALID_PARAMETER;
  return with_memory([&] {
    return answer(
        (named.nic().*ask)(named.number, [named, context, handler, vi](std::uint32_t, Descriptor* done) {
          handler(context, named.handle(Kind::nic, 0), vi, descriptor_of(done));
        }));
  });
}

VIP_RETURN peer_outcome(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES* attributes,
                        Result (Nic::*ask)(std::uint32_t, ViAttributes*) noexcept) noexcept {
  const Named named = find(vi, Kind::vi);
  if (!named) return VIP_INVALID_PARAMETER;
  ViAttributes other;
  const Result result = (named.nic().*ask)(named.number, &other);
  if (result == Result::success) put_attributes(other, named, attributes);
  return answer(result);
}

}  // namespace

}  // namespace hamlyn::internal_::vi

using namespace hamlyn::internal_::vi;

extern "C" {

// --- the NIC

VIP_RETURN VipOpenNic(const VIP_CHAR* device, VIP_NIC_HANDLE* out) {
  if (device == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  const auto opened = opened_by_environment();
  if (!opened) return VIP_INVALID_PARAMETER;
  return with_memory([&] {
    const std::lock_guard guard(opening);
    const auto place = std::ranges::find_if(
        places, [](const Place& each) { return each.nic.load(std::memory_order_relaxed) == nullptr; });
    if (place == places.end()) return VIP_ERROR_RESOURCE;
    auto nic = std::make_unique<OpenNic>(options_of(device), *opened);
    const auto index = static_cast<std::uint64_t>(place - places.begin());
    const Named named{
        nic.get(),
        index << kPlaceAt | std::uint64_t{place->generation.load(std::memory_order_relaxed)} << kGenerationAt,
        0};
    place->nic.store(nic.release(), std::memory_order_release);
    *out = named.handle(Kind::nic, 0);
    return VIP_SUCCESS;
  });
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE nic) {
  std::unique_ptr<OpenNic> goes;  // under no lock: its handlers may open others
  const std::lock_guard guard(opening);
  const Named named = find(nic, Kind::nic);
  if (!named) return VIP_INVALID_PARAMETER;
  goes.reset(named.open);
  Place& place = places[named.place >> kPlaceAt & (kMostNics - 1)];
  const std::uint32_t next = place.generation.load(std::memory_order_relaxed) % kGenerations + 1;
  place.generation.store(next, std::memory_order_relaxed);
  place.nic.store(nullptr, std::memory_order_release);
  return VIP_SUCCESS;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE nic, VIP_NIC_ATTRIBUTES* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || out == nullptr) return VIP_INVALID_PARAMETER;
  *out = {};
  std::strcpy(out->Name, "hamlyn");
  out->ProviderVersion = 1;
  out->NicAddressLen = kAddressBytes;
  out->LocalNicAddress = named.open->address.data();
  out->ThreadSafe = VIP_TRUE;
  out->MaxDiscriminatorLen = Address::kMost;
  out->MaxRegisterBytes = out->MaxRegisterBlockBytes = ~VIP_ULONG{0} >> 16;
  out->MaxRegisterRegions = kMostRegions;
  out->MaxVI = kMostVis;
  out->MaxDescriptorsPerQueue = kMostDescriptors;
  out->MaxSegmentsPerDesc = kMostSegments;
  out->MaxCQ = kMostQueues;
  out->MaxCQEntries = kMostQueueEntries;
  out->MaxTransferSize = kMostTransfer;
  out->NativeMTU = 32768;
  out->MaxPtags = kMostTags;
  constexpr VIP_UINT16 kAll =
      VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
  out->ReliabilityLevelSupport = out->RDMAReadSupport = kAll;
  return VIP_SUCCESS;
}

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE nic, VIP_PVOID context, VIP_ERROR_HANDLER handler) {
  const Named named = find(nic, Kind::nic);
  if (!named) return VIP_INVALID_PARAMETER;
  if (handler == nullptr) return answer(named.nic().on_error(nullptr));
  return with_memory([&] {
    return answer(named.nic().on_error([named, context, handler](const ErrorEvent& event) {
      VIP_ERROR_DESCRIPTOR error = error_of(event, named);
      handler(context, &error);
    }));
  });
}

VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE nic, VIP_ULONG type, VIP_PVOID out) {
  const Named named = find(nic, Kind::nic);
  if (!named || type != VIP_SMI_AUTODISCOVERY || out == nullptr) return VIP_INVALID_PARAMETER;
  auto& list = *static_cast<VIP_AUTODISCOVERY_LIST*>(out);
  if (list.NumAdAddrs != 0 && list.ADAddrArray == nullptr) return VIP_INVALID_PARAMETER;
  return with_memory([&] {
    const std::vector<std::uint64_t> hosts = nodes_within(hosts_of(named), list.NumberOfHops);
    const VIP_ULONG places = std::exchange(list.NumAdAddrs, hosts.size());
    const std::span to(list.ADAddrArray, std::min<std::size_t>(places, hosts.size()));
    if (std::ranges::count(to, nullptr) != 0) return VIP_INVALID_PARAMETER;
    for (std::size_t i = 0; i != to.size(); ++i) put_host(hosts[i], to[i]);
    return places < hosts.size() ? VIP_ERROR_RESOURCE : VIP_SUCCESS;
  });
}

// --- memory

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || out == nullptr) return VIP_INVALID_PARAMETER;
  Tag tag = 0;
  const Result result = named.nic().create_tag(tag);
  if (result == Result::success) *out = named.handle(Kind::tag, tag);
  return answer(result);
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE tag) {
  const Named named = find(nic, Kind::nic);
  const auto number = number_of(tag, Kind::tag, named, false);
  return named && number ? answer(named.nic().destroy_tag(*number)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
                          VIP_MEM_ATTRIBUTES* attributes, VIP_MEM_HANDLE* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || address == nullptr || attributes == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  const auto of = attributes_of(*attributes, named);
  if (!of) return VIP_INVALID_PTAG;
  return answer(named.nic().register_memory({static_cast<std::byte*>(address), length}, *of, *out));
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle) {
  const Named named = find(nic, Kind::nic);
  return named ? answer(named.nic().deregister_memory(address, handle)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryMem(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
                       VIP_MEM_ATTRIBUTES* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || out == nullptr) return VIP_INVALID_PARAMETER;
  MemoryAttributes of;
  const Result result = named.nic().query_memory(address, handle, of);
  if (result == Result::success)
    *out = {named.handle(Kind::tag, of.tag), of.rdma_write ? VIP_TRUE : VIP_FALSE,
            of.rdma_read ? VIP_TRUE : VIP_FALSE};
  return answer(result);
}

VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
                               VIP_MEM_ATTRIBUTES* attributes) {
  const Named named = find(nic, Kind::nic);
  if (!named || attributes == nullptr) return VIP_INVALID_PARAMETER;
  const auto of = attributes_of(*attributes, named);
  return of ? answer(named.nic().set_memory(address, handle, *of)) : VIP_INVALID_PTAG;
}

// --- VIs

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES* attributes, VIP_CQ_HANDLE send,
                       VIP_CQ_HANDLE receive, VIP_VI_HANDLE* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || attributes == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  const auto sends = number_of(send, Kind::queue, named, true),
             receives = number_of(receive, Kind::queue, named, true);
  if (!sends || !receives) return VIP_INVALID_PARAMETER;
  const auto of = attributes_of(*attributes, named);
  if (!of) return VIP_INVALID_PTAG;
  std::uint32_t vi = 0;
  const Result result = named.nic().create_vi(*of, *sends, *receives, vi);
  if (result == Result::success) *out = named.handle(Kind::vi, vi);
  return answer(result);
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE vi) {
  const Named named = find(vi, Kind::vi);
  return named ? answer(named.nic().destroy_vi(named.number)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE vi, VIP_VI_STATE* state, VIP_VI_ATTRIBUTES* attributes,
                      VIP_BOOLEAN* send_empty, VIP_BOOLEAN* receive_empty) {
  const Named named = find(vi, Kind::vi);
  if (!named || state == nullptr || attributes == nullptr || send_empty == nullptr ||
      receive_empty == nullptr)
    return VIP_INVALID_PARAMETER;
  Nic::ViStatus status;
  const Result result = named.nic().query_vi(named.number, status);
  if (result != Result::success) return answer(result);
  *state = static_cast<VIP_VI_STATE>(status.state);
  put_attributes(status.attributes, named, attributes);
  *send_empty = status.send_empty ? VIP_TRUE : VIP_FALSE;
  *receive_empty = status.receive_empty ? VIP_TRUE : VIP_FALSE;
  return VIP_SUCCESS;
}

VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES* attributes) {
  const Named named = find(vi, Kind::vi);
  if (!named || attributes == nullptr) return VIP_INVALID_PARAMETER;
  const auto of = attributes_of(*attributes, named);
  return of ? answer(named.nic().set_vi(named.number, *of)) : VIP_INVALID_PTAG;
}

// --- connections

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS* local, VIP_ULONG timeout,
                          VIP_NET_ADDRESS* remote, VIP_VI_ATTRIBUTES* attributes, VIP_CONN_HANDLE* out) {
  const Named named = find(nic, Kind::nic);
  const auto own = address_of(local);
  if (!named || !own || remote == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  Incoming request;
  const Result result = named.nic().connect_wait(*own, time_of(timeout), request);
  if (result != Result::success) return answer(result);
  put_address(request.from, remote);
  put_attributes(request.attributes, named, attributes);
  *out = named.handle(Kind::request, request.number);
  return VIP_SUCCESS;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE request, VIP_VI_HANDLE vi) {
  const Named named = find(request, Kind::request);
  const auto with = number_of(vi, Kind::vi, named, false);
  return named && with ? answer(named.nic().accept(named.number, *with)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE request) {
  const Named named = find(request, Kind::request);
  return named ? answer(named.nic().reject(named.number)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE vi, VIP_NET_ADDRESS* local, VIP_NET_ADDRESS* remote,
                             VIP_ULONG timeout, VIP_VI_ATTRIBUTES* attributes) {
  const Named named = find(vi, Kind::vi);
  const auto own = address_of(local), asked = address_of(remote);
  if (!named || !own || !asked) return VIP_INVALID_PARAMETER;
  ViAttributes other;
  const Result result = named.nic().request(named.number, *own, *asked, time_of(timeout), &other);
  if (result == Result::success) put_attributes(other, named, attributes);
  return answer(result);
}

VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE vi, VIP_NET_ADDRESS* local, VIP_NET_ADDRESS* remote,
                                 VIP_ULONG timeout) {
  const Named named = find(vi, Kind::vi);
  const auto own = address_of(local), asked = address_of(remote);
  if (!named || !own || !asked) return VIP_INVALID_PARAMETER;
  return answer(named.nic().peer_request(named.number, *own, *asked, time_of(timeout)));
}

VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES* attributes) {
  return peer_outcome(vi, attributes, &Nic::peer_done);
}

VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES* attributes) {
  return peer_outcome(vi, attributes, &Nic::peer_wait);
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE vi) {
  const Named named = find(vi, Kind::vi);
  return named ? answer(named.nic().disconnect(named.number)) : VIP_INVALID_PARAMETER;
}

// --- work

VIP_RETURN VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR* descriptor, VIP_MEM_HANDLE handle) {
  const Named named = find(vi, Kind::vi);
  if (!named) return VIP_INVALID_PARAMETER;
  return answer(named.nic().post_send(named.number, descriptor_of(descriptor), handle));
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR* descriptor, VIP_MEM_HANDLE handle) {
  const Named named = find(vi, Kind::vi);
  if (!named) return VIP_INVALID_PARAMETER;
  return answer(named.nic().post_receive(named.number, descriptor_of(descriptor), handle));
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE vi, VIP_DESCRIPTOR** out) {
  const Named named = find(vi, Kind::vi);
  return named && out != nullptr ? put(named.nic().send_done(named.number), out) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE vi, VIP_DESCRIPTOR** out) {
  const Named named = find(vi, Kind::vi);
  return named && out != nullptr ? put(named.nic().receive_done(named.number), out) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSendWait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR** out) {
  const Named named = find(vi, Kind::vi);
  if (!named || out == nullptr) return VIP_INVALID_PARAMETER;
  return put(named.nic().send_wait(named.number, time_of(timeout)), out);
}

VIP_RETURN VipRecvWait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR** out) {
  const Named named = find(vi, Kind::vi);
  if (!named || out == nullptr) return VIP_INVALID_PARAMETER;
  return put(named.nic().receive_wait(named.number, time_of(timeout)), out);
}

VIP_RETURN VipSendNotify(VIP_VI_HANDLE vi, VIP_PVOID context, VIP_VI_CALLBACK handler) {
  return notify(vi, context, handler, &Nic::send_notify);
}

VIP_RETURN VipRecvNotify(VIP_VI_HANDLE vi, VIP_PVOID context, VIP_VI_CALLBACK handler) {
  return notify(vi, context, handler, &Nic::receive_notify);
}

// --- completion queues

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE nic, VIP_ULONG entries, VIP_CQ_HANDLE* out) {
  const Named named = find(nic, Kind::nic);
  if (!named || out == nullptr || entries > kMostQueueEntries) return VIP_INVALID_PARAMETER;
  std::uint32_t queue = 0;
  const Result result = named.nic().create_queue(static_cast<std::uint32_t>(entries), queue);
  if (result == Result::success) *out = named.handle(Kind::queue, queue);
  return answer(result);
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE queue) {
  const Named named = find(queue, Kind::queue);
  return named ? answer(named.nic().destroy_queue(named.number)) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE queue, VIP_ULONG entries) {
  const Named named = find(queue, Kind::queue);
  if (!named || entries > kMostQueueEntries) return VIP_INVALID_PARAMETER;
  return answer(named.nic().resize_queue(named.number, static_cast<std::uint32_t>(entries)));
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE queue, VIP_VI_HANDLE* vi, VIP_BOOLEAN* receive) {
  const Named named = find(queue, Kind::queue);
  if (!named || vi == nullptr || receive == nullptr) return VIP_INVALID_PARAMETER;
  return put(named.nic().queue_done(named.number), named, vi, receive);
}

VIP_RETURN VipCQWait(VIP_CQ_HANDLE queue, VIP_ULONG timeout, VIP_VI_HANDLE* vi, VIP_BOOLEAN* receive) {
  const Named named = find(queue, Kind::queue);
  if (!named || vi == nullptr || receive == nullptr) return VIP_INVALID_PARAMETER;
  return put(named.nic().queue_wait(named.number, time_of(timeout)), named, vi, receive);
}

VIP_RETURN VipCQNotify(VIP_CQ_HANDLE queue, VIP_PVOID context, VIP_CQ_CALLBACK handler) {
  const Named named = find(queue, Kind::queue);
  if (!named || handler == nullptr) return VIP_INVALID_PARAMETER;
  return with_memory([&] {
    return answer(
        named.nic().queue_notify(named.number, [named, context, handler](std::uint32_t vi, bool receive) {
          handler(context, named.handle(Kind::nic, 0), named.handle(Kind::vi, vi),
                  receive ? VIP_TRUE : VIP_FALSE);
        }));
  });
}

VIP_RETURN VipCQTake(VIP_CQ_HANDLE queue, VIP_VI_HANDLE* vi, VIP_BOOLEAN* receive, VIP_DESCRIPTOR** out) {
  const Named named = find(queue, Kind::queue);
  if (!named || vi == nullptr || receive == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  const Taken taken = named.nic().queue_take(named.number);
  *out = descriptor_of(taken.descriptor);
  if (taken.vi != 0) *vi = named.handle(Kind::vi, taken.vi);
  *receive = taken.receive ? VIP_TRUE : VIP_FALSE;
  return answer(taken.result);
}

// --- names

VIP_RETURN VipNSInit(VIP_NIC_HANDLE nic, VIP_PVOID) {
  return find(nic, Kind::nic) ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE nic, VIP_CHAR* name, VIP_NET_ADDRESS* out, VIP_ULONG index) {
  const Named named = find(nic, Kind::nic);
  if (!named || name == nullptr || out == nullptr) return VIP_INVALID_PARAMETER;
  if (index != 0) return VIP_ERROR_NAMESERVICE;  // a host has one address
  return with_memory([&] {
    const auto found = node_called(hosts_of(named), name);
    if (!found) return VIP_ERROR_NAMESERVICE;
    const std::uint64_t host = *found;
    out->HostAddressLen = kAddressBytes;
    std::memcpy(reinterpret_cast<std::byte*>(out) + offsetof(VIP_NET_ADDRESS, HostAddress), &host,
                sizeof host);
    return VIP_SUCCESS;
  });
}

VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS* address, VIP_CHAR* name,
                              VIP_ULONG* length) {
  const Named named = find(nic, Kind::nic);
  const auto of = address_of(address);
  if (!named || !of || address->HostAddressLen == 0 || name == nullptr || length == nullptr)
    return VIP_INVALID_PARAMETER;
  return with_memory([&] {
    const auto found = name_of_node(hosts_of(named), of->host);
    if (!found) return VIP_ERROR_NAMESERVICE;
    const VIP_ULONG room = *length;
    *length = found->size() + 1;
    if (room < *length) return VIP_ERROR_RESOURCE;
    std::memcpy(name, found->c_str(), *length);
    return VIP_SUCCESS;
  });
}

VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE nic) {
  return find(nic, Kind::nic) ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

}  // extern "C"
