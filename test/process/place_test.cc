// Daemons whose socket, lock or folder is removed while they live.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "node/client/client.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

ino_t inode_at(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

class Places : public testing::Test {
 protected:
  // By the daemon that has the first client's name, as another process of its user.
  void expect_attaches() const {
    std::optional<node::Client> other;
    ASSERT_TRUE(eventually([&] {  // a socket is there a moment before anybody listens
      try {
        other = node::Client::attach(at(socket_));
      } catch (const Error&) {
        return false;
      }
      return true;
    }));
    ASSERT_TRUE(other->lookup(1, "here", true));
    EXPECT_EQ(next_event(*other).kind, node::Event::Kind::found);
  }
  node::Client with_name() const {
    node::Client out = node::Client::attach(at(socket_));
    Ticket ticket;
    ticket.interface = out.interface_id();
    ticket.key = 42;
    ticket.bound = 64;
    EXPECT_TRUE(out.publish(1, "here", {}, ticket));
    EXPECT_EQ(next_event(out).kind, node::Event::Kind::published);
    return out;
  }

  Folder folder_;
  const std::string socket_ = folder_.file("inner/s");
  const bool made_ = std::filesystem::create_directory(folder_.file("inner"));
  Daemon daemon_{socket_};
};

TEST_F(Places, a_socket_that_was_removed_or_moved_is_made_again) {
  const node::Client first = with_name();
  for (const bool moved : {false, true}) {
    const ino_t before = inode_at(socket_);
    if (moved)
      std::filesystem::rename(socket_, folder_.file("elsewhere"));
    else
      std::filesystem::remove(socket_);
    ASSERT_TRUE(
        eventually([&] { return inode_at(socket_) != 0 && (!moved || inode_at(socket_) != before); }));
    expect_attaches();
  }
}

TEST_F(Places, a_lock_that_was_removed_is_taken_again) {
  const node::Client first = with_name();
  std::filesystem::remove(socket_ + ".lock");
  ASSERT_TRUE(eventually([&] {
    const base::FileDescriptor lock(::open((socket_ + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
  }));
  expect_attaches();
}

TEST_F(Places, a_daemon_whose_folder_was_moved_leaves) {
  std::filesystem::rename(folder_.file("inner"), folder_.file("moved"));
  const Finished finished = daemon_.command().wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_NE(finished.err.find("its folder has been removed or moved"), std::string::npos) << finished.err;
}

TEST_F(Places, a_daemon_leaves_what_somebody_has_put_in_the_place_of_its_socket) {
  write_file(folder_.file("mine"), "mine");
  std::filesystem::rename(folder_.file("mine"), socket_);
  const Finished finished = daemon_.command().wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(read_file(socket_), "mine");
}

}  // namespace
}  // namespace hamlyn::test
