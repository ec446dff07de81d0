// `hamlyn serve` and `hamlyn files`: a directory that is served, and what is done with it.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

class ToolFiles : public testing::Test {
 protected:
  ToolFiles() { std::filesystem::create_directory(tree_); }

  std::vector<std::string> serve(const std::string& directory, const std::string& name) {
    return {"serve", directory, "--name", name, "--state", world_.file("state")};
  }
  Finished files(std::vector<std::string> words, const std::string& input = {}) {
    words.insert(words.begin(), {"files", "tree", "--timeout", "30"});
    return world_.run(words, {.input = input});
  }
  void refused(const std::vector<std::string>& words, int status, const char* part) {
    const Finished finished = files(words);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  }

  World world_;
  const std::string tree_ = world_.file("tree");
  Command server_ = world_.start(serve(tree_, "tree"));
};

TEST_F(ToolFiles, AreListedReadWrittenMovedAndRemoved) {
  EXPECT_EQ(files({"mkdir", "notes"}).status, 0);
  const std::string text(100'000, 'x');
  EXPECT_EQ(files({"put", "-", "notes/today"}, text).status, 0);
  EXPECT_EQ(files({"cat", "notes/today"}).out, text);
  EXPECT_EQ(files({"put", "-", "notes/today"}, "short").status, 0);
  EXPECT_EQ(files({"cat", "notes/today"}).out, "short") << "it was replaced";
  EXPECT_EQ(files({"ls", "notes"}).out, "today\n") << "and nothing is left beside it";
  EXPECT_TRUE(files({"ls", "-l", "notes"}).out.starts_with("-rw-r--r--   1 "))
      << files({"ls", "-l", "notes"}).out;
  EXPECT_EQ(json::parse(files({"stat", "notes/today", "--json"}).out).at("size"), 5);
  EXPECT_GT(json::parse(files({"df", "--json"}).out).at("bytes"), 0);
  EXPECT_EQ(files({"mv", "notes/today", "moved"}).status, 0);
  EXPECT_EQ(json::parse(files({"ls", "--json"}).out).size(), 2u);
  EXPECT_EQ(files({"rm", "moved"}).status, 0);
  EXPECT_EQ(files({"rm", "notes"}).status, 0);
  EXPECT_EQ(files({"ls"}).out, "");
  EXPECT_TRUE(std::filesystem::is_empty(tree_));
  EXPECT_EQ(server_.out(), "serving " + tree_ + " as 'tree'\n");
  server_.signal(SIGTERM);
  EXPECT_EQ(server_.wait().status, 130);
}

TEST_F(ToolFiles, AreMountedByAnotherProgram) {
  const Finished help = world_.run({"mount", "--help"});
  const bool there = std::filesystem::exists(program("hamlyn-mount"));
  EXPECT_EQ(help.status, there ? 0 : 1);
  EXPECT_NE((there ? help.out : help.err).find(there ? "--read-only" : "hamlyn-mount is not there"),
            std::string::npos);
  EXPECT_EQ(world_.run({"umount"}).status, 2);
  if (there) {
    EXPECT_NE(world_.run({"mount", "tree", world_.file("none")}).err.find("is no directory to mount at"),
              std::string::npos);
  }
}

TEST_F(ToolFiles, SayWhyTheyAreNot) {
  refused({"cat", "none"}, 1, "none: there is no such file (no_entry)");
  refused({"cat", "../state/key"}, 1, "(cross_device)");
  refused({"ls", "none"}, 1, "(no_entry)");
  refused({"put", "-", "none/file"}, 1, "(no_entry)");
  refused({"copy", "a", "b"}, 2, "there is no action 'copy' (usage)");
  refused({"mv", "a"}, 2, "'mv' takes 2 paths, not 1 (usage)");
  refused({}, 2, "(usage)");
  const Finished second = world_.run(serve(tree_, "second"));
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("is served already"), std::string::npos) << second.err;
  const Finished nobody = world_.run({"files", "nobody", "ls", "--timeout", "0.05"});
  EXPECT_EQ(nobody.status, 3);
  EXPECT_NE(nobody.err.find("nobody serves 'nobody' in the time given"), std::string::npos) << nobody.err;
}

}  // namespace
}  // namespace hamlyn::test
