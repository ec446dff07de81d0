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
#include "hamlyn/c/rr.h"
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

class Rr : public OnNodes {
 protected:
  enum class Side { exporter, importer };  // of one node, or of two

  virtual std::string socket(Side side) const {
    return side == Side::exporter ? options().node : other_options().node;
  }
  // A process of its own that finds the daemon of its side where it looks for that of its user.
  Actor process(Side side, const std::function<int(Line&)>& part, int user = -1) {
    const std::string runtime =
        folder_.file("runtime" + std::to_string(user) + (side == Side::exporter ? "e" : "i"));
    const std::string hamlyn = runtime + "/hamlyn";
    ::mkdir(runtime.c_str(), 0700);
    ::mkdir(hamlyn.c_str(), 0700);
    if (::symlink(socket(side).c_str(), (hamlyn + "/node.sock").c_str()) != 0 && errno != EEXIST)
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
  // The two of most tests take turns, the exporter first: who puts a mark lets the other go on, and takes one
  // to wait for its own next turn. The last turn is the exporter's.
  void take_turns(const std::function<void(Line&)>& exports, const std::function<void(Line&)>& imports) {
    const auto part = [](const std::function<void(Line&)>& work) {
      return [&work](Line& line) {
        work(line);
        return 0;
      };
    };
    Actor exporter = process(Side::exporter, part(exports));
    ASSERT_TRUE(exporter.line().take<char>());
    Actor importer = process(Side::importer, part(imports));
    while (importer.line().take<char>()) {
      exporter.line().put('.');
      if (!exporter.line().take<char>()) break;
      importer.line().put('.');
    }
    EXPECT_EQ(importer.wait(), 0);
    exporter.line().put('.');
    EXPECT_EQ(exporter.wait(), 0);
  }
  // One exports, and waits; the other does something.
  void with_exporter(const std::function<void(Line&)>& exports, const std::function<void()>& imports) {
    take_turns(exports, [&](Line&) { imports(); });
  }
};

inline constexpr std::uint32_t kWords[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
inline int write_ten(int segment, std::uint32_t offset) {
  return rwi(segment, offset, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

}  // namespace hamlyn::test
