// A daemon of a later version takes over while processes of this one run: what they have goes on, what they
// ask for is done, and what a daemon does not understand it says by name.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>

#include "base/socket.h"
#include "hamlyn/hamlyn.h"
#include "node/client/address.h"
#include "node/client/list.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Upgrade : public testing::Test {
 protected:
  Upgrade() { start(); }

  Interface::Options options() const { return {.node = socket(), .start_node = false}; }
  std::string socket() const { return folder_.file("node"); }

  void start(bool later = false) {
    std::vector<std::string> words{program("hamlynd"), "--socket", socket(), "--idle-exit", "0"};
    if (later) words.emplace_back("--later");
    daemon_ = std::make_unique<Command>(words, Command::Options{});
    EXPECT_TRUE(eventually([&] { return listens(); })) << daemon_->err();
  }
  void end_in_good_order() {
    daemon_->signal(SIGTERM);
    EXPECT_EQ(daemon_->wait().status, 0) << daemon_->err();
  }
  void upgrade() {
    end_in_good_order();
    start(true);
  }
  void kill_and_restart() {
    daemon_->signal(SIGKILL);
    daemon_->wait();
    start();
  }

  // Says `count` words, in order, to whoever is registered as `name`, the first of them `first`.
  static int send_words(Interface& interface, const std::string& name, std::uint64_t first,
                        std::uint64_t count) {
    Terminus terminus(interface);
    const Ticket ticket = interface.lookup(name, kPatience);
    if (terminus.connect(ticket, kPatience) != Status::ok) return 1;
    for (std::uint64_t word = first; word < first + count; ++word) {
      Status status;
      while ((status = terminus.send_fast(ticket, {}, word)) != Status::ok) {
        if (status != Status::no_place && status != Status::queue_full) return 2;
        if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return 3;
      }
    }
    return 0;
  }

  // Registers itself as "here", says so, and then each word that it hears.
  Actor receiver() {
    return Actor([this](Line& line) {
      Interface interface(options());
      MessageArea area(interface, 4096);
      NotificationQueue queue(interface);
      Slot slot(area, queue, {});
      interface.publish("here", slot.ticket());
      line.put(interface.id());
      Notification next;
      while (queue.receive(next, kPatience) == Status::ok)
        if (next.kind == Notification::Kind::message) line.put(next.word);
      return 0;
    });
  }

 private:
  bool listens() {
    try {
      return !daemon_->running() || static_cast<bool>(node::connect_to(socket()));
    } catch (const Error&) {
      return false;  // between bind and listen
    }
  }

  Folder folder_;
  std::unique_ptr<Command> daemon_;
};

// A connection of its own to the daemon, by hand.
base::FileDescriptor attach_by_hand(const std::string& path, const node::Hello& hello,
                                    node::Welcome& welcome) {
  base::FileDescriptor socket = node::connect_to(path);
  base::send_message(socket.get(), std::as_bytes(std::span{&hello, 1}));
  base::receive_message(socket.get(), std::as_writable_bytes(std::span{&welcome, 1}));
  return socket;
}

TEST_F(Upgrade, OldClientsKeepTheirLinksAndAreIntroducedByTheNewDaemon) {
  Actor to = receiver();
  ASSERT_TRUE(to.line().take<std::uint64_t>());
  // One has a link before, the other only its interface.
  const auto old_client = [&](std::uint64_t word, bool linked) {
    return Actor([this, word, linked](Line& line) {
      Interface interface(options());
      if (linked && send_words(interface, "here", word, 1) != 0) return 1;
      line.put('.');
      line.take<char>();
      return send_words(interface, "here", word + 1, 1);
    });
  };
  Actor linked = old_client(1, true);
  Actor attached = old_client(11, false);
  ASSERT_TRUE(linked.line().take<char>());
  ASSERT_TRUE(attached.line().take<char>());
  EXPECT_EQ(to.line().take<std::uint64_t>(), 1u);

  upgrade();
  linked.line().put('.');
  EXPECT_EQ(linked.wait(), 0);
  EXPECT_EQ(to.line().take<std::uint64_t>(), 2u) << "over the link from before";
  attached.line().put('.');
  EXPECT_EQ(attached.wait(), 0);
  EXPECT_EQ(to.line().take<std::uint64_t>(), 12u) << "over one that the new daemon has introduced";
  Actor newcomer([this](Line&) {
    Interface interface(options());
    return send_words(interface, "here", 21, 1);
  });
  EXPECT_EQ(newcomer.wait(), 0);
  EXPECT_EQ(to.line().take<std::uint64_t>(), 21u);
  EXPECT_EQ(node::list(at(socket())).version, "99.0.0");
  node::Welcome welcome;
  attach_by_hand(socket(), {}, welcome);
  EXPECT_EQ(welcome.protocol >> 16, node::kProtocolAdded + 4);
}

// One after the other, looking the receiver up anew for each hundred.
TEST_F(Upgrade, UnderLoadNothingIsLost) {
  Actor to = receiver();
  ASSERT_TRUE(to.line().take<std::uint64_t>());
  Actor from([this](Line& line) {
    Interface interface(options());
    std::uint64_t word = 0;
    for (; !line.take<char>(0ms); word += 100) {
      if (const int failed = send_words(interface, "here", word, 100); failed != 0) return failed;
    }
    line.put(word);
    return 0;
  });
  std::uint64_t heard = 0;
  const auto hear = [&](std::uint64_t count) {
    for (const std::uint64_t until = heard + count; heard < until; ++heard)
      ASSERT_EQ(to.line().take<std::uint64_t>(), heard);
  };
  for (int i = 0; i < 2; ++i) {
    hear(300);
    upgrade();
    hear(300);
    kill_and_restart();
  }
  from.line().put('.');
  std::optional<std::uint64_t> sent;
  while (!sent && from.running()) {
    if (const auto word = to.line().take<std::uint64_t>(1ms)) {
      EXPECT_EQ(*word, heard++);
    }
    sent = from.line().take<std::uint64_t>(0ms);
  }
  ASSERT_TRUE(sent) << "it ended with " << from.wait();
  hear(*sent - heard);
}

node::Reply ask_by_hand(int socket, const node::Request& request) {
  node::Reply reply;
  base::send_message(socket, std::as_bytes(std::span{&request, 1}));
  EXPECT_EQ(base::receive_message(socket, std::as_writable_bytes(std::span{&reply, 1})).bytes, sizeof reply);
  return reply;
}

// As when a program was built with a later version than the daemon's.
TEST_F(Upgrade, ARequestOfALaterKindIsRefusedByThatName) {
  node::Hello hello;
  hello.protocol |= 9 << 16;
  node::Welcome welcome;
  const auto socket = attach_by_hand(this->socket(), hello, welcome);
  ASSERT_EQ(welcome.error, 0u) << welcome.text;
  EXPECT_EQ(welcome.protocol, node::kProtocol);
  node::Request request;
  request.kind = node::RequestKind{99};
  request.request = 7;
  request.reserved = 1;  // as that kind may mean it
  const node::Reply refused = ask_by_hand(socket.get(), request);
  EXPECT_EQ(refused.kind, node::ReplyKind::refused);
  EXPECT_EQ(refused.request, 7u);
  EXPECT_EQ(refused.error, static_cast<std::uint32_t>(ErrorCode::version_mismatch));
  const std::string text = refused.text;
  EXPECT_TRUE(text.starts_with("this node daemon, of version ")) << text;
  EXPECT_TRUE(text.ends_with(", knows no requests of kind 99")) << text;

  request = {};
  request.kind = node::RequestKind::list;
  request.request = 8;
  base::send_message(socket.get(), std::as_bytes(std::span{&request, 1}));
  node::AttachedReply self;
  ASSERT_EQ(base::receive_message(socket.get(), std::as_writable_bytes(std::span{&self, 1})).bytes,
            sizeof self);
  EXPECT_EQ(self.interface, welcome.interface) << "it is attached as before";
}

// A daemon that turns everybody away, because it speaks the next version.
int speak_another_version(const std::string& path) {
  const base::FileDescriptor listener{::socket(AF_UNIX, SOCK_SEQPACKET, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
  if (::listen(listener.get(), 16) != 0) return 2;
  node::Welcome welcome;
  welcome.protocol = node::kProtocolVersion + 1;
  for (;;) {
    const base::FileDescriptor socket{::accept(listener.get(), nullptr, nullptr)};
    node::Hello hello;
    base::receive_message(socket.get(), std::as_writable_bytes(std::span{&hello, 1}));
    base::send_message(socket.get(), std::as_bytes(std::span{&welcome, 1}));
  }
}

TEST_F(Upgrade, ADaemonOfAnotherVersionLeavesLinksAndIsNamedToWhoAsks) {
  Actor to = receiver();
  ASSERT_TRUE(to.line().take<std::uint64_t>());
  Actor from([this](Line& line) {
    Interface interface(options());
    Terminus terminus(interface);
    const Ticket ticket = interface.lookup("here", kPatience);
    if (terminus.connect(ticket, kPatience) != Status::ok) return 1;
    line.put('.');
    line.take<char>();
    if (terminus.send_fast(ticket, {}, 5) != Status::ok) return 2;
    try {
      static_cast<void>(interface.lookup("here"));
    } catch (const Error& error) {
      const std::string text = error.what();
      if (error.code() != ErrorCode::version_mismatch || text.find("protocol 6") == text.npos) return 3;
    }
    line.put('.');
    return interface.lookup("here", kPatience) == ticket ? 0 : 4;
  });
  ASSERT_TRUE(from.line().take<char>());
  end_in_good_order();
  {
    const Child other{-1, [&] { return speak_another_version(socket()); }};
    from.line().put('.');
    EXPECT_EQ(to.line().take<std::uint64_t>(), 5u) << "the link goes on";
    ASSERT_TRUE(from.line().take<char>());
  }
  ::unlink(socket().c_str());
  start();
  EXPECT_EQ(from.wait(), 0) << "a daemon of its version is found again";
}

}  // namespace
}  // namespace hamlyn::test
