// VIPL between real processes, by its C functions.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "test/process/on_nodes.h"
#include "vipl.h"

namespace hamlyn::test {
namespace {

constexpr VIP_ULONG kWait = 30000;  // milliseconds
constexpr std::size_t kArena = 1u << 20;

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

constexpr VIP_RELIABILITY_LEVEL kLevels[] = {VIP_SERVICE_UNRELIABLE, VIP_SERVICE_RELIABLE_DELIVERY,
                                             VIP_SERVICE_RELIABLE_RECEPTION};
constexpr VIP_UINT32 kSent = VIP_STATUS_DONE | VIP_STATUS_OP_SEND,
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

// --- messages

void bounce(Opened& opened, VIP_VI_HANDLE vi, bool first, int times) {
  for (int i = 0; i != times; ++i) {
    if (first || i != 0) {
      *opened.data(0) = static_cast<unsigned char>(i);
      ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(vi), kSent);
    }
    ASSERT_EQ(opened.received(vi), kReceived);
    ASSERT_EQ(*opened.data(64), static_cast<unsigned char>(first ? i + 1 : i));
    ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
  }
}

TEST_F(Vipl, goes_to_and_fro_at_each_level) {
  for (const VIP_RELIABILITY_LEVEL level : kLevels) {
    const auto prepare = [level](Opened& opened) {
      VIP_VI_HANDLE vi = opened.make_vi(level);
      EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      return vi;
    };
    with_two(
        [&](Opened& opened) {
          VIP_VI_HANDLE vi = prepare(opened);
          opened.accept(vi, "pingpong");
          bounce(opened, vi, false, 200);
          *opened.data(0) = 200;
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
          VIP_DESCRIPTOR* flushed = nullptr;
          ASSERT_EQ(opened.received(vi, &flushed) & VIP_STATUS_DESC_FLUSHED_ERROR,
                    VIP_STATUS_DESC_FLUSHED_ERROR)
              << "the other side has disconnected";
          ASSERT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          ASSERT_EQ(VipDestroyVi(vi), VIP_SUCCESS);
        },
        [&](Opened& opened) {
          VIP_VI_HANDLE vi = prepare(opened);
          ASSERT_EQ(opened.connect(vi, node(), "pingpong"), VIP_SUCCESS);
          bounce(opened, vi, true, 200);
          ASSERT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          ASSERT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
          ASSERT_EQ(VipDestroyVi(vi), VIP_SUCCESS);
        });
  }
}

TEST_F(Vipl, moves_long_messages_in_their_order) {
  constexpr std::size_t kLength = 60000, kCount = 40;
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (std::size_t i = 0; i != 8; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(i * 65536 % (kArena / 2), kLength), opened.handle),
                    VIP_SUCCESS);
        opened.accept(vi, "long");
        for (std::size_t i = 0; i != kCount; ++i) {
          VIP_DESCRIPTOR* done = nullptr;
          ASSERT_EQ(opened.received(vi, &done), kReceived | VIP_STATUS_IMMEDIATE);
          ASSERT_EQ(done->CS.ImmediateData, i);
          ASSERT_EQ(done->CS.Length, kLength);
          const auto* const bytes = static_cast<unsigned char*>(done->DS[0].Local.Data.Address);
          for (std::size_t at = 0; at < kLength; at += 1111)
            ASSERT_EQ(bytes[at], static_cast<unsigned char>(i + at));
          ASSERT_EQ(VipPostRecv(vi, done, opened.handle), VIP_SUCCESS);
          // The sender has a credit for each receive.
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 0), opened.handle), VIP_SUCCESS);
        }
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
      },
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (int i = 0; i != 100; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 0), opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.connect(vi, node(), "long"), VIP_SUCCESS);
        for (std::size_t i = 0; i != kCount; ++i) {
          if (i >= 8) {
            ASSERT_EQ(opened.received(vi), kReceived);
          }
          for (std::size_t at = 0; at != kLength; ++at)
            opened.data(0)[at] = static_cast<unsigned char>(i + at);
          VIP_DESCRIPTOR* const what = opened.descriptor(0, kLength);
          what->CS.Control = VIP_CONTROL_IMMEDIATE;
          what->CS.ImmediateData = static_cast<VIP_UINT32>(i);
          ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
        }
        for (std::size_t i = 0; i != 8; ++i) ASSERT_EQ(opened.received(vi), kReceived);
      });
}

TEST_F(Vipl, says_at_each_level_that_there_was_no_descriptor) {
  for (const VIP_RELIABILITY_LEVEL level : kLevels) {
    for (const bool shorter : {false, true}) {
      with_two(
          [&](Opened& opened) {
            VIP_VI_HANDLE vi = opened.make_vi(level);
            if (shorter) {
              ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 8), opened.handle), VIP_SUCCESS);
            }
            opened.accept(vi, "none");
            if (level != VIP_SERVICE_UNRELIABLE) {
              while (opened.state(vi) == VIP_STATE_CONNECTED) {
              }
              EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
              if (shorter) {
                EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_LENGTH_ERROR);
              }
              return;
            }
            // A message that was dropped leaves the descriptor to one that fits.
            if (!shorter) {
              ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 8), opened.handle), VIP_SUCCESS);
            }
            ASSERT_EQ(opened.received(vi), kReceived);
            EXPECT_EQ(opened.state(vi), VIP_STATE_CONNECTED);
            EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          },
          [&](Opened& opened) {
            VIP_VI_HANDLE vi = opened.make_vi(level);
            ASSERT_EQ(opened.connect(vi, node(), "none"), VIP_SUCCESS);
            ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
            const VIP_UINT32 sent = opened.sent(vi);
            if (level == VIP_SERVICE_RELIABLE_RECEPTION) {
              EXPECT_EQ(sent, kSent | (shorter ? VIP_STATUS_LENGTH_ERROR : VIP_STATUS_REMOTE_DESC_ERROR));
            } else {
              EXPECT_EQ(sent, kSent);
            }
            if (level != VIP_SERVICE_UNRELIABLE) {
              while (opened.state(vi) == VIP_STATE_CONNECTED) {
              }
              EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
              return;
            }
            VIP_DESCRIPTOR* done = nullptr;
            while (opened.state(vi) == VIP_STATE_CONNECTED) {
              ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 8), opened.handle), VIP_SUCCESS);
              static_cast<void>(VipSendWait(vi, kWait, &done));
            }
          });
    }
  }
}

// --- RDMA

struct Told {
  std::uint64_t address = 0;
  VIP_MEM_HANDLE handle = 0;
};

TEST_F(Vipl, writes_and_reads_where_both_sides_allow_it) {
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (int i = 0; i != 3; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(4096, 64), opened.handle), VIP_SUCCESS);
        opened.accept(vi, "rdma");
        // Memory at any address, by itself.
        static char heap[10001];
        VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
        VIP_MEM_HANDLE handle = 0;
        ASSERT_EQ(VipRegisterMem(opened.nic, heap + 1, 10000, &attributes, &handle), VIP_SUCCESS);
        const Told told{reinterpret_cast<std::uintptr_t>(heap + 1), handle};
        std::memcpy(opened.data(0), &told, sizeof told);
        ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, sizeof told), opened.handle), VIP_SUCCESS);
        VIP_DESCRIPTOR* done = nullptr;
        ASSERT_EQ(opened.received(vi, &done),
                  VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
        EXPECT_EQ(done->CS.ImmediateData, 4711u);
        EXPECT_EQ(done->CS.Length, 9000u);
        for (std::size_t at = 0; at < 9000; at += 7)
          ASSERT_EQ(static_cast<unsigned char>(heap[1 + at]), at % 251);
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
      },
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.connect(vi, node(), "rdma"), VIP_SUCCESS);
        ASSERT_EQ(opened.received(vi), kReceived);
        Told told;
        std::memcpy(&told, opened.data(0), sizeof told);
        for (std::size_t at = 0; at != 9000; ++at)
          opened.data(8192)[at] = static_cast<unsigned char>(at % 251);
        VIP_DESCRIPTOR* what = opened.remote(VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, told.address,
                                             told.handle, 8192, 9000);
        what->CS.ImmediateData = 4711;
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
        what = opened.remote(VIP_CONTROL_OP_RDMAREAD, told.address + 100, told.handle, 20000, 8000);
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ);
        for (std::size_t at = 0; at != 8000; ++at) ASSERT_EQ(opened.data(20000)[at], (at + 100) % 251);
        // A byte beyond the memory, and a handle that was guessed.
        what = opened.remote(VIP_CONTROL_OP_RDMAWRITE, told.address + 9999, told.handle, 0, 2);
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
        EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
      });
}

TEST_F(Vipl, writes_land_nowhere_once_the_memory_is_deregistered) {
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (int i = 0; i != 3; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(4096, 64), opened.handle), VIP_SUCCESS);
        opened.accept(vi, "gone");
        static char target[4096];
        VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
        VIP_MEM_HANDLE handle = 0;
        ASSERT_EQ(VipRegisterMem(opened.nic, target, sizeof target, &attributes, &handle), VIP_SUCCESS);
        const Told told{reinterpret_cast<std::uintptr_t>(target), handle};
        std::memcpy(opened.data(0), &told, sizeof told);
        ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, sizeof told), opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.received(vi), kReceived) << "the writer is at it";
        ASSERT_EQ(VipDeregisterMem(opened.nic, target, handle), VIP_SUCCESS);
        std::memset(target, 'x', sizeof target);
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
        for (const char each : target) ASSERT_EQ(each, 'x');
      },
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.connect(vi, node(), "gone"), VIP_SUCCESS);
        ASSERT_EQ(opened.received(vi), kReceived);
        Told told;
        std::memcpy(&told, opened.data(0), sizeof told);
        VIP_UINT32 status = 0;
        for (int i = 0; (status & VIP_STATUS_ERROR_MASK) == 0; ++i) {
          ASSERT_EQ(
              VipPostSend(vi, opened.remote(VIP_CONTROL_OP_RDMAWRITE, told.address, told.handle, 0, 4096),
                          opened.handle),
              VIP_SUCCESS);
          status = opened.sent(vi);
          if (i != 50) continue;
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 1), opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
        }
        EXPECT_EQ(status & VIP_STATUS_ERROR_MASK, VIP_STATUS_RDMA_PROT_ERROR);
      });
}

// --- connections

TEST_F(Vipl, answers_for_connections_what_programs_rely_on) {
  with_two(
      [&](Opened& opened) {
        NetAddress own(opened.nic, "unasked"), remote(opened.nic);
        VIP_VI_ATTRIBUTES other;
        VIP_CONN_HANDLE request = nullptr;
        EXPECT_EQ(VipConnectWait(opened.nic, own.get(), 1, remote.get(), &other, &request), VIP_TIMEOUT);
        ASSERT_EQ(opened.wait("abcdefgh", &request), VIP_SUCCESS);
        ASSERT_EQ(VipConnectReject(request), VIP_SUCCESS);
        EXPECT_EQ(VipConnectReject(request), VIP_INVALID_PARAMETER);
        ASSERT_EQ(opened.wait("abcdefgh", &request), VIP_SUCCESS);
        // Its client gives up meanwhile, and asks for another: with a discriminator of which the end counts.
        VIP_VI_HANDLE vi = opened.make_vi();
        VIP_CONN_HANDLE next = nullptr;
        ASSERT_EQ(opened.wait(std::string(63, 'l') + 'z', &next), VIP_SUCCESS);
        EXPECT_EQ(VipConnectAccept(request, opened.make_vi(VIP_SERVICE_UNRELIABLE)),
                  VIP_INVALID_RELIABILITY_LEVEL);
        EXPECT_EQ(VipConnectAccept(request, vi), VIP_TIMEOUT);
        ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 8), opened.handle), VIP_SUCCESS);
        EXPECT_EQ(VipConnectAccept(next, vi), VIP_SUCCESS);
        EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_DESC_FLUSHED_ERROR);
      },
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        NetAddress own(opened.nic), asked(opened.nic, "nobody");
        asked.set_host(node());
        VIP_VI_ATTRIBUTES other;
        EXPECT_EQ(VipConnectRequest(vi, own.get(), asked.get(), kWait, &other), VIP_NO_MATCH);
        EXPECT_EQ(VipConnectRequest(vi, own.get(), asked.get(), 0, &other), VIP_INVALID_PARAMETER);
        EXPECT_EQ(opened.connect(vi, node(), "abcdefgh"), VIP_REJECT);
        EXPECT_EQ(opened.state(vi), VIP_STATE_IDLE);
        NetAddress slow(opened.nic, "abcdefgh");
        slow.set_host(node());
        VIP_RETURN result = VIP_NO_MATCH;
        while (result == VIP_NO_MATCH) result = VipConnectRequest(vi, own.get(), slow.get(), 20, &other);
        EXPECT_EQ(result, VIP_TIMEOUT);
        EXPECT_EQ(opened.connect(vi, node(), std::string(63, 'l') + 'z'), VIP_SUCCESS);
        EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
      });
}

TEST_F(Vipl, two_ask_for_each_other) {
  const auto side = [&](const char* own_name, const char* other_name, std::uint64_t there) {
    return [=](Opened& opened) {
      VIP_VI_HANDLE vi = opened.make_vi();
      ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      NetAddress own(opened.nic, own_name), asked(opened.nic, other_name);
      asked.set_host(there);
      VIP_VI_ATTRIBUTES other;
      EXPECT_EQ(VipConnectPeerDone(vi, &other), VIP_INVALID_STATE);
      EXPECT_EQ(VipConnectPeerRequest(vi, own.get(), asked.get(), 0), VIP_INVALID_PARAMETER);
      ASSERT_EQ(VipConnectPeerRequest(vi, own.get(), asked.get(), kWait), VIP_SUCCESS);
      ASSERT_EQ(VipConnectPeerWait(vi, &other), VIP_SUCCESS);
      EXPECT_EQ(other.MaxTransferSize, 65536u);
      EXPECT_EQ(VipConnectPeerDone(vi, &other), VIP_INVALID_STATE);
      ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.received(vi), kReceived);
      // Nobody is there any more at the second time.
      ASSERT_EQ(VipDisconnect(vi), VIP_SUCCESS);
      ASSERT_EQ(VipConnectPeerRequest(vi, own.get(), own.get(), 1), VIP_SUCCESS);
      EXPECT_EQ(VipConnectPeerWait(vi, &other), VIP_TIMEOUT);
      EXPECT_EQ(opened.state(vi), VIP_STATE_IDLE);
    };
  };
  with_two(side("left", "right", nodes != nullptr ? 2 : 0), side("right", "left", node()));
}

TEST_F(Vipl, everything_comes_back_flushed_when_the_other_process_is_killed) {
  Actor one([&](Line& line) {
    Opened opened(device());
    std::atomic<int> lost{0};
    EXPECT_EQ(VipErrorCallback(opened.nic, &lost,
                               [](VIP_PVOID context, VIP_ERROR_DESCRIPTOR* error) {
                                 if (error->ErrorCode == VIP_ERROR_CONN_LOST)
                                   ++*static_cast<std::atomic<int>*>(context);
                               }),
              VIP_SUCCESS);
    VIP_VI_HANDLE vi = opened.make_vi();
    for (int i = 0; i != 5; ++i)
      EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
    opened.accept(vi, "victim");
    line.put('c');
    for (int i = 0; i != 5; ++i) EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_DESC_FLUSHED_ERROR);
    EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
    EXPECT_EQ(VipPostSend(vi, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    EXPECT_EQ(opened.sent(vi), kSent | VIP_STATUS_DESC_FLUSHED_ERROR);
    while (lost == 0) std::this_thread::yield();
    EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
    // Once more at that address.
    opened.accept(vi, "victim");
    EXPECT_EQ(opened.state(vi), VIP_STATE_CONNECTED);
    return HasFailure() ? 1 : 0;
  });
  const auto client = [&](Line& line) {
    Opened opened(other_device());
    VIP_VI_HANDLE vi = opened.make_vi();
    EXPECT_EQ(opened.connect(vi, node(), "victim"), VIP_SUCCESS);
    line.put('c');
    static_cast<void>(line.take<char>());
    return 0;
  };
  {
    Actor victim(client);
    ASSERT_TRUE(one.line().take<char>());
    ASSERT_TRUE(victim.line().take<char>());
    victim.signal(SIGKILL);
    victim.wait();
  }
  Actor again(client);
  EXPECT_EQ(one.wait(), 0);
}

TEST_F(Vipl, connects_with_itself_and_sleeps_while_another_thread_sends) {
  in_child([&] {
    Opened opened(device());
    VIP_CQ_HANDLE queue = nullptr;
    ASSERT_EQ(VipCreateCQ(opened.nic, 256, &queue), VIP_SUCCESS);
    VIP_VI_HANDLE one = opened.make_vi(),
                  other = opened.make_vi(VIP_SERVICE_RELIABLE_DELIVERY, nullptr, queue);
    std::thread accepting([&] { opened.accept(other, "self"); });
    NetAddress own(opened.nic), asked(opened.nic, "self");
    VIP_VI_ATTRIBUTES attributes;
    VIP_RETURN result = VIP_NO_MATCH;
    while (result == VIP_NO_MATCH)
      result = VipConnectRequest(one, own.get(), asked.get(), kWait, &attributes);
    EXPECT_EQ(result, VIP_SUCCESS);
    accepting.join();
    VIP_VI_HANDLE vi = nullptr;
    VIP_BOOLEAN receive = VIP_FALSE;
    EXPECT_EQ(VipCQDone(queue, &vi, &receive), VIP_NOT_DONE);
    EXPECT_EQ(VipCQWait(queue, 1, &vi, &receive), VIP_TIMEOUT);
    std::thread sleeping([&] {
      for (int i = 0; i != 100; ++i) {
        VIP_VI_HANDLE found = nullptr;
        VIP_BOOLEAN is_receive = VIP_FALSE;
        ASSERT_EQ(VipCQWait(queue, VIP_INFINITE, &found, &is_receive), VIP_SUCCESS);
        ASSERT_EQ(found, other);
        ASSERT_EQ(is_receive, VIP_TRUE);
        VIP_DESCRIPTOR* done = nullptr;
        ASSERT_EQ(VipRecvDone(other, &done), VIP_SUCCESS);
      }
    });
    for (int i = 0; i != 100; ++i) {
      ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), kSent);
    }
    sleeping.join();
    ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
    ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    VIP_DESCRIPTOR* done = nullptr;
    while ((result = VipCQTake(queue, &vi, &receive, &done)) == VIP_NOT_DONE) {
    }
    EXPECT_EQ(result, VIP_SUCCESS);
    EXPECT_EQ(vi, other);
    EXPECT_NE(done, nullptr);
  });
}

TEST_F(Vipl, wakes_who_waits_for_a_receive_when_nobody_has_connected) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE vi = opened.make_vi();
    ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
    std::thread sleeping([&] { EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_DESC_FLUSHED_ERROR); });
    NetAddress own(opened.nic, "one"), asked(opened.nic, "nobody");
    VIP_VI_ATTRIBUTES other;
    EXPECT_EQ(VipConnectPeerRequest(vi, own.get(), asked.get(), 20), VIP_SUCCESS);
    EXPECT_EQ(VipConnectPeerWait(vi, &other), VIP_TIMEOUT);
    sleeping.join();
  });
}

TEST_F(Vipl, rights_at_many_regions_leave_room_for_what_is_told) {
  in_child([&] {
    constexpr VIP_UINT32 kRegions = 100, kBytes = 4096;
    Opened opened(device(), false);
    VIP_VI_HANDLE one = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION),
                  other = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION);
    std::thread accepting([&] { opened.accept(other, "regions"); });
    ASSERT_EQ(opened.connect(one, node(), "regions"), VIP_SUCCESS);
    accepting.join();
    for (VIP_UINT32 i = 0; i != kRegions; ++i) {
      VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
      VIP_MEM_HANDLE handle = 0;
      unsigned char* const region = opened.data(8192) + i * kBytes;
      ASSERT_EQ(VipRegisterMem(opened.nic, region, kBytes, &attributes, &handle), VIP_SUCCESS);
      *opened.data(0) = static_cast<unsigned char>(i + 1);
      VIP_DESCRIPTOR* const write =
          opened.remote(VIP_CONTROL_OP_RDMAWRITE, reinterpret_cast<std::uintptr_t>(region), handle, 0, 1);
      ASSERT_EQ(VipPostSend(one, write, opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE) << i;
      ASSERT_EQ(*region, i + 1);
    }
    for (int i = 0; i != 100; ++i) {
      ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), kSent);
      ASSERT_EQ(opened.received(other), kReceived);
    }
  });
}

TEST_F(Vipl, notifies_once_in_a_thread_of_its_own) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    std::thread accepting([&] { opened.accept(other, "notify"); });
    EXPECT_EQ(opened.connect(one, node(), "notify"), VIP_SUCCESS);
    accepting.join();
    std::atomic<VIP_DESCRIPTOR*> told{nullptr};
    const auto handler = [](VIP_PVOID context, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR* done) {
      *static_cast<std::atomic<VIP_DESCRIPTOR*>*>(context) = done;
    };
    EXPECT_EQ(VipRecvNotify(other, &told, nullptr), VIP_INVALID_PARAMETER);
    ASSERT_EQ(VipRecvNotify(other, &told, handler), VIP_SUCCESS);
    EXPECT_EQ(VipRecvNotify(other, &told, handler), VIP_ERROR_RESOURCE) << "there is one already";
    VIP_DESCRIPTOR* const receive = opened.descriptor(64, 64);
    ASSERT_EQ(VipPostRecv(other, receive, opened.handle), VIP_SUCCESS);
    ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    while (told == nullptr) std::this_thread::yield();
    EXPECT_EQ(told.load(), receive);
    VIP_DESCRIPTOR* done = nullptr;
    EXPECT_EQ(VipRecvDone(other, &done), VIP_DESCRIPTOR_ERROR) << "it was taken";
    EXPECT_EQ(done, nullptr);
  });
}

TEST_F(Vipl, several_threads_share_a_vi) {
  in_child([&] {
    constexpr int kEach = 500;
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    std::thread accepting([&] { opened.accept(other, "threads"); });
    EXPECT_EQ(opened.connect(one, node(), "threads"), VIP_SUCCESS);
    accepting.join();
    std::atomic<int> sent{0}, received{0};
    std::vector<std::thread> threads;
    // Two post to either queue, two take from either: each descriptor is given once.
    for (int thread = 0; thread != 2; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<VIP_DESCRIPTOR> own(2 * kEach);
        VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_FALSE, VIP_FALSE};
        VIP_MEM_HANDLE handle = 0;
        ASSERT_EQ(VipRegisterMem(opened.nic, own.data(), own.size() * sizeof own[0], &attributes, &handle),
                  VIP_SUCCESS);
        for (int i = 0; i != kEach; ++i) {
          while (std::min(sent.load(), received.load()) + 200 < 2 * i) std::this_thread::yield();
          ASSERT_EQ(VipPostRecv(other, &own[static_cast<std::size_t>(2 * i)], handle), VIP_SUCCESS) << thread;
          ASSERT_EQ(VipPostSend(one, &own[static_cast<std::size_t>(2 * i + 1)], handle), VIP_SUCCESS)
              << thread;
        }
        while (sent != 2 * kEach || received != 2 * kEach) std::this_thread::yield();
      });
      threads.emplace_back([&] {
        VIP_DESCRIPTOR* done = nullptr;
        while (sent != 2 * kEach)
          if (VipSendDone(one, &done) == VIP_SUCCESS) ++sent;
      });
      threads.emplace_back([&] {
        VIP_DESCRIPTOR* done = nullptr;
        while (received != 2 * kEach)
          if (VipRecvWait(other, 1, &done) == VIP_SUCCESS) ++received;
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(opened.state(one), VIP_STATE_CONNECTED);
  });
}

// --- handles

TEST_F(Vipl, answers_invalid_parameter_for_null_closed_and_other_handles) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE gone = opened.make_vi(), vi = opened.make_vi();
    VIP_CQ_HANDLE closed_queue = nullptr, queue = nullptr;
    ASSERT_EQ(VipCreateCQ(opened.nic, 4, &closed_queue), VIP_SUCCESS);
    ASSERT_EQ(VipCreateCQ(opened.nic, 4, &queue), VIP_SUCCESS);
    ASSERT_EQ(VipDestroyCQ(closed_queue), VIP_SUCCESS);
    ASSERT_EQ(VipDestroyVi(gone), VIP_SUCCESS);
    VIP_NIC_HANDLE closed = nullptr;
    ASSERT_EQ(VipOpenNic(device().c_str(), &closed), VIP_SUCCESS);
    ASSERT_EQ(VipCloseNic(closed), VIP_SUCCESS);
    int something = 0;
    VIP_NIC_ATTRIBUTES nic_attributes;
    VIP_VI_ATTRIBUTES vi_attributes = opened.attributes();
    VIP_MEM_ATTRIBUTES memory_attributes = {opened.tag, VIP_FALSE, VIP_FALSE};
    VIP_MEM_HANDLE handle = 0;
    VIP_VI_HANDLE out = nullptr;
    VIP_CQ_HANDLE queue_out = nullptr;
    VIP_PROTECTION_HANDLE tag = nullptr;
    VIP_DESCRIPTOR* done = nullptr;
    VIP_BOOLEAN receive, sends;
    VIP_VI_STATE state;
    VIP_CONN_HANDLE request = nullptr;
    NetAddress own(opened.nic), asked(opened.nic, "x");
    const auto notify = [](VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR*) {};
    const auto queue_notify = [](VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN) {};
    char name[64];
    VIP_ULONG length = sizeof name;
    for (void* const bad :
         {static_cast<void*>(nullptr), static_cast<void*>(&something), gone, closed_queue, closed,
          static_cast<void*>(opened.tag), reinterpret_cast<void*>(~std::uintptr_t{0})}) {
      SCOPED_TRACE(bad);
      EXPECT_EQ(VipCloseNic(bad), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipQueryNic(bad, &nic_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipErrorCallback(bad, nullptr, nullptr), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipQuerySystemManagementInfo(bad, VIP_SMI_AUTODISCOVERY, &something), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCreatePtag(bad, &tag), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipDestroyPtag(bad, opened.tag), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipRegisterMem(bad, opened.memory, 64, &memory_attributes, &handle), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipDeregisterMem(bad, opened.memory, opened.handle), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipQueryMem(bad, opened.memory, opened.handle, &memory_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipSetMemAttributes(bad, opened.memory, opened.handle, &memory_attributes),
                VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCreateVi(bad, &vi_attributes, nullptr, nullptr, &out), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipDestroyVi(bad), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipQueryVi(bad, &state, &vi_attributes, &sends, &receive), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipSetViAttributes(bad, &vi_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectWait(bad, own.get(), 1, asked.get(), &vi_attributes, &request),
                VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectAccept(bad, vi), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectReject(bad), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectRequest(bad, own.get(), asked.get(), 1, &vi_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectPeerRequest(bad, own.get(), asked.get(), 1), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectPeerDone(bad, &vi_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipConnectPeerWait(bad, &vi_attributes), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipDisconnect(bad), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipPostSend(bad, opened.descriptor(0, 4), opened.handle), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipPostRecv(bad, opened.descriptor(0, 4), opened.handle), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipSendDone(bad, &done), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipRecvDone(bad, &done), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipSendWait(bad, 1, &done), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipRecvWait(bad, 1, &done), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipSendNotify(bad, nullptr, notify), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipRecvNotify(bad, nullptr, notify), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCreateCQ(bad, 4, &queue_out), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipDestroyCQ(bad), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipResizeCQ(bad, 4), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCQDone(bad, &out, &receive), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCQWait(bad, 1, &out, &receive), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCQNotify(bad, nullptr, queue_notify), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipCQTake(bad, &out, &receive, &done), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipNSInit(bad, nullptr), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipNSGetHostByName(bad, name, own.get(), 0), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipNSGetHostByAddr(bad, own.get(), name, &length), VIP_INVALID_PARAMETER);
      EXPECT_EQ(VipNSShutdown(bad), VIP_INVALID_PARAMETER);
      if (bad != nullptr) {
        EXPECT_EQ(VipCreateVi(opened.nic, &vi_attributes, bad, nullptr, &out), VIP_INVALID_PARAMETER);
      }
      if (bad != opened.tag) {
        memory_attributes.Ptag = bad;
        EXPECT_EQ(VipRegisterMem(opened.nic, opened.memory, 64, &memory_attributes, &handle),
                  VIP_INVALID_PTAG);
      }
    }
    // Nulls beside the handle.
    EXPECT_EQ(VipOpenNic(nullptr, &closed), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipOpenNic("nic0", nullptr), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipQueryNic(opened.nic, nullptr), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipPostSend(vi, nullptr, opened.handle), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipPostRecv(vi, nullptr, opened.handle), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipSendDone(vi, nullptr), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipRecvWait(vi, 1, nullptr), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipConnectRequest(vi, own.get(), nullptr, 1, &vi_attributes), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipCreateCQ(opened.nic, 0, &queue_out), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipRegisterMem(opened.nic, nullptr, 64, &memory_attributes, &handle), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipQuerySystemManagementInfo(opened.nic, VIP_SMI_AUTODISCOVERY, &something),
              VIP_ERROR_NOT_SUPPORTED);
    asked.get()->DiscriminatorLen = 65;
    EXPECT_EQ(VipConnectRequest(vi, own.get(), asked.get(), 1, &vi_attributes), VIP_INVALID_PARAMETER);
  });
}

TEST_F(Vipl, finds_hosts_where_the_nic_is) {
  in_child([&] {
    Opened opened(device());
    NetAddress own(opened.nic), found(opened.nic);
    std::memset(found.get()->HostAddress, 0xFF, 8);
    char localhost[] = "localhost", nobody[] = "nobody.invalid", name[256];
    ASSERT_EQ(VipNSInit(opened.nic, nullptr), VIP_SUCCESS);
    ASSERT_EQ(VipNSGetHostByName(opened.nic, localhost, found.get(), 0), VIP_SUCCESS);
    EXPECT_EQ(std::memcmp(found.get()->HostAddress, own.get()->HostAddress, 8), 0);
    EXPECT_EQ(VipNSGetHostByName(opened.nic, localhost, found.get(), 1), VIP_ERROR_NAMESERVICE);
    EXPECT_EQ(VipNSGetHostByName(opened.nic, nobody, found.get(), 0), VIP_ERROR_NAMESERVICE);
    VIP_ULONG length = sizeof name;
    ASSERT_EQ(VipNSGetHostByAddr(opened.nic, own.get(), name, &length), VIP_SUCCESS);
    EXPECT_EQ(length, std::strlen(name) + 1);
    ASSERT_EQ(VipNSGetHostByName(opened.nic, name, found.get(), 0), VIP_SUCCESS);
    length = 1;
    EXPECT_EQ(VipNSGetHostByAddr(opened.nic, own.get(), name, &length), VIP_ERROR_RESOURCE);
    const std::string file = folder_.file("hosts");
    std::FILE* const out = std::fopen(file.c_str(), "w");
    std::fputs("# a comment\nfar.example 7\n", out);
    std::fclose(out);
    setenv("HAMLYN_VI_HOSTS", file.c_str(), 1);
    char far_name[] = "far.example";
    ASSERT_EQ(VipNSGetHostByName(opened.nic, far_name, found.get(), 0), VIP_SUCCESS);
    std::uint64_t host = 0;
    std::memcpy(&host, found.get()->HostAddress, 8);
    EXPECT_EQ(host, 7u);
    length = sizeof name;
    ASSERT_EQ(VipNSGetHostByAddr(opened.nic, found.get(), name, &length), VIP_SUCCESS);
    EXPECT_STREQ(name, "far.example");
    EXPECT_EQ(VipNSShutdown(opened.nic), VIP_SUCCESS);
  });
}

TEST_F(Vipl, opens_again_in_a_forked_child_which_has_nothing_of_its_parents) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE vi = opened.make_vi();
    const pid_t child = fork();
    if (child == 0) {
      VIP_NIC_HANDLE own = nullptr;
      const bool nothing = VipPostRecv(vi, opened.descriptor(0, 4), opened.handle) == VIP_INVALID_STATE;
      const bool opens = VipOpenNic(device().c_str(), &own) == VIP_SUCCESS && VipCloseNic(own) == VIP_SUCCESS;
      std::_Exit(nothing && opens ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(VipPostRecv(vi, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
  });
}

TEST_F(Vipl, memory_that_may_only_be_read_can_be_sent_from) {
  in_child([&] {
    Opened opened(device());
    auto* const page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_FALSE, VIP_FALSE};
    VIP_MEM_HANDLE handle = 0;
    ASSERT_EQ(VipRegisterMem(opened.nic, page, 4096, &attributes, &handle), VIP_SUCCESS);
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    std::thread accepting([&] { opened.accept(other, "constant"); });
    EXPECT_EQ(opened.connect(one, node(), "constant"), VIP_SUCCESS);
    accepting.join();
    ASSERT_EQ(VipPostRecv(other, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
    VIP_DESCRIPTOR* const what = opened.descriptor(0, 4);
    what->DS[0].Local.Data.Address = page;
    what->DS[0].Local.Handle = handle;
    ASSERT_EQ(VipPostSend(one, what, opened.handle), VIP_SUCCESS);
    EXPECT_EQ(opened.received(other), kReceived);
    attributes.EnableRdmaWrite = VIP_TRUE;
    EXPECT_EQ(VipRegisterMem(opened.nic, page, 4096, &attributes, &handle), VIP_ERROR_RESOURCE);
  });
}

}  // namespace
}  // namespace hamlyn::test
