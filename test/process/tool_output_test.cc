// Exit status 0 says that the output was written, whichever command of `hamlyn` it is of; and what a failure
// prints where a JSON object was asked for.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "node/client/address.h"
#include "test/process/tool_world.h"
#include "test/rpc/calculator.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// The commands that `hamlyn --help` lists.
Words commands(World& world) {
  std::istringstream help{world.run({"--help"}).out};
  Words names;
  std::string line;
  while (std::getline(help, line) && line.rfind("Subcommands:", 0) != 0) {
  }
  while (std::getline(help, line) && line.rfind("  ", 0) == 0) {
    std::istringstream words{line};
    if (std::string name; line[2] != ' ' && words >> name) names.push_back(name);
  }
  return names;
}

// Words that make each command print something on standard output, apart from its help.
const std::map<std::string, std::vector<Words>> kPrinting{
    {"send", {{"send", "toy", "--json"}}},
    {"receive", {{"receive", "toy", "/dev/null", "--json"}, {"receive", "toy"}}},
    {"node", {{"node"}, {"node", "--json"}}},
    {"top", {{"top", "-n", "1", "-i", "0.01"}, {"top", "-n", "1", "-i", "0.01", "--json"}}},
    {"calls",
     {{"calls", "answers"}, {"calls", "answers", "--json"}, {"calls", "answers", "minus", "5", "3"}}},
    {"serve", {}},  // goes on when it has printed
    {"files", {{"files", "toy", "df"}, {"files", "toy", "ls", "--json"}}},
    {"mount", {}},
    {"umount", {}},
    {"run", {{"run", "--label", "echo", "here"}}},
    {"doctor", {{"doctor"}, {"doctor", "--json"}}},
    {"logp", {}},  // whether it has something to print depends on how quiet the machine is
    {"perf", {{"perf", "--list"}, {"perf", "--json", "--only", R"(limit\.copy\..*)"}}},
};

bool measures(const Words& words) { return words[0] == "perf" && words.back() != "--list"; }

// A node with a daemon, and partners for those commands that need one.
class ToolWritten : public testing::Test {
 protected:
  Finished run(Words words, const Command::Options& options) {
    if (words[0] == "perf" || words[0] == "doctor" || words[0] == "run" || words.back() == "--help")
      return world_.run(words, options);
    words.insert(words.end(), {"--node", node_});
    std::optional<Command> partner;
    if (words[0] == "send")
      partner.emplace(world_.start({"receive", "toy", "/dev/null", "-q", "--node", node_}));
    if (words[0] == "receive")
      partner.emplace(world_.start({"send", "toy", "-q", "--node", node_}, {.input = "some bytes"}));
    if (words[0] == "files")
      partner.emplace(world_.start(
          {"serve", world_.data().path(), "--name", "toy", "--state", state_.file("s"), "--node", node_}));
    std::optional<Child> service;
    if (words[0] == "calls") service.emplace(-1, [this] { return serve(); });
    return world_.run(words, options);
  }
  // Serves until it is ended.
  int serve() const {
    Interface interface({.node = node_, .start_node = false});
    Calculator calculator;
    std::optional<rpc::Server<Calculator>> server;
    const auto made = [&] {
      try {
        server.emplace(interface, "answers", calculator);
        return true;
      } catch (const Error&) {  // the name is still that of the one before
        return false;
      }
    };
    return eventually(made) && server->run() == Status::ok ? 0 : 1;
  }

  // Each command, with its help and with all that it prints, in a way that `check` judges.
  template <class Check>
  void with_all(Check check) {
    const Words names = commands(world_);
    EXPECT_GE(names.size(), 5u);
    for (const std::string& name : names) {
      const auto printing = kPrinting.find(name);
      ASSERT_NE(printing, kPrinting.end()) << "no test knows how to make 'hamlyn " << name << "' print";
      check(Words{name, "--help"});
      for (const Words& words : printing->second)
        if (!measures(words) || two_processors()) check(words);
    }
    check(Words{"--help"});
    check(Words{"--version"});
  }

  World world_;
  Folder state_;
  std::string node_ = world_.file("node");
  Daemon daemon_{node_};
};

TEST_F(ToolWritten, AFullDeviceIsAnErrorOfEveryCommand) {
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  with_all([&](const Words& words) {
    const Finished finished = run(words, {.output_fd = full.get()});
    EXPECT_EQ(finished.status, 1) << words[0] << ' ' << words.back() << ": " << finished.err;
    EXPECT_NE(finished.err.find("cannot write standard output: No space left on device"), std::string::npos)
        << words[0] << ' ' << words.back() << ": " << finished.err;
    const bool asked = std::ranges::count(words, "--json") != 0;
    EXPECT_EQ(finished.err.find(R"({"error":{"command":)") != std::string::npos, asked) << finished.err;
  });
}

// A descriptor that cannot be written to, as one that was closed at the start.
TEST_F(ToolWritten, ADescriptorThatTakesNothingIsAnErrorOfEveryCommand) {
  const base::FileDescriptor reads(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  with_all([&](const Words& words) {
    const Finished finished = run(words, {.output_fd = reads.get()});
    EXPECT_EQ(finished.status, 1) << words[0] << ' ' << words.back() << ": " << finished.err;
    EXPECT_NE(finished.err.find("cannot write standard output: Bad file descriptor"), std::string::npos)
        << words[0] << ' ' << words.back() << ": " << finished.err;
  });
}

TEST_F(ToolWritten, AllOfItIsWrittenWhereThereIsRoom) {
  with_all([&](const Words& words) {
    const Finished finished = run(words, {});
    EXPECT_EQ(finished.status, 0) << words[0] << ' ' << words.back() << ": " << finished.err;
    EXPECT_FALSE(finished.out.empty()) << words[0] << ' ' << words.back();
  });
}

TEST_F(ToolWritten, TheDaemonsOwnWordsAreNoOther) {
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const char* const asked : {"--help", "--version"}) {
    const Finished finished = Command({program("hamlynd"), asked}, {.output_fd = full.get()}).wait();
    EXPECT_EQ(finished.status, 1) << asked;
    EXPECT_NE(finished.err.find("cannot write standard output"), std::string::npos) << finished.err;
    EXPECT_EQ(Command({program("hamlynd"), asked}, {}).wait().status, 0) << asked;
  }
}

// Neither its output nor the line that says so can be written.
TEST_F(ToolWritten, AFullStandardErrorChangesNoStatus) {
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(run({"node"}, {.output_fd = full.get(), .error_fd = full.get()}).status, 1);
  EXPECT_EQ(world_.run({"none"}, {.error_fd = full.get()}).status, 2);
}

// The object of a failure, in one line.
json error_in(const std::string& text) {
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  const json object = json::parse(text, nullptr, false);
  return object.is_object() && object.contains("error") ? object["error"] : json::object();
}

TEST(ToolJson, AFailureIsAnObjectWhereOneWasAskedFor) {
  World world;
  const std::string nowhere = world.file("nowhere");
  const std::vector<Words> failing{{"send", "toy", "--json", "--node", nowhere + "/x"},
                                   {"receive", "toy", world.file("out"), "--json", "--node", nowhere + "/x"},
                                   {"node", "--json", "--node", nowhere},
                                   {"top", "--json", "--node", nowhere},
                                   {"calls", "toy", "--json", "--node", nowhere + "/x"},
                                   {"perf", "--json", "--only", "no such figure"},
                                   {"doctor", "--json", "--nonsense"}};
  for (const Words& words : failing) {
    const Finished finished = world.run(words);
    EXPECT_NE(finished.status, 0) << words[0];
    const json error = error_in(finished.out);
    EXPECT_EQ(error.value("command", ""), words[0]) << finished.out;
    EXPECT_EQ(error.value("status", 0), finished.status) << finished.out;
    EXPECT_FALSE(error.value("name", "").empty()) << finished.out;
    EXPECT_NE(finished.err.find("hamlyn " + words[0] + ": "), std::string::npos) << finished.err;
  }
}

TEST(ToolJson, WithTheDataOnStandardOutputTheObjectIsOnStandardError) {
  World world;
  const Finished finished = world.run({"receive", "toy", "--json", "--timeout", "0"});
  EXPECT_EQ(finished.status, 3);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(error_in(finished.err).value("name", ""), "timed_out") << finished.err;
}

// One user, two folders for what runs, and so two nodes: who does not meet the other is told where it asked.
TEST(ToolNode, ATimeThatHasPassedNamesTheNodeThatWasAsked) {
  if (std::filesystem::exists(node::kServiceSocket))
    GTEST_SKIP() << "SKIPPED: a service of this machine comes before a user's own daemon";
  World one, other;
  // Started first: a user's other folders are looked at only while there is none here.
  for (const World* const world : {&one, &other})
    std::filesystem::create_directory(std::filesystem::path(world->socket()).parent_path());
  for (const World* const world : {&one, &other})
    std::filesystem::permissions(std::filesystem::path(world->socket()).parent_path(),
                                 std::filesystem::perms::owner_all);
  const Daemon daemon{one.socket()}, another{other.socket()};
  Command receiver = one.start({"receive", "toy"});
  ASSERT_TRUE(eventually([&] { return one.attached() == 1; }));
  const json here = json::parse(one.run({"node", "--json"}).out);
  Command keeps = other.start({"receive", "other"});
  ASSERT_TRUE(eventually([&] { return other.attached() == 1; }));
  const std::string there = json::parse(other.run({"node", "--json"}).out).at("socket");
  EXPECT_NE(here.at("socket"), there);
  const Finished sent = other.run({"send", "toy", "--timeout", "0"}, {.input = "x"});
  EXPECT_EQ(sent.status, 3);
  EXPECT_NE(sent.err.find("(asked at " + there + ")"), std::string::npos) << sent.err;
  const Finished received = other.run({"receive", "toy", "--timeout", "0"});
  EXPECT_NE(received.err.find("(asked at " + there + ")"), std::string::npos) << received.err;
  const Finished doctor = other.run({"doctor"});
  EXPECT_NE(doctor.out.find("the one at " + there + " answers here"), std::string::npos) << doctor.out;
  EXPECT_NE(other.run({"node"}).out.find("\nasked at " + there + "\n"), std::string::npos);
}

TEST(ToolTop, EndsOnCtrlCWithTheStatusOfAnInterruption) {
  World world;
  const Daemon daemon{world.file("node")};
  for (const int number : {SIGINT, SIGTERM}) {
    Command top = world.start({"top", "-i", "0.01", "--node", world.file("node")});
    ASSERT_TRUE(eventually([&] { return !top.out().empty(); })) << top.err();
    top.signal(number);
    const Finished finished = top.wait();
    EXPECT_EQ(finished.status, 130);
    EXPECT_NE(finished.err.find("(interrupted)"), std::string::npos) << finished.err;
    EXPECT_TRUE(finished.out.ends_with("\n")) << finished.out;
  }
}

TEST(ToolTop, AProcessThatIsNotAttachedIsAnError) {
  World world;
  Command receiver = world.start({"receive", "toy"});
  ASSERT_TRUE(eventually([&] { return world.attached() == 1; }));
  const Finished unknown = world.run({"top", "-n", "1", "-i", "0.01", "--pid", "1"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_NE(unknown.err.find("process 1 is not attached to this node (process_unknown)"), std::string::npos)
      << unknown.err;
  Command top = world.start({"top", "-i", "0.01", "--pid", std::to_string(receiver.pid())});
  ASSERT_TRUE(eventually([&] { return !top.out().empty(); })) << top.err();
  receiver.signal(SIGINT);
  receiver.wait();
  const Finished ended = top.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("is no longer attached"), std::string::npos) << ended.err;
}

TEST(ToolWords, ThatAreEmptyAreRefusedBeforeAnythingIsDone) {
  World world;
  const std::vector<Words> wrong{
      {"receive", "toy", ""}, {"send", "toy", ""},   {"receive", "toy", "--node", ""},
      {"node", "--node", ""}, {"top", "--node", ""}, {"perf", "--only", ""}};
  for (const Words& words : wrong) {
    const Finished finished = world.run(words);
    EXPECT_EQ(finished.status, 2) << words[0] << ": " << finished.err;
    EXPECT_NE(finished.err.find("It is empty (usage)"), std::string::npos) << finished.err;
  }
  for (const char* const option : {"--socket", "--config", "--join"})
    EXPECT_EQ(Command({program("hamlynd"), option, ""}, {}).wait().status, 2) << option;
}

}  // namespace
}  // namespace hamlyn::test
