// Processes of before and of after a restart of the node daemon show each other their memory as if there had
// been one daemon all along. A liar and a stranger get no more than then.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/socket.h"
#include "hamlyn/hamlyn.h"
#include "hamlyn/protocols/loan.h"
#include "node/client/address.h"
#include "node/client/protocol.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr int kNumbersUser = 41001;
constexpr int kStranger = 41002;

// Number of a party, and a segment of each mapped kind, which begin with that number.
struct Shown {
  std::uint64_t number = 0;
  Ticket read_only, read_write;
};

// Maps what another shows. Returns 0, or where it went wrong.
int maps(Interface& interface, const Shown& of) {
  Import reads{interface, of.read_only, {.access = Access::read_only, .timeout = kPatience}};
  if (!reads.is_near()) return 1;
  if (reads.not_mapped() != NotMapped::none || !reads.reads_by_loads()) return 2;
  Import writes{interface, of.read_write, {.timeout = kPatience}};
  if (writes.not_mapped() != NotMapped::none || !writes.writes_by_stores()) return 3;
  std::uint64_t there = 0;
  std::memcpy(&there, reads.mapped().data(), sizeof there);
  if (there != of.number || !reads.current()) return 4;
  const std::uint64_t here = interface.id();
  if (writes.store(8, here) != Status::ok || writes.flush(kPatience) != Status::ok) return 5;
  MappedSlot slot{interface, of.read_write, kPatience};
  if (slot.not_mapped() != NotMapped::none || !slot.can_write()) return 6;
  return slot.word<std::uint64_t>(8).load() == here ? 0 : 7;
}

NotMapped why_not(Interface& interface, const Ticket& ticket) {
  MappedSlot slot{interface, ticket, kBegin};
  static_cast<void>(slot.opened(kPatience));
  return slot.not_mapped();
}

class Restart : public testing::TestWithParam<int> {
 protected:
  Restart() { start(); }

  static bool root() { return ::geteuid() == 0; }
  std::string socket() const { return folder_.file("node"); }
  Interface::Options options() const { return {.node = socket(), .start_node = false}; }

  void start() {
    daemon_ = std::make_unique<Daemon>(
        socket(), root() ? std::vector<std::string>{"--service"} : std::vector<std::string>{});
  }
  void restart() {
    end();
    start();
  }
  // Starts it as node 5 of a cluster, which has no other.
  void restart_in_cluster() {
    end();
    const std::string config = folder_.file("cluster.toml");
    write_file(config, "[cluster]\nid = 5\nlisten = \"127.0.0.1:" + std::to_string(free_port()) + "\"\n");
    daemon_ = std::make_unique<Daemon>(socket(), std::vector<std::string>{"--config", config});
  }
  void end() {
    daemon_->command().signal(GetParam());
    daemon_->command().wait();
  }

  // Shows its segments, and then maps those of each that it is told of, and says what came of it.
  Actor party() {
    return Actor([this](Line& line) {
      Interface interface(options());
      Segment read_only{interface, {.bytes = 8192, .sharing = Sharing::mapped_read_only}};
      Segment read_write{interface, {.bytes = 8192, .sharing = Sharing::mapped_read_write}};
      read_only.at<std::uint64_t>(0).store(interface.id());
      line.put(Shown{interface.id(), read_only.ticket(), read_write.ticket()});
      while (const auto other = line.take<Shown>()) line.put(maps(interface, *other));
      return 0;
    });
  }

  void add() {
    parties_.push_back(party());
    const auto said = parties_.back().line().take<Shown>();
    ASSERT_TRUE(said);
    shown_.push_back(*said);
  }
  void all_map_all() {
    for (std::size_t from = 0; from != parties_.size(); ++from) {
      for (std::size_t of = 0; of != parties_.size(); ++of) {
        if (from == of) continue;
        parties_[from].line().put(shown_[of]);
        const auto answer = parties_[from].line().take<int>();
        EXPECT_TRUE(answer && *answer == 0) << from << " maps " << of << ": " << answer.value_or(-1);
      }
    }
  }

  Folder folder_{0755};
  std::unique_ptr<Daemon> daemon_;
  std::vector<Actor> parties_;
  std::vector<Shown> shown_;
};

INSTANTIATE_TEST_SUITE_P(By, Restart, testing::Values(SIGTERM, SIGKILL), [](const auto& with) {
  return std::string(with.param == SIGTERM ? "term" : "kill");
});

TEST_P(Restart, those_of_before_and_of_after_map_each_others_memory) {
  add(), add();
  restart();
  add(), add();
  ASSERT_EQ(shown_.size(), 4u);
  for (const Shown& each : shown_) EXPECT_EQ(node::node_of(each.number), 0) << "of a host in no cluster";
  all_map_all();
}

// The number of each names another node, or none.
TEST_P(Restart, those_of_a_host_that_joins_and_leaves_a_cluster_map_each_others_memory) {
  if (root()) {  // a service would need a secret
    end();
    daemon_ = std::make_unique<Daemon>(socket());
  }
  add();
  restart_in_cluster();
  add();
  ASSERT_EQ(shown_.size(), 2u);
  EXPECT_EQ(node::node_of(shown_[0].number), 0);
  EXPECT_EQ(node::node_of(shown_[1].number), 5);
  all_map_all();
  end();
  daemon_ = std::make_unique<Daemon>(socket());
  add();
  all_map_all();
}

TEST_P(Restart, an_import_of_before_goes_on_and_is_made_anew) {
  Actor exporter = party();
  const auto shown = exporter.line().take<Shown>();
  ASSERT_TRUE(shown);
  Actor importer([this, &shown](Line& line) {
    Interface interface(options());
    Import before{interface, shown->read_only, {.access = Access::read_only, .timeout = kPatience}};
    if (!before.reads_by_loads()) return 1;
    line.put('.');
    if (!line.take<char>()) return 2;
    std::uint64_t there = 0;
    if (before.load(0, there, kPatience) != Status::ok || there != shown->number) return 3;
    return 10 * maps(interface, *shown);
  });
  ASSERT_TRUE(importer.line().take<char>());
  restart();
  importer.line().put('.');
  EXPECT_EQ(importer.wait(), 0);
}

// Opens a sender. A receiver gives each step of it a second, and cannot tell a sender that it did not reach
// in that time, as on a loaded machine: its seed stays good.
std::unique_ptr<LoanSender> open_sender(LoanPool& pool, const Seed& seed) {
  for (const auto end = std::chrono::steady_clock::now() + kPatience;;) {
    try {
      return std::make_unique<LoanSender>(pool, seed, LoanSender::Options{.timeout = 3s});
    } catch (const Error& error) {
      const bool in_vain = std::string_view(error.what()).find("in its time") != std::string_view::npos;
      if (!in_vain && error.code() != ErrorCode::timed_out) throw;
      if (std::chrono::steady_clock::now() > end) throw;
    }
  }
}

// Loans from a sender of before to a receiver of after, and the other way round.
TEST_P(Restart, loans_go_from_before_to_after_and_back) {
  const auto receives = [this](Line& line) {
    Manager manager({.interface = options()});
    LoanReceiver receiver{manager};
    line.put(receiver.make_seed());
    Borrowed borrowed;
    if (receiver.receive(borrowed, kPatience) != Status::ok) return 1;
    return borrowed.bytes().size() == 5000 && borrowed.bytes()[4999] == std::byte{9} ? 0 : 2;
  };
  const auto lends = [this](Line& line) {
    Manager manager({.interface = options()});
    LoanPool pool{manager, {{.bytes = 8192, .count = 2}}};
    line.put('.');
    const auto seed = line.take<Seed>();
    if (!seed) return 1;
    const auto sender = open_sender(pool, *seed);
    Loan loan;
    if (pool.take(5000, loan, kPatience) != Status::ok) return 2;
    loan.bytes()[4999] = std::byte{9};
    if (sender->send(loan, 5000) != Status::ok) return 3;
    return line.take<char>() ? 0 : 4;
  };
  Actor old_receiver(receives), old_sender(lends);
  const auto old_seed = old_receiver.line().take<Seed>();
  ASSERT_TRUE(old_seed && old_sender.line().take<char>());
  restart();
  Actor new_receiver(receives), new_sender(lends);
  const auto new_seed = new_receiver.line().take<Seed>();
  ASSERT_TRUE(new_seed && new_sender.line().take<char>());
  old_sender.line().put(*new_seed);
  new_sender.line().put(*old_seed);
  for (Actor* const each : {&old_receiver, &new_receiver}) EXPECT_EQ(each->wait(), 0);
  for (Actor* const each : {&old_sender, &new_sender}) {
    each->line().put('.');
    EXPECT_EQ(each->wait(), 0);
  }
}

// A connection of its own to the daemon, by hand, with a number of before. What the daemon answers.
node::Welcome claim(const std::string& path, const node::Welcome& before, base::FileDescriptor& socket) {
  node::Hello hello;
  hello.interface = before.interface;
  hello.token = before.token;
  node::Welcome welcome;
  socket = node::connect_to(path);
  base::send_message(socket.get(), std::as_bytes(std::span{&hello, 1}));
  base::receive_message(socket.get(), std::as_writable_bytes(std::span{&welcome, 1}));
  return welcome;
}

// A token says whose a number is, and the kernel who asks for it. (Within one user a token is its holder's
// secret; while the number's process is there, no other has it.)
TEST_P(Restart, a_number_of_before_comes_back_to_nobody_else) {
  // Claims it in a process of its own, as that user. Whether it is turned away.
  const auto refused = [this](const node::Welcome& before, int user) {
    Actor claims(
        [&](Line&) {
          base::FileDescriptor connection;
          const node::Welcome answer = claim(socket(), before, connection);
          return answer.error == static_cast<std::uint32_t>(ErrorCode::not_permitted) ? 0 : 1;
        },
        root() ? user : -1);
    return claims.wait() == 0;
  };
  Actor owner(
      [this](Line& line) {
        base::FileDescriptor connection;
        const node::Welcome first = claim(socket(), {}, connection);
        line.put(first);
        if (!line.take<char>()) return 1;
        const node::Welcome again = claim(socket(), first, connection);
        if (again.error != 0 || again.interface != first.interface) return 2;
        line.put('.');
        return line.take<char>() ? 0 : 3;
      },
      root() ? kNumbersUser : -1);
  const auto given = owner.line().take<node::Welcome>();
  ASSERT_TRUE(given && given->error == 0 && given->interface != 0);
  restart();
  node::Welcome forged = *given, next = *given;
  forged.token[0] ^= std::byte{1};
  ++next.interface;
  EXPECT_TRUE(refused(forged, kNumbersUser));
  EXPECT_TRUE(refused(next, kNumbersUser)) << "the token is of another number";
  EXPECT_TRUE(!root() || refused(*given, kStranger)) << "the token is of another user's number";
  owner.line().put('.');
  ASSERT_TRUE(owner.line().take<char>()) << "its own process has it back";
  EXPECT_TRUE(refused(*given, kNumbersUser)) << "another process has it";
  owner.line().put('.');
  EXPECT_EQ(owner.wait(), 0);
}

TEST_P(Restart, a_stranger_maps_no_more_of_those_of_before) {
  if (!root()) GTEST_SKIP() << "SKIPPED: other users' processes need the superuser";
  Actor exporter([this](Line& line) {
    Interface interface(options());
    const Protection everybody{.mode = 0666};
    Segment closed{interface, {.bytes = 8192, .sharing = Sharing::mapped_read_only}};
    Segment open{interface, {.bytes = 8192, .sharing = Sharing::mapped_read_write, .protection = everybody}};
    line.put(Shown{interface.id(), closed.ticket(), open.ticket()});
    return line.take<char>() ? 0 : 1;
  });
  const auto shown = exporter.line().take<Shown>();
  ASSERT_TRUE(shown);
  restart();
  Actor stranger(
      [this, &shown](Line&) {
        Interface interface(options());
        if (why_not(interface, shown->read_only) != NotMapped::no_rights) return 1;
        if (why_not(interface, shown->read_write) != NotMapped::other_user) return 2;
        Import import{interface, shown->read_write, {.timeout = kPatience}};
        return import.is_near() && !import.reads_by_loads() && import.not_mapped() == NotMapped::other_user
                   ? 0
                   : 3;
      },
      kStranger);
  EXPECT_EQ(stranger.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
