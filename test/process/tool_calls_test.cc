// `hamlyn calls`: lists the procedures of a service, and calls them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "test/process/tool_world.h"
#include "test/rpc/calculator.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class ToolCalls : public testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<rpc::Server<Calculator>>(*interface_, "calculator", calculator_);
    serving_ = std::thread([this] { static_cast<void>(server_->run()); });
  }
  void TearDown() override {
    server_->stop();
    serving_.join();
  }
  Finished calls(std::vector<std::string> words) {
    words.insert(words.begin(), "calls");
    words.insert(words.begin() + 1, {"--node", socket_});
    return world_.run(words);
  }

  World world_;
  const std::string socket_ = world_.file("node.sock");
  Daemon daemon_{socket_};
  std::unique_ptr<Interface> interface_ =
      std::make_unique<Interface>(Interface::Options{.node = socket_, .start_node = false});
  Calculator calculator_;
  std::unique_ptr<rpc::Server<Calculator>> server_;
  std::thread serving_;
};

TEST_F(ToolCalls, ListsWhatThereIsToCall) {
  const Finished text = calls({"calculator"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("nothing()->nothing\nminus(i32,i32)->i32\n")) << text.out;
  const Finished object = calls({"calculator", "--json"});
  EXPECT_EQ(object.status, 0) << object.err;
  const json all = json::parse(object.out);
  EXPECT_EQ(all.at("name"), "calculator");
  EXPECT_EQ(all.at("procedures").size(), 11u);
}

TEST_F(ToolCalls, CallsWithNumbersAndText) {
  EXPECT_EQ(calls({"calculator", "minus", "5", "3"}).out, "2\n");
  EXPECT_EQ(calls({"calculator", "minus", "--", "-5", "3"}).out, "-8\n");
  EXPECT_EQ(calls({"calculator", "twice", "to be "}).out, "to be to be \n");
  const Finished nothing = calls({"calculator", "nothing"});
  EXPECT_EQ(nothing.status, 0) << nothing.err;
  EXPECT_EQ(nothing.out, "");
  const Finished object = calls({"calculator", "minus", "5", "3", "--json"});
  EXPECT_EQ(json::parse(object.out), json({{"name", "calculator"}, {"procedure", "minus"}, {"result", 2}}));
}

TEST_F(ToolCalls, SaysWhyItDoesNot) {
  const auto refused = [&](const std::vector<std::string>& words, int status, const char* part) {
    const Finished finished = calls(words);
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  };
  refused({"calculator", "plus"}, 1, "'calculator' has no procedure 'plus' (no_procedure)");
  refused({"calculator", "minus", "5"}, 2, "'minus' takes 2 arguments, not 1");
  refused({"calculator", "minus", "5", "x"}, 2, "'x' is no value of the type 'i32'");
  refused({"calculator", "bytes", "5"}, 2, "there are no words for the type 'list byte'");
  refused({"calculator", "fails", "too little"}, 1, "the procedure has failed: too little (threw)");
  refused({"nobody", "--timeout", "0.01"}, 3, "no service 'nobody' has answered in the time given");
  refused({"no name", "--timeout", "0.01"}, 2, "(name_invalid)");
  refused({}, 2, "(usage)");
}

}  // namespace
}  // namespace hamlyn::test
