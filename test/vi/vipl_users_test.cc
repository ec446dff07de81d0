// Connections between processes of different users, which only root can try.
#include <unistd.h>

#include <span>
#include <thread>

#include "test/support/users.h"
#include "test/vi/vipl_party.h"
#include "vi/names.h"

namespace hamlyn::test {
namespace {

constexpr int kOwner = 41001, kStranger = 41002;

class ViplUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: another user can only be tried as root";
    daemon_.emplace(folder_.file("node"), std::vector<std::string>{"--service"});
  }
  std::string device() const { return "hamlyn:" + folder_.file("node"); }

  // Waits twice at "open", and takes a message and a write of whoever comes first.
  Actor server(const char* opened_to) {
    return Actor(
        [this, opened_to](Line&) {
          ::setenv("HAMLYN_VI_OPEN", opened_to, 1);
          Opened opened(device());
          VIP_VI_HANDLE first = opened.make_vi(), second = opened.make_vi();
          for (VIP_VI_HANDLE vi : {first, second})
            EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
          std::thread other([&] { opened.accept(second, "open"); });
          opened.accept(first, "open");
          other.join();
          for (VIP_VI_HANDLE vi : {first, second}) EXPECT_EQ(opened.received(vi), kReceived);
          return HasFailure() ? 1 : 0;
        },
        kOwner);
  }
  // Asks as that user, and says something if it is let in. Returns the answer.
  VIP_RETURN ask_as(int user, const char* name, bool once) {
    Actor client(
        [&](Line& line) {
          Opened opened(device());
          VIP_VI_HANDLE vi = opened.make_vi();
          NetAddress own(opened.nic), asked(opened.nic, name);
          VIP_VI_ATTRIBUTES other;
          VIP_RETURN result = VIP_NO_MATCH;
          do result = VipConnectRequest(vi, own.get(), asked.get(), kWait, &other);
          while (!once && result == VIP_NO_MATCH);
          if (result == VIP_SUCCESS) {
            EXPECT_EQ(VipPostSend(vi, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
            EXPECT_EQ(opened.sent(vi), kSent);
          }
          line.put(result);
          return HasFailure() ? 1 : 0;
        },
        user);
    const auto result = client.line().take<VIP_RETURN>();
    EXPECT_EQ(client.wait(), 0);
    return result.value_or(VIP_TIMEOUT);
  }

  // Whether a process of the owner's waits there, as another one of it sees; looks until one does.
  bool is_waited_for(const std::string& name) {
    Actor client(
        [&](Line& line) {
          Interface interface({.node = folder_.file("node"), .start_node = false});
          const std::uint64_t host = interface.id() >> 48;
          const vi::Address address = vi::Address::of(host, std::as_bytes(std::span(name)));
          line.put(interface.lookup(internal_::vi::name_of(host, address), kPatience).interface != 0);
          return 0;
        },
        kOwner);
    return client.line().take<bool>().value_or(false);
  }

  Folder folder_{0755};
  std::optional<Daemon> daemon_;
};

TEST_F(ViplUsers, are_not_let_in_and_learn_nothing) {
  for (const char* opened_to : {"", "group"}) {
    Actor one = server(opened_to);
    ASSERT_EQ(ask_as(kOwner, "open", false), VIP_SUCCESS);
    ASSERT_TRUE(is_waited_for("open")) << "the other one";
    const VIP_RETURN answer = ask_as(kStranger, "open", true);
    EXPECT_EQ(answer, VIP_NO_MATCH);
    EXPECT_EQ(answer, ask_as(kStranger, "nobody", true)) << "a stranger learns that somebody waits there";
    ASSERT_EQ(ask_as(kOwner, "open", true), VIP_SUCCESS) << "nobody had waited";
    EXPECT_EQ(one.wait(), 0);
  }
}

TEST_F(ViplUsers, are_let_in_where_the_nic_is_open_to_everyone) {
  Actor one = server("everyone");
  EXPECT_EQ(ask_as(kStranger, "open", false), VIP_SUCCESS);
  EXPECT_EQ(ask_as(kOwner, "open", false), VIP_SUCCESS);
  EXPECT_EQ(one.wait(), 0);
}

#ifdef HAMLYN_VI_FILES
TEST_F(ViplUsers, are_served_files_by_the_example) {
  for (const int user : {kOwner, kStranger})
    if (!can_start(static_cast<uid_t>(user), HAMLYN_VI_FILES))
      GTEST_SKIP() << "SKIPPED: other users cannot reach " << HAMLYN_VI_FILES;
  Folder files{0755};
  const std::string bytes = noise(1'000'000);
  write_file(files.file("noise"), bytes);
  const std::map<std::string, std::string> node{{"HAMLYN_NODE", folder_.file("node")}};
  Command::Options of_server{.environment = node, .user = kOwner},
      of_client{.environment = node, .user = kStranger};
  of_server.environment["HAMLYN_VI_OPEN"] = "everyone";
  Command server({HAMLYN_VI_FILES, "serve", "files", files.path()}, of_server);
  for (int client = 0; client != 3; ++client) {
    const Finished fetched = Command({HAMLYN_VI_FILES, "fetch", "files", "noise"}, of_client).wait();
    EXPECT_EQ(fetched.status, 0) << fetched.err;
    EXPECT_TRUE(fetched.out == bytes);
    const Finished none = Command({HAMLYN_VI_FILES, "fetch", "files", "../noise"}, of_client).wait();
    EXPECT_EQ(none.status, 1);
    EXPECT_NE(none.err.find("no file '../noise'"), std::string::npos) << none.err;
  }
  EXPECT_TRUE(server.running());
}
#endif

}  // namespace
}  // namespace hamlyn::test
