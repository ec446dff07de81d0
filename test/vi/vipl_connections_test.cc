// Connections of VIPL between real processes.
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include "test/vi/vipl_party.h"

namespace hamlyn::test {
namespace {

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

TEST_F(Vipl, tells_of_an_address_as_much_as_programs_have_room_for) {
  in_child([&] {
    constexpr unsigned char kUntouched = 0xEE;
    constexpr std::size_t kRoom = offsetof(VIP_NET_ADDRESS, HostAddress) + 40;
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    NetAddress local(opened.nic, "long"), remote(opened.nic), own(opened.nic, std::string(64, 'o'));
    std::memset(remote.bytes, kUntouched, sizeof remote.bytes);
    std::thread asking([&] {
      VIP_VI_ATTRIBUTES attributes;
      VIP_RETURN result = VIP_NO_MATCH;
      while (result == VIP_NO_MATCH)
        result = VipConnectRequest(one, own.get(), local.get(), kWait, &attributes);
      EXPECT_EQ(result, VIP_SUCCESS);
    });
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE request = nullptr;
    EXPECT_EQ(VipConnectWait(opened.nic, local.get(), kWait, remote.get(), &attributes, &request),
              VIP_SUCCESS);
    EXPECT_EQ(VipConnectAccept(request, other), VIP_SUCCESS);
    asking.join();
    EXPECT_EQ(remote.get()->HostAddressLen + remote.get()->DiscriminatorLen, 40);
    EXPECT_EQ(std::memcmp(remote.get()->HostAddress, own.get()->HostAddress, 40), 0);
    for (std::size_t at = kRoom; at != sizeof remote.bytes; ++at) ASSERT_EQ(remote.bytes[at], kUntouched);
  });
}

TEST_F(Vipl, two_threads_of_a_nic_wait_at_an_address) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE asking[] = {opened.make_vi(), opened.make_vi()};
    VIP_VI_HANDLE asked[] = {opened.make_vi(), opened.make_vi()};
    std::thread one([&] { opened.accept(asked[0], "both"); });
    std::thread other([&] { opened.accept(asked[1], "both"); });
    for (VIP_VI_HANDLE vi : asking) EXPECT_EQ(opened.connect(vi, node(), "both"), VIP_SUCCESS);
    one.join(), other.join();
  });
}

TEST_F(Vipl, closing_ends_a_call_that_waits_and_leaves_its_address_to_others) {
  in_child([&] {
    Opened others(device());
    for (int i = 0; i != 3; ++i) {
      VIP_NIC_HANDLE nic = nullptr;
      ASSERT_EQ(VipOpenNic(device().c_str(), &nic), VIP_SUCCESS);
      ASSERT_EQ(VipErrorCallback(nic, nullptr, [](VIP_PVOID, VIP_ERROR_DESCRIPTOR*) {}), VIP_SUCCESS);
      NetAddress local(nic, "closing"), nobody(nic);
      VIP_VI_ATTRIBUTES attributes;
      const auto wait = [&] {
        NetAddress remote(nic);
        VIP_VI_ATTRIBUTES other;
        VIP_CONN_HANDLE request = nullptr;
        VIP_RETURN result = VIP_ERROR_RESOURCE;  // while whoever looks below stands there
        while (result == VIP_ERROR_RESOURCE)
          result = VipConnectWait(nic, local.get(), VIP_INFINITE, remote.get(), &other, &request);
        EXPECT_EQ(result, VIP_INVALID_STATE);
      };
      std::thread waiting(wait);
      const auto taken = [&] {
        VIP_CONN_HANDLE request = nullptr;
        return VipConnectWait(others.nic, local.get(), 0, nobody.get(), &attributes, &request) ==
               VIP_ERROR_RESOURCE;
      };
      while (!taken()) std::this_thread::yield();
      EXPECT_EQ(VipCloseNic(nic), VIP_SUCCESS);
      waiting.join();
      EXPECT_FALSE(taken());
    }
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

TEST_F(Vipl, wakes_who_waits_for_a_receive_when_the_vi_is_disconnected_and_not_when_it_asks_in_vain) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE vi = opened.make_vi();
    ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
    std::atomic<bool> woken{false};
    std::thread sleeping([&] {
      EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_DESC_FLUSHED_ERROR);
      woken = true;
    });
    NetAddress own(opened.nic, "one"), asked(opened.nic, "nobody");
    VIP_VI_ATTRIBUTES other;
    EXPECT_EQ(VipConnectPeerRequest(vi, own.get(), asked.get(), 20), VIP_SUCCESS);
    EXPECT_EQ(VipConnectPeerWait(vi, &other), VIP_TIMEOUT);
    EXPECT_EQ(VipConnectRequest(vi, own.get(), asked.get(), kWait, &other), VIP_NO_MATCH);
    EXPECT_FALSE(woken) << "the receive is there for whoever connects";
    EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
    sleeping.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
