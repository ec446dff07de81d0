// Jobs, as their users start them.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/rpc.h"
#include "job/desk_service.h"
#include "test/process/tool_world.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"
#include "tool/run/hex.h"
#include "tool/run/options.h"

namespace hamlyn::test {
namespace {

class Jobs : public testing::Test {
 protected:
  // Starts `hamlyn run` with these options, of the program that does what `word` says.
  Command start(std::vector<std::string> options, const std::string& word, const std::string& file = {}) {
    options.insert(options.begin(), "run");
    for (const std::string& each : {program_, word, file}) options.push_back(each);
    return world.start(options);
  }
  Finished run(const std::vector<std::string>& options, const std::string& word,
               const std::string& file = {}) {
    return start(options, word, file).wait();
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    std::ranges::sort(out);
    return out;
  }
  static bool alive(const std::string& file) { return ::kill(std::stoi(read_file(file)), 0) == 0; }

  const std::string program_ = std::string(HAMLYN_JOB_RANK);
  World world;
};

TEST_F(Jobs, ranks_meet) {
  for (const char* const ranks : {"1", "2", "7"}) {
    const Finished finished = run({"-n", ranks, "--job", "meeting"}, "meet");
    EXPECT_EQ(finished.status, 0) << finished.err;
    const auto all = lines(finished.out);
    ASSERT_EQ(all.size(), std::stoul(ranks));
    EXPECT_EQ(all.back(), "met as " + std::to_string(all.size() - 1) + " of " + ranks + " in meeting");
  }
}

TEST_F(Jobs, a_program_that_is_started_alone_is_a_job_of_one) {
  Command alone({program_, "meet"}, {.environment = world.environment()});
  const Finished finished = alone.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "met as 0 of 1 in \n");
}

TEST_F(Jobs, the_others_are_told_of_a_rank_that_fails_and_ended) {
  const Finished finished = run({"-n", "3", "--label"}, "fail_one");
  EXPECT_EQ(finished.status, 3) << finished.err;
  EXPECT_EQ(lines(finished.out),
            (std::vector<std::string>{"[0] 1 has ended with 3", "[2] 1 has ended with 3"}));
}

TEST_F(Jobs, ranks_that_ask_to_go_on_meet_without_those_that_have_ended) {
  const Finished finished = run({"-n", "4"}, "go_on");
  EXPECT_EQ(finished.status, 128 + SIGKILL) << finished.err;
  EXPECT_EQ(lines(finished.out), std::vector<std::string>(3, "went on without 1, which ended with " +
                                                                 std::to_string(128 + SIGKILL)));
}

TEST_F(Jobs, ranks_that_disagree_are_named) {
  const Finished finished = run({"-n", "3"}, "disagree");
  EXPECT_EQ(finished.status, 0) << finished.err;
  for (const std::string& each : lines(finished.out)) {
    EXPECT_NE(each.find("a barrier"), std::string::npos) << each;
    EXPECT_NE(each.find("in an all-gather of values of 8 bytes"), std::string::npos) << each;
  }
}

TEST_F(Jobs, a_barrier_that_somebody_never_comes_to_ends) {
  const Finished finished = run({"-n", "3"}, "leave_early");
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Jobs, a_meeting_that_times_out_goes_on) {
  const Finished finished = run({"-n", "2"}, "come_late", world.file("came"));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Jobs, are_left_in_the_middle_of_whatever_goes_on) {
  const Finished finished = run({"-n", "2"}, "leave_in_the_middle", world.file("left"));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Jobs, take_another_process_of_a_rank_in_the_place_of_one_that_was_killed) {
  const Finished finished = run({"-n", "2"}, "come_again", world.file("again"));
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Jobs, end_when_a_rank_is_killed_at_any_moment) {
  for (unsigned i = 0; i != 8; ++i) {
    // A rank's own shell kills it after so many turns of a loop, wherever it is then.
    const std::string script = "\"$0\" meet & i=0; while [ $i -lt " + std::to_string(i * i * 40) +
                               " ]; do i=$((i+1)); done; [ $HAMLYN_RANK != 1 ] || kill -9 $!; wait $!";
    Command command = world.start({"run", "-n", "3", "sh", "-c", script, program_});
    const int status = command.wait().status;
    EXPECT_TRUE(status == 0 || status == 128 + SIGKILL) << status;
  }
}

TEST_F(Jobs, leave_nothing_behind) {
  const std::string file = world.file("pid");
  EXPECT_EQ(run({"-n", "1"}, "leave_behind", file).status, 0);
  EXPECT_FALSE(alive(file));
}

TEST_F(Jobs, leave_nothing_behind_when_the_command_is_killed) {
  const std::string file = world.file("pid");
  Command command = start({"-n", "1"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  command.signal(SIGKILL);
  EXPECT_EQ(command.wait().status, 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(file); }));
}

TEST_F(Jobs, leave_processes_alone_that_were_there_before) {
  const std::string file = world.file("pid");
  const std::string script = "sleep 1000 & echo $! > " + file + "; exec " + program("hamlyn") + " run true";
  Command command({"/bin/sh", "-c", script}, {.environment = world.environment()});
  const Finished finished = command.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_TRUE(alive(file));
  ::kill(std::stoi(read_file(file)), SIGKILL);
}

TEST_F(Jobs, hear_of_ends_that_their_starter_wanted_unseen) {
  Command command({"/usr/bin/env", "--ignore-signal=CHLD", program("hamlyn"), "run", "-n", "2", "true"},
                  {.environment = world.environment()});
  EXPECT_EQ(command.wait().status, 0);
}

TEST_F(Jobs, end_by_a_signal_while_a_rank_writes_as_fast_as_it_can) {
  Pipe pipe;  // that nobody reads
  for (const bool labelled : {true, false}) {
    std::vector<std::string> words{"run", "-n", "2", "yes"};
    if (labelled) words.insert(words.begin() + 1, "--label");
    Command command = world.start(words, {.output_fd = pipe.write.get()});
    ASSERT_TRUE(eventually([&] { return world.names() == 1; }));
    command.signal(SIGTERM);
    EXPECT_EQ(command.wait().status, 128 + SIGTERM);
    ASSERT_TRUE(eventually([&] { return world.names() == 0; }));
  }
}

TEST_F(Jobs, end_though_somebody_is_left_who_writes_for_ever) {
  const Finished finished = world.run({"run", "--label", "sh", "-c", "yes & echo started"});
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(Jobs, say_that_what_ranks_write_cannot_be_passed_on) {
  const base::FileDescriptor full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(full);
  Command command = world.start({"run", "--label", "echo", "lost"}, {.output_fd = full.get()});
  const Finished finished = command.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("cannot write standard output"), std::string::npos) << finished.err;
}

TEST_F(Jobs, go_on_without_a_reader) {
  Pipe pipe;
  pipe.read.reset();
  Command command = world.start({"run", "--label", "sh", "-c", "echo one; echo two; exit 7"},
                                {.output_fd = pipe.write.get()});
  EXPECT_EQ(command.wait().status, 7);
}

TEST_F(Jobs, leave_ranks_what_their_starter_does_with_a_broken_pipe) {
  for (const auto& [how, status] :
       {std::pair{"--default-signal=PIPE", 128 + SIGPIPE}, std::pair{"--ignore-signal=PIPE", 7}}) {
    Command command({"/usr/bin/env", how, program("hamlyn"), "run", "sh", "-c", "kill -PIPE $$; exit 7"},
                    {.environment = world.environment()});
    EXPECT_EQ(command.wait().status, status);
  }
}

TEST_F(Jobs, kill_a_rank_that_does_not_end_when_it_is_asked_to) {
  const std::string file = world.file("deaf");
  const std::string script = "if [ $HAMLYN_RANK = 0 ]; then trap '' TERM; echo > " + file +
                             "; exec sleep 1000; fi; until [ -e " + file + " ]; do :; done; exit 3";
  const Finished finished = world.run({"run", "-n", "2", "--json", "sh", "-c", script});
  EXPECT_EQ(finished.status, 3);
  EXPECT_NE(
      finished.err.find(fmt::format(R"("rank":0,"host":"{}","status":{})", tool::own_host(), 128 + SIGKILL)),
      std::string::npos)
      << finished.err;
}

TEST_F(Jobs, give_each_rank_its_processors) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> processors;
  for (int each = 0; each != CPU_SETSIZE; ++each)
    if (CPU_ISSET(static_cast<std::size_t>(each), &set)) processors.push_back(each);
  for (const bool bind : {true, false}) {
    std::vector<std::string> expected, options{"-n", "3"};
    if (bind) options.push_back("--bind");
    for (std::uint32_t rank = 0; rank != 3; ++rank)
      expected.push_back(fmt::format(
          "{}: {}", rank, fmt::join(bind ? tool::share_of(processors, rank, 3) : processors, " ")));
    const Finished finished = run(options, "tell_processors");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(lines(finished.out), expected);
  }
}

TEST_F(Jobs, pass_signals_on) {
  Command command = start({"-n", "2"}, "wait_for_signal");
  ASSERT_TRUE(eventually([&] { return lines(command.out()).size() == 2; }));
  command.signal(SIGUSR1);
  EXPECT_EQ(command.wait().status, 40);
}

TEST_F(Jobs, pass_lines_on_whole) {
  const std::string script =
      "i=0; while [ $i -lt 200 ]; do echo line $i of $HAMLYN_RANK; i=$((i+1)); done; printf rest";
  Command command = world.start({"run", "-n", "3", "--label", "--", "sh", "-c", script});
  const Finished finished = command.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  std::vector<std::string> expected;
  for (int rank = 0; rank != 3; ++rank) {
    const std::string label = "[" + std::to_string(rank) + "] ";
    for (int i = 0; i != 200; ++i)
      expected.push_back(label + "line " + std::to_string(i) + " of " + std::to_string(rank));
    expected.push_back(label + "rest");
  }
  std::ranges::sort(expected);
  EXPECT_EQ(lines(finished.out), expected);
}

TEST_F(Jobs, give_rank_0_the_input_and_a_program_its_own_options) {
  const Finished finished =
      world.start({"run", "-n", "2", "--label", "sh", "-c", "wc -c; echo $0", "--label"}, {.input = "12345"})
          .wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(lines(finished.out), (std::vector<std::string>{"[0] --label", "[0] 5", "[1] --label", "[1] 0"}));
}

TEST_F(Jobs, tell_at_the_end_in_json) {
  const Finished finished =
      world.run({"run", "-n", "2", "--json", "--job", "told", "sh", "-c", "exit $HAMLYN_RANK"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find(R"({"job":"told","size":2,"status":1,"seconds":)"), std::string::npos)
      << finished.err;
  EXPECT_NE(finished.err.find(R"("status":1}]})"), std::string::npos) << finished.err;
}

TEST_F(Jobs, refuse_by_name_what_cannot_be) {
  const auto refused = [&](const std::vector<std::string>& words, int status, const char* name) {
    const Finished finished = world.run(words);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_NE(finished.err.find(name), std::string::npos) << finished.err;
  };
  refused({"run", "-n", "3", "no-such-program"}, 127, "program_not_started");
  refused({"run", "/etc/passwd"}, 126, "program_not_started");
  refused({"run", "-n", "2"}, 2, "no program is named");
  refused({"run", "-n", "0", "true"}, 2, "usage");
  refused({"run", "-n", "1001", "true"}, 2, "usage");
  refused({"run", "--agent", "12", "true"}, 2, "usage");
  refused({"run", "-n", "4", "--hosts", "a,b", "--job", "x", "true"}, 2, "host_unknown");
}

TEST_F(Jobs, of_one_name_there_is_one) {
  const std::string file = world.file("pid");
  Command first = start({"-n", "1", "--job", "one"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  const Finished second = run({"-n", "1", "--job", "one"}, "meet");
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("name_taken"), std::string::npos) << second.err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().status, 128 + SIGTERM);
}

TEST_F(Jobs, strangers_are_let_into_none) {
  const std::string file = world.file("pid");
  Command first = start({"-n", "2", "--job", "own"}, "hang_behind", file);
  ASSERT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) == 0; }));
  const auto as = [&](std::map<std::string, std::string> variables) {
    Command stranger =
        world.start_program("../test/bin/job_rank", {"again"}, {.environment = std::move(variables)});
    return stranger.wait();
  };
  std::map<std::string, std::string> good{
      {"HAMLYN_JOB", "own"},      {"HAMLYN_RANK", "0"},       {"HAMLYN_SIZE", "2"},
      {"HAMLYN_LOCAL_RANK", "0"}, {"HAMLYN_LOCAL_SIZE", "2"}, {"HAMLYN_JOB_SECRET", std::string(32, '0')}};
  EXPECT_NE(as(good).err.find("the job's secret is another one (not_permitted)"), std::string::npos);
  for (const auto& [name, senseless] :
       std::map<std::string, std::string>{{"HAMLYN_RANK", "2"},
                                          {"HAMLYN_SIZE", "1x"},
                                          {"HAMLYN_LOCAL_RANK", "-1"},
                                          {"HAMLYN_LOCAL_SIZE", ""},
                                          {"HAMLYN_JOB_SECRET", std::string(32, 'x')}}) {
    auto variables = good;
    variables[name] = senseless;
    const Finished finished = as(variables);
    EXPECT_EQ(finished.status, 5);
    EXPECT_NE(finished.err.find(name + " is '"), std::string::npos) << finished.err;
  }
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().status, 128 + SIGTERM);
}

#ifdef HAMLYN_JOB_RANK_C
TEST_F(Jobs, have_ranks_in_c) {
  for (const char* const ranks : {"1", "3"}) {
    const Finished finished = world.run({"run", "-n", ranks, "--job", "of_c", HAMLYN_JOB_RANK_C});
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(lines(finished.out).size(), std::stoul(ranks));
  }
}
#endif

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
        R"(,"job":"alone","label":false,"bind":false,"trusted_network":false,"token":"","program":["74727565"],"folder":"2f"})";
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
