// A served tree that is mounted: as a directory of the kernel's it does what a local one does, also when it
// is mounted twice, and while its server is killed.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "hamlyn/files.h"
#include "test/support/actor.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {
namespace {

namespace fs = std::filesystem;

class Mounted : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can mount for all users";
    if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "SKIPPED: there is no /dev/fuse here";
    for (const char* const each : {"tree", "one", "two", "local"}) {
      fs::create_directory(folder_.file(each));
      fs::permissions(folder_.file(each), fs::perms{0777});
    }
    umask(0);
    start();
  }
  void TearDown() override {
    for (const char* const each : {"one", "two"}) umount2(folder_.file(each).c_str(), MNT_DETACH);
  }
  void start() {
    server_.emplace([this](Line& line) {
      Interface interface(nodes_->at(1));
      files::Server server(interface, folder_.file("tree"), "tree",
                           {.state = folder_.file("state"), .trusted_network = true});
      line.put(true);
      return server.run() == Status::ok ? 0 : 1;
    });
    ASSERT_TRUE(server_->line().take<bool>());
  }
  // Mounts it on node 1 or 2.
  Finished mount(const std::string& at, int node, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {program("hamlyn-mount"), "tree", folder_.file(at), "--node",
                                      nodes_->at(node).node};
    words.insert(words.end(), more.begin(), more.end());
    return Command(words, {}).wait();
  }
  void mount_well(const std::string& at, int node, std::vector<std::string> more = {}) {
    const Finished finished = mount(at, node, std::move(more));
    ASSERT_EQ(finished.status, 0) << finished.err;
  }

  std::string path(const std::string& mount, const std::string& name) const {
    return folder_.file(mount) + "/" + name;
  }

  const Folder folder_{0755};
  const std::unique_ptr<TwoNodes> nodes_ = std::make_unique<TwoNodes>(std::string{}, true);
  std::optional<Actor> server_;
};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}
void write_all(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// --- a random program, on a mount and on a local directory

// The answer of an operation: an errno, and all that can be seen afterwards.
struct Seen {
  int error = 0;
  std::string text;

  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << std::strerror(seen.error) << " " << seen.text.substr(0, 200);
  }
};

Seen seen(long result, std::string text = {}) { return {result < 0 ? errno : 0, std::move(text)}; }

Seen look(const std::string& path) {
  struct stat stat {};
  if (lstat(path.c_str(), &stat) != 0) return seen(-1);
  std::ostringstream out;
  out << std::oct << stat.st_mode << std::dec << " " << stat.st_uid << ":" << stat.st_gid;
  if (!S_ISDIR(stat.st_mode)) out << " " << stat.st_size << " bytes, " << stat.st_nlink << " names";
  return {0, out.str()};
}

Seen list(const std::string& path) {
  DIR* const open = opendir(path.c_str());
  if (open == nullptr) return seen(-1);
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(open)) names.emplace_back(entry->d_name);
  closedir(open);
  std::ranges::sort(names);
  std::string out;
  for (const std::string& each : names) out += each + " ";
  return {0, out};
}

// Opens, does something, closes.
template <class What>
Seen with_file(const std::string& path, int flags, mode_t mode, What what) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, mode);
  if (file < 0) return seen(-1);
  const Seen out = what(file);
  close(file);
  return out;
}

Seen one_step(const std::string& root, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const auto name = [&] {
    std::string out = root;
    for (std::uint32_t depth = below(3); depth != 0; --depth) out += "/d" + std::to_string(below(2));
    return out + (below(8) == 0 ? "/d" : "/n") + std::to_string(below(4));
  };
  const std::string one = name(), other = name();
  const std::string data(below(70'000), static_cast<char>('a' + below(26)));
  switch (below(16)) {
    case 0:
      return seen(mkdir(one.c_str(), 0700 + below(2) * 077));
    case 1:
      return seen(unlink(one.c_str()));
    case 2:
      return seen(rmdir(one.c_str()));
    case 3:
      return seen(rename(one.c_str(), other.c_str()));
    case 4:
      return seen(renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), 1 + below(2)));
    case 5:
      return seen(::link(one.c_str(), other.c_str()));
    case 6:
      return seen(symlink("n1", one.c_str()));
    case 7:
      return seen(chmod(one.c_str(), 0600 + below(0200)));
    case 8:
      return seen(truncate(one.c_str(), static_cast<off_t>(below(200'000))));
    case 9: {
      const int flags =
          O_WRONLY | O_CREAT | (below(2) ? O_APPEND : 0) | (below(3) ? 0 : O_TRUNC) | (below(4) ? 0 : O_EXCL);
      return with_file(one, flags, 0640, [&](int file) {
        std::size_t done = 0;
        while (done != data.size()) {
          const ssize_t put = write(file, data.data() + done, data.size() - done);
          if (put <= 0) break;
          done += static_cast<std::size_t>(put);
        }
        return Seen{0, std::to_string(done)};
      });
    }
    case 10: {
      const auto offset = static_cast<off_t>(below(150'000));
      return with_file(one, O_WRONLY, 0, [&](int file) {
        return seen(
            0, std::to_string(pwrite(file, data.data(), std::min<std::size_t>(data.size(), 30'000), offset)));
      });
    }
    case 11: {
      const auto offset = static_cast<off_t>(below(150'000));
      return with_file(one, O_RDONLY, 0, [&](int file) {
        std::string text(data.size(), '\0');
        const ssize_t got = pread(file, text.data(), text.size(), offset);
        if (got < 0) return seen(-1);
        text.resize(static_cast<std::size_t>(got));
        return Seen{0, text};
      });
    }
    case 12:
      return list(one.substr(0, one.rfind('/')));
    case 13: {
      std::array<char, 100> target{};
      const ssize_t length = readlink(one.c_str(), target.data(), target.size());
      return seen(length, std::string(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))));
    }
    case 14: {
      const timespec times[2] = {{static_cast<time_t>(below(2'000'000'000)), 5},
                                 {static_cast<time_t>(below(2'000'000'000)), 123'456'789}};
      const int done = utimensat(AT_FDCWD, one.c_str(), times, AT_SYMLINK_NOFOLLOW);
      struct stat stat {};
      if (done != 0 || lstat(one.c_str(), &stat) != 0) return seen(-1);
      return {0, std::to_string(stat.st_mtim.tv_sec) + "." + std::to_string(stat.st_mtim.tv_nsec)};
    }
    default:
      return look(one);
  }
}

TEST_F(Mounted, is_what_a_local_directory_is) {
  mount_well("one", 1);
  mount_well("two", 2);
  std::mt19937_64 random{std::random_device{}()};
  for (int step = 0; step != 600 && !HasFailure(); ++step) {
    const std::uint64_t seed = random();
    const Seen local = one_step(folder_.file("local"), seed);
    EXPECT_EQ(one_step(folder_.file(step % 2 == 0 ? "one" : "two"), seed), local) << "seed " << seed;
  }
}

TEST_F(Mounted, loses_nothing_that_two_append) {
  mount_well("one", 1);
  mount_well("two", 2);
  constexpr int kLines = 200;
  const auto append = [&](const char* mount, char letter) {
    return Actor([this, mount, letter](Line&) {
      const int file = open(path(mount, "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      const std::string line = std::string(99, letter) + "\n";
      for (int i = 0; i != kLines; ++i)
        if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
      return 0;
    });
  };
  Actor one = append("one", '1'), two = append("two", '2');
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);
  std::istringstream all(read_all(path("two", "log")));
  std::map<std::string, int> lines;
  for (std::string line; std::getline(all, line);) ++lines[line];
  EXPECT_EQ(lines,
            (std::map<std::string, int>{{std::string(99, '1'), kLines}, {std::string(99, '2'), kLines}}));
}

// --- users

// Runs `act` as a user that has no group but its own.
int as_user(uid_t user, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(user) != 0 || setuid(user) != 0) _exit(255);
    _exit(act() < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(Mounted, gives_each_user_its_own_rights) {
  mount_well("one", 1);
  write_all(path("one", "secret"), "x");
  ASSERT_EQ(chmod(path("one", "secret").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(path("one", "closed").c_str(), 0700), 0);
  ASSERT_EQ(mkdir(path("one", "sticky").c_str(), 01777), 0);
  write_all(path("one", "sticky/roots"), "x");
  const auto opens = [&](const char* name, int flags) {
    return as_user(4711, [&] { return open(path("one", name).c_str(), flags, 0644); });
  };
  EXPECT_EQ(opens("secret", O_RDONLY), EACCES);
  EXPECT_EQ(opens("closed/none", O_RDONLY), EACCES);
  EXPECT_EQ(opens("sticky/own", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(as_user(4711, [&] { return unlink(path("one", "sticky/roots").c_str()); }), EPERM);
  EXPECT_EQ(as_user(4712, [&] { return chmod(path("one", "sticky/own").c_str(), 0666); }), EPERM);
  EXPECT_EQ(as_user(4711, [&] { return chmod(path("one", "sticky/own").c_str(), 0600); }), 0);
  EXPECT_EQ(look(path("tree", "sticky/own")).text.substr(0, 11), "100600 4711");
  // A descriptor is used with the rights of who has opened it.
  const int roots = open(path("one", "secret").c_str(), O_RDWR);
  char byte = 0;
  EXPECT_EQ(
      as_user(4711, [&] { return pread(roots, &byte, 1, 0) == 1 && pwrite(roots, "y", 1, 0) == 1 ? 0 : -1; }),
      0);
  close(roots);
}

// --- what ends

TEST_F(Mounted, goes_on_when_the_server_was_killed_and_started_again) {
  mount_well("one", 2);
  write_all(path("one", "file"), "text");
  const int file = open(path("one", "file").c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  server_.reset();
  Actor reader([&](Line&) {
    char text[4];
    return pread(file, text, 4, 0) == 4 && std::string(text, 4) == "text" ? 0 : 1;  // waits for a server
  });
  start();
  EXPECT_EQ(reader.wait(), 0);
  EXPECT_EQ(pwrite(file, "more", 4, 4), 4);
  EXPECT_EQ(read_all(path("one", "file")), "textmore");
  close(file);
}

TEST_F(Mounted, softly_tells_of_a_server_that_has_gone) {
  mount_well("one", 1, {"--soft", "0.2"});
  write_all(path("one", "file"), "text");
  server_.reset();
  EXPECT_EQ(look(path("one", "file")).error, EHOSTDOWN);
}

TEST_F(Mounted, whose_clerk_was_killed_says_so_until_it_is_mounted_again) {
  mount_well("one", 1);
  write_all(path("one", "file"), "text");
  Command clerk(
      {program("hamlyn-mount"), "tree", folder_.file("two"), "--node", nodes_->at(1).node, "--foreground"},
      {});
  ASSERT_TRUE(eventually([&] { return read_all(path("two", "file")) == "text"; }));
  clerk.signal(SIGKILL);
  clerk.wait();
  EXPECT_EQ(look(path("two", "file")).error, ENOTCONN);
  EXPECT_EQ(read_all(path("one", "file")), "text") << "others go on";
  EXPECT_EQ(umount2(folder_.file("two").c_str(), MNT_DETACH), 0);
  mount_well("two", 1);
  EXPECT_EQ(read_all(path("two", "file")), "text");
}

// --- what is refused

TEST_F(Mounted, refuses_what_it_cannot_do) {
  mount_well("one", 1);
  write_all(path("one", "file"), "text");
  const int file = open(path("one", "file").c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  EXPECT_EQ(seen(flock(file, LOCK_EX)).error, EOPNOTSUPP);
  struct flock range {};
  range.l_type = F_WRLCK;
  EXPECT_EQ(seen(fcntl(file, F_SETLK, &range)).error, EOPNOTSUPP);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0), MAP_FAILED);
  void* const own = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(own, MAP_FAILED);
  EXPECT_EQ(std::string(static_cast<const char*>(own), 4), "text");
  munmap(own, 4096);
  EXPECT_EQ(seen(setxattr(path("one", "file").c_str(), "user.x", "y", 1, 0)).error, EOPNOTSUPP);
  EXPECT_EQ(seen(fallocate(file, 0, 0, 100)).error, EOPNOTSUPP);
  EXPECT_EQ(seen(mkfifo(path("one", "pipe").c_str(), 0600)).error, EOPNOTSUPP);
  close(file);
  const int gone = open(path("one", "file").c_str(), O_RDWR);
  EXPECT_EQ(unlink(path("one", "file").c_str()), 0);
  char byte = 0;
  EXPECT_EQ(seen(pread(gone, &byte, 1, 0)).error, ESTALE);
  close(gone);
}

TEST_F(Mounted, changes_nothing_when_it_is_read_only) {
  write_all(path("tree", "file"), "text");
  mount_well("one", 1, {"--read-only"});
  EXPECT_EQ(read_all(path("one", "file")), "text");
  EXPECT_EQ(seen(open(path("one", "new").c_str(), O_WRONLY | O_CREAT, 0600)).error, EROFS);
  EXPECT_EQ(seen(unlink(path("one", "file").c_str())).error, EROFS);
}

TEST_F(Mounted, is_not_mounted_where_it_cannot_be) {
  const auto refused = [&](const Finished& finished, int status, const char* part) {
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  };
  refused(mount("none", 1), 1, "is no directory to mount at (invalid_argument)");
  refused(mount("one", 1, {"-o", "rw,nosense"}), 2, "-o nosense: there is no such option (usage)");
  refused(mount("one", 1, {"-o", "soft=nan"}), 2, "(usage)");
  mount_well("one", 1, {"-o", "noexec,nofail,x-systemd.automount"});
  refused(mount("one", 1), 1, "is a mount point in use (invalid_argument)");
  Command nobody({program("hamlyn-mount"), "nobody", folder_.file("two"), "--node", nodes_->at(1).node,
                  "--timeout", "0.1"},
                 {});
  refused(nobody.wait(), 3, "nobody serves 'nobody' in the time given (timed_out)");
  refused(Command({program("hamlyn-mount")}, {}).wait(), 2, "(usage)");
}

}  // namespace
}  // namespace hamlyn::test
