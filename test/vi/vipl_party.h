#pragma once
// Processes that have opened a NIC, and addresses, for tests of VIPL.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "test/process/on_nodes.h"
#include "vipl.h"

namespace hamlyn::test {

inline constexpr VIP_ULONG kWait = 30000;  // milliseconds
inline constexpr std::size_t kArena = 1u << 20;

// An address, as programs make one: a host's, and behind it a discriminator.
struct NetAddress {
  explicit NetAddress(VIP_NIC_HANDLE nic, const std::string& discriminator = {}) {
    VIP_NIC_ATTRIBUTES attributes;
    EXPECT_EQ(VipQueryNic(nic, &attributes), VIP_SUCCESS);
    get()->HostAddressLen = attributes.NicAddressLen;
    std::memcpy(get()->HostAddress, attributes.LocalNicAddress, attributes.NicAddressLen);
    get()->DiscriminatorLen = static_cast<VIP_UINT16>(discriminator.size());
    std::memcpy(get()->HostAddress + attributes.NicAddressLen, discriminator.data(), discriminator.size());
  }
  // Another host's, by its node's number; 0: it stays this one's.
  void set_host(std::uint64_t node) {
    if (node != 0) std::memcpy(get()->HostAddress, &node, sizeof node);
  }
  VIP_NET_ADDRESS* get() { return reinterpret_cast<VIP_NET_ADDRESS*>(bytes); }

  alignas(8) unsigned char bytes[128] = {};
};

// A NIC, a tag, and registered memory with room for descriptors.
class Opened {
 public:
  explicit Opened(const std::string& device, bool rdma = true) {
    EXPECT_EQ(VipOpenNic(device.c_str(), &nic), VIP_SUCCESS);
    EXPECT_EQ(VipCreatePtag(nic, &tag), VIP_SUCCESS);
    memory = static_cast<unsigned char*>(std::aligned_alloc(64, kArena));
    std::memset(memory, 0, kArena);
    VIP_MEM_ATTRIBUTES attributes = {tag, rdma, rdma};
    EXPECT_EQ(VipRegisterMem(nic, memory, kArena, &attributes, &handle), VIP_SUCCESS);
  }
  ~Opened() {
    VipCloseNic(nic);
    std::free(memory);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  VIP_VI_ATTRIBUTES attributes(VIP_RELIABILITY_LEVEL level = VIP_SERVICE_RELIABLE_DELIVERY) const {
    return {level, 65536, 0, tag, VIP_TRUE, VIP_TRUE};
  }
  VIP_VI_HANDLE make_vi(VIP_RELIABILITY_LEVEL level = VIP_SERVICE_RELIABLE_DELIVERY,
                        VIP_CQ_HANDLE send = nullptr, VIP_CQ_HANDLE receive = nullptr) {
    VIP_VI_ATTRIBUTES of = attributes(level);
    VIP_VI_HANDLE vi = nullptr;
    EXPECT_EQ(VipCreateVi(nic, &of, send, receive, &vi), VIP_SUCCESS);
    return vi;
  }
  VIP_DESCRIPTOR* descriptor(std::size_t at, VIP_UINT32 length) {
    auto* const out = reinterpret_cast<VIP_DESCRIPTOR*>(memory + 128 * next_++ % (kArena / 2));
    *out = {};
    out->CS.SegCount = 1;
    out->CS.Length = length;
    out->DS[0].Local.Data.Address = data(at);
    out->DS[0].Local.Handle = handle;
    out->DS[0].Local.Length = length;
    return out;
  }
  VIP_DESCRIPTOR* remote(VIP_UINT16 control, std::uint64_t address, VIP_MEM_HANDLE of, std::size_t at,
                         VIP_UINT32 length) {
    VIP_DESCRIPTOR* const out = descriptor(at, length);
    out->DS[1] = out->DS[0];
    out->DS[0] = {};
    out->DS[0].Remote.Data.AddressBits = address;
    out->DS[0].Remote.Handle = of;
    out->CS.SegCount = 2;
    out->CS.Control = control;
    return out;
  }
  unsigned char* data(std::size_t at) { return memory + kArena / 2 + at; }
  VIP_RETURN connect(VIP_VI_HANDLE vi, std::uint64_t node, const std::string& discriminator) {
    NetAddress own(nic), asked(nic, discriminator);
    asked.set_host(node);
    VIP_VI_ATTRIBUTES other;
    VIP_RETURN result = VIP_NO_MATCH;
    // As programs do: until somebody waits there.
    while (result == VIP_NO_MATCH) result = VipConnectRequest(vi, own.get(), asked.get(), kWait, &other);
    return result;
  }
  VIP_RETURN wait(const std::string& discriminator, VIP_CONN_HANDLE* request) {
    NetAddress own(nic, discriminator), remote(nic);
    VIP_VI_ATTRIBUTES other;
    return VipConnectWait(nic, own.get(), kWait, remote.get(), &other, request);
  }
  void accept(VIP_VI_HANDLE vi, const std::string& discriminator) {
    VIP_CONN_HANDLE request = nullptr;
    ASSERT_EQ(wait(discriminator, &request), VIP_SUCCESS);
    ASSERT_EQ(VipConnectAccept(request, vi), VIP_SUCCESS);
  }
  // Connects two VIs of this NIC.
  void join(VIP_VI_HANDLE one, VIP_VI_HANDLE other, const std::string& discriminator) {
    std::thread accepting([&] { accept(other, discriminator); });
    EXPECT_EQ(connect(one, 0, discriminator), VIP_SUCCESS);
    accepting.join();
  }
  // Status of the next send, or receive, that is over.
  VIP_UINT32 sent(VIP_VI_HANDLE vi) {
    VIP_DESCRIPTOR* done = nullptr;
    VipSendWait(vi, kWait, &done);
    return done != nullptr ? done->CS.Status : 0;
  }
  VIP_UINT32 received(VIP_VI_HANDLE vi, VIP_DESCRIPTOR** out = nullptr) {
    VIP_DESCRIPTOR* done = nullptr;
    VipRecvWait(vi, kWait, &done);
    if (out != nullptr) *out = done;
    return done != nullptr ? done->CS.Status : 0;
  }
  VIP_VI_STATE state(VIP_VI_HANDLE vi) {
    VIP_VI_STATE out;
    VIP_VI_ATTRIBUTES of;
    VIP_BOOLEAN sends, receives;
    EXPECT_EQ(VipQueryVi(vi, &out, &of, &sends, &receives), VIP_SUCCESS);
    return out;
  }

  VIP_NIC_HANDLE nic = nullptr;
  VIP_PROTECTION_HANDLE tag = nullptr;
  VIP_MEM_HANDLE handle = 0;
  unsigned char* memory = nullptr;

 private:
  std::size_t next_ = 0;
};

inline constexpr VIP_RELIABILITY_LEVEL kLevels[] = {VIP_SERVICE_UNRELIABLE, VIP_SERVICE_RELIABLE_DELIVERY,
                                                    VIP_SERVICE_RELIABLE_RECEPTION};
inline constexpr VIP_UINT32 kSent = VIP_STATUS_DONE | VIP_STATUS_OP_SEND,
                            kReceived = VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE;

class Vipl : public OnNodes {
 protected:
  std::string device() const { return "hamlyn:" + options().node; }
  std::string other_device() const { return "hamlyn:" + other_options().node; }
  std::uint64_t node() const { return nodes != nullptr ? 1 : 0; }

  // A server and a client, each a process.
  void with_two(const std::function<void(Opened&)>& server, const std::function<void(Opened&)>& client) {
    Actor one([&](Line&) {
      Opened opened(device());
      server(opened);
      return HasFailure() ? 1 : 0;
    });
    Actor other([&](Line&) {
      Opened opened(other_device());
      client(opened);
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(one.wait(), 0);
  }
};

}  // namespace hamlyn::test
