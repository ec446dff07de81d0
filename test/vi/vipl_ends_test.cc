// Connections of processes that become another program, fork, are stopped or killed; and limits of a user's.
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/socket.h"
#include "test/vi/vipl_party.h"

namespace hamlyn::test {
namespace {

// A server that a client has connected to, and four receives of its. It says so, and then waits for the end.
class ViplEnds : public Vipl {
 protected:
  // Returns 0 when all receives have come back flushed, and the address is there to be waited at again.
  Actor server() {
    return Actor([this](Line& line) {
      Opened opened(device());
      VIP_VI_HANDLE vi = opened.make_vi();
      for (int i = 0; i != 4; ++i)
        EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      opened.accept(vi, "ends");
      line.put('c');
      int messages = 0;
      while (opened.received(vi) == kReceived) ++messages;
      line.put(messages);
      while (opened.received(vi) == (kReceived | VIP_STATUS_DESC_FLUSHED_ERROR)) {
      }
      EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
      NetAddress own(opened.nic, "ends"), remote(opened.nic);
      VIP_VI_ATTRIBUTES other;
      VIP_CONN_HANDLE request = nullptr;
      EXPECT_EQ(VipConnectWait(opened.nic, own.get(), 1, remote.get(), &other, &request), VIP_TIMEOUT);
      return HasFailure() ? 1 : 0;
    });
  }
  // Connects, and does what `part` says.
  Actor client(const std::function<void(Opened&, VIP_VI_HANDLE, Line&)>& part) {
    return Actor([this, part](Line& line) {
      Opened opened(other_device());
      VIP_VI_HANDLE vi = opened.make_vi();
      EXPECT_EQ(opened.connect(vi, node(), "ends"), VIP_SUCCESS);
      part(opened, vi, line);
      return HasFailure() ? 1 : 0;
    });
  }
  static void say(Opened& opened, VIP_VI_HANDLE vi) {
    EXPECT_EQ(VipPostSend(vi, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    EXPECT_EQ(opened.sent(vi), kSent);
  }
  // The server has had so many messages, and everything else came back.
  static void expect_over(Actor& server, int messages) {
    EXPECT_EQ(server.line().take<char>(), 'c');
    EXPECT_EQ(server.line().take<int>(), messages);
    EXPECT_EQ(server.wait(), 0);
  }
};

TEST_F(ViplEnds, a_process_that_becomes_another_program_has_gone) {
  Actor one = server();
  Actor other = client([](Opened& opened, VIP_VI_HANDLE vi, Line&) {
    say(opened, vi);
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
  });
  expect_over(one, 1);
  EXPECT_TRUE(other.running());
}

TEST_F(ViplEnds, a_fork_leaves_the_connection_to_the_parent) {
  Actor one = server();
  auto [lives, child_lives] = base::socket_pair();  // as long as the first is open the child goes on
  Actor other = client(
      [&, lives = lives.get(), kept = child_lives.get()](Opened& opened, VIP_VI_HANDLE vi, Line& line) {
        ::close(lives);
        if (::fork() == 0) {
          // A child has nothing of its parent's, and ends nothing by closing handles.
          VIP_DESCRIPTOR* done = nullptr;
          const bool nothing = VipPostSend(vi, opened.descriptor(0, 4), opened.handle) == VIP_INVALID_STATE &&
                               VipSendDone(vi, &done) == VIP_INVALID_STATE && done == nullptr &&
                               VipDisconnect(vi) == VIP_INVALID_STATE;
          VipCloseNic(opened.nic);
          line.put(nothing ? 'n' : 'y');
          char byte = 0;
          [[maybe_unused]] const auto got = ::read(kept, &byte, 1);
          ::_exit(0);
        }
        EXPECT_EQ(line.take<char>(), 'g');
        say(opened, vi);
        line.put('s');
        static_cast<void>(line.take<char>());
      });
  EXPECT_EQ(other.line().take<char>(), 'n') << "a child has something of its parent's";
  other.line().put('g');
  EXPECT_EQ(other.line().take<char>(), 's');
  // The child lives on, and keeps nobody from hearing of its parent's end.
  other.signal(SIGKILL);
  expect_over(one, 1);
}

TEST_F(ViplEnds, a_stopped_process_is_waited_for_and_not_for_ever) {
  Actor sleeper([this](Line& line) {
    Opened opened(device());
    VIP_VI_HANDLE vi = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION);
    for (int i = 0; i != 8; ++i)
      EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
    opened.accept(vi, "stops");
    line.put('c');
    for (int i = 0; i != 8; ++i) EXPECT_EQ(opened.received(vi), kReceived);
    EXPECT_EQ(line.take<char>(), 'e') << "until the sender has heard of all of them";
    return HasFailure() ? 1 : 0;
  });
  Actor sender([this](Line& line) {
    Opened opened(other_device());
    VIP_VI_HANDLE vi = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION);
    EXPECT_EQ(opened.connect(vi, node(), "stops"), VIP_SUCCESS);
    line.put('c');
    EXPECT_EQ(line.take<char>(), 's');
    std::array<VIP_DESCRIPTOR*, 8> sends{};
    for (VIP_DESCRIPTOR*& each : sends) {
      each = opened.descriptor(0, 4);
      EXPECT_EQ(VipPostSend(vi, each, opened.handle), VIP_SUCCESS);
    }
    VIP_DESCRIPTOR* done = nullptr;
    EXPECT_EQ(VipSendWait(vi, 20, &done), VIP_TIMEOUT) << "nobody has said that it stands there";
    EXPECT_EQ(opened.state(vi), VIP_STATE_CONNECTED);
    line.put('t');
    for (VIP_DESCRIPTOR* const each : sends) {
      EXPECT_EQ(VipSendWait(vi, kWait, &done), VIP_SUCCESS);
      EXPECT_EQ(done, each);
    }
    return HasFailure() ? 1 : 0;
  });
  ASSERT_EQ(sleeper.line().take<char>(), 'c');
  ASSERT_EQ(sender.line().take<char>(), 'c');
  sleeper.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return sleeper.stopped(); }));
  sender.line().put('s');
  EXPECT_EQ(sender.line().take<char>(), 't');
  sleeper.signal(SIGCONT);
  EXPECT_EQ(sender.wait(), 0);
  sleeper.line().put('e');
  EXPECT_EQ(sleeper.wait(), 0);
}

TEST_F(ViplEnds, a_user_has_so_many_names_to_wait_at) {
  write_file(folder_.file("config"), "[quotas]\nnames = 2\n");
  const Daemon daemon(folder_.file("few"), {"--config", folder_.file("config")});
  in_child([&] {
    Opened opened("hamlyn:" + folder_.file("few"));
    std::vector<std::thread> waiting;
    for (const char* const name : {"one", "two"})
      waiting.emplace_back([&opened, name] {
        VIP_CONN_HANDLE request = nullptr;
        VIP_RETURN result = VIP_ERROR_RESOURCE;  // while the third takes the place of one
        while (result == VIP_ERROR_RESOURCE) result = opened.wait(name, &request);
        EXPECT_EQ(result, VIP_SUCCESS);
        EXPECT_EQ(VipConnectReject(request), VIP_SUCCESS);
      });
    // While both stand there a third is refused: whoever asked would not be found.
    NetAddress third(opened.nic, "three"), remote(opened.nic);
    VIP_VI_ATTRIBUTES other;
    VIP_CONN_HANDLE request = nullptr;
    EXPECT_TRUE(eventually([&] {
      return VipConnectWait(opened.nic, third.get(), 0, remote.get(), &other, &request) == VIP_ERROR_RESOURCE;
    }));
    VIP_VI_HANDLE vi = opened.make_vi();
    for (const char* const name : {"one", "two"}) EXPECT_EQ(opened.connect(vi, 0, name), VIP_REJECT);
    for (std::thread& each : waiting) each.join();
    EXPECT_EQ(VipConnectWait(opened.nic, third.get(), 1, remote.get(), &other, &request), VIP_TIMEOUT);
  });
}

// A link of two processes of a user takes two of its quota.
TEST_F(ViplEnds, a_user_has_so_many_links_to_connect_by) {
  write_file(folder_.file("config"), "[quotas]\nlinks = 2\n");
  const Daemon daemon(folder_.file("few"), {"--config", folder_.file("config")});
  const std::string device = "hamlyn:" + folder_.file("few");
  in_child([&] {
    auto one = std::make_unique<Opened>(device);
    Opened two(device), asking(device);
    VIP_VI_HANDLE first = asking.make_vi(), second = asking.make_vi(), at_one = one->make_vi();
    std::thread accepting([&] { one->accept(at_one, "one"); });
    ASSERT_EQ(asking.connect(first, 0, "one"), VIP_SUCCESS);
    accepting.join();
    std::thread waiting([&] { two.accept(two.make_vi(), "two"); });
    ASSERT_EQ(VipPostRecv(second, asking.descriptor(0, 8), asking.handle), VIP_SUCCESS);
    for (int i = 0; i != 3; ++i) {
      EXPECT_EQ(asking.connect(second, 0, "two"), VIP_ERROR_RESOURCE);
      EXPECT_EQ(asking.state(second), VIP_STATE_IDLE);
      EXPECT_EQ(asking.state(first), VIP_STATE_CONNECTED) << "it keeps what it has";
    }
    one.reset();
    EXPECT_TRUE(eventually([&] { return asking.connect(second, 0, "two") == VIP_SUCCESS; }))
        << "whoever was refused waits there, and the link that has ended counts no more";
    waiting.join();
    EXPECT_EQ(asking.state(first), VIP_STATE_ERROR);
    for (VIP_VI_HANDLE vi : {first, second}) {
      EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
      VIP_DESCRIPTOR* done = nullptr;
      while (VipRecvDone(vi, &done) != VIP_NOT_DONE && done != nullptr) done = nullptr;
      EXPECT_EQ(VipDestroyVi(vi), VIP_SUCCESS) << "nothing is left behind";
    }
  });
}

TEST_F(ViplEnds, a_full_completion_queue_loses_entries_and_no_descriptors) {
  in_child([&] {
    Opened opened(device());
    VIP_CQ_HANDLE queue = nullptr;
    ASSERT_EQ(VipCreateCQ(opened.nic, 2, &queue), VIP_SUCCESS);
    std::atomic<int> told{0};
    EXPECT_EQ(VipErrorCallback(opened.nic, &told,
                               [](VIP_PVOID context, VIP_ERROR_DESCRIPTOR* error) {
                                 if (error->ErrorCode == VIP_ERROR_VI_OVERRUN)
                                   ++*static_cast<std::atomic<int>*>(context);
                               }),
              VIP_SUCCESS);
    VIP_VI_HANDLE from = opened.make_vi(), to = opened.make_vi(VIP_SERVICE_RELIABLE_DELIVERY, nullptr, queue);
    opened.join(from, to, "full");
    for (int i = 0; i != 5; ++i)
      ASSERT_EQ(VipPostRecv(to, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
    for (int i = 0; i != 5; ++i) say(opened, from);
    while (told == 0) std::this_thread::yield();
    EXPECT_EQ(told, 1) << "once, until an entry is taken";
    for (int i = 0; i != 5; ++i) EXPECT_EQ(opened.received(to), kReceived);
    VIP_VI_HANDLE of = nullptr;
    VIP_BOOLEAN receive = VIP_FALSE;
    for (int i = 0; i != 2; ++i) EXPECT_EQ(VipCQDone(queue, &of, &receive), VIP_SUCCESS);
    EXPECT_EQ(VipCQDone(queue, &of, &receive), VIP_NOT_DONE);
    EXPECT_EQ(opened.state(to), VIP_STATE_CONNECTED);
  });
}

}  // namespace
}  // namespace hamlyn::test
