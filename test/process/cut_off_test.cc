// A process that its daemon cannot reach any more, or that cannot reach it: what it is told, what comes back,
// and what it may do before without being cut off (docs/rules.md, "Cut off from the daemon").
#include <grp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "hamlyn/c.h"
#include "test/process/managers.h"
#include "test/support/forbid.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class CutOff : public OnNodes {
 protected:
  // A process with a name attaches, does `then`, and its daemon is started again. The status of the process
  // when it is to say how it stands; 0: the name is found by another process.
  int after(const std::function<bool()>& then, std::unique_ptr<Daemon>& daemon,
            const std::function<int(Interface&)>& at_last) {
    Actor server([&](Line& line) {
      Interface interface(options());
      MessageArea area(interface, 4096);
      NotificationQueue queue(interface);
      Slot slot(area, queue, {.places = 1});
      interface.publish("server", slot.ticket(), {.everyone = true});
      if (!then()) return 90;
      line.put('.');
      if (!line.take<char>()) return 91;
      return at_last(interface);
    });
    if (!server.line().take<char>()) return server.wait();
    daemon->kill();
    daemon = start();
    Actor client([&](Line&) {
      Interface interface(options());
      Registrant who;
      static_cast<void>(interface.lookup("server", kPatience, &who));
      return who.pid == static_cast<std::uint32_t>(server.pid()) ? 0 : 1;
    });
    const int found = client.wait();
    server.line().put('.');
    const int status = server.wait();
    return status != 0 ? status : found;
  }
  std::unique_ptr<Daemon> start() const {
    return std::make_unique<Daemon>(folder_.file("service"), std::vector<std::string>{"--service"});
  }
  Interface::Options options() const { return {.node = folder_.file("service"), .start_node = false}; }

  static int attached(Interface& interface) {
    return interface.wait_attached(true, kPatience) == Status::ok && interface.attachment().attached ? 0 : 92;
  }
};

TEST_F(CutOff, is_nobody_who_goes_into_another_root_or_folder) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can change its root";
  auto daemon = start();
  EXPECT_EQ(
      after([&] { return ::chroot(folder_.path().c_str()) == 0 && ::chdir("/") == 0; }, daemon, attached), 0);
}

TEST_F(CutOff, is_nobody_who_drops_roots_rights) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can drop its rights";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  auto daemon = start();
  const auto drop = [] {
    return ::setgroups(0, nullptr) == 0 && ::setgid(41001) == 0 && ::setuid(41001) == 0;
  };
  EXPECT_EQ(after(drop, daemon, attached), 0);
}

// The kernel forbids what is needed to come back.
TEST_F(CutOff, is_told_with_a_reason_and_names_are_refused_at_once) {
  Actor process([&](Line& line) {
    Interface interface(OnNodes::options());
    NotificationQueue queue(interface);
    pollfd wait{queue.descriptor(), POLLIN, 0};
    if (queue.poll()) return 1;
    forbid(SYS_connect, EPERM);
    line.put('.');
    if (interface.wait_attached(false, kPatience) != Status::ok) return 2;
    const Attachment attachment = interface.attachment();
    if (attachment.attached || attachment.reason != ErrorCode::not_permitted || attachment.text.empty())
      return 3;
    if (::poll(&wait, 1, 30000) != 1) return 4;
    const auto told = queue.poll();
    if (!told || told->kind != Notification::Kind::attachment || told->word != 1) return 5;
    if (thrown_by([&] { static_cast<void>(interface.lookup("somebody", kPatience)); }) !=
        ErrorCode::node_unreachable)
      return 6;
    return 0;
  });
  ASSERT_TRUE(process.line().take<char>());
  daemon_.kill();
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(CutOff, ends_when_there_is_a_daemon_again) {
  Actor process([&](Line& line) {
    Interface interface(OnNodes::options());
    NotificationQueue queue(interface);
    line.put('.');
    Notification told;
    if (queue.receive(told, kPatience) != Status::ok || told.word != 1) return 1;
    const Attachment attachment = interface.attachment();
    if (attachment.attached || attachment.reason != ErrorCode::node_unreachable) return 2;
    if (thrown_by([&] { static_cast<void>(interface.lookup("somebody", 20ms)); }) !=
        ErrorCode::node_unreachable)
      return 3;
    line.put('.');
    if (queue.receive(told, kPatience) != Status::ok) return 4;
    if (told.kind != Notification::Kind::attachment || told.word != 0) return 5;
    return interface.attachment().attached ? 0 : 6;
  });
  ASSERT_TRUE(process.line().take<char>());
  daemon_.kill();
  ASSERT_TRUE(process.line().take<char>());
  const Daemon next{folder_.file("node")};
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(CutOff, is_told_in_c_as_well) {
  Actor process([&](Line& line) {
    const std::string socket = folder_.file("node");
    hamlyn_interface_options options{};
    options.size = sizeof options;
    options.node = socket.c_str();
    options.flags = HAMLYN_NO_START;
    hamlyn_interface* interface = nullptr;
    if (hamlyn_interface_make(&options, &interface) != HAMLYN_OK) return 1;
    int attached = 0;
    hamlyn_status reason = -1;
    if (hamlyn_interface_attached(interface, &attached, &reason) != HAMLYN_OK) return 2;
    if (attached != 1 || reason != HAMLYN_OK) return 3;
    line.put('.');
    const std::int64_t patience = std::chrono::nanoseconds{kPatience}.count();
    if (hamlyn_interface_wait_attached(interface, 0, patience) != HAMLYN_OK) return 4;
    if (hamlyn_interface_attached(interface, &attached, &reason) != HAMLYN_OK) return 5;
    if (attached != 0 || reason != HAMLYN_NODE_UNREACHABLE) return 6;
    if (std::string(hamlyn_last_error()).find(socket) == std::string::npos) return 7;
    return hamlyn_interface_free(interface) == HAMLYN_OK ? 0 : 8;
  });
  ASSERT_TRUE(process.line().take<char>());
  daemon_.kill();
  EXPECT_EQ(process.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
