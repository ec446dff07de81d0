// Jobs of several hosts: started by a template, by themselves, or by strangers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "test/job/jobs.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"
#include "tool/run/hex.h"
#include "tool/run/options.h"

namespace hamlyn::test {
namespace {

// Two hosts that are one, by the name that each command has of itself.
TEST_F(Jobs, of_several_hosts_are_started_by_a_template) {
  const Finished finished =
      run({"-n", "5", "--hosts", "ant,bee", "--at", "ant", "--via", "env VIA={host}", "--json"}, "meet");
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(lines(finished.out).size(), 5u);
  EXPECT_NE(finished.err.find(R"({"rank":3,"host":"bee","status":0})"), std::string::npos) << finished.err;
}

TEST_F(Jobs, of_several_hosts_are_started_by_a_host_that_is_none_of_them) {
  const Finished finished = run({"-n", "4", "--hosts", "ant,bee", "--via", "env VIA={host}"}, "fail_one");
  EXPECT_EQ(finished.status, 3) << finished.err;
}

TEST_F(Jobs, of_one_other_host_end_with_the_rank_that_fails) {
  const Finished finished = run({"-n", "3", "--hosts", "bee", "--via", "env VIA={host}"}, "fail_one");
  EXPECT_EQ(finished.status, 3) << finished.err;
}

TEST_F(Jobs, give_rank_0_of_another_host_the_input) {
  const Finished finished = world
                                .start({"run", "-n", "2", "--hosts", "ant,bee", "--at", "bee", "--via",
                                        "env VIA={host}", "--label", "wc", "-c"},
                                       {.input = "12345"})
                                .wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(lines(finished.out), (std::vector<std::string>{"[0] 5", "[1] 0"}));
}

// A process that reads a terminal from the background is stopped.
TEST_F(Jobs, give_rank_0_of_another_host_no_terminal) {
  const base::FileDescriptor ours{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  ASSERT_TRUE(ours && ::grantpt(ours.get()) == 0 && ::unlockpt(ours.get()) == 0);
  const base::FileDescriptor theirs{::open(::ptsname(ours.get()), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  ASSERT_TRUE(theirs);
  const std::string script = "if [ -t 0 ]; then echo terminal; else wc -c; fi";
  const auto run_at = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"sh", "-c", script});
    Command command = world.start(words, {.input_fd = theirs.get()});
    return command.wait().out;
  };
  EXPECT_EQ(run_at({"--hosts", "bee", "--via", "env VIA={host}"}), "0\n");
  EXPECT_EQ(run_at({}), "terminal\n");
}

// The template of a host has its time to pass on what it still has.
TEST_F(Jobs, leave_a_host_that_has_ended_well_its_template) {
  const std::string script = world.file("template"), gone = world.file("gone"), pipe = world.file("pipe");
  write_file(script, "#!/bin/sh\n\"$@\"\necho > " + gone + "\nread word < " + pipe + "\necho flushed\n");
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const base::FileDescriptor writer{::open(pipe.c_str(), O_RDWR | O_CLOEXEC)};
  Command leader = start({"-n", "2", "--hosts", "ant,bee", "--at", "ant", "--via", script}, "count_signals");
  ASSERT_TRUE(eventually([&] { return leader.out() == "0\n" && ::access(gone.c_str(), F_OK) == 0; }));
  ASSERT_TRUE(eventually([&] { return world.attached() == 1; }));
  leader.signal(SIGUSR1);  // with the first the leader looks for lost hosts, with the second it has
  ASSERT_TRUE(eventually([&] { return leader.out() == "0\n1\n"; }));
  leader.signal(SIGUSR1);
  ASSERT_TRUE(eventually([&] { return leader.out() == "0\n1\n2\n"; }));
  ASSERT_TRUE(feed(writer.get(), "word\n"));
  const Finished finished = leader.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "0\n1\n2\nflushed\n");
}

// Other hosts are there as long as they say so, and not as long as this one has nothing else to do.
TEST_F(Jobs, keep_their_hosts_while_ranks_write_much) {
  const std::string script =
      "[ $HAMLYN_RANK = 1 ] || i=0; while [ ${i:-5000} -lt 5000 ]; do echo $i; i=$((i+1)); done";
  const Finished finished = world.run({"run", "-n", "2", "--hosts", "ant,bee", "--at", "ant", "--via",
                                       "env VIA={host}", "--label", "sh", "-c", script});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(lines(finished.out).size(), 5000u);
}

TEST_F(Jobs, of_several_hosts_lose_no_line_of_any) {
  const Finished finished =
      world.run({"run", "-n", "4", "--hosts", "ant,bee", "--via", "env VIA={host}", "--label", "seq", "500"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(lines(finished.out).size(), 2000u);
}

TEST_F(Jobs, that_wait_for_a_host_end_by_a_signal) {
  Command leader =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "ant", "--job", "waits"}, "wait_for_signal");
  ASSERT_TRUE(eventually([&] { return leader.out() == "waits\n"; }));
  leader.signal(SIGTERM);
  EXPECT_EQ(leader.wait().status, 128 + SIGTERM);
  Command follower = start({"-n", "2", "--hosts", "ant,bee", "--at", "bee", "--job", "none"}, "meet");
  ASSERT_TRUE(eventually([&] { return world.attached() != 0; }));
  follower.signal(SIGINT);
  EXPECT_EQ(follower.wait().status, 128 + SIGINT);
}

// The command of a host that the job has not got, has itself, or starts itself.
TEST_F(Jobs, hosts_that_a_job_does_not_wait_for_are_refused) {
  const std::string file = world.file("pid");
  Command first = start({"-n", "2", "--job", "alone"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  const std::string host = "\"" + tool::own_host() + "\"";
  for (const std::string& each : {host, std::string("\"bee\"")}) {
    const std::string told =
        R"({"ranks":2,"hosts":[)" + host + R"(],"at":)" + each +
        R"(,"job":"alone","label":false,"bind":false,"trusted_network":false,"token":"")" +
        R"(,"program":["74727565"],"folder":"2f"})";
    const Finished finished = world.run({"run", "--agent", tool::hex_of(std::as_bytes(std::span(told)))});
    EXPECT_NE(finished.status, 0);
    EXPECT_NE(finished.err.find(each == host ? "waits for no such host" : "not one of the hosts"),
              std::string::npos)
        << finished.err;
  }
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().status, 128 + SIGTERM);
}

TEST_F(Jobs, of_several_hosts_start_themselves) {
  std::vector<Command> hosts;
  for (const char* const host : {"cat", "bee", "ant"})
    hosts.push_back(start({"-n", "4", "--hosts", "ant,bee,cat", "--at", host, "--job", "three"}, "meet"));
  for (Command& each : hosts) {
    const Finished finished = each.wait();
    EXPECT_EQ(finished.status, 0) << finished.err;
  }
}

TEST_F(Jobs, have_hosts_of_long_names) {
  const std::string ant(5000, 'a'), bee(5000, 'b');
  const auto start_at = [&](const std::string& host) {
    return start({"-n", "2", "--hosts", ant + "," + bee, "--at", host, "--job", "long"}, "meet");
  };
  Command leader = start_at(ant), follower = start_at(bee);
  EXPECT_EQ(leader.wait().status, 0);
  const Finished finished = follower.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
}

// A desk that answers no host.
class MuteDesk {
 public:
  void enlist(rpc::Answer<std::array<std::byte, 16>>, const std::string&, const std::string&, std::uint32_t,
              std::uint64_t) {}
};
HAMLYN_RPC(MuteDesk, enlist)

// A desk that takes no report of a rank's end.
class SourDesk {
 public:
  internal_::job::Secret enlist(const std::string&, const std::string&, std::uint32_t, std::uint64_t) {
    return {};
  }
  void orders(rpc::Answer<internal_::job::Order> answer) { waits_ = std::move(answer); }
  void report(std::uint32_t, std::uint32_t) {
    ++reports;
    throw std::runtime_error("no reports");
  }
  std::atomic<int> reports{0};

 private:
  std::optional<rpc::Answer<internal_::job::Order>> waits_;
};
HAMLYN_RPC(SourDesk, enlist, orders, report)

// Names of desks that another process than the job's own has registered.
class JobsOfStrangers : public Jobs {
 protected:
  // Registers a stranger's, and starts the second host of that job.
  Finished follow(
      const std::function<void(Interface& interface, const std::string& name, Line& line)>& serve) {
    Actor stranger([&](Line& line) {
      for (const auto& [name, value] : world.environment()) ::setenv(name.c_str(), value.c_str(), 1);
      Interface interface;
      serve(interface, "job.strange", line);
      return HasFailure() ? 1 : 0;
    });
    if (!stranger.line().take<bool>()) {
      ADD_FAILURE() << "the stranger has not begun";
      return {};
    }
    const Finished finished =
        run({"-n", "6", "--hosts", "ant,bee", "--at", "bee", "--job", "strange"}, "meet");
    EXPECT_TRUE(stranger.line().put(true));
    EXPECT_EQ(stranger.wait(), 0);
    return finished;
  }
};

TEST_F(JobsOfStrangers, end_at_once_if_no_desk_can_come) {
  const Finished finished = follow([](Interface& interface, const std::string& name, Line& line) {
    MessageArea area(interface, 64);
    NotificationQueue queue(interface);
    const Slot slot(area, queue, {.entries = 1});
    Ticket seed = slot.ticket();
    seed.purpose = 1;
    interface.publish(name, seed);
    static_cast<void>(line.put(true) && line.take<bool>());
  });
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("seed_wrong_kind"), std::string::npos) << finished.err;
}

TEST_F(JobsOfStrangers, say_why_the_desk_has_not_answered) {
  const Finished finished = follow([](Interface& interface, const std::string& name, Line& line) {
    MuteDesk desk;
    rpc::Server<MuteDesk> server(interface, name, desk, internal_::job::kDeskServer);
    std::thread serving([&] { static_cast<void>(server.run()); });
    static_cast<void>(line.put(true) && line.take<bool>());
    server.stop();
    serving.join();
  });
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("(refused)"), std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find("has ended"), std::string::npos) << finished.err;
}

TEST_F(JobsOfStrangers, report_no_more_once_a_report_was_not_taken) {
  const Finished finished = follow([](Interface& interface, const std::string& name, Line& line) {
    SourDesk desk;
    rpc::Server<SourDesk> server(interface, name, desk, internal_::job::kDeskServer);
    std::thread serving([&] { static_cast<void>(server.run()); });
    static_cast<void>(line.put(true) && line.take<bool>());
    server.stop();
    serving.join();
    EXPECT_EQ(desk.reports, 1);
  });
  EXPECT_NE(finished.status, 0);
}

TEST_F(Jobs, a_host_that_is_killed_has_ended_with_its_ranks) {
  const std::string file = world.file("pid");
  Command leader =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "ant", "--job", "killed", "--json"}, "wait_for_signal");
  Command follower =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "bee", "--job", "killed"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  follower.signal(SIGKILL);
  const Finished finished = leader.wait();
  EXPECT_EQ(finished.status, 255) << finished.err;
  EXPECT_TRUE(eventually([&] { return !alive(file); }));
}

TEST_F(Jobs, hosts_end_with_the_one_that_leads) {
  const std::string file = world.file("pid");
  Command leader =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "ant", "--job", "left"}, "wait_for_signal");
  Command follower =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "bee", "--job", "left"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  leader.signal(SIGKILL);
  const Finished finished = follower.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("link_ended"), std::string::npos) << finished.err;
  EXPECT_TRUE(eventually([&] { return !alive(file); }));
}

TEST_F(Jobs, hosts_whose_commands_differ_are_refused) {
  Command leader =
      start({"-n", "2", "--hosts", "ant,bee", "--at", "ant", "--job", "differs"}, "wait_for_signal");
  const Finished other = run({"-n", "3", "--hosts", "ant,bee", "--at", "bee", "--job", "differs"}, "meet");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("jobs_differ"), std::string::npos) << other.err;
  leader.signal(SIGTERM);
  EXPECT_NE(leader.wait().status, 0);
}

// Ranks of two nodes, which find each other by names of the cluster.
class FarJobs : public Jobs {
 protected:
  // The part of a job of two hosts that runs at this one.
  Command start_at(int node, const std::string& word, const std::string& file = {}) {
    return start({"-n", "4", "--hosts", "ant,bee", "--at", node == 1 ? "ant" : "bee", "--job", "far",
                  "--node", nodes.at(node).node, "--json"},
                 word, file);
  }

  TwoNodes nodes;
};

TEST_F(FarJobs, meet) {
  Command second = start_at(2, "meet"), first = start_at(1, "meet");
  const Finished led = first.wait(), followed = second.wait();
  EXPECT_EQ(led.status, 0) << led.err;
  EXPECT_EQ(followed.status, 0) << followed.err;
  EXPECT_EQ(lines(led.out), (std::vector<std::string>{"met as 0 of 4 in far", "met as 1 of 4 in far"}));
  EXPECT_EQ(lines(followed.out), (std::vector<std::string>{"met as 2 of 4 in far", "met as 3 of 4 in far"}));
}

TEST_F(FarJobs, are_told_of_a_rank_that_fails) {
  Command first = start_at(1, "fail_one"), second = start_at(2, "fail_one");
  const Finished led = first.wait(), followed = second.wait();
  EXPECT_EQ(led.status, 3) << led.err;
  EXPECT_NE(followed.status, 0) << followed.err;
  EXPECT_EQ(lines(followed.out), std::vector<std::string>(2, "1 has ended with 3"));
}

TEST_F(FarJobs, end_with_a_host_that_is_killed) {
  const std::string file = world.file("pid");
  Command first = start_at(1, "wait_for_signal"), second = start_at(2, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  second.signal(SIGKILL);
  EXPECT_EQ(first.wait().status, 255);
  EXPECT_TRUE(eventually([&] { return !alive(file); }));
}

TEST_F(FarJobs, end_with_the_host_that_leads) {
  const std::string file = world.file("pid");
  Command first = start_at(1, "wait_for_signal"), second = start_at(2, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  first.signal(SIGKILL);
  EXPECT_EQ(second.wait().status, 1);
  EXPECT_TRUE(eventually([&] { return !alive(file); }));
}

}  // namespace
}  // namespace hamlyn::test
