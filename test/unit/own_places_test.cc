// Where a user's own daemon has its folder: where nobody else can be first, and where each of its programs
// looks.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "hamlyn/values/error.h"
#include "node/client/address.h"
#include "test/support/command.h"

namespace hamlyn::node {
namespace {

class OwnPlaces : public testing::Test {
 protected:
  // None of them is there yet.
  node::OwnPlaces places() const {
    return {.runtime = folder.file("runtime"),
            .run_user = folder.file("users"),
            .home = folder.file("home"),
            .host = "here",
            .last = folder.path()};
  }
  std::string user(const std::string& before) const { return before + std::to_string(::geteuid()); }
  void make(const std::string& path) const { std::filesystem::create_directories(path); }
  std::string runtime() const { return folder.file("runtime/hamlyn"); }
  std::string run_user() const { return user(folder.file("users/")) + "/hamlyn"; }
  std::string home() const { return folder.file("home/.cache/hamlyn-here"); }
  std::string last() const { return user(folder.file("hamlyn-")); }

  test::Folder folder;
};

TEST_F(OwnPlaces, AreThoseOfTheUserAndInTmpOnlyWithoutThem) {
  EXPECT_EQ(own_folders(places()), std::vector{last()});
  make(folder.file("home"));
  EXPECT_EQ(own_folders(places()), std::vector{home()});
  make(std::filesystem::path(run_user()).parent_path());
  EXPECT_EQ(own_folders(places()), (std::vector{run_user(), home()}));
  make(folder.file("runtime"));
  EXPECT_EQ(own_folders(places()), (std::vector{runtime(), run_user(), home()}));
  EXPECT_EQ(own_socket(places()), runtime() + "/node.sock");
}

TEST_F(OwnPlaces, AreEachNamedOnceAndFitASocket) {
  make(std::filesystem::path(run_user()).parent_path());
  node::OwnPlaces same = places();
  same.runtime = std::filesystem::path(run_user()).parent_path();
  EXPECT_EQ(own_folders(same), std::vector{run_user()}) << "the variable says what is looked at besides";
  node::OwnPlaces deep = places();
  deep.home = folder.file(std::string(100, 'd'));
  make(deep.home);
  EXPECT_EQ(own_folders(deep), std::vector{run_user()}) << "too long for a socket";
}

TEST_F(OwnPlaces, OfOthersAreNotOnes) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  for (const std::string& each : {folder.file("runtime"), user(folder.file("users/")), folder.file("home")}) {
    make(each);
    ASSERT_EQ(::chown(each.c_str(), 61001, 61001), 0);
  }
  EXPECT_EQ(own_folders(places()), std::vector{last()});
  make(last());
  ASSERT_EQ(::chown(last().c_str(), 61001, 61001), 0);
  try {
    own_socket(places());
    ADD_FAILURE() << "somebody else was first";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::node_not_trusted);
    EXPECT_NE(std::string(error.what()).find("XDG_RUNTIME_DIR"), std::string::npos) << error.what();
  }
}

// Whoever has not the variable finds the daemon of whoever has it, and the other way round.
TEST_F(OwnPlaces, LeadToTheDaemonThatListensInAnyOfThem) {
  make(folder.file("home"));
  const std::string socket = own_socket(places());
  EXPECT_EQ(socket, home() + "/node.sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, socket.c_str(), socket.size());
  const base::FileDescriptor daemon{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(::bind(daemon.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(daemon.get(), 4), 0);
  make(folder.file("runtime"));
  std::string path;
  EXPECT_TRUE(connect_to_own(places(), path));
  EXPECT_EQ(path, socket);
  node::OwnPlaces elsewhere = places();
  elsewhere.home.clear();
  EXPECT_FALSE(connect_to_own(elsewhere, path));
  EXPECT_EQ(path, runtime() + "/node.sock") << "where one is to be started";
}

}  // namespace
}  // namespace hamlyn::node
