// What a daemon is told by its command line and its file, and refuses.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn {
namespace {

using test::Folder;

TEST(NodeConfig, WordsThatItDoesNotKnowAreToldWithTheirNameAndAdvice) {
  for (const std::string wrong : {"--bogus", "more", "--idle-exit=soon", "--socket"}) {
    const auto finished = test::Command({test::program("hamlynd"), wrong}, {}).wait();
    EXPECT_EQ(finished.status, 2) << wrong;
    EXPECT_EQ(finished.err.rfind("hamlynd: ", 0), 0u) << finished.err;
    EXPECT_NE(finished.err.find(" (usage): see 'hamlynd --help'\n"), std::string::npos) << finished.err;
  }
  EXPECT_EQ(test::Command({test::program("hamlynd"), "--help"}, {}).wait().status, 0);
}

TEST(NodeConfig, AConfigThatCannotBeIsRefusedWithItsPlace) {
  const Folder folder;
  test::write_file(folder.file("config"), "[quotas]\nlinks = 4\nlinsk = 5\n");
  test::Command daemon{
      {test::program("hamlynd"), "--socket", folder.file("s"), "--config", folder.file("config")}, {}};
  const auto finished = daemon.wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.err, "hamlynd: " + folder.file("config") + ":3: quotas.linsk: unknown key\n");
}

TEST(NodeConfig, AClusterThatStrangersCouldReachIsNotStarted) {
  const Folder folder;
  test::write_file(folder.file("secret"), test::noise(32));
  test::write_file(folder.file("short"), test::noise(31));
  ::chmod(folder.file("secret").c_str(), 0640);
  ::chmod(folder.file("short").c_str(), 0600);
  const auto refusal = [&](const std::string& cluster, const std::vector<std::string>& more = {}) {
    test::write_file(folder.file("config"), cluster);
    std::vector<std::string> words{test::program("hamlynd"), "--socket", folder.file("s"), "--config",
                                   folder.file("config")};
    words.insert(words.end(), more.begin(), more.end());
    test::Command daemon{words, {}};
    const auto finished = daemon.wait();
    EXPECT_EQ(finished.status, 1) << cluster;
    return finished.err;
  };
  const std::string id = "[cluster]\nid = 1\n";
  EXPECT_NE(refusal(id + "listen = \"0.0.0.0\"\n").find("can be reached by strangers"), std::string::npos);
  EXPECT_NE(refusal(id + "join = \"192.0.2.1\"\n").find("is another host"), std::string::npos);
  EXPECT_NE(refusal(id, {"--join", "192.0.2.1"}).find("is another host"), std::string::npos);
  EXPECT_NE(refusal(id + "secret = \"" + folder.file("secret") + "\"\n").find("of mode 0600"),
            std::string::npos);
  EXPECT_NE(refusal(id + "secret = \"" + folder.file("short") + "\"\n").find("32 to 4096 bytes"),
            std::string::npos);
  EXPECT_NE(refusal(id + "secret = \"" + folder.file("none") + "\"\n").find("secret"), std::string::npos);
  for (const std::string port : {"0", "65536", "72536", "-1", " 7471", "7471x", "http", ""}) {
    EXPECT_NE(
        refusal(id + "listen = \"127.0.0.1:" + port + "\"\n").find("has port " + port + ", which is none"),
        std::string::npos)
        << port;
  }
  for (const std::string nobodys :
       {"224.0.0.5", "ff02::1", "255.255.255.255", "fe80::1", "[fe80::1%lo]:7471"}) {
    EXPECT_NE(refusal(id + "listen = \"" + nobodys + "\"\n").find("no node is reached at \"" + nobodys),
              std::string::npos)
        << nobodys;
  }
  EXPECT_NE(refusal(id + "listen = \"[::]\"\njoin = \"ff02::1\"\nsecret = \"" + folder.file("short") + "\"\n")
                .find("no node is reached at \"ff02::1"),
            std::string::npos);
  EXPECT_NE(refusal("", {"--join", "127.0.0.1"}).find("[cluster] id"), std::string::npos);
  EXPECT_NE(refusal(id, {"--service"}).find("cluster.secret: a daemon that serves all users"),
            std::string::npos);
  ::chmod(folder.file("secret").c_str(), 0600);
  const std::string rxm =
      id + "engine = \"tcp;ofi_rxm\"\nsecret = \"" + folder.file("secret") + "\"\nlisten = ";
  EXPECT_NE(refusal(rxm + "\"0.0.0.0\"\n").find("cluster.engine: tcp;ofi_rxm trusts"), std::string::npos);
  EXPECT_NE(refusal(rxm + "\"127.0.0.1:7999\"\n", {"--service"}).find("not for a daemon that serves all"),
            std::string::npos);
}

}  // namespace
}  // namespace hamlyn
