#pragma once
// What the tests of the thesis's own interface share: processes of one user's, results, and how they wait.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hamlyn/c.h"
#include "hamlyn/rr.h"
#include "test/process/on_nodes.h"
#include "test/process/rr_fragments.h"

namespace hamlyn::test {

inline char* const kNowhere = reinterpret_cast<char*>(std::intptr_t{-1});

inline constexpr int kPatienceMs = static_cast<int>(std::chrono::milliseconds(kPatience).count());

struct RrWord {
  std::uint32_t value, nonce;
};

// Waits as the paper's programs do.
inline bool ready(int descriptor) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(descriptor, &set);
  timeval patience{.tv_sec = std::chrono::seconds(kPatience).count(), .tv_usec = 0};
  return ::select(descriptor + 1, &set, nullptr, nullptr, &patience) == 1;
}

inline rr_record record_from(int control) {
  rr_record record{};
  EXPECT_TRUE(ready(control));
  EXPECT_EQ(::read(control, &record, sizeof record), static_cast<ssize_t>(sizeof record));
  return record;
}

// An anonymous segment with its descriptor, for results.
struct Results {
  Results()
      : address(rr_export(nullptr, 65536, 0600, &segment, nullptr)), control(rr_getfd(segment, RR_CONTROL)) {
    EXPECT_NE(address, kNowhere) << hamlyn_last_error();
  }
  ~Results() { EXPECT_EQ(rr_cleanexport(segment), 0); }
  RrWord word(std::size_t at) const {
    RrWord out{};
    std::memcpy(&out, address + at, sizeof out);
    return out;
  }
  int segment = -1;
  char* address;
  int control;
};

#define EXPECT_ERRNO(call, error)     \
  do {                                \
    errno = 0;                        \
    EXPECT_EQ(call, -1);              \
    EXPECT_EQ(errno, error) << #call; \
  } while (false)
#define EXPECT_NO_ADDRESS(call, error) \
  do {                                 \
    errno = 0;                         \
    EXPECT_EQ(call, kNowhere);         \
    EXPECT_EQ(errno, error) << #call;  \
  } while (false)

class Rr : public testing::Test {
 protected:
  explicit Rr(mode_t mode = 0700) : folder_(mode) {}

  // A process of its own that finds the test's daemon where it looks for that of its user.
  Actor process(const std::function<int(Line&)>& part, int user = -1) {
    const std::string runtime = folder_.file("runtime" + std::to_string(user));
    const std::string hamlyn = runtime + "/hamlyn";
    ::mkdir(runtime.c_str(), 0700);
    ::mkdir(hamlyn.c_str(), 0700);
    if (::symlink(folder_.file("node").c_str(), (hamlyn + "/node.sock").c_str()) != 0 && errno != EEXIST)
      ADD_FAILURE() << "no symbolic link";
    if (user != -1) {
      const auto id = static_cast<uid_t>(user);
      EXPECT_EQ(::chown(runtime.c_str(), id, id) | ::chown(hamlyn.c_str(), id, id), 0);
    }
    return Actor(
        [=](Line& line) {
          ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
          const int status = part(line);
          return testing::Test::HasFailure() ? 1 : status;
        },
        user);
  }
  // The two of most tests: one exports, and waits; the other does something.
  void with_exporter(const std::function<void(Line&)>& exports, const std::function<void()>& imports) {
    Actor exporter = process([&](Line& line) {
      exports(line);
      return 0;
    });
    ASSERT_TRUE(exporter.line().take<char>());
    Actor importer = process([&](Line&) {
      imports();
      return 0;
    });
    EXPECT_EQ(importer.wait(), 0);
    exporter.line().put('.');
    EXPECT_EQ(exporter.wait(), 0);
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node"), {"--service"}};
};

inline constexpr std::uint32_t kWords[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
inline int write_ten(int segment, std::uint32_t offset) {
  return rwi(segment, offset, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

}  // namespace hamlyn::test
