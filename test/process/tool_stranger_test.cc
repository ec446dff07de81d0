// What `hamlyn receive` and `hamlyn send` make of another side that is none of theirs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <optional>

#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/stream.h"
#include "test/process/tool_world.h"
#include "test/support/daemon.h"
#include "tool/checksum.h"
#include "tool/transfer_wire.h"

namespace hamlyn::test {
namespace {

using tool::bytes_of;

class ToolStranger : public testing::Test {
 protected:
  Manager::Options here() const { return {.interface = {.node = socket(), .start_node = false}}; }
  std::string socket() const { return folder_.file("node.sock"); }
  Command command(const char* what) {
    return world_.start({what, "toy", "--node", socket(), "--timeout", "20"}, {.input = "data"});
  }

  // How a receiver ends that is sent that behind a greeting, and what verdict it gives.
  Finished told(const std::function<void(tool::Greeting&)>& spoil,
                const std::function<void(StreamSender&)>& say) {
    Command receiver = command("receive");
    Child stranger(-1, [&] {
      Manager manager(here());
      StreamSender stream(manager, manager.lookup("toy"));
      DatagramReceiver verdicts(manager, sizeof(tool::Verdict));
      tool::Greeting greeting{.verdict = verdicts.make_seed()};
      spoil(greeting);
      static_cast<void>(stream.send(bytes_of(greeting)));
      say(stream);
      static_cast<void>(stream.flush());
      Datagram datagram;
      tool::Verdict verdict;
      if (verdicts.receive(datagram, kPatience) != Status::ok) return 90;
      if (tool::parse(datagram.bytes, verdict) != nullptr) return 91;
      return static_cast<int>(verdict.outcome);
    });
    outcome_ = static_cast<tool::Outcome>(stranger.wait());
    return receiver.wait();
  }
  // Is a receiver up to the end of the data, and says that; before it a third process says the other.
  int judge(const tool::Verdict& said, const std::optional<tool::Verdict>& of_a_third) const {
    Manager manager(here()), third(here());
    StreamReceiver stream(manager);
    manager.publish("toy", stream.make_seed());
    Record record;
    tool::Greeting greeting;
    if (stream.receive(record) != Status::ok) return 1;
    if (tool::parse(record.bytes(), stream.sender(), greeting) != nullptr) return 2;
    static_cast<void>(stream.release(record));
    tool::Trailer trailer;
    for (bool last = false; !last && stream.receive(record) == Status::ok;
         static_cast<void>(stream.release(record)))
      last = tool::parse(record.bytes(), trailer) == nullptr;
    if (of_a_third) {
      DatagramSender sender(third, greeting.verdict);
      if (sender.deliver(bytes_of(*of_a_third), kPatience) != Status::ok) return 3;
    }
    DatagramSender sender(manager, greeting.verdict);
    // Until the sender has looked at the first, it is not ready for another.
    return eventually([&] { return sender.deliver(bytes_of(said), kPatience) == Status::ok; }) ? 0 : 4;
  }
  static tool::Trailer trailer_of(const std::string& data) {
    tool::Checksum checksum;
    checksum.add(std::as_bytes(std::span{data}));
    return {.total = data.size(), .checksum = checksum.value()};
  }

  World world_;
  Folder folder_;
  Daemon daemon_{socket()};
  tool::Outcome outcome_{};
};

void nothing(tool::Greeting&) {}

void expect_failure(const Finished& finished, const std::string& part) {
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
}

TEST_F(ToolStranger, AGoodOneIsTaken) {
  const Finished received = told(nothing, [](StreamSender& stream) {
    static_cast<void>(stream.send("data"));
    static_cast<void>(stream.send(""));
    static_cast<void>(stream.send(bytes_of(trailer_of("data"))));
    static_cast<void>(stream.close());
  });
  EXPECT_EQ(received.status, 0) << received.err;
  EXPECT_EQ(received.out, "data");
  EXPECT_EQ(outcome_, tool::Outcome::whole);
}

TEST_F(ToolStranger, AnotherVersionIsToldOnBothSides) {
  const Finished received =
      told([](tool::Greeting& greeting) { ++greeting.head.version; }, [](StreamSender&) {});
  expect_failure(received, "(version_mismatch)");
  EXPECT_EQ(outcome_, tool::Outcome::other_version);
}

TEST_F(ToolStranger, ATrailerThatLiesIsFoundOut) {
  for (const bool length : {false, true}) {
    const Finished received = told(nothing, [length](StreamSender& stream) {
      tool::Trailer trailer = trailer_of("data");
      ++(length ? trailer.total : trailer.checksum);
      static_cast<void>(stream.send("data"));
      static_cast<void>(stream.send(""));
      static_cast<void>(stream.send(bytes_of(trailer)));
      static_cast<void>(stream.close());
    });
    expect_failure(received, "(checksum)");
    EXPECT_EQ(outcome_, tool::Outcome::broken);
  }
}

TEST_F(ToolStranger, WhatIsOutOfTurnEndsIt) {
  const Finished no_trailer = told(nothing, [](StreamSender& stream) {
    static_cast<void>(stream.send(""));
    static_cast<void>(stream.send("data"));
  });
  expect_failure(no_trailer, "(protocol_error)");
  EXPECT_EQ(outcome_, tool::Outcome::broken);
  const Finished early = told(nothing, [](StreamSender& stream) {
    static_cast<void>(stream.send("data"));
    static_cast<void>(stream.close());
  });
  expect_failure(early, "before the end of its data");
}

// The next sender may be the right one.
TEST_F(ToolStranger, OneThatGoesBeforeItGreetsIsNotTaken) {
  Command receiver = command("receive");
  Child stranger(-1, [&] {
    Manager manager(here());
    const StreamSender stream(manager, manager.lookup("toy"));
    return 0;
  });
  EXPECT_EQ(stranger.wait(), 0);
  EXPECT_EQ(command("send").wait().status, 0);
  EXPECT_EQ(receiver.wait().out, "data");
}

TEST_F(ToolStranger, AReceiverThatIsNoneIsNotBelieved) {
  const std::vector<std::pair<tool::Verdict, const char*>> verdicts{
      {{.head{.version = tool::kVersion + 1, .kind = tool::kVerdict}}, "(version_mismatch)"},
      {{.outcome = tool::Outcome::other_version}, "(version_mismatch)"},
      {{.outcome = tool::Outcome::whole, .total = 5}, "(checksum)"},
      {{.outcome = tool::Outcome{77}}, "(protocol_error)"},
  };
  for (const auto& [verdict, name] : verdicts) {
    Child stranger(-1, [&, said = verdict] { return judge(said, std::nullopt); });
    expect_failure(command("send").wait(), name);
    EXPECT_EQ(stranger.wait(), 0);
  }
}

// A program's own stream confirms nothing, and need not look at all. (It lives until it is told that the
// sender has ended.)
TEST_F(ToolStranger, AProgramsOwnStreamIsNotWaitedForBeyondTheTime) {
  for (const bool reads : {true, false}) {
    Pipe ended;
    Child program(-1, [&] {
      Manager manager(here());
      StreamReceiver stream(manager);
      manager.publish("toy", stream.make_seed());
      Record record;
      if (stream.receive(record) != Status::ok) return 1;
      static_cast<void>(stream.release(record));
      while (reads && stream.receive(record) == Status::ok) static_cast<void>(stream.release(record));
      char word = 0;
      return ::read(ended.read.get(), &word, 1) == 1 ? 0 : 2;
    });
    const std::string input(reads ? 4 : 8 << 20, 'x');  // or more than its ring holds
    const Finished sent =
        world_.run({"send", "toy", "--node", socket(), "--timeout", "0.3"}, {.input = input});
    EXPECT_EQ(sent.status, 3) << sent.err;
    EXPECT_NE(sent.err.find(reads ? "did not confirm it in the time given" : "took nothing more"),
              std::string::npos)
        << sent.err;
    EXPECT_EQ(::write(ended.write.get(), "e", 1), 1);
    EXPECT_EQ(program.wait(), 0);
  }
}

TEST_F(ToolStranger, AThirdProcessSaysNothingOfTheTransfer) {
  const tool::Trailer trailer = trailer_of("data");
  const tool::Verdict whole{
      .outcome = tool::Outcome::whole, .total = trailer.total, .checksum = trailer.checksum};
  Child stranger(-1, [&] { return judge({.outcome = tool::Outcome::interrupted}, whole); });
  expect_failure(command("send").wait(), "(interrupted)");
  EXPECT_EQ(stranger.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
