// Handles of VIPL that mean nothing, its names of hosts, and what a forked child has of it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "hamlyn/core/membership.h"
#include "test/vi/vipl_party.h"

namespace hamlyn::test {
namespace {

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
    EXPECT_EQ(VipQuerySystemManagementInfo(opened.nic, VIP_SMI_AUTODISCOVERY, nullptr),
              VIP_INVALID_PARAMETER);
    asked.get()->DiscriminatorLen = 65;
    EXPECT_EQ(VipConnectRequest(vi, own.get(), asked.get(), 1, &vi_attributes), VIP_INVALID_PARAMETER);
  });
}

// Asks VipQuerySystemManagementInfo for hosts, with so many places for them.
class Discovered {
 public:
  explicit Discovered(VIP_ULONG places, VIP_ULONG hops = 1) {
    for (std::size_t i = 0; i != kMost; ++i) places_[i] = reinterpret_cast<VIP_NET_ADDRESS*>(bytes_[i]);
    std::memset(bytes_, 0xFF, sizeof bytes_);
    list = {hops, places_, places};
  }
  VIP_RETURN ask(VIP_NIC_HANDLE nic) {
    return VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list);
  }
  bool written(std::size_t at) const { return places_[at]->HostAddressLen != 0xFFFF; }
  std::uint64_t host(std::size_t at) const {
    EXPECT_EQ(places_[at]->HostAddressLen, 8);
    EXPECT_EQ(places_[at]->DiscriminatorLen, 0);
    std::uint64_t out = 0;
    std::memcpy(&out, places_[at]->HostAddress, sizeof out);
    return out;
  }

  static constexpr std::size_t kMost = 4;
  VIP_AUTODISCOVERY_LIST list{};

 private:
  alignas(8) unsigned char bytes_[kMost][16];
  VIP_NET_ADDRESS* places_[kMost];
};

TEST_F(Vipl, discovers_the_host_where_it_is) {
  in_child([&] {
    Opened opened(device());
    NetAddress own(opened.nic);
    Discovered found(4, 0);
    ASSERT_EQ(found.ask(opened.nic), VIP_SUCCESS);
    EXPECT_EQ(found.list.NumAdAddrs, 1u);
    std::uint64_t host = 0;
    std::memcpy(&host, own.get()->HostAddress, sizeof host);
    EXPECT_EQ(found.host(0), host);
    EXPECT_FALSE(found.written(1)) << "nothing is written behind what there is";
    Discovered counted(0, 0);
    counted.list.ADAddrArray = nullptr;
    EXPECT_EQ(counted.ask(opened.nic), VIP_ERROR_RESOURCE);
    EXPECT_EQ(counted.list.NumAdAddrs, 1u) << "how many there are is told nevertheless";
    Discovered nowhere(1, 0);
    nowhere.list.ADAddrArray = nullptr;
    EXPECT_EQ(nowhere.ask(opened.nic), VIP_INVALID_PARAMETER);
    Discovered hole(1, 0);
    hole.list.ADAddrArray[0] = nullptr;
    EXPECT_EQ(hole.ask(opened.nic), VIP_INVALID_PARAMETER);
    EXPECT_EQ(VipQuerySystemManagementInfo(opened.nic, VIP_SMI_AUTODISCOVERY + 1, &found.list),
              VIP_INVALID_PARAMETER)
        << "there is one kind";
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

// Between two nodes in each run.
class FarVipl : public Vipl {
 protected:
  static void SetUpTestSuite() {
    Vipl::SetUpTestSuite();
    own_ = nodes == nullptr;
    if (own_) nodes = std::make_unique<TwoNodes>();
  }
  static void TearDownTestSuite() {
    if (own_) nodes.reset();
  }

 private:
  static inline bool own_ = false;  // other tests of this program have one node
};

TEST_F(FarVipl, finds_other_nodes_of_the_cluster) {
  in_child([&] {
    Opened opened(device());
    std::string text;
    const Membership all({.node = options().node});
    for (const Membership::Node& each : all.nodes())
      if (each.id == 2) text = each.address;
    ASSERT_FALSE(text.empty());
    NetAddress found(opened.nic);
    ASSERT_EQ(VipNSGetHostByName(opened.nic, text.data(), found.get(), 0), VIP_SUCCESS);
    std::uint64_t host = 0;
    std::memcpy(&host, found.get()->HostAddress, 8);
    EXPECT_EQ(host, 2u);
    char name[256];
    VIP_ULONG length = sizeof name;
    ASSERT_EQ(VipNSGetHostByAddr(opened.nic, found.get(), name, &length), VIP_SUCCESS);
    std::memset(found.get()->HostAddress, 0xFF, 8);
    ASSERT_EQ(VipNSGetHostByName(opened.nic, name, found.get(), 0), VIP_SUCCESS);
    std::memcpy(&host, found.get()->HostAddress, 8);
    EXPECT_EQ(host, 2u) << name;
    // A name that the resolver knows: both nodes are on this host, and the other one is asked for.
    char loopback[] = "127.0.0.1";
    ASSERT_EQ(VipNSGetHostByName(opened.nic, loopback, found.get(), 0), VIP_SUCCESS);
    std::memcpy(&host, found.get()->HostAddress, 8);
    EXPECT_EQ(host, 2u);
  });
}

TEST_F(FarVipl, discovers_other_nodes_of_the_cluster) {
  in_child([&] {
    Opened opened(device());
    Discovered both(4);
    ASSERT_EQ(both.ask(opened.nic), VIP_SUCCESS);
    ASSERT_EQ(both.list.NumAdAddrs, 2u);
    EXPECT_EQ(both.host(0), 1u) << "this host is the first";
    EXPECT_EQ(both.host(1), 2u);
    Discovered near(4, 0);
    ASSERT_EQ(near.ask(opened.nic), VIP_SUCCESS);
    EXPECT_EQ(near.list.NumAdAddrs, 1u) << "no hop leads to another";
    Discovered one(1);
    EXPECT_EQ(one.ask(opened.nic), VIP_ERROR_RESOURCE);
    EXPECT_EQ(one.list.NumAdAddrs, 2u);
    EXPECT_EQ(one.host(0), 1u);
    EXPECT_FALSE(one.written(1)) << "there is no place for it";
  });
}

TEST_F(Vipl, opens_no_nic_to_whoever_the_environment_cannot_mean) {
  in_child([&] {
    VIP_NIC_HANDLE nic = nullptr;
    for (const char* const wrong : {"all", "Everyone", "group,everyone", " "}) {
      ::setenv("HAMLYN_VI_OPEN", wrong, 1);
      EXPECT_EQ(VipOpenNic(device().c_str(), &nic), VIP_INVALID_PARAMETER) << wrong;
    }
    for (const char* const good : {"", "group", "everyone"}) {
      ::setenv("HAMLYN_VI_OPEN", good, 1);
      ASSERT_EQ(VipOpenNic(device().c_str(), &nic), VIP_SUCCESS) << good;
      EXPECT_EQ(VipCloseNic(nic), VIP_SUCCESS);
    }
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

}  // namespace
}  // namespace hamlyn::test
