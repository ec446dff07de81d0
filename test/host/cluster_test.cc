// docs/failures.md, line by line, on eight hosts: what daemons, and processes with links to others, are told.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <optional>

#include "hamlyn/core/membership.h"
#include "node/client/client.h"
#include "test/host/cable.h"
#include "test/host/cluster.h"

namespace hamlyn {
namespace {

using node::Client;
using node::Event;
using test::Cable;
using test::ClusterOnHosts;
using test::eventually;
using test::Hosts;
using test::kSoon;
using test::next_event;
using State = node::ClusterMember::State;

class Cluster : public ClusterOnHosts {
 protected:
  Client attach(int host) const {
    Client out = Client::attach(test::at(socket(host)));
    say_where(out, host);
    return out;
  }
  static void say_where(Client& client, int host) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(20000);
    EXPECT_EQ(::inet_pton(AF_INET, Hosts::address(host).c_str(), &address.sin_addr), 1);
    EXPECT_TRUE(client.fabric_address("net", std::as_bytes(std::span{&address, 1})));
  }
  // The next event but a request for the address that was said already: the daemon serves users in turn, and
  // may hear of another node before it does.
  static Event next_of(Client& client) {
    Event event = next_event(client);
    while (event.kind == Event::Kind::open_fabric) event = next_event(client);
    return event;
  }
  // A link between two hosts; both ends have been told.
  std::uint64_t link(Client& one, Client& other) {
    EXPECT_TRUE(one.introduce(++request_, other.interface_id()));
    const Event here = next_of(one);
    const Event there = next_of(other);
    EXPECT_EQ(here.kind, Event::Kind::introduced_remote) << here.text;
    EXPECT_EQ(there.kind, Event::Kind::introduced_remote);
    EXPECT_EQ(here.link, there.link);
    EXPECT_EQ(here.far.key, there.far.key);
    EXPECT_EQ(here.far.engine, "net");
    EXPECT_EQ(here.peer, other.interface_id());
    return here.link;
  }
  static void expect_gone(Client& client, std::uint64_t link) {
    const Event event = next_event(client);
    EXPECT_EQ(event.kind, Event::Kind::far_gone) << event.text;
    EXPECT_EQ(event.link, link);
    EXPECT_EQ(event.error, ErrorCode::peer_died);
    client.link_ended(link);
  }
  // The daemon there is silent. Nothing comes by that link either: the process ends it.
  static void expect_silent(Client& client, std::uint64_t link) {
    const Event event = next_event(client);
    EXPECT_EQ(event.kind, Event::Kind::far_gone) << event.text;
    EXPECT_EQ(event.link, link);
    EXPECT_EQ(event.error, ErrorCode::timed_out);
    client.link_ended(link);
  }
  // There is a new incarnation. The former one may have been missed before.
  static void expect_anew(Client& client, std::uint64_t link) {
    Event event = next_event(client);
    if (event.kind == Event::Kind::far_gone && event.error == ErrorCode::timed_out)
      event = next_event(client);
    EXPECT_EQ(event.kind, Event::Kind::far_gone) << event.text;
    EXPECT_EQ(event.link, link);
    EXPECT_EQ(event.error, ErrorCode::peer_died);
    client.link_ended(link);
  }

  // Reads until that has happened to that node; false: it does not. Says what else there was.
  static bool told(Membership& members, Membership::Change change, int host) {
    std::string others;
    Membership::Event event;
    while (members.wait(event, kSoon) == Status::ok) {
      if (event.change == change && event.node.id == host) return true;
      others += std::string(" ") + name(event.change) + " " + std::to_string(event.node.id);
    }
    ADD_FAILURE() << "told of" << others;
    return false;
  }
  // A command of `hamlyn` on a host.
  std::unique_ptr<test::Command> hamlyn(int host, std::vector<std::string> words) const {
    words.insert(words.begin(), test::program("hamlyn"));
    words.insert(words.end(), {"--node", socket(host)});
    test::Command::Options options;
    options.network_of = hosts_->network(host);
    return std::make_unique<test::Command>(words, options);
  }

  std::uint64_t request_ = 0;
};

TEST_F(Cluster, EightHostsThroughEveryFailure) {
  start_all();
  Client two = attach(2);
  Client three = attach(3);
  Client four = attach(4);

  // A name of one host is found from another, also by who came first.
  EXPECT_TRUE(three.lookup(++request_, "prices", true));
  Ticket ticket;
  ticket.interface = two.interface_id();
  ticket.bound = 8;
  EXPECT_TRUE(two.publish(++request_, "prices", {.group = false, .everyone = true}, ticket));
  EXPECT_EQ(next_event(two).kind, Event::Kind::published);
  const Event found = next_event(three);
  EXPECT_EQ(found.kind, Event::Kind::found);
  EXPECT_EQ(found.ticket, ticket);
  EXPECT_TRUE(four.lookup(++request_, "nobodys", false));
  EXPECT_EQ(next_event(four).error, ErrorCode::name_unknown);

  Membership watcher({.node = socket(4)});
  using Change = Membership::Change;
  EXPECT_EQ(watcher.nodes().size(), 8u);

  // Link cut: both ends, and both daemons; a third party's link goes on.
  std::uint64_t first = link(two, three);
  const std::uint64_t kept = link(two, four);
  hosts_->cut(3);
  expect_silent(two, first);
  expect_silent(three, first);
  EXPECT_TRUE(
      eventually([&] { return seen(3, 1).state == State::dead && seen(8, 3).state == State::dead; }, kSoon));
  EXPECT_TRUE(two.introduce(++request_, three.interface_id()));
  EXPECT_EQ(next_event(two).error, ErrorCode::peer_died);
  EXPECT_TRUE(told(watcher, Change::died, 3));
  hosts_->join(3);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));
  EXPECT_TRUE(told(watcher, Change::came, 3));
  first = link(two, three);

  // Node stopped, then going on: as if cut.
  daemon(3).command().signal(SIGSTOP);
  expect_silent(two, first);
  daemon(3).command().signal(SIGCONT);
  expect_silent(three, first);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));

  // One-way loss: the two give each other up; third parties keep both.
  first = link(two, three);
  hosts_->lose(2, 3);
  expect_silent(two, first);
  expect_silent(three, first);
  EXPECT_TRUE(sees(4, 2) && sees(4, 3));
  EXPECT_FALSE(sees(2, 3) || sees(3, 2));
  hosts_->deliver(2, 3);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));

  // Killed and started again at the same address: at once another incarnation, and the old links end.
  first = link(two, three);
  const std::uint64_t before = seen(2, 3).incarnation;
  kill(3);
  start(3);
  expect_anew(two, first);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));
  EXPECT_GT(seen(2, 3).incarnation, before);
  EXPECT_TRUE(told(watcher, Change::returned, 3));

  // Half open: killed while nobody can be told, and back before anybody has missed it.
  hosts_->cut(5);
  kill(5);
  hosts_->join(5);
  start(5);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));

  // Slow, but not too slow: nobody gives it up.
  const std::uint64_t six = seen(1, 6).incarnation;
  for (int i = 0; i < 3; ++i) {
    daemon(6).command().signal(SIGSTOP);
    test::pause_briefly();
    daemon(6).command().signal(SIGCONT);
  }
  EXPECT_EQ(seen(1, 6).incarnation, six);
  EXPECT_TRUE(eventually([&] { return whole(all()); }, kSoon));

  // A node that ends says so.
  daemon(7).command().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return seen(1, 7).state == State::left; }, kSoon));
  EXPECT_TRUE(told(watcher, Change::left, 7));
  for (const Membership::Node& each : watcher.nodes()) {
    const auto expected = each.id == 4   ? Membership::State::self
                          : each.id == 7 ? Membership::State::left
                                         : Membership::State::alive;
    EXPECT_TRUE(each.state == expected || each.state == Membership::State::suspect) << each.id;
  }

  // Through all of it the link between two others has gone on.
  EXPECT_TRUE(four.introduce(++request_, two.interface_id()));
  const Event linked = next_event(four);
  EXPECT_EQ(linked.kind, Event::Kind::linked);
  EXPECT_EQ(linked.link, kept);
}

// The lines of the table in which a daemon ends, by itself or not, and what its own processes see of it.
TEST_F(Cluster, DaemonsEndAndComeBackHereAndElsewhere) {
  for (const int host : {1, 2, 3, 4}) start(host);
  ASSERT_TRUE(eventually([&] { return whole({1, 2, 3, 4}); }, kSoon));
  Client two = attach(2);
  Client four = attach(4);
  const std::uint64_t kept = link(two, four);
  Client three = attach(3);
  Client neighbour = attach(3);
  EXPECT_TRUE(three.introduce(++request_, neighbour.interface_id()));
  const std::uint64_t inside = next_event(three).link;
  EXPECT_EQ(next_event(neighbour).link, inside);
  // `far`: a link that they have with another node, and have not been told the end of.
  const auto is_back = [&](std::optional<std::uint64_t> far) {
    EXPECT_EQ(next_event(three).kind, Event::Kind::lost);
    EXPECT_EQ(next_event(neighbour).kind, Event::Kind::lost);
    start(3);
    neighbour = Client::attach(test::at(socket(3)), -1, &neighbour.standing());
    three = Client::attach(test::at(socket(3)), -1, &three.standing());
    if (far) expect_gone(three, *far);  // and not of the one within the node
    say_where(three, 3);
    EXPECT_TRUE(three.introduce(++request_, neighbour.interface_id()));
    const Event linked = next_event(three);
    EXPECT_EQ(linked.kind, Event::Kind::linked) << linked.text;
    EXPECT_EQ(linked.link, inside);
    EXPECT_TRUE(eventually([&] { return whole({1, 2, 3, 4}); }, kSoon));
  };

  // Killed.
  std::uint64_t far = link(two, three);
  kill(3);
  expect_silent(two, far);
  EXPECT_TRUE(eventually([&] { return seen(1, 3).state == State::dead; }, kSoon));
  is_back(far);

  // It ends: at once.
  far = link(two, three);
  daemon(3).command().signal(SIGTERM);
  expect_gone(two, far);
  expect_gone(three, far);
  EXPECT_TRUE(eventually([&] { return seen(1, 3).state == State::left; }, kSoon));
  is_back({});

  // Half open: killed while nobody can be told, and back at once.
  far = link(two, three);
  const std::uint64_t before = seen(2, 3).incarnation;
  hosts_->cut(3);
  kill(3);
  hosts_->join(3);
  is_back(far);
  expect_anew(two, far);
  EXPECT_GT(seen(2, 3).incarnation, before);

  // Started again at another address: its id is free when the old one is dead.
  far = link(two, three);
  const std::uint64_t here = seen(2, 3).incarnation;
  kill(3);
  start(6, {}, 3);
  expect_anew(two, far);
  EXPECT_TRUE(eventually(
      [&] { return seen(2, 3).address == Hosts::address(6) + ":7471" && sees(2, 3) && sees(4, 3); }, kSoon));
  EXPECT_GT(seen(2, 3).incarnation, here);

  // The boot server dies: nobody new comes in, the rest goes on, and when it is back it learns who there is.
  kill(1);
  EXPECT_TRUE(eventually([&] { return seen(2, 1).state == State::dead; }, kSoon));
  start(5);
  EXPECT_TRUE(eventually([&] { return !look(5).nodes.at(0).kept_out.empty(); }, kSoon));
  EXPECT_EQ(look(5).nodes.size(), 1u);
  EXPECT_TRUE(sees(2, 4) && sees(2, 3));
  start(1);
  EXPECT_TRUE(eventually(
      [&] {
        return whole({1, 2, 4, 5}) && sees(1, 3) && sees(5, 3) && look(5).nodes.at(0).kept_out.empty();
      },
      kSoon));
  EXPECT_TRUE(four.introduce(++request_, two.interface_id()));
  const Event linked = next_event(four);
  EXPECT_EQ(linked.kind, Event::Kind::linked) << linked.text;
  EXPECT_EQ(linked.link, kept);
}

TEST_F(Cluster, WhoDoesNotBelongIsKeptOut) {
  start(1);
  start(2);
  ASSERT_TRUE(eventually([this] { return whole({1, 2}); }, kSoon));

  // A stranger who sends anything.
  const std::uint64_t refused = seen(1, 1).refused;
  for (const std::size_t size : {0u, 1u, 128u, 500u, 1232u, 1400u})
    hosts_->send(3, 1, 7471, test::noise(size));
  std::string like_ours = test::noise(128);
  std::memcpy(like_ours.data(), "HMLC\1\0\0\0\1\0\3\0\0\0\0\0", 16);
  hosts_->send(3, 1, 7471, like_ours);
  EXPECT_TRUE(eventually([&] { return seen(1, 1).refused >= refused + 7; }, kSoon));

  // A daemon with another secret is not even told so.
  test::write_file(folder_.file("other"), test::noise(32, 2));
  ::chmod(folder_.file("other").c_str(), 0600);
  start(3, "other");
  EXPECT_TRUE(eventually([&] { return seen(1, 1).refused >= refused + 10; }, kSoon));
  EXPECT_EQ(look(3).nodes.size(), 1u);
  EXPECT_TRUE(eventually([&] { return !look(3).nodes.at(0).kept_out.empty(); }, kSoon));
  EXPECT_NE(look(3).nodes.at(0).kept_out.find("nobody with this cluster's secret answers"),
            std::string::npos);
  EXPECT_EQ(seen(1, 3).id, 0);

  // An id that is alive.
  start(4, {}, 2);
  EXPECT_TRUE(eventually([&] { return !look(4).nodes.at(0).kept_out.empty(); }, kSoon));
  EXPECT_EQ(look(4).nodes.at(0).kept_out, "another node with this id is alive");
  EXPECT_TRUE(sees(1, 2));
  // Nor does it get the id from the only boot server, started again, which has met neither of the two yet.
  const std::uint64_t living = seen(1, 2).incarnation;
  kill(1);
  start(1);
  EXPECT_TRUE(eventually([this] { return whole({1, 2}); }, kSoon));
  EXPECT_EQ(seen(1, 2).incarnation, living);
  EXPECT_EQ(seen(1, 2).address, Hosts::address(2) + ":7471");
  // It takes the place when that one has gone: a node is replaced by another host.
  kill(2);
  EXPECT_TRUE(
      eventually([&] { return seen(1, 2).address == Hosts::address(4) + ":7471" && sees(1, 2); }, kSoon));
}

// Somebody has cut into the cable: plays back what was said there, and changes it, under the address of who
// said it. (cluster_test.cc of test/unit has each bit and each count; this is the way through the kernel.)
TEST_F(Cluster, WhatIsForgedOnTheWireChangesNothing) {
  constexpr unsigned short kPort = 7471;
  const auto sealed = [](const std::string& frame) { return frame[Cable::data_of(frame) + 8] == 5; };
  start(1);
  Cable cable(1);
  start(2);
  ASSERT_TRUE(eventually([this] { return whole({1, 2}); }, kSoon));
  Client one = attach(1);
  Client two = attach(2);
  const std::uint64_t number = link(one, two);
  std::vector<std::string> said;
  const auto listen = [&](std::size_t least) {
    return eventually(
        [&] {
          for (std::string& frame : cable.heard(kPort)) said.push_back(std::move(frame));
          return static_cast<std::size_t>(std::ranges::count_if(said, sealed)) >= least;
        },
        kSoon);
  };
  ASSERT_TRUE(listen(10));
  ASSERT_FALSE(std::ranges::all_of(said, sealed)) << "the handshake was heard, too";
  const auto all_refused = [&](std::uint64_t before, std::size_t count) {
    return eventually([&] { return seen(1, 1).refused >= before + count; }, kSoon);
  };

  // All of it again.
  std::uint64_t before = seen(1, 1).refused;
  for (const std::string& frame : said) cable.put(frame);
  EXPECT_TRUE(all_refused(before, static_cast<std::size_t>(std::ranges::count_if(said, sealed))));

  // Changed, in each byte of it.
  const std::string last = *std::ranges::find_if(said.rbegin(), said.rend(), sealed);
  before = seen(1, 1).refused;
  for (std::size_t at = Cable::data_of(last); at < last.size(); ++at) {
    std::string changed = last;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    cable.put(changed);
  }
  EXPECT_TRUE(all_refused(before, last.size() - Cable::data_of(last)));
  EXPECT_TRUE(one.introduce(++request_, two.interface_id()));
  const Event linked = next_event(one);
  EXPECT_EQ(linked.kind, Event::Kind::linked) << "nobody was told of an end";
  EXPECT_EQ(linked.link, number);

  // What the incarnation before has said.
  const std::uint64_t former = seen(1, 2).incarnation;
  kill(2);
  start(2);
  ASSERT_TRUE(eventually([&] { return whole({1, 2}) && seen(1, 2).incarnation > former; }, kSoon));
  const std::uint64_t incarnation = seen(1, 2).incarnation;
  before = seen(1, 1).refused;
  for (const std::string& frame : said) cable.put(frame);
  EXPECT_TRUE(all_refused(before, said.size())) << "hellos of then, too";
  EXPECT_TRUE(sees(1, 2));
  EXPECT_EQ(seen(1, 2).incarnation, incarnation);
}

TEST_F(Cluster, WhoWatchesTheNodesOutlivesItsDaemon) {
  start(1);
  start(2);
  ASSERT_TRUE(eventually([this] { return whole({1, 2}); }, kSoon));
  Membership watcher({.node = socket(1)});
  ASSERT_EQ(watcher.nodes().size(), 2u);
  EXPECT_EQ(watcher.nodes()[0].state, Membership::State::self);
  EXPECT_EQ(watcher.nodes()[1].address, Hosts::address(2) + ":7471");
  EXPECT_FALSE(watcher.next());
  const std::uint64_t before = watcher.nodes()[0].incarnation;
  kill(1);
  EXPECT_TRUE(told(watcher, Membership::Change::daemon_gone, 0));
  EXPECT_TRUE(watcher.nodes().empty());
  start(1);
  EXPECT_TRUE(told(watcher, Membership::Change::renewed, 1));
  EXPECT_GT(watcher.nodes()[0].incarnation, before);
  EXPECT_TRUE(told(watcher, Membership::Change::came, 2));
}

TEST_F(Cluster, AFileGoesFromHostToHost) {
  start(1);
  start(2);
  const std::string data = test::noise(3 * 1024 * 1024 + 1);
  test::write_file(folder_.file("in"), data);
  const auto receiver = hamlyn(2, {"receive", "far", folder_.file("out")});
  const auto sender = hamlyn(1, {"send", "far", folder_.file("in")});
  const test::Finished sent = sender->wait(), received = receiver->wait();
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_EQ(received.status, 0) << received.err;
  EXPECT_TRUE(test::read_file(folder_.file("out")) == data);
}

}  // namespace
}  // namespace hamlyn
