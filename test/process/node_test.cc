// The daemon as a process, with processes around it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/socket.h"
#include "node/client/address.h"
#include "node/client/client.h"
#include "node/client/list.h"
#include "test/process/counter_pages.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn {
namespace {

using node::Client;
using node::Event;
using test::Actor;
using test::at;
using test::Child;
using test::Daemon;
using test::failed_with;
using test::Folder;
using test::Line;
using test::next_event;
using test::sealed_page;

constexpr int kAnna = 41001;
constexpr int kBert = 41002;

#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: other users can only be tried as root"

Ticket some_ticket(std::uint64_t interface) {
  Ticket out;
  out.interface = interface;
  out.key = 42;
  out.bound = 64;
  return out;
}

std::string first_bytes(int fd, std::size_t size) {
  std::string out(size, '\0');
  EXPECT_EQ(::pread(fd, out.data(), size, 0), static_cast<ssize_t>(size));
  return out;
}

ErrorCode attach_error(const node::ClientOptions& options, std::string* text = nullptr) {
  try {
    Client::attach(options);
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.code();
  }
  return {};
}

// A daemon of another pid namespace does not see who connects from outside of it.
TEST(NodeProcess, TurnsAwayWhomItCannotTellAndSaysWhy) {
  const Folder folder;
  Actor inside([&](Line& line) {
    if (::unshare(CLONE_NEWPID) != 0) return 77;
    const Daemon daemon{folder.file("s")};
    // Children are in the namespace; this process is not, and was turned away when it tried the socket.
    const auto refused = [&] {
      Child counts{-1, [&] { return static_cast<int>(node::list(at(folder.file("s"))).refused); }};
      return counts.wait();
    };
    const int before = refused();
    line.put('.');
    line.take<char>();
    return refused() - before;
  });
  if (!inside.line().take<char>()) {
    ASSERT_EQ(inside.wait(), 77);
    GTEST_SKIP() << "SKIPPED: no pid namespace can be made here";
  }
  for (int i = 0; i < 3; ++i) {
    std::string text;
    EXPECT_EQ(attach_error(at(folder.file("s")), &text), ErrorCode::not_permitted);
    EXPECT_NE(text.find("runs in another pid namespace"), std::string::npos) << text;
  }
  inside.line().put('.');
  EXPECT_EQ(inside.wait(), 3) << "refusals that the daemon has counted";
}

TEST(NodeProcess, IntroducesTwoProcesses) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  Client one = Client::attach(at(folder.file("s")));
  auto ends = base::socket_pair();
  Child other{
      -1, [&] {
        Client two = Client::attach(at(folder.file("s")));
        const std::uint64_t id = two.interface_id();
        base::send_message(ends.second.get(), std::as_bytes(std::span{&id, 1}));
        const Event event = next_event(two);
        if (event.kind != Event::Kind::introduced || event.initiator || event.request != 0) return 1;
        if (event.peer_pid != static_cast<std::uint32_t>(::getppid()) || event.peer_uid != ::geteuid())
          return 2;
        std::uint64_t word = 0;
        if (base::receive_message(event.socket.get(), std::as_writable_bytes(std::span{&word, 1})).bytes !=
            sizeof word)
          return 3;
        return word == event.link ? 0 : 4;
      }};
  std::uint64_t peer = 0;
  ASSERT_EQ(base::receive_message(ends.first.get(), std::as_writable_bytes(std::span{&peer, 1})).bytes,
            sizeof peer);
  ASSERT_TRUE(one.introduce(7, peer));
  const Event event = next_event(one);
  ASSERT_EQ(event.kind, Event::Kind::introduced) << event.text;
  EXPECT_EQ(event.request, 7u);
  EXPECT_EQ(event.peer, peer);
  EXPECT_TRUE(event.initiator);
  EXPECT_EQ(event.peer_pid, static_cast<std::uint32_t>(other.pid()));
  pollfd death{event.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&death, 1, 0), 0) << "the peer's pidfd must be silent while it lives";
  ASSERT_EQ(base::send_message(event.socket.get(), std::as_bytes(std::span{&event.link, 1})),
            base::SocketState::ok);
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(::poll(&death, 1, 10000), 1) << "and tell its end";
  ASSERT_TRUE(one.link_ended(event.link));
  ASSERT_TRUE(one.introduce(8, peer));
  const Event gone = next_event(one);
  EXPECT_EQ(gone.kind, Event::Kind::refused);
  EXPECT_EQ(gone.error, ErrorCode::name_unknown);
}

TEST(NodeProcess, EightThatStartItAtOnceGetOne) {
  const Folder folder;
  node::ClientOptions options = at(folder.file("s"));
  options.start_node = true;
  options.daemon = test::program("hamlynd");
  auto ends = base::socket_pair();
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(std::make_unique<Child>(-1, [&] {
      const Client client = Client::attach(options);
      const std::uint64_t id = client.interface_id();
      base::send_message(ends.second.get(), std::as_bytes(std::span{&id, 1}));
      ::pause();
      return 0;
    }));
  }
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 8; ++i) {
    std::uint64_t id = 0;
    pollfd wait{ends.first.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 30000), 1);
    base::receive_message(ends.first.get(), std::as_writable_bytes(std::span{&id, 1}));
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 8u);
  const node::NodeList list = node::list(at(folder.file("s")));
  EXPECT_EQ(list.attached.size(), 8u);
  EXPECT_EQ(::kill(static_cast<pid_t>(list.pid), SIGTERM), 0);
  EXPECT_TRUE(test::eventually([&] { return !node::connect_to(folder.file("s")); }));
}

TEST(NodeProcess, WhoComesWhileItLeavesGetsAnother) {
  const Folder folder;
  node::ClientOptions options = at(folder.file("s"));
  options.start_node = true;
  options.daemon = test::program("hamlynd");
  std::uint32_t last = 0;
  for (int i = 0; i < 10; ++i) {
    { const Client client = Client::attach(options); }
    last = node::list(at(folder.file("s"))).pid;
    ASSERT_EQ(::kill(static_cast<pid_t>(last), SIGTERM), 0);
  }
  const Client client = Client::attach(options);
  const std::uint32_t pid = node::list(at(folder.file("s"))).pid;
  EXPECT_NE(pid, last);
  ::kill(static_cast<pid_t>(pid), SIGTERM);
}

TEST(NodeProcess, LeavesWhenIdleAndTidiesUp) {
  const Folder folder;
  Daemon daemon{folder.file("s"), {"--idle-exit", "1"}};
  { const Client client = Client::attach(at(folder.file("s"))); }
  EXPECT_EQ(daemon.command().wait().status, 0);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"s.key", "s.lock"}));
}

TEST(NodeProcess, GoesOnWhereWhoHasStartedItMayHaveNoLongFiles) {
  const Folder folder;
  Child starts{-1, [&] {
                 const rlimit few{64, 64};
                 if (::setrlimit(RLIMIT_FSIZE, &few) != 0) return 2;
                 node::ClientOptions options = at(folder.file("s"));
                 options.start_node = true;
                 options.daemon = test::program("hamlynd");
                 return Client::attach(options).interface_id() != 0 ? 0 : 1;
               }};
  EXPECT_EQ(starts.wait(), 0);
  EXPECT_EQ(::kill(static_cast<pid_t>(node::list(at(folder.file("s"))).pid), SIGTERM), 0);
  EXPECT_TRUE(test::eventually([&] { return !node::connect_to(folder.file("s")); }));
}

TEST(NodeProcess, OnlyOneServesAPath) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  test::Command second{{test::program("hamlynd"), "--socket", folder.file("s")}, {}};
  const auto finished = second.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("another hamlynd serves"), std::string::npos) << finished.err;
  EXPECT_NO_THROW(node::list(at(folder.file("s"))));
}

// Whoever names a file of his as the socket, or a folder, by mistake.
TEST(NodeProcess, WhatIsNoSocketStaysWhereItIs) {
  const Folder folder;
  const std::string file = folder.file("letter");
  test::write_file(file, "dear");
  node::ClientOptions options = at(file);
  options.start_node = true;
  options.daemon = test::program("hamlynd");
  EXPECT_EQ(attach_error(options), ErrorCode::invalid_argument);
  options.socket = folder.file("");
  EXPECT_EQ(attach_error(options), ErrorCode::invalid_argument);
  test::Command daemon{{test::program("hamlynd"), "--socket", file}, {}};
  const auto finished = daemon.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find(file + " is something else"), std::string::npos) << finished.err;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"letter"});
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
}

// Nor does the log of a daemon that is started take the place of what has its name by chance.
TEST(NodeProcess, WhatIsNoLogOfItsOwnStaysWhatItIs) {
  const Folder folder;
  const std::string mine = "of a year's work\n", log = folder.file("s.log");
  test::write_file(log, mine);
  node::ClientOptions options = at(folder.file("s"));
  options.start_node = true;
  options.daemon = test::program("hamlynd");
  const auto start_and_end = [&] {
    { const Client client = Client::attach(options); }
    ASSERT_EQ(::kill(static_cast<pid_t>(node::list(at(options.socket)).pid), SIGTERM), 0);
    ASSERT_TRUE(test::eventually([&] { return !node::connect_to(options.socket); }));
  };
  for (int i = 0; i < 2; ++i) {
    start_and_end();
    EXPECT_TRUE(test::read_file(log).starts_with(mine));
  }
  // Its own begins anew each time.
  std::filesystem::remove(log);
  start_and_end();
  std::ofstream(log, std::ios::app) << "of a daemon before";
  start_and_end();
  EXPECT_EQ(test::read_file(log).find("of a daemon before"), std::string::npos);
}

TEST(NodeProcess, NamesAndNumbersComeBackAfterKill) {
  const Folder folder;
  Daemon first{folder.file("s")};
  Client owner = Client::attach(at(folder.file("s")));
  ASSERT_TRUE(owner.publish(1, "prices", {}, some_ticket(owner.interface_id())));
  ASSERT_EQ(next_event(owner).kind, Event::Kind::published);
  first.kill();
  ASSERT_EQ(next_event(owner).kind, Event::Kind::lost);
  EXPECT_FALSE(owner.next().has_value()) << "told once";
  EXPECT_FALSE(owner.withdraw(2, "prices"));

  for (int i = 0; i < 3; ++i) Daemon{folder.file("s")}.kill();  // before anybody can come back
  const Daemon second{folder.file("s")};
  Client thief = Client::attach(at(folder.file("s")));
  ASSERT_TRUE(thief.publish(1, "prices", {}, some_ticket(thief.interface_id())));
  ASSERT_TRUE(thief.lookup(2, "prices", false));
  ASSERT_TRUE(thief.publish(3, "costs", {}, some_ticket(thief.interface_id())));
  const Event at_once = next_event(thief);  // the second daemon knows that nobody had it
  EXPECT_EQ(at_once.kind, Event::Kind::published);
  EXPECT_EQ(at_once.request, 3u);
  Client back = Client::attach(at(folder.file("s")), -1, &owner.standing());
  EXPECT_EQ(back.interface_id(), owner.interface_id());
  // The look-up was not answered "unknown" while the owner could still come back.
  std::set<Event::Kind> kinds;
  for (int i = 0; i < 2; ++i) {
    const Event event = next_event(thief);
    kinds.insert(event.kind);
    const bool right = event.kind == Event::Kind::found ? event.ticket == some_ticket(owner.interface_id())
                                                        : event.error == ErrorCode::name_taken;
    EXPECT_TRUE(right) << event.text;
  }
  EXPECT_EQ(kinds, (std::set{Event::Kind::refused, Event::Kind::found}));
}

// More than the daemon keeps of answers that are not read, and than a client keeps of what the daemon has no
// room for.
TEST(NodeProcess, ThousandsOfNamesAndLinksComeBackAfterKill) {
  constexpr std::size_t kMany = 6000;
  const Folder folder;
  test::write_file(folder.file("config"), "[quotas]\nnames = 10000\n");
  const std::vector<std::string> words{"--config", folder.file("config")};
  Daemon first{folder.file("s"), words};
  Client owner = Client::attach(at(folder.file("s")));
  for (std::size_t i = 1; i <= kMany; ++i) {
    ASSERT_TRUE(owner.publish(i, "name." + std::to_string(i), {}, some_ticket(owner.interface_id())));
    while (i % 100 == 0 && owner.standing().names.size() < i)
      ASSERT_EQ(next_event(owner).kind, Event::Kind::published);
  }
  first.kill();
  ASSERT_EQ(next_event(owner).kind, Event::Kind::lost);

  node::Standing standing = owner.standing();
  for (std::uint64_t link = 1; link <= kMany; ++link) standing.links[link] = {link << 32, 4096};
  const Daemon second{folder.file("s"), words};
  Client back = Client::attach(at(folder.file("s")), -1, &standing);
  // What is said of a name meanwhile comes behind its coming back.
  const std::string last = "name.999";
  ASSERT_TRUE(back.withdraw(1, last));
  std::set<Event::Kind> told;
  EXPECT_TRUE(test::eventually([&] {
    while (const auto event = back.next()) told.insert(event->kind);
    const auto list = node::list(at(folder.file("s")));
    return list.names == kMany - 1 && list.attached.size() == 1 && list.attached[0].links == kMany;
  }));
  EXPECT_EQ(told, std::set{Event::Kind::withdrawn});
  EXPECT_EQ(back.standing().names.size(), kMany - 1);
}

TEST(NodeProcess, ANumberNeedsItsToken) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const Client owner = Client::attach(at(folder.file("s")));
  node::Standing forged = owner.standing();
  forged.token[0] ^= std::byte{1};
  try {
    Client::attach(at(folder.file("s")), -1, &forged);
    FAIL() << "attached with a forged token";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_permitted);
  }
}

TEST(NodeProcess, AnotherVersionIsToldBothNumbers) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const auto socket = node::connect_to(folder.file("s"));
  node::Hello hello;
  hello.structures = 12;
  ASSERT_EQ(base::send_message(socket.get(), std::as_bytes(std::span{&hello, 1})), base::SocketState::ok);
  node::Welcome welcome;
  ASSERT_EQ(base::receive_message(socket.get(), std::as_writable_bytes(std::span{&welcome, 1})).bytes,
            sizeof welcome);
  EXPECT_EQ(welcome.error, static_cast<std::uint32_t>(ErrorCode::version_mismatch));
  EXPECT_EQ(welcome.structures, node::kStructuresVersion);
  EXPECT_STREQ(
      welcome.text,
      "the node daemon speaks protocol 5 with structures 11, the process protocol 5 with structures 12");
}

// A daemon of another version: answers one connection.
int impostor(const std::string& path, const node::Welcome& answer, int ready) {
  const base::FileDescriptor listener{::socket(AF_UNIX, SOCK_SEQPACKET, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ::umask(0);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
  if (::listen(listener.get(), 4) != 0 || ::write(ready, "r", 1) != 1) return 2;
  const base::FileDescriptor socket{::accept(listener.get(), nullptr, nullptr)};
  node::Hello hello;
  base::receive_message(socket.get(), std::as_writable_bytes(std::span{&hello, 1}));
  base::send_message(socket.get(), std::as_bytes(std::span{&answer, 1}));
  ::pause();
  return 0;
}

void wait_ready(int fd) {
  char word = 0;
  EXPECT_EQ(::read(fd, &word, 1), 1);
}

TEST(NodeProcess, AClientNamesAnotherVersionOfTheDaemon) {
  const Folder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const base::FileDescriptor ready{ends[0]};
  const base::FileDescriptor told{ends[1]};
  node::Welcome answer;
  answer.protocol = 7;
  const Child daemon{-1, [&] { return impostor(folder.file("s"), answer, told.get()); }};
  wait_ready(ready.get());
  std::string text;
  EXPECT_EQ(attach_error(at(folder.file("s")), &text), ErrorCode::version_mismatch);
  EXPECT_NE(text.find("protocol 5 with"), std::string::npos) << text;
  EXPECT_NE(text.find("protocol 7 with"), std::string::npos) << text;
}

TEST(NodeProcess, AnotherUsersDaemonIsNotTrusted) {
  NEEDS_ROOT();
  const Folder folder{0777};
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const base::FileDescriptor ready{ends[0]};
  const base::FileDescriptor told{ends[1]};
  const Child daemon{kAnna, [&] { return impostor(folder.file("s"), {}, told.get()); }};
  wait_ready(ready.get());
  Child client{kBert, [&] { return Client::attach(at(folder.file("s"))).interface_id() != 0 ? 0 : 1; }};
  EXPECT_EQ(client.wait(), failed_with(ErrorCode::node_not_trusted));
}

TEST(NodeProcess, AUsersOwnDaemonServesNobodyElse) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const Daemon daemon{folder.file("s")};
  Child closed{kAnna, [&] { return Client::attach(at(folder.file("s"))).interface_id() != 0 ? 0 : 1; }};
  EXPECT_EQ(closed.wait(), failed_with(ErrorCode::not_permitted)) << "the socket's mode keeps others out";
  ASSERT_EQ(::chmod(folder.file("s").c_str(), 0666), 0);
  Child opened{kAnna, [&] { return Client::attach(at(folder.file("s"))).interface_id() != 0 ? 0 : 1; }};
  EXPECT_EQ(opened.wait(), failed_with(ErrorCode::not_permitted)) << "and so does the daemon";
}

TEST(NodeProcess, TheServiceIntroducesUsersAndKeepsTheirNamesApart) {
  NEEDS_ROOT();
  const Folder folder{0755};
  const Daemon daemon{folder.file("s"), {"--service"}};
  auto ends = base::socket_pair();
  Child anna{
      kAnna, [&] {
        Client client = Client::attach(at(folder.file("s")));
        client.publish(1, "secret", {}, some_ticket(client.interface_id()));
        client.publish(2, "open", {.group = false, .everyone = true}, some_ticket(client.interface_id()));
        if (next_event(client).kind != Event::Kind::published ||
            next_event(client).kind != Event::Kind::published)
          return 1;
        if (base::send_message(ends.second.get(), std::as_bytes(std::span{"x", 1})) != base::SocketState::ok)
          return 2;
        const Event event = next_event(client);
        return event.kind == Event::Kind::introduced && event.peer_uid == kBert ? 0 : 3;
      }};
  std::byte word{};
  ASSERT_EQ(base::receive_message(ends.first.get(), std::span{&word, 1}).bytes, 1u);
  Child bert{kBert, [&] {
               Client client = Client::attach(at(folder.file("s")));
               client.lookup(1, "secret", false);
               if (next_event(client).error != ErrorCode::not_permitted) return 1;
               client.publish(2, "secret", {}, some_ticket(client.interface_id()));
               if (next_event(client).error != ErrorCode::name_taken) return 2;
               client.lookup(3, "open", true);
               const Event found = next_event(client);
               if (found.kind != Event::Kind::found || found.peer_uid != kAnna) return 3;
               client.introduce(4, found.ticket.interface);
               const Event event = next_event(client);
               return event.kind == Event::Kind::introduced && event.peer_uid == kAnna && event.initiator ? 0
                                                                                                          : 4;
             }};
  EXPECT_EQ(bert.wait(), 0);
  EXPECT_EQ(anna.wait(), 0);
}

TEST(NodeProcess, TheServiceMakesItsFolderForAllUsersWhereNobodyElseHas) {
  NEEDS_ROOT();
  test::Command daemon{
      {"unshare", "--mount", "sh", "-c",
       "mount -t tmpfs none /run || exit 77; exec " + test::program("hamlynd") + " --service"},
      {}};
  const std::string folder = "/proc/" + std::to_string(daemon.pid()) + "/root" + "/run/hamlyn";
  const auto listens = [&] { return ::access((folder + "/node.sock").c_str(), F_OK) == 0; };
  ASSERT_TRUE(test::eventually([&] { return listens() || !daemon.running(); }));
  if (!listens() && daemon.wait().status == 77) GTEST_SKIP() << "SKIPPED: nothing can be mounted here";
  struct stat info {};
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST(NodeProcess, WithoutStandardDescriptorsItsLogGoesIntoNoFileOfItsOwn) {
  const Folder folder;
  test::Command daemon{
      {"sh", "-c", "exec \"$0\" --socket \"$1\" <&- >&- 2>&-", test::program("hamlynd"), folder.file("s")},
      {}};
  ASSERT_TRUE(test::eventually([&] { return ::access(folder.file("s").c_str(), F_OK) == 0; }));
  for (const char* const fd : {"0", "1", "2"}) {
    EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(daemon.pid()) + "/fd/" + fd),
              "/dev/null");
  }
}

TEST(NodeProcess, RightsSayWhoMayAttach) {
  NEEDS_ROOT();
  const Folder folder{0755};
  test::write_file(folder.file("config"), "[rights]\nusers = [" + std::to_string(kAnna) + "]\n");
  const Daemon daemon{folder.file("s"), {"--service", "--config", folder.file("config")}};
  Child anna{kAnna, [&] { return Client::attach(at(folder.file("s"))).interface_id() != 0 ? 0 : 1; }};
  EXPECT_EQ(anna.wait(), 0);
  Child bert{kBert, [&] { return Client::attach(at(folder.file("s"))).interface_id() != 0 ? 0 : 1; }};
  EXPECT_EQ(bert.wait(), failed_with(ErrorCode::not_permitted));
}

TEST(NodeProcess, QuotasComeFromTheConfig) {
  const Folder folder;
  test::write_file(folder.file("config"), "[quotas]\ninterfaces = 2\n");
  const Daemon daemon{folder.file("s"), {"--config", folder.file("config")}};
  const Client one = Client::attach(at(folder.file("s")));
  {
    const Client two = Client::attach(at(folder.file("s")));
    EXPECT_EQ(attach_error(at(folder.file("s"))), ErrorCode::quota_interfaces);
  }
  EXPECT_TRUE(test::eventually([&] { return attach_error(at(folder.file("s"))) == ErrorCode{}; }))
      << "given back when it ends";
}

// Without a configured secret: what another user's daemon, with its own directory, is to them.
TEST(NodeProcess, DaemonsOfOneUserShareASecretThatIsMade) {
  const Folder folder;
  const pid_t self = ::getpid();
  const auto host = [&](int id) {
    return "127." + std::to_string(64 + self / 256 % 64) + "." + std::to_string(self % 256) + "." +
           std::to_string(id);
  };
  const auto socket = [&](int id) { return folder.file("s" + std::to_string(id)); };
  const auto start = [&](int id, const char* directory) {
    ::mkdir(folder.file(directory).c_str(), 0700);
    test::write_file(socket(id) + ".toml", "[cluster]\nid = " + std::to_string(id) + "\nlisten = \"" +
                                               host(id) + "\"\n" +
                                               (id == 1 ? "" : "join = \"" + host(1) + "\"\n"));
    test::Command::Options options;
    options.environment = {{"XDG_RUNTIME_DIR", folder.file(directory)}};
    return Daemon{socket(id), {"--config", socket(id) + ".toml"}, options};
  };
  const auto look = [&](int id) { return node::list(at(socket(id))).nodes; };
  const Daemon one = start(1, "mine");
  const Daemon two = start(2, "mine");
  EXPECT_TRUE(test::eventually([&] {
    const auto nodes = look(1);
    return nodes.size() == 2 && nodes[1].state == node::ClusterMember::State::alive;
  }));
  struct stat info {};
  ASSERT_EQ(::stat(folder.file("mine/hamlyn/cluster.secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_size, 32);
  const std::uint64_t before = look(1)[0].refused;
  const Daemon stranger = start(3, "others");
  EXPECT_TRUE(test::eventually([&] { return look(1)[0].refused > before; }));
  EXPECT_EQ(look(1).size(), 2u);
  EXPECT_EQ(look(3).size(), 1u);
}

TEST(NodeProcess, ListsProcessesAndShowsCountersToTheirOwner) {
  const Folder folder{0755};
  const Daemon daemon{folder.file("s"),
                      ::geteuid() == 0 ? std::vector<std::string>{"--service"} : std::vector<std::string>{}};
  const auto counters = sealed_page("counts");
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(Client::attach(at(folder.file("s")), counters.get()));
  const node::NodeList list = node::list(at(folder.file("s")));
  ASSERT_EQ(list.attached.size(), clients.size()) << "more than one page";
  EXPECT_EQ(list.used.interfaces, clients.size());
  EXPECT_EQ(list.attached[0].pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_FALSE(list.attached[0].program.empty());
  ASSERT_TRUE(list.attached[39].counters);
  EXPECT_EQ(first_bytes(list.attached[39].counters.get(), 6), "counts");
  NEEDS_ROOT();
  Child anna{kAnna, [&] {
               const node::NodeList seen = node::list(at(folder.file("s")));
               return seen.attached.size() == 40 && !seen.attached[0].counters ? 0 : 1;
             }};
  EXPECT_EQ(anna.wait(), 0);
}

}  // namespace
}  // namespace hamlyn
