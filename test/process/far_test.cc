// Processes of two nodes, over libfabric on loopback: the same programs as on one host.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// A port that nobody has now.
int free_port() {
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("no port");
  return ntohs(address.sin_port);
}

// Two nodes on loopback.
class Cluster {
 public:
  Cluster() {
    const int first = free_port(), second = free_port();
    start(1, first, 0);
    start(2, second, first);
  }
  Interface::Options at_node(int number) const {
    Interface::Options options;
    options.node = socket(number);
    options.start_node = false;
    options.timeout = 30s;
    return options;
  }

 private:
  std::string socket(int number) const { return folder_.path() + "/" + std::to_string(number) + ".sock"; }
  void start(int number, int port, int join) {
    const std::string config = folder_.path() + "/" + std::to_string(number) + ".toml";
    std::ofstream out(config);
    out << "[cluster]\nid = " << number << "\ndead_after = 30000\nlisten = \"127.0.0.1:" << port << "\"\n";
    if (join != 0) out << "join = [\"127.0.0.1:" << join << "\"]\n";
    out.close();
    daemons_.push_back(
        std::make_unique<Daemon>(socket(number), std::vector<std::string>{"--config", config}));
  }

  Folder folder_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

constexpr std::size_t kBytes = 1u << 20;

class Far : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<Cluster>();
    // The nodes get to know each other a moment after they have started.
    Party one(options(1)), other(options(2));
    ASSERT_TRUE(eventually([&] { return one.terminus.connect(other.slot.ticket(), 30s) == Status::ok; }));
  }
  static void TearDownTestSuite() { cluster.reset(); }
  static inline std::unique_ptr<Cluster> cluster;

  static Interface::Options options(int node) {
    Interface::Options options = cluster->at_node(node);
    options.dead = 20s;  // a loaded machine may hold a process up
    return options;
  }
  static std::vector<std::byte> pattern(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    return bytes;
  }

  // One end.
  struct Party {
    explicit Party(const Interface::Options& options) : interface(options) {}
    Interface interface;
    MessageArea area{interface, kBytes};
    NotificationQueue queue{interface};
    Slot slot{area, queue, {.entries = 4, .fetches = true, .gets = 65536}};
    Terminus terminus{interface};

    Notification next() {
      Notification notification;
      EXPECT_EQ(queue.receive(notification, 30s), Status::ok);
      return notification;
    }
  };
};

TEST_F(Far, fast_messages_go_to_and_fro) {
  Party one(options(1)), other(options(2));
  EXPECT_NE(one.interface.id() >> 48, other.interface.id() >> 48);
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), 30s), Status::ok);
  ASSERT_EQ(other.terminus.connect(one.slot.ticket(), 30s), Status::ok);
  for (std::uint64_t turn = 0; turn < 500; ++turn) {
    ASSERT_EQ(one.terminus.send_fast(other.slot.ticket(), {}, turn), Status::ok);
    EXPECT_EQ(other.next().word, turn);
    ASSERT_EQ(other.terminus.send_fast(one.slot.ticket(), {}, turn), Status::ok);
    EXPECT_EQ(one.next().word, turn);
  }
}

TEST_F(Far, long_messages_arrive_whole_and_are_acknowledged) {
  Party one(options(1)), other(options(2));
  const std::vector<std::byte> data = pattern(kBytes);
  SendHandle handle;
  ASSERT_EQ(one.terminus.send(other.slot.ticket(0), data, {.acknowledged = true}, &handle), Status::pending);
  const Notification n = other.next();
  EXPECT_EQ(n.kind, Notification::Kind::message);
  EXPECT_EQ(n.length, data.size());
  EXPECT_TRUE(std::equal(data.begin(), data.end(), other.area.bytes().begin()));
  EXPECT_EQ(one.terminus.wait(handle, 30s), Status::ok);
}

TEST_F(Far, remote_operations_are_done) {
  Party one(options(1)), other(options(2));
  const std::vector<std::byte> data = pattern(4096);
  std::copy(data.begin(), data.end(), other.area.bytes().begin() + 64);
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), 30s), Status::ok);
  RemoteHandle handle;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(one.terminus.fetch(other.slot.ticket(), {.operand = 5}, {}, &handle), Status::pending);
    const Outcome outcome = one.terminus.wait_outcome(handle, 30s);
    EXPECT_EQ(outcome.status, Status::ok);
    EXPECT_EQ(outcome.value, 5 * i);
  }
  ASSERT_EQ(one.terminus.get(other.slot.ticket(), one.slot, 0, data.size(), {.offset = 64}, &handle),
            Status::pending);
  EXPECT_EQ(one.terminus.wait_outcome(handle, 30s).status, Status::ok);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), one.area.bytes().begin()));
}

TEST_F(Far, what_was_sent_arrives_though_its_sender_leaves_at_once) {
  Party other(options(2));
  const std::vector<std::byte> data = pattern(kBytes);
  {
    Party one(options(1));
    SendHandle handle;
    ASSERT_EQ(one.terminus.send(other.slot.ticket(1), data, {}, &handle), Status::pending);
    ASSERT_EQ(one.terminus.wait(handle, 30s), Status::ok);
  }
  EXPECT_EQ(other.next().kind, Notification::Kind::message);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), other.area.bytes().begin()));
  EXPECT_EQ(other.next().kind, Notification::Kind::link_ended) << "and then its end is told, at once";
}

TEST_F(Far, a_descriptor_tells_of_arrivals) {
  Party one(options(1)), other(options(2));
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), 30s), Status::ok);
  const int descriptor = other.queue.descriptor();
  Notification n;
  while (other.queue.poll({&n, 1}) != 0) {
  }
  ASSERT_EQ(one.terminus.send_fast(other.slot.ticket(), {}, 9), Status::ok);
  pollfd ready{descriptor, POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 30000), 1);
  EXPECT_EQ(other.next().word, 9u);
}

TEST_F(Far, a_killed_process_is_told_of) {
  Actor peer([](Line& line) {
    const auto ticket = line.take<Ticket>();
    if (!ticket) return 91;
    Party self(options(2));
    if (self.terminus.connect(*ticket, 30s) != Status::ok) return 92;
    if (self.terminus.send_fast(*ticket, {}, 4) != Status::ok) return 93;
    pause();
    return 0;
  });
  Party one(options(1));
  ASSERT_TRUE(peer.line().put(one.slot.ticket()));
  EXPECT_EQ(one.next().word, 4u);
  peer.signal(SIGKILL);
  EXPECT_EQ(one.next().kind, Notification::Kind::link_ended);
}

}  // namespace
}  // namespace hamlyn::test
