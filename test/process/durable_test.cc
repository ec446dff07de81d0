// Durable areas between real processes: what was acknowledged is there after a crash, and what goes wrong
// with the disk has a name.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kBytes = 200000;

class Durable : public testing::Test {
 protected:
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }
  // What a new area on `file` is refused with; nothing: it is not.
  ErrorCode refusal(Interface& interface, const AreaFile& file, std::size_t bytes = kBytes) {
    try {
      MessageArea area(interface, file, bytes);
      return ErrorCode{};
    } catch (const Error& error) {
      return error.code();
    }
  }
  // In a process of its own, which has an interface.
  void alone(const std::function<int(Interface&)>& part) {
    Actor one([&](Line&) {
      Interface interface(options());
      return part(interface);
    });
    EXPECT_EQ(one.wait(), 0);
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
  const std::string file_ = folder_.file("area");
};

std::byte content(std::size_t at) { return static_cast<std::byte>(at * 31 + (at >> 11)); }

int send(Terminus& terminus, const Ticket& ticket, std::size_t bytes, Status expected) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = content(i);
  SendHandle handle;
  if (terminus.send(ticket, data, {.acknowledged = true}, &handle) != Status::pending) return 1;
  return terminus.wait(handle, kPatience) == expected ? 0 : 2;
}

TEST_F(Durable, WhatWasAcknowledgedIsThereAfterACrash) {
  Actor to([&](Line& line) {
    Interface interface(options());
    MessageArea area(interface, {.path = file_}, kBytes);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {.entries = 1});
    line.put(slot.ticket(0));
    while (true) ::pause();  // it takes no part in what follows, and is killed
    return 0;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  Actor from([&](Line& line) {
    Interface interface(options());
    Terminus terminus(interface);
    if (const int wrong = send(terminus, *ticket, 150000, Status::ok)) return wrong;
    line.put('.');
    return line.take<char>() ? 0 : 3;
  });
  ASSERT_TRUE(from.line().take<char>());
  to.signal(SIGKILL);
  EXPECT_EQ(to.wait(), 128 + SIGKILL);
  from.line().put('.');
  EXPECT_EQ(from.wait(), 0);
  alone([&](Interface& interface) {
    MessageArea area(interface, {.path = file_}, kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) {
      if (area.bytes()[i] != (i < 150000 ? content(i) : std::byte{0})) return 1;
    }
    return 0;
  });
}

TEST_F(Durable, AProcessMakesWhatItHasWrittenItselfSafe) {
  alone([&](Interface& interface) {
    MessageArea area(interface, {.path = file_}, kBytes);
    if (!area.durable() || area.sharing() != Sharing::guarded) return 1;
    std::memset(area.bytes(4096, 5000).data(), 'a', 5000);
    std::memset(area.bytes(100000, 10).data(), 'b', 10);
    if (area.sync(4096, 5000, kPatience) != Status::ok) return 2;
    if (area.sync(0, kBytes + 1, kPatience) != Status::out_of_bounds) return 3;
    if (area.sync(kBytes, 1, kPatience) != Status::out_of_bounds) return 4;
    MessageArea other(interface, 4096);
    return other.sync(0, 1, kPatience) == Status::invalid && !other.durable() ? 0 : 5;
  });
  const std::string written = read_file(file_);
  ASSERT_EQ(written.size(), kBytes);
  EXPECT_EQ(written.substr(4095, 5002), '\0' + std::string(5000, 'a') + '\0');
  EXPECT_EQ(written[100000], '\0') << "nobody has asked for these";
}

TEST_F(Durable, ADiskThatFailsIsToldToWhoeverAsked) {
  Actor to([&](Line& line) {
    Interface interface(options());
    MessageArea area(interface, {.path = file_}, kBytes);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {.base = 100000, .entries = 2});
    // From here on the kernel refuses each write to that part of the file; the signal about it ends nobody.
    const rlimit few{65536, 65536};
    if (::setrlimit(RLIMIT_FSIZE, &few) != 0) return 1;
    for (std::uint32_t entry = 0; entry < 2; ++entry) line.put(slot.ticket(entry));
    Notification arrival;
    for (int i = 0; i < 2; ++i) {
      if (queue.receive(arrival, kPatience) != Status::ok || arrival.length != 5000) return 2;
    }
    if (slot.bytes(arrival)[4999] != content(4999)) return 3;
    if (area.sync(0, 1, kPatience) != Status::not_durable) return 4;
    return line.take<char>() ? 0 : 5;
  });
  std::vector<Ticket> tickets;
  for (int i = 0; i < 2; ++i) {
    const auto ticket = to.line().take<Ticket>();
    ASSERT_TRUE(ticket);
    tickets.push_back(*ticket);
  }
  Actor from([&](Line&) {
    Interface interface(options());
    Terminus terminus(interface);
    for (const Ticket& ticket : tickets) {
      if (const int wrong = send(terminus, ticket, 5000, Status::not_durable)) return wrong;
    }
    return 0;
  });
  EXPECT_EQ(from.wait(), 0);
  to.line().put('.');
  EXPECT_EQ(to.wait(), 0);
}

TEST_F(Durable, ALimitOnTheLengthOfFilesIsAnErrorAndNoSignal) {
  alone([&](Interface& interface) {
    const rlimit few{kBytes - 1, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &few) != 0) return 1;
    if (refusal(interface, {.path = file_}) != ErrorCode::disk_full) return 2;
    if (::access(file_.c_str(), F_OK) == 0) return 3;
    return refusal(interface, {.path = file_}, kBytes - 1) == ErrorCode{} ? 0 : 4;
  });
}

TEST_F(Durable, AFullDiskIsAnErrorBeforeTheAreaExists) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to mount a small disk";
  const std::string disk = folder_.file("disk");
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "no tmpfs can be mounted here: " << std::strerror(errno);
  alone([&](Interface& interface) {
    write_file(disk + "/old", "as it was");
    for (const std::string& path : {disk + "/new", disk + "/old"}) {
      if (refusal(interface, {.path = path}, 2 << 20) != ErrorCode::disk_full) return 1;
    }
    if (::access((disk + "/new").c_str(), F_OK) == 0) return 2;
    if (read_file(disk + "/old") != "as it was") return 3;
    // What was set aside is there, however full it gets.
    MessageArea area(interface, {.path = disk + "/new"}, 512 << 10);
    const base::FileDescriptor filler(
        ::open((disk + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string block(65536, 'x');
    for (int i = 0; i < 64; ++i) {
      if (::write(filler.get(), block.data(), block.size()) <= 0) break;
    }
    std::memset(area.bytes().data(), 'y', area.bytes().size());
    return area.sync(0, area.bytes().size(), kPatience) == Status::ok ? 0 : 4;
  });
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(Durable, FilesThatCannotBeAreRefused) {
  alone([&](Interface& interface) {
    if (refusal(interface, {}) != ErrorCode::invalid_argument) return 1;
    if (refusal(interface, {.path = file_, .descriptor = 0}) != ErrorCode::invalid_argument) return 2;
    if (refusal(interface, {.path = file_}, 0) != ErrorCode::invalid_argument) return 3;
    if (refusal(interface, {.path = folder_.path()}) != ErrorCode::system) return 4;
    if (refusal(interface, {.path = folder_.file("no/such/folder")}) != ErrorCode::system) return 5;
    if (refusal(interface, {.descriptor = 1000}) != ErrorCode::system) return 6;
    const std::string pipe = folder_.file("pipe");
    if (::mkfifo(pipe.c_str(), 0600) != 0) return 7;
    if (refusal(interface, {.path = pipe}) != ErrorCode::invalid_argument) return 8;
    write_file(file_, "content");
    const base::FileDescriptor reads(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    const base::FileDescriptor appends(::open(file_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    for (const int descriptor : {reads.get(), appends.get()}) {
      if (refusal(interface, {.descriptor = descriptor}) != ErrorCode::invalid_argument) return 9;
    }
    if (read_file(file_) != "content") return 10;
    MessageArea area(interface, {.path = file_}, kBytes);
    if (std::memcmp(area.bytes().data(), "content", 7) != 0) return 11;
    return refusal(interface, {.path = file_}) == ErrorCode::not_permitted ? 0 : 12;
  });
}

TEST_F(Durable, ADescriptorStaysItsOwners) {
  alone([&](Interface& interface) {
    const base::FileDescriptor file(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    {
      MessageArea area(interface, {.descriptor = file.get()}, kBytes);
      area.bytes()[7] = std::byte{'x'};
      if (area.sync(7, 1, kPatience) != Status::ok) return 1;
    }
    char byte = 0;
    return ::pread(file.get(), &byte, 1, 7) == 1 && byte == 'x' ? 0 : 2;
  });
}

TEST_F(Durable, NobodyMapsOne) {
  Actor to([&](Line& line) {
    Interface interface(options());
    MessageArea area(interface, {.path = file_}, kBytes);
    NotificationQueue queue(interface);
    Slot slot(area, queue, {.entries = 1});
    line.put(slot.ticket(0));
    return line.take<char>() ? 0 : 1;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  alone([&](Interface& interface) {
    try {
      MappedSlot mapped(interface, *ticket, kPatience);
      return 1;
    } catch (const Error& error) {
      return error.code() == ErrorCode::not_permitted ? 0 : 2;
    }
  });
  to.line().put('.');
  EXPECT_EQ(to.wait(), 0);
}

TEST_F(Durable, AForkedChildLeavesItAlone) {
  alone([&](Interface& interface) {
    auto area = std::make_unique<MessageArea>(interface, AreaFile{.path = file_}, kBytes);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool refused = area->sync(0, 1, kPatience) == Status::forked;
      area.reset();
      ::_exit(refused ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
    return area->sync(0, kBytes, kPatience) == Status::ok ? 0 : 2;
  });
}

}  // namespace
}  // namespace hamlyn::test
