// Processes of two nodes, over libfabric on loopback: the same programs as on one host.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "hamlyn/hamlyn.h"
#include "interface/counters.h"
#include "library/engine.h"
#include "library/far/far_fabric.h"
#include "test/process/managers.h"
#include "test/process/own_files.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"
#include "test/threads/beside.h"

namespace hamlyn::test {

HAMLYN_REVEAL(EngineSleepers, library::Engine, library::FarSleepers, sleepers_);
HAMLYN_REVEAL(EngineFar, library::Engine, std::unique_ptr<library::FarFabric>, far_);

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 1u << 20;

class Far : public testing::Test {
 protected:
  static void SetUpTestSuite() { nodes = std::make_unique<TwoNodes>(); }
  static void TearDownTestSuite() { nodes.reset(); }
  static inline std::unique_ptr<TwoNodes> nodes;

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
  Party one(nodes->at(1)), other(nodes->at(2));
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

// The local addresses of this process's TCP sockets that listen, as the kernel writes them.
std::vector<std::string> listening() {
  std::set<std::string> own;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string what = std::filesystem::read_symlink(entry.path(), gone);
    if (what.starts_with("socket:[")) own.insert(what.substr(8, what.size() - 9));
  }
  std::vector<std::string> found;
  for (const char* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::vector<std::string> word(std::istream_iterator<std::string>(words), {});
      if (word.size() > 9 && word[3] == "0A" && own.contains(word[9]))
        found.push_back(word[1].substr(0, word[1].find(':')));
    }
  }
  return found;
}

// Whoever can reach a port of libfabric's can do harm there: none is open to other networks than the nodes'.
TEST_F(Far, endpoints_listen_at_the_nodes_address_and_no_other) {
  const std::size_t before = listening().size();
  Party one(nodes->at(1)), other(nodes->at(2));
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), 30s), Status::ok);
  const std::vector<std::string> all = listening();
  EXPECT_EQ(all.size(), before + 2);
  for (const std::string& each : all) EXPECT_EQ(each, "0100007F") << "127.0.0.1, where the daemons listen";
}

TEST_F(Far, long_messages_arrive_whole_and_are_acknowledged) {
  Party one(nodes->at(1)), other(nodes->at(2));
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
  Party one(nodes->at(1)), other(nodes->at(2));
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
  Party other(nodes->at(2));
  const std::vector<std::byte> data = pattern(kBytes);
  {
    Party one(nodes->at(1));
    SendHandle handle;
    ASSERT_EQ(one.terminus.send(other.slot.ticket(1), data, {}, &handle), Status::pending);
    ASSERT_EQ(one.terminus.wait(handle, 30s), Status::ok);
  }
  EXPECT_EQ(other.next().kind, Notification::Kind::message);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), other.area.bytes().begin()));
  EXPECT_EQ(other.next().kind, Notification::Kind::link_ended) << "and then its end is told, at once";
}

#if !defined(__SANITIZE_ADDRESS__)  // whose own locks a child finds as another thread had them
// libfabric is loaded, looks around and holds locks of its own when the children come to be.
TEST_F(Far, children_forked_while_their_parent_opens_its_way_out_open_their_own) {
  Actor parent([](Line&) {
    Party own(nodes->at(1));
    own.interface.publish("forks", own.slot.ticket());  // opens it
    std::vector<pid_t> children;
    for (int child = 0; child < 6; ++child) {
      children.push_back(::fork());
      if (children.back() == 0) {
        {
          Party forked(nodes->at(1));
          forked.interface.publish("forked." + std::to_string(child), forked.slot.ticket());
        }
        ::_exit(0);
      }
      // Meanwhile it goes on with that.
      for (int turn = 0; turn < 20; ++turn) static_cast<void>(own.interface.lookup("forks"));
    }
    int wrong = 0;
    for (const pid_t child : children) {
      int status = -1;
      if (!eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }, 20s)) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
      }
      wrong += status == 0 ? 0 : 1;
    }
    return wrong;
  });
  EXPECT_EQ(parent.wait(), 0);
}
#endif

TEST_F(Far, a_descriptor_tells_of_arrivals) {
  Party one(nodes->at(1)), other(nodes->at(2));
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

TEST_F(Far, memory_is_shown_to_nobody) {
  Party one(nodes->at(1)), other(nodes->at(2));
  MessageArea area{other.interface, 4096, Sharing::mapped_read_only};
  Slot slot{area, other.queue, {.entries = 1}};
  EXPECT_EQ(thrown_by([&] { MappedSlot(one.interface, slot.ticket(), kPatience); }),
            ErrorCode::not_permitted);
  MappedSlot mapped(one.interface, slot.ticket(), kBegin);
  EXPECT_EQ(mapped.opened(kPatience), Status::refused);
  EXPECT_EQ(mapped.not_mapped(), NotMapped::other_host);
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), kPatience), Status::ok);
  EXPECT_EQ(thrown_by([&] { MappedSlot(one.interface, slot.ticket(), kPatience); }),
            ErrorCode::not_permitted);
}

TEST_F(Far, loans_are_of_one_host) {
  Manager here({.interface = nodes->at(1)}), there({.interface = nodes->at(2)});
  LoanPool pool{here, {{4096, 2}}};
  LoanReceiver receiver{there};
  std::atomic<bool> enough = false;
  std::thread looks([&] {
    Borrowed borrowed;
    while (!enough) static_cast<void>(receiver.receive(borrowed, 1ms));
  });
  const auto lends = [&] { LoanSender(pool, receiver.make_seed(), {.timeout = kPatience}); };
  EXPECT_EQ(thrown_by(lends), ErrorCode::peer_refused);
  EXPECT_EQ(said_by(lends),
            std::string("the receiver could not map the pool: ") + text(NotMapped::other_host));
  enough = true;
  looks.join();
}

// libfabric raises a signal with each message and never lowers it.
TEST_F(Far, a_process_that_waits_for_nothing_sleeps) {
  Party one(nodes->at(1)), other(nodes->at(2));
  ASSERT_EQ(one.terminus.connect(other.slot.ticket(), kPatience), Status::ok);
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    ASSERT_EQ(one.terminus.send_fast(other.slot.ticket(), {}, turn), Status::ok);
    EXPECT_EQ(other.next().word, turn);
  }
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const auto before = used();
  Notification n;
  EXPECT_EQ(other.queue.receive(n, 200ms), Status::timed_out);
  EXPECT_LT(used() - before, 50ms) << "of the processor";
}

TEST_F(Far, a_killed_process_is_told_of) {
  Actor peer([](Line& line) {
    const auto ticket = line.take<Ticket>();
    if (!ticket) return 91;
    Party self(nodes->at(2));
    if (self.terminus.connect(*ticket, 30s) != Status::ok) return 92;
    if (self.terminus.send_fast(*ticket, {}, 4) != Status::ok) return 93;
    line.put(self.slot.ticket(0));
    pause();
    return 0;
  });
  Party one(nodes->at(1));
  ASSERT_TRUE(peer.line().put(one.slot.ticket()));
  EXPECT_EQ(one.next().word, 4u);
  const auto ticket = peer.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  peer.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
  const std::vector<std::byte> data = pattern(kBytes);
  SendHandle handle;
  ASSERT_EQ(one.terminus.send(*ticket, data, {.acknowledged = true}, &handle), Status::pending);
  peer.signal(SIGKILL);
  EXPECT_EQ(one.terminus.wait(handle, 30s), Status::link_ended) << "what waits hears it, too";
  const WhyNoLink died{LinkReason::died, false};
  EXPECT_EQ(one.interface.why(ticket->interface), died);
  const Notification end = one.next();
  EXPECT_EQ(end.kind, Notification::Kind::link_ended);
  EXPECT_EQ(end.why(), died) << text(end.why());
}

// Its daemons end with each test.
class FarRelay : public Far {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}
};

// The sleeper before it has found no place at the descriptor, and slept on words, for which another thread
// watches the descriptor. Nothing comes from another host any more.
TEST_F(FarRelay, wakes_a_sleeper_behind_one_that_slept_on_words) {
  TwoNodes own;
  Party one(own.at(1));
  auto other = std::make_unique<Party>(own.at(2));
  ASSERT_EQ(other->terminus.connect(one.slot.ticket(), kPatience), Status::ok);
  ASSERT_EQ(other->terminus.send_fast(one.slot.ticket(), {}, 4), Status::ok);
  EXPECT_EQ(one.next().word, 4u);
  other.reset();
  EXPECT_EQ(one.next().kind, Notification::Kind::link_ended);
  library::Engine& engine = one.interface.engine();
  library::FarSleepers& places = engine.*reveal(EngineSleepers{});
  const int descriptor = (engine.*reveal(EngineFar{}))->descriptor();
  std::vector<library::FarSleepers::Sleeper*> taken;
  EXPECT_TRUE(eventually([&] {
    one.interface.run();  // the interface thread gives back its place
    while (auto* const place = places.take(descriptor)) taken.push_back(place);
    return taken.size() == 4;
  }));
  const auto& role = engine.*reveal(EngineRole{});
  for (int i = 0; i < 20;
       ++i) {  // also when it has slept so several times, and one asked for the watch each time
    one.interface.run();
    EXPECT_TRUE(eventually([&] { return role.load() == SleeperRole::interface_thread; }));
  }
  for (auto* const place : taken) places.give_back(*place);
  std::atomic<bool> over = false;
  std::thread waits([&] {
    EXPECT_EQ(one.interface.wait_attached(false, std::chrono::nanoseconds::max()), Status::ok);
    over = true;
  });
  EXPECT_TRUE(eventually([&] { return sleep_in(one.interface, 0) || over; }));
  own.daemon(1).kill();
  EXPECT_TRUE(eventually([&] { return over.load(); })) << "it sleeps through what the control thread says";
  one.interface.cancel();
  waits.join();
}

// The way to other nodes is open, and has no link yet. The interface's thread sleeps on the way's descriptor,
// or on words, if the process has links here, while another thread sleeps on the descriptor.
TEST_F(Far, a_program_that_closes_all_descriptors_ends_and_finds_nothing_written_into_its_files) {
  for (const bool links_here : {false, true}) {
    Actor program([&](Line&) {
      auto one = std::make_unique<Party>(nodes->at(1));
      auto beside = std::make_unique<Party>(nodes->at(1));
      library::Engine& engine = one->interface.engine();
      one->interface.publish(links_here ? "words" : "way", one->slot.ticket());
      const auto is_open = [&] {
        const base::RunLockGuard guard(engine.lock());
        return engine.*reveal(EngineFar{}) != nullptr;
      };
      if (!eventually(is_open)) return 1;
      const auto message = [&](std::uint64_t word) {
        return beside->terminus.connect(one->slot.ticket(), kPatience) == Status::ok &&
               beside->terminus.send_fast(one->slot.ticket(), {}, word) == Status::ok &&
               one->next().word == word;
      };
      if (links_here && !message(1)) return 2;
      const auto& role = engine.*reveal(EngineRole{});
      if (!eventually([&] { return role.load() == SleeperRole::interface_thread; })) return 3;
      if (::close_range(3, ~0u, 0) != 0) return 4;
      const OwnFiles files;
      if (!message(2)) return 5;
      if (one->queue.descriptor() < 0) return 6;
      if (!message(3)) return 7;
      one.reset();
      beside.reset();
      return files.untouched() ? 0 : 8;
    });
    EXPECT_EQ(program.wait(), 0) << links_here;
  }
}

// Closing all is not allowed here, for sockets of the program's may get the numbers of what libfabric has
// open.
TEST_F(Far, a_program_that_closes_all_descriptors_with_links_writes_into_no_file_and_ends_too) {
  Party two(nodes->at(2));
  const Ticket far = two.slot.ticket();
  Actor program([&](Line& line) {
    auto one = std::make_unique<Party>(nodes->at(1));
    if (one->terminus.connect(far, kPatience) != Status::ok) return 1;
    if (one->terminus.send_fast(far, {}, 1) != Status::ok || !line.take<char>()) return 2;
    if (::close_range(3, ~0u, 0) != 0) return 3;
    const OwnFiles files;
    static_cast<void>(one->terminus.send_fast(far, {}, 2));  // it may say anything
    one->interface.run();
    one.reset();
    return files.untouched() ? 0 : 4;
  });
  EXPECT_EQ(two.next().word, 1u);
  ASSERT_TRUE(program.line().put('.'));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(two.next().kind, Notification::Kind::link_ended);
}

TEST_F(Far, a_process_that_leaves_says_so) {
  Party one(nodes->at(1));
  auto other = std::make_unique<Party>(nodes->at(2));
  ASSERT_EQ(other->terminus.connect(one.slot.ticket(), 30s), Status::ok);
  ASSERT_EQ(other->terminus.send_fast(one.slot.ticket(), {}, 4), Status::ok);
  EXPECT_EQ(one.next().word, 4u);
  other.reset();
  const Notification end = one.next();
  EXPECT_EQ(end.kind, Notification::Kind::link_ended);
  EXPECT_EQ(end.why(), (WhyNoLink{LinkReason::left, true})) << text(end.why());
}

TEST_F(Far, a_process_that_takes_no_more_links_says_so) {
  Interface::Options one_link = nodes->at(2);
  one_link.links = 1;
  Party full(one_link), first(nodes->at(1)), second(nodes->at(1));
  ASSERT_EQ(first.terminus.connect(full.slot.ticket(), 30s), Status::ok);
  const WhyNoLink told{LinkReason::too_many_links, true};
  EXPECT_TRUE(eventually([&] {
    EXPECT_NE(second.terminus.connect(full.slot.ticket(), 50ms), Status::ok);
    return second.interface.why(full.interface.id()) == told;
  })) << text(second.interface.why(full.interface.id()));
  const Notification lack = full.next();
  EXPECT_EQ(lack.kind, Notification::Kind::resource_exhausted);
  EXPECT_EQ(lack.why(), (WhyNoLink{LinkReason::too_many_links, false}));
}

// As with a network that lets the daemons' packets through and no others: nobody has died, and nobody
// refuses.
TEST_F(Far, a_process_that_nothing_comes_from_is_no_dead_one) {
  Actor peer([](Line& line) {
    const auto ticket = line.take<Ticket>();
    if (!ticket) return 91;
    Party self(nodes->at(2));
    if (self.terminus.connect(*ticket, 30s) != Status::ok) return 92;
    line.put(self.slot.ticket());
    pause();
    return 0;
  });
  Party first(nodes->at(1));
  ASSERT_TRUE(peer.line().put(first.slot.ticket()));
  const auto ticket = peer.line().take<Ticket>();
  ASSERT_TRUE(ticket) << "its way is open";
  peer.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
  Interface::Options impatient = nodes->at(1);
  impatient.dead = 200ms;
  Party second(impatient);
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(second.terminus.connect(*ticket, 50ms));
    return second.interface.why(ticket->interface).reason != LinkReason::none;
  }));
  const WhyNoLink why = second.interface.why(ticket->interface);
  EXPECT_EQ(why, (WhyNoLink{LinkReason::no_connection, false})) << text(why);
  peer.signal(SIGKILL);
}

// In a network of its own, whose first word is that no TCP gets anywhere.
bool block_tcp() {
  return ::unshare(CLONE_NEWNET) == 0 &&
         std::system(
             "ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && "
             "ip rule add pref 10 ipproto tcp blackhole") == 0;
}

TEST(FarBlocked, tcp_between_nodes_is_said_at_both_ends_until_it_passes) {
  constexpr int kNoNetworks = 77;
  Actor both([](Line&) {
    if (!block_tcp()) return kNoNetworks;
    const TwoNodes two;
    // The one who asks is the more patient: the other end goes first, each time, and its node says so.
    const auto at = [&](int node) {
      Interface::Options impatient = two.at(node);
      impatient.dead = node == 1 ? 2s : 200ms;
      return impatient;
    };
    Interface here(at(1)), there(at(2));
    MessageArea area{there, 4096};
    NotificationQueue queue{there};
    Slot slot{area, queue, {.entries = 1}};
    Terminus terminus{here};
    const WhyNoLink never{LinkReason::no_connection, false};
    EXPECT_TRUE(eventually([&] {
      EXPECT_NE(terminus.connect(slot.ticket(), 20ms), Status::ok);
      return here.why(there.id()) == never && there.why(here.id()) == never;
    })) << text(here.why(there.id()))
        << "; " << text(there.why(here.id()));
    // The reason stands while that is tried anew.
    const auto& counted = here.engine().counters().no_link;
    const auto attempts = counted[static_cast<std::size_t>(LinkReason::no_connection)];
    EXPECT_TRUE(eventually([&] {
      static_cast<void>(terminus.connect(slot.ticket(), 5ms));
      EXPECT_EQ(here.why(there.id()), never);
      return counted[static_cast<std::size_t>(LinkReason::no_connection)] != attempts || HasFailure();
    }));
    EXPECT_EQ(std::system("ip rule del pref 10"), 0);
    EXPECT_EQ(terminus.connect(slot.ticket(), 30s), Status::ok);
    EXPECT_EQ(here.why(there.id()), WhyNoLink{});
    return HasFailure() ? 1 : 0;
  });
  const int status = both.wait();
  if (status == kNoNetworks)
    GTEST_SKIP() << "SKIPPED: no network of its own can be made here, or there is no ip";
  EXPECT_EQ(status, 0);
}

// On a node, with a death that is found soon.
Interface::Options soon(const Interface::Options& node) {
  Interface::Options options = node;
  options.dead = 3s;
  return options;
}

// Timed remote reads as failure detector (paper 1, section 3.3): whoever asks decides how long it waits.
TEST_F(Far, a_timed_get_tells_that_a_process_answers_no_more) {
  Actor peer([&](Line& line) {
    Party self(soon(nodes->at(2)));
    if (!line.put(self.slot.ticket())) return 91;
    pause();
    return 0;
  });
  Party one(soon(nodes->at(1)));
  const auto ticket = peer.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  ASSERT_EQ(one.terminus.connect(*ticket, 30s), Status::ok);
  RemoteHandle handle;
  ASSERT_EQ(one.terminus.get(*ticket, one.slot, 0, 64, {}, &handle), Status::pending);
  EXPECT_EQ(one.terminus.wait_outcome(handle, 30s).status, Status::ok)
      << "it needs nothing of the application";
  peer.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
  ASSERT_EQ(one.terminus.get(*ticket, one.slot, 0, 64, {}, &handle), Status::pending);
  EXPECT_NE(one.terminus.wait_outcome(handle, 50ms).status, Status::ok) << "in the time that was given";
  EXPECT_EQ(one.terminus.wait_outcome(handle, 30s).status, Status::link_ended) << "and the link's own time";
  EXPECT_EQ(one.next().kind, Notification::Kind::link_ended);
  peer.signal(SIGKILL);
}

// A fence behind a put waits for the answer of its own link, and for no new one.
TEST_F(Far, a_flush_tells_that_a_process_answers_no_more) {
  Actor peer([&](Line& line) {
    Interface interface(soon(nodes->at(2)));
    MessageArea area(interface, 4096);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {.puts = true});
    if (!line.put(slot.ticket())) return 91;
    pause();
    return 0;
  });
  Party one(soon(nodes->at(1)));
  const auto ticket = peer.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  const std::array<std::byte, 1000> data{};
  ASSERT_EQ(one.terminus.put(*ticket, data, {}, 30s), Status::ok);
  ASSERT_EQ(one.terminus.flush(*ticket, 30s).status, Status::ok);
  peer.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
  ASSERT_EQ(one.terminus.put(*ticket, data, {}, 30s), Status::ok);
  const Outcome outcome = one.terminus.flush(*ticket, 30s);
  EXPECT_EQ(outcome.status, Status::link_ended);
  EXPECT_EQ(outcome.why().reason, LinkReason::silent);
  peer.signal(SIGKILL);
}

// The data, short or long, is the caller's again when it is told.
TEST_F(Far, a_write_that_is_flushed_tells_that_a_process_answers_no_more) {
  for (const std::size_t bytes : {40u, 200'000u}) {
    Actor peer([&](Line& line) {
      Interface interface(soon(nodes->at(2)));
      Segment segment(interface, {.bytes = 200'000});
      if (!line.put(segment.ticket())) return 91;
      pause();
      return 0;
    });
    Interface interface(soon(nodes->at(1)));
    const auto ticket = peer.line().take<Ticket>();
    ASSERT_TRUE(ticket);
    Import import(interface, *ticket);
    std::vector<std::byte> data(bytes);
    ASSERT_EQ(import.write_flushed(0, data, 30s), Status::ok);
    peer.signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return peer.stopped(); }));
    EXPECT_EQ(import.write_flushed(0, data, 1ms), Status::timed_out);
    EXPECT_EQ(import.write_flushed(0, data, 30s), Status::link_ended);
    EXPECT_EQ(import.why().reason, LinkReason::silent);
    peer.signal(SIGKILL);
  }
}

}  // namespace
}  // namespace hamlyn::test
