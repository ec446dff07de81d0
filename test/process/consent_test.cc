// Which users may open links with a process, between real processes of several users, and where the daemon
// knows nothing of it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/socket.h"
#include "hamlyn/hamlyn.h"
#include "library/control/link_message.h"
#include "node/client/protocol.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

constexpr int kAnna = 41001;
constexpr int kBert = 41002;

#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: other users can only be tried as root"

// What a user's process hears of its introduction to each interface that it is told of.
int ask_for_links(Line& line, const std::string& socket) {
  while (const auto peer = line.take<std::uint64_t>()) {
    node::Client client = node::Client::attach(at(socket));
    client.introduce(9, *peer);
    const node::Event heard = next_event(client);
    const bool refused = heard.kind == node::Event::Kind::refused;
    line.put(refused                                       ? heard.error
             : heard.kind == node::Event::Kind::introduced ? ErrorCode{}
                                                           : ErrorCode::system);
  }
  return 0;
}

ErrorCode asks(Actor& user, std::uint64_t peer) {
  user.line().put(peer);
  return user.line().take<ErrorCode>().value_or(ErrorCode::system);
}

TEST(Consent, ALinkOfAnotherUserIsRefusedByTheDaemonAndByTheNextOne) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const std::string socket = folder.file("s");
  const auto part = [&](Line& line) { return ask_for_links(line, socket); };
  Actor anna{part, kAnna};
  Actor bert{part, kBert};
  auto daemon = std::make_unique<Daemon>(socket, std::vector<std::string>{"--service"});
  const Interface::Options options{.node = socket, .start_node = false};
  Interface::Options closed = options;
  closed.consent = {.everyone = false, .users = {kBert}};
  Interface open(options), server(closed);
  EXPECT_EQ(asks(anna, open.id()), ErrorCode{});
  EXPECT_EQ(asks(anna, server.id()), ErrorCode::not_permitted);
  EXPECT_EQ(asks(bert, server.id()), ErrorCode{});
  daemon->kill();
  daemon = std::make_unique<Daemon>(socket, std::vector<std::string>{"--service"});
  // It is asked again and again from the first moment on: the server hangs up on whom it is shown to before
  // the daemon has heard of its consent.
  EXPECT_TRUE(eventually([&] { return asks(anna, server.id()) == ErrorCode::not_permitted; }));
  EXPECT_EQ(asks(bert, server.id()), ErrorCode{});
}

TEST(Consent, OfMoreThanThereCanBeIsRefused) {
  Interface::Options options;
  options.consent = {
      .everyone = false, .users = std::vector<std::uint32_t>(10), .groups = {1, 2, 3, 4, 5, 6, 7}};
  try {
    Interface interface(options);
    ADD_FAILURE() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

// --- a daemon that knows nothing of it, played by hand

// Attaches one process, and introduces users to it.
class OldDaemon {
 public:
  explicit OldDaemon(const std::string& path)
      : listening_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listening_.get(), 4);
  }
  void attach() {
    socket_.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    node::Hello hello;
    base::receive_message(socket_.get(), std::as_writable_bytes(std::span{&hello, 1}));
    node::Welcome welcome;
    welcome.interface = 5;
    base::send_message(socket_.get(), std::as_bytes(std::span{&welcome, 1}));
  }
  node::Request hear() const {
    node::Request request;
    base::receive_message(socket_.get(), std::as_writable_bytes(std::span{&request, 1}));
    return request;
  }
  void refuse(const node::Request& request) const {
    node::Reply reply;
    reply.kind = node::ReplyKind::refused;
    reply.request = request.request;
    reply.error = static_cast<std::uint32_t>(ErrorCode::version_mismatch);
    base::send_message(socket_.get(), std::as_bytes(std::span{&reply, 1}));
  }
  // This end of the link.
  base::FileDescriptor introduce(std::uint64_t link, std::uint32_t uid) const {
    auto [mine, its] = base::socket_pair();
    const base::FileDescriptor pidfd{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
    node::Reply reply;
    reply.kind = node::ReplyKind::introduced;
    reply.peer = 1000 + link;
    reply.link = link;
    reply.uid = reply.gid = uid;
    reply.pid = static_cast<std::uint32_t>(::getpid());
    const int descriptors[] = {its.get(), pidfd.get()};
    base::send_message(socket_.get(), std::as_bytes(std::span{&reply, 1}), descriptors);
    return std::move(mine);
  }

 private:
  base::FileDescriptor listening_;
  base::FileDescriptor socket_;
};

// Whether the stranger is told why there is no link, shown nothing, and hung up on.
bool hung_up(int stranger) {
  library::LinkMessage word;
  const auto told = base::receive_message(stranger, std::as_writable_bytes(std::span{&word, 1}));
  if (told.bytes != sizeof word || told.fd_count != 0 || library::invalid(word) != nullptr) return false;
  const auto reason = static_cast<std::uint64_t>(LinkReason::not_permitted);
  std::byte next{};
  return word.word == library::LinkWord::farewell && word.value == reason &&
         ::recv(stranger, &next, 1, 0) == 0;
}

int play_old_daemon(Line& line, const std::string& path) {
  OldDaemon daemon{path};
  line.put(0);
  daemon.attach();
  const node::Request consent = daemon.hear();
  if (consent.kind != node::RequestKind::consent) return 1;
  daemon.refuse(consent);
  const base::FileDescriptor stranger = daemon.introduce(7, kAnna);
  const node::Request ended = daemon.hear();
  if (ended.kind != node::RequestKind::link_ended || ended.number != 7) return 2;
  if (!hung_up(stranger.get())) return 3;
  const base::FileDescriptor named = daemon.introduce(8, kBert);
  const base::FileDescriptor other = daemon.introduce(9, kAnna);
  const node::Request next = daemon.hear();  // of the one that is named nothing is ended
  return next.kind == node::RequestKind::link_ended && next.number == 9 ? 0 : 4;
}

TEST(Consent, IsTheProcesssOwnMatterWhereTheDaemonKnowsNoneOfIt) {
  const Folder folder;
  Actor daemon{[&](Line& line) { return play_old_daemon(line, folder.file("s")); }};
  ASSERT_TRUE(daemon.line().take<int>());
  Interface::Options options{.node = folder.file("s"), .start_node = false};
  options.consent = {.everyone = false, .users = {kBert}};
  const Interface interface(options);
  EXPECT_EQ(daemon.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
