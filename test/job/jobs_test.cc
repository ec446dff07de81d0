// Jobs of one host.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "test/job/jobs.h"
#include "tool/run/options.h"

namespace hamlyn::test {
namespace {

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

}  // namespace
}  // namespace hamlyn::test
