// Names between two nodes whose clerks read each other's registries.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>

#include "base/socket.h"
#include "hamlyn/hamlyn.h"
#include "interface/counters.h"
#include "node/client/address.h"
#include "node/client/list.h"
#include "node/client/protocol.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Names : public testing::Test {
 protected:
  explicit Names(const std::string& more = {}, bool service = false)
      : nodes_("clerk_after = 1\n" + more, service) {}

  Ticket ticket(std::uint64_t key) {
    Ticket out = slot_.ticket();
    out.key = key;
    return out;
  }
  void publish(const std::string& name, std::uint64_t key) {
    owner_.publish(name, ticket(key), {.everyone = true});
  }
  // As it is now; on that node first, unless that is 0.
  node::Reply look(const std::string& name, std::uint16_t node = 0) {
    ask(name, node);
    node::Reply reply;
    while (reply.request != asked_) reply = hear();
    return reply;
  }
  void ask(const std::string& name, std::uint16_t node = 0) {
    node::Request request;
    request.kind = node::RequestKind::lookup;
    request.request = ++asked_;
    request.number = node;
    say(asker_, request, name);
  }
  node::Reply hear() { return hear(asker_); }
  static void say(const base::FileDescriptor& socket, node::Request& request, const std::string& name) {
    request.name_length = static_cast<std::uint32_t>(name.size());
    std::memcpy(request.name, name.data(), name.size());
    EXPECT_EQ(base::send_message(socket.get(), std::as_bytes(std::span{&request, 1})), base::SocketState::ok);
  }
  static node::Reply hear(const base::FileDescriptor& socket) {
    node::Reply reply;
    const auto got = base::receive_message(socket.get(), std::as_writable_bytes(std::span{&reply, 1}));
    if (got.state != base::SocketState::ok) throw std::runtime_error("the daemon has gone");
    return reply;
  }
  static base::FileDescriptor attach(const std::string& socket) {
    base::FileDescriptor out = node::connect_to(socket);
    const node::Hello hello;
    node::Welcome welcome;
    EXPECT_EQ(base::send_message(out.get(), std::as_bytes(std::span{&hello, 1})), base::SocketState::ok);
    base::receive_message(out.get(), std::as_writable_bytes(std::span{&welcome, 1}));
    EXPECT_EQ(welcome.error, 0u);
    return out;
  }
  // The processes that the clerks of a node are; with links alone, if that is asked.
  std::vector<std::uint32_t> clerks(int node, bool linked = false) {
    std::vector<std::uint32_t> out;
    for (const auto& each : node::list(at(nodes_.at(node).node)).attached) {
      if (each.program == "hamlyn-clerk" && (each.links != 0 || !linked)) out.push_back(each.pid);
    }
    return out;
  }
  // While a daemon is stopped its registry alone can be read. Of 200 names some are, whichever way is cheaper
  // here: one of 64 look-ups goes the other way. Those that ask the daemon have their answer when it goes on.
  bool read_without_daemon() {
    constexpr int kMany = 200;
    constexpr int kSoon = 100;  // ms: a read takes far less, and another try is made
    nodes_.daemon(2).command().signal(SIGSTOP);
    for (int i = 0; i < kMany; ++i) ask("warm");
    int answers = 0;
    bool found = false;
    const auto take_answer = [&] {
      const node::Reply reply = hear();
      answers += reply.request != 0 ? 1 : 0;
      return reply.kind == node::ReplyKind::found;
    };
    pollfd answer{asker_.get(), POLLIN, 0};
    while (!found && poll(&answer, 1, kSoon) == 1) found = take_answer();
    nodes_.daemon(2).command().signal(SIGCONT);
    while (answers < kMany) take_answer();
    return found;
  }
  // Looks names up until they are read, not asked for.
  void warm_up() {
    publish("warm", 1);
    const auto look_often = [&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(look("warm").ticket.key, 1u);
    };
    EXPECT_TRUE(eventually([&] {
      look_often();
      return !clerks(1, true).empty() && !clerks(2, true).empty();
    }));
    EXPECT_TRUE(eventually([&] {
      look_often();
      return read_without_daemon();
    }));
  }

  // The memory of a node's registry, as somebody has it who should not.
  std::span<std::byte> registry_of(int node) {
    const std::string folder = "/proc/" + std::to_string(nodes_.daemon(node).command().pid()) + "/fd/";
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
      std::error_code none;
      if (!std::filesystem::read_symlink(each.path(), none).string().starts_with("/memfd:hamlyn-names"))
        continue;
      const base::FileDescriptor memory(::open(each.path().c_str(), O_RDWR | O_CLOEXEC));
      const auto bytes = std::filesystem::file_size(each.path());
      void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
      if (at != MAP_FAILED) return {static_cast<std::byte*>(at), bytes};
    }
    return {};
  }

  TwoNodes nodes_;
  Interface owner_{nodes_.at(2)};
  Interface plain_{nodes_.at(1)};
  base::FileDescriptor asker_ = attach(nodes_.at(1).node);  // by hand
  std::uint64_t asked_ = 0;
  MessageArea area_{owner_, 4096};
  NotificationQueue queue_{owner_};
  Slot slot_{area_, queue_, {}};
};

TEST_F(Names, are_found_while_their_nodes_daemon_is_stopped_and_are_what_they_are_now) {
  warm_up();
  for (std::uint64_t key = 1; key < 200; ++key) {
    publish("prices", key);
    ASSERT_EQ(look("prices").ticket.key, key);
    ASSERT_EQ(look("prices", 2).ticket.key, key);
  }
  owner_.withdraw("prices");
  EXPECT_EQ(look("prices").error, static_cast<std::uint32_t>(ErrorCode::name_unknown));
  const node::Reply warm = look("warm");
  EXPECT_EQ(warm.peer, owner_.id());
  EXPECT_EQ(warm.pid, static_cast<std::uint32_t>(getpid()));
  // The cache follows within its time.
  EXPECT_EQ(plain_.lookup("warm", {.cached = true}).key, 1u);
  publish("warm", 7);
  EXPECT_EQ(plain_.lookup("warm").key, 7u);
  EXPECT_TRUE(eventually([&] { return plain_.lookup("warm", {.cached = true}).key == 7; }));
  // A table grows, and its names are still there.
  for (int i = 0; i < 300; ++i) publish("name" + std::to_string(i), static_cast<std::uint64_t>(i) + 1);
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(look("name" + std::to_string(i)).ticket.key, static_cast<std::uint64_t>(i) + 1);
  EXPECT_EQ(look("name300").error, static_cast<std::uint32_t>(ErrorCode::name_unknown));
  // Both clerks die; others take their places.
  const auto first = clerks(1), second = clerks(2);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  kill(static_cast<pid_t>(first.front()), SIGKILL);
  kill(static_cast<pid_t>(second.front()), SIGKILL);
  publish("warm", 1);
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(look("warm").ticket.key, 1u);
    const auto now = clerks(1), there = clerks(2);
    return !now.empty() && now != first && !there.empty() && there != second;
  }));
  warm_up();
}

TEST_F(Names, are_right_though_somebody_scribbles_over_their_registry) {
  warm_up();
  for (std::uint64_t key = 1; key <= 10; ++key) publish("name" + std::to_string(key), key);
  const auto memory = registry_of(2);
  ASSERT_FALSE(memory.empty());
  // Without the header it would not be read at all.
  const auto buckets = memory.subspan(64);
  std::mt19937_64 chance(1994);
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = round % 10 == 0 ? buckets.size() : 1024;
    const std::size_t from = chance() % (buckets.size() - bytes + 1);
    for (std::byte& each : buckets.subspan(from, bytes)) each = static_cast<std::byte>(chance());
    const std::uint64_t key = chance() % 10 + 1;
    ASSERT_EQ(look("name" + std::to_string(key), 2).ticket.key, key);
    ASSERT_EQ(plain_.lookup("name" + std::to_string(key), {.cached = true}).key, key);
    ASSERT_EQ(look("nobody").error, static_cast<std::uint32_t>(ErrorCode::name_unknown));
  }
  // The next table is another one.
  for (std::uint64_t key = 11; key <= 60; ++key) publish("name" + std::to_string(key), key);
  for (std::uint64_t key = 1; key <= 60; ++key) ASSERT_EQ(look("name" + std::to_string(key)).ticket.key, key);
  warm_up();
  ::munmap(memory.data(), memory.size());
}

// A hundred thousand on one node, where HAMLYN_TEST_NAMES says so, as scripts/soak does.
class ManyNames : public Names {
 protected:
  static constexpr std::uint64_t kMore = 50;  // before the node is full

  ManyNames()
      : Names("[quotas]\nnames = 1000000\n[total]\nnames = " + std::to_string(many() + kMore) + "\n") {}

  static std::uint64_t many() {
    const char* const asked = std::getenv("HAMLYN_TEST_NAMES");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 2000;
  }
  static std::string name_of(std::uint64_t number) { return "prices." + std::to_string(number); }

  node::Reply register_one(std::uint64_t number, node::RequestKind kind = node::RequestKind::publish) {
    ask_to_register(number, kind);
    return hear_of_one();
  }
  void ask_to_register(std::uint64_t number, node::RequestKind kind = node::RequestKind::publish) {
    node::Request request;
    request.kind = kind;
    request.request = number + 1;
    if (kind == node::RequestKind::publish) {
      request.flags = node::Request::kEveryone;
      request.ticket = ticket(number + 1);
    }
    say(publisher_, request, name_of(number));
  }
  node::Reply hear_of_one() {
    node::Reply reply = hear(publisher_);
    while (reply.request == 0) reply = hear(publisher_);  // links with other nodes are likely
    return reply;
  }
  // Some at a time: one by one most of it is waiting for each other.
  void register_all() {
    constexpr std::uint64_t kAtATime = 64;
    for (std::uint64_t asked = 0, heard = 0; heard != many(); ++heard) {
      for (; asked != many() && asked - heard != kAtATime; ++asked) ask_to_register(asked);
      ASSERT_EQ(hear_of_one().kind, node::ReplyKind::published) << heard;
    }
  }
  // Gets that the clerk of node 1 has sent: of a bucket each, and once in a second one of a header.
  std::uint64_t reads() {
    std::uint64_t sum = 0;
    for (const auto& each : node::list(at(nodes_.at(1).node)).attached) {
      if (each.program != "hamlyn-clerk" || !each.counters) continue;
      const auto page = std::make_unique<interface::CounterPage>();
      EXPECT_EQ(::pread(each.counters.get(), page.get(), sizeof *page, 0), ssize_t{sizeof *page});
      for (const interface::LinkCounters& link : page->link) sum += link.packets_out;
    }
    return sum;
  }
  // While their node's daemon is stopped: whichever is found then was read. How many were.
  std::uint64_t find_some(std::mt19937_64& chance);

  base::FileDescriptor publisher_ = attach(nodes_.at(2).node);
};

std::uint64_t ManyNames::find_some(std::mt19937_64& chance) {
  constexpr std::uint64_t kMost = 500, kUnderWay = 10;  // beyond, the daemon is asked
  constexpr int kQuiet = 100;                           // ms, in which no read is answered
  std::map<std::uint64_t, std::uint64_t> wanted;
  std::uint64_t found = 0;
  const auto take_answer = [&] {
    const node::Reply reply = hear();
    const auto at = wanted.find(reply.request);
    if (at == wanted.end()) return;
    EXPECT_EQ(reply.kind, node::ReplyKind::found);
    EXPECT_EQ(reply.ticket.key, at->second + 1);
    wanted.erase(at);
    ++found;
  };
  nodes_.daemon(2).command().signal(SIGSTOP);
  pollfd answer{asker_.get(), POLLIN, 0};
  for (std::uint64_t all = 0; all != kMost; ++all) {
    const std::uint64_t number = chance() % many();
    ask(name_of(number));
    wanted[asked_] = number;
    while (wanted.size() >= kUnderWay && poll(&answer, 1, kQuiet) == 1) take_answer();
    if (wanted.size() >= kUnderWay) break;  // they wait for the daemon
  }
  while (!wanted.empty() && poll(&answer, 1, kQuiet) == 1) take_answer();
  const std::uint64_t read = found;
  nodes_.daemon(2).command().signal(SIGCONT);
  while (!wanted.empty()) take_answer();
  return read;
}

TEST_F(ManyNames, are_found_by_one_remote_read_in_nineteen_cases_of_twenty_and_there_is_a_most) {
  const auto begun = std::chrono::steady_clock::now();
  register_all();
  const std::chrono::duration<double> registered = std::chrono::steady_clock::now() - begun;
  warm_up();
  std::mt19937_64 chance(1994);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(many() / 10, 200, 10'000);
  std::uint64_t found = 0;
  const std::uint64_t before = reads();
  EXPECT_TRUE(eventually([&] { return (found += find_some(chance)) >= wanted; }));
  const std::uint64_t read = reads() - before;
  EXPECT_GE(read, found);
  EXPECT_LE((read - found) * 20, found) << "more than one bucket in more than one case of twenty";
  std::printf("%llu names were registered in %.1f s; %llu of them were found by %llu remote reads\n",
              static_cast<unsigned long long>(many()), registered.count(),
              static_cast<unsigned long long>(found), static_cast<unsigned long long>(read));
  // Full, until one goes.
  std::uint64_t number = many();
  node::Reply reply;
  while ((reply = register_one(number)).kind == node::ReplyKind::published && number < many() + 2 * kMore)
    ++number;
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(ErrorCode::node_full));
  EXPECT_EQ(number, many() + kMore - 1) << "with the one of the warming up";
  EXPECT_EQ(register_one(0, node::RequestKind::withdraw).kind, node::ReplyKind::withdrawn);
  EXPECT_EQ(register_one(number).kind, node::ReplyKind::published);
  EXPECT_EQ(look(name_of(number), 2).ticket.key, number + 1);
}

// --- a service's clerk is another user than its daemon

constexpr int kClerk = 61002;

class ClerkAccount : public Names {
 protected:
  ClerkAccount() : Names("clerk_user = \"" + std::to_string(kClerk) + "\"\n", true) {}
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a clerk another user";
  }
  static std::string status_of(std::uint32_t pid, const std::string& key) {
    const std::string all = read_file("/proc/" + std::to_string(pid) + "/status");
    const std::size_t at = all.find("\n" + key + ":");
    const std::size_t end = all.find('\n', at + 1);
    std::string out = all.substr(at + key.size() + 2, end - at - key.size() - 2);
    std::replace(out.begin(), out.end(), '\t', ' ');
    return out;
  }
};

TEST_F(ClerkAccount, ReadsNothingOfItsDaemon) {
  warm_up();
  const std::string user = " " + std::to_string(kClerk);
  for (const int node : {1, 2}) {
    ASSERT_EQ(clerks(node).size(), 1u);
    const std::uint32_t clerk = clerks(node).front();
    for (const char* key : {"Uid", "Gid"}) EXPECT_EQ(status_of(clerk, key), user + user + user + user);
    for (const char* key : {"CapPrm", "CapEff", "CapAmb", "CapInh"})
      EXPECT_EQ(status_of(clerk, key), " 0000000000000000") << key;
    EXPECT_EQ(status_of(clerk, "NoNewPrivs"), " 1");
    EXPECT_EQ(status_of(clerk, "Groups").find_first_not_of(' '), std::string::npos);
  }
  const std::filesystem::path folder = std::filesystem::path(nodes_.at(1).node).parent_path();
  Child as_clerk{kClerk, [&] {
                   int hidden = 0;
                   for (const auto& each : std::filesystem::directory_iterator(folder)) {
                     const std::string name = each.path().filename();
                     const bool open = name.ends_with(".toml") || name.ends_with(".sock");
                     const base::FileDescriptor file{::open(each.path().c_str(), O_RDONLY | O_CLOEXEC)};
                     if (!open && (file || errno != EACCES)) return 1;
                     if (name == "secret" || name.ends_with(".key") || name.ends_with(".names")) ++hidden;
                   }
                   return hidden == 5 ? 0 : 2;
                 }};
  EXPECT_EQ(as_clerk.wait(), 0) << "the secret, two keys, two lists of names";
}

TEST_F(ClerkAccount, IsThatOfTheNextClerkToo) {
  warm_up();
  const std::uint32_t first = clerks(1).front();
  ASSERT_EQ(::kill(static_cast<pid_t>(first), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    look("warm");
    const auto there = clerks(1);
    return !there.empty() && there.front() != first;
  }));
  const std::string user = " " + std::to_string(kClerk);
  EXPECT_EQ(status_of(clerks(1).front(), "Uid"), user + user + user + user);
}

// Interfaces of another user ask for links with it, and leave introductions to each other unread.
TEST_F(ClerkAccount, HearsNothingOfAFloodAndOthersAreIntroducedMeanwhile) {
  constexpr int kRogue = 61003, kHonest = 61004, kTimes = 500, kPairs = 20;
  warm_up();
  const std::string node = nodes_.at(1).node;
  struct Row {
    std::uint64_t interface, links;
    std::uint32_t pid;
  };
  const auto row = [&] {
    const auto all = node::list(at(node)).attached;
    const auto found = std::ranges::find(all, "hamlyn-clerk", &node::AttachedProcess::program);
    return found == all.end() ? Row{} : Row{found->interface, found->links, found->pid};
  };
  const std::uint64_t clerk = row().interface, links = row().links;
  const std::uint32_t pid = row().pid;
  Actor rogue(
      [&](Line& line) {
        std::vector<node::Client> deaf;
        for (int i = 0; i < 30; ++i) deaf.push_back(node::Client::attach(at(node)));
        std::uint64_t request = 0;
        for (node::Client& one : deaf) {
          for (const node::Client& other : deaf) one.introduce(++request, other.interface_id());
        }
        node::Client asker = node::Client::attach(at(node));
        int refused = 0;
        for (int i = 0; i < kTimes; ++i) {
          asker.introduce(++request, clerk);
          refused += next_event(asker).error == ErrorCode::not_permitted ? 1 : 0;
        }
        line.put(refused);
        return line.take<char>() ? 0 : 1;
      },
      kRogue);
  EXPECT_EQ(rogue.line().take<int>(), kTimes);
  Actor honest(
      [&](Line& line) {
        int pairs = 0;
        for (int i = 0; i < kPairs; ++i) {
          node::Client one = node::Client::attach(at(node)), other = node::Client::attach(at(node));
          one.introduce(1, other.interface_id());
          pairs += next_event(one).kind == node::Event::Kind::introduced &&
                           next_event(other).kind == node::Event::Kind::introduced
                       ? 1
                       : 0;
        }
        line.put(pairs);
        return 0;
      },
      kHonest);
  EXPECT_EQ(honest.line().take<int>(), kPairs);
  EXPECT_EQ(look("warm").ticket.key, 1u);
  EXPECT_EQ(row().pid, pid);
  EXPECT_EQ(row().links, links);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_EQ(honest.wait(), 0);
}

TEST(ClerkAccounts, ThatCannotBeAreSaidAndTheClerkIsTheDaemons) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a clerk another user";
  for (const auto& [user, why] : std::map<std::string, std::string>{
           {"nobody-of-that-name", "there is no user nobody-of-that-name"}, {"0", "is root"}}) {
    TwoNodes nodes{"clerk_user = \"" + user + "\"\n", true};
    const std::string log = nodes.daemon(1).command().err();
    EXPECT_NE(log.find("the clerk of names has the daemon's own account: "), std::string::npos) << log;
    EXPECT_NE(log.find(why), std::string::npos) << log;
  }
}

}  // namespace
}  // namespace hamlyn::test
