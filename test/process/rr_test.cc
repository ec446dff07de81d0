// The thesis's own interface (hamlyn/rr.h): its code fragments between processes, what differs, what is
// refused.
#include "hamlyn/rr.h"

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
#include <set>

#include "c/rr_table.h"
#include "hamlyn/c.h"
#include "test/process/on_nodes.h"
#include "test/process/rr_fragments.h"

namespace hamlyn::test {
namespace {

char* const kNowhere = reinterpret_cast<char*>(std::intptr_t{-1});

constexpr int kPatienceMs = static_cast<int>(std::chrono::milliseconds(kPatience).count());

struct RrWord {
  std::uint32_t value, nonce;
};

// Waits as the paper's programs do.
bool ready(int descriptor) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(descriptor, &set);
  timeval patience{.tv_sec = std::chrono::seconds(kPatience).count(), .tv_usec = 0};
  return ::select(descriptor + 1, &set, nullptr, nullptr, &patience) == 1;
}

rr_record record_from(int control) {
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

constexpr std::uint32_t kWords[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
int write_ten(int segment, std::uint32_t offset) {
  return rwi(segment, offset, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

TEST_F(Rr, the_papers_fragments_run) {
  for (const auto fragment : {fragment_export, fragment_export_heap}) {
    with_exporter(
        [=](Line& line) {
          char* address = nullptr;
          int control = -1, data = -1;
          const int segment = fragment(&address);
          std::memset(address, 0, 8192);  // malloc gives what was there
          fragment_descriptors(segment, &control, &data);
          line.put('e');
          const rr_record record = record_from(control);
          EXPECT_EQ(record.kind, static_cast<std::uint32_t>(RR_WRITTEN));
          EXPECT_EQ(record.offset, 80u);
          EXPECT_EQ(record.length, 40u);
          EXPECT_EQ(std::memcmp(address + 80, kWords, sizeof kWords), 0);
          line.take<char>();
          EXPECT_EQ(std::memcmp(address + 120, kWords, sizeof kWords), 0) << "it has landed by now";
          EXPECT_EQ(address[4096], 'b');
          rr_record more;
          EXPECT_EQ(::read(control, &more, sizeof more), -1) << "only one write had the notify bit";
          EXPECT_EQ(rr_cleanexport(segment), 0);
        },
        [] {
          const int segment = fragment_import();
          Results results;
          EXPECT_EQ(write_ten(segment, 80 | RR_NOTIFY), 0);
          EXPECT_EQ(write_ten(segment, 120), 0);
          const std::vector<char> block(4096, 'b');
          EXPECT_EQ(rwblk(segment, 4096, 4096, block.data()), 0);
          EXPECT_EQ(rri(segment, results.segment, 80, 8 | RR_NOTIFY), 0);
          rr_record record = record_from(results.control);
          EXPECT_EQ(record.kind, static_cast<std::uint32_t>(RR_READ));
          EXPECT_EQ(record.offset, 8u);
          EXPECT_EQ(record.length, 40u);
          EXPECT_EQ(record.count, 1u);
          EXPECT_EQ(std::memcmp(results.address + 8, kWords, sizeof kWords), 0);
          EXPECT_EQ(rrblk(segment, results.segment, 4096, 4096 | RR_NOTIFY, 4096), 0);
          record = record_from(results.control);
          EXPECT_EQ(record.length, 4096u);
          EXPECT_EQ(std::memcmp(results.address + 4096, block.data(), block.size()), 0);
          const cas_place place{segment, 0, results.segment, 64, results.address};
          EXPECT_TRUE(fragment_cas(&place, 0, 5, 1));
          EXPECT_FALSE(fragment_cas(&place, 0, 6, 1));
          EXPECT_TRUE(fragment_cas(&place, 5, 0, 2));
          EXPECT_EQ(rr_cleanimport(segment), 0);
        });
  }
}

// Processes that hold a lock by CAS count without another lock; so does the exporter, on its own segment.
TEST_F(Rr, a_lock_by_cas_is_held_by_one) {
  constexpr unsigned kRounds = 30;
  const auto count_to = [](int segment, volatile char* counter, unsigned who, const Results& results) {
    const cas_place place{segment, 0, results.segment, 0, results.address};
    for (unsigned done = 0; done < kRounds;) {
      if (!fragment_cas(&place, 0, who, who)) continue;
      if (counter != nullptr) {
        *counter = static_cast<char>(*counter + 1);
      } else {
        EXPECT_EQ(rrblk(segment, results.segment, 64, 64 | RR_NOTIFY, 1), 0);
        record_from(results.control);
        const char next = static_cast<char>(results.address[64] + 1);
        EXPECT_EQ(rwblk(segment, 64, 1, &next), 0);
      }
      EXPECT_TRUE(fragment_cas(&place, who, 0, who)) << "somebody else took it";
      ++done;
    }
  };
  Actor exporter = process([&](Line& line) {
    char* address = nullptr;
    const int segment = fragment_export(&address);
    line.put('e');
    Results results;
    count_to(segment, address + 64, 1, results);
    line.take<char>();
    EXPECT_EQ(address[64], static_cast<char>(3 * kRounds));
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  const auto importer = [&](unsigned who) {
    return process([&, who](Line&) {
      Results results;
      const int segment = fragment_import();
      count_to(segment, nullptr, who, results);
      return rr_cleanimport(segment);
    });
  };
  Actor one = importer(2), other = importer(3);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(other.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(Rr, cas_says_who_was_last) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        fragment_export(&address);
        line.put('e');
        line.take<char>();
      },
      [] {
        const int segment = fragment_import();
        Results results;
        const auto swap = [&](std::uint32_t expected, std::uint32_t desired, std::uint32_t nonce) {
          EXPECT_EQ(rrcsi(segment, results.segment, 8, 16, expected, desired, nonce), 0);
          return results.word(16);
        };
        const auto is = [](RrWord word, std::uint32_t value, std::uint32_t nonce) {
          EXPECT_EQ(word.value, value);
          EXPECT_EQ(word.nonce, nonce);
        };
        is(swap(0, 7, 100), 0, 100);
        is(swap(0, 8, 101), 7, 100);
        is(swap(0, 7, 100), 7, 100);  // as one whose reply was lost sees it: the new value, and its own nonce
        is(swap(7, 9, 102), 7, 102);
        is(swap(9, 9, 103), 9, 103);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

TEST_F(Rr, writes_wait_for_what_is_not_pinned_or_protected) {
  Actor exporter = process([](Line& line) {
    char* address = nullptr;
    int control = -1, data = -1;
    const int segment = fragment_export(&address);
    fragment_descriptors(segment, &control, &data);
    EXPECT_EQ(rr_remap(segment, address + 5000, 1, nullptr, 0), address);
    line.put('e');
    char room[256];
    rr_held held;
    EXPECT_TRUE(ready(data));
    EXPECT_EQ(::read(data, room, sizeof room), static_cast<ssize_t>(sizeof held) + 40);
    std::memcpy(&held, room, sizeof held);
    EXPECT_EQ(held.offset, 4096u);
    EXPECT_EQ(held.notify, 1);
    EXPECT_EQ(std::memcmp(room + sizeof held, kWords, 40), 0);
    EXPECT_EQ(address[4096], 0);
    EXPECT_EQ(record_from(control).kind, static_cast<std::uint32_t>(RR_WAITS));
    EXPECT_EQ(rr_remap(segment, address, 4096, address + 4096, 4096), address);
    line.put('p');
    line.take<char>();
    EXPECT_EQ(address[4096], 1);
    EXPECT_EQ(address[0], 0);
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer = process([](Line& line) {
    const int segment = fragment_import();
    Results results;
    EXPECT_EQ(rri(segment, results.segment, 4096, 0 | RR_NOTIFY), 0);
    EXPECT_EQ(record_from(results.control).kind, static_cast<std::uint32_t>(RR_READ_FAILED));
    EXPECT_EQ(write_ten(segment, 4096 | RR_NOTIFY), 0);
    line.put('w');
    line.take<char>();
    EXPECT_EQ(write_ten(segment, 4096), 0);
    EXPECT_EQ(write_ten(segment, 0), 0);
    EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), EAGAIN);
    EXPECT_EQ(rr_cleanimport(segment), 0);
    return 0;
  });
  ASSERT_TRUE(importer.line().take<char>());
  ASSERT_TRUE(exporter.line().take<char>());
  importer.line().put('p');
  EXPECT_EQ(importer.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(Rr, mprot_holds_what_comes) {
  Actor exporter = process([](Line& line) {
    char* address = nullptr;
    const int segment = fragment_export(&address);
    EXPECT_EQ(mprot(segment), 0);
    line.put('e');
    line.take<char>();
    EXPECT_EQ(address[0], 0);
    EXPECT_EQ(munprot(segment), 0);
    EXPECT_EQ(address[0], 1);
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer = process([](Line&) {
    const int segment = fragment_import();
    EXPECT_EQ(write_ten(segment, 0), 0);
    return rr_cleanimport(segment);  // it has been taken
  });
  EXPECT_EQ(importer.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(Rr, notification_is_as_it_was_set) {
  struct Case {
    int control;
    std::uint32_t bit;
    bool told;
  };
  for (const Case& each : {Case{RR_NOINTR, RR_NOTIFY, false}, Case{RR_INTR, 0, true},
                           Case{RR_CINTR, 0, false}, Case{RR_CINTR, RR_NOTIFY, true}}) {
    with_exporter(
        [&](Line& line) {
          char* address = nullptr;
          const int segment = fragment_export(&address);
          const int control = rr_getfd(segment, RR_CONTROL);
          EXPECT_EQ(rr_setintr(segment, each.control), 0);
          line.put('e');
          line.take<char>();
          EXPECT_EQ(address[0], 1);
          pollfd fd{control, POLLIN, 0};
          EXPECT_EQ(::poll(&fd, 1, each.told ? kPatienceMs : 0), each.told ? 1 : 0);
        },
        [&] {
          const int segment = fragment_import();
          EXPECT_EQ(write_ten(segment, each.bit), 0);
          Results results;
          EXPECT_EQ(rr_setintr(results.segment, each.control), 0);
          EXPECT_EQ(rri(segment, results.segment, 0, each.bit), 0);
          EXPECT_EQ(rrcsi(segment, results.segment, 64, 64, 0, 1, 1), 0);  // the read is over before it
          pollfd fd{results.control, POLLIN, 0};
          EXPECT_EQ(::poll(&fd, 1, each.told ? kPatienceMs : 0), each.told ? 1 : 0);
          EXPECT_EQ(rr_cleanimport(segment), 0);
        });
  }
}

TEST_F(Rr, long_blocks_go_in_pieces) {
  constexpr int kBytes = 300000;
  with_exporter(
      [](Line& line) {
        int segment = -1;
        char* const address = rr_export("long", kBytes, 0600, &segment, nullptr);
        for (int i = 0; i < kBytes; ++i) address[i] = static_cast<char>(i % 251);
        line.put('e');
        line.take<char>();
      },
      [] {
        const int segment = rr_import("long", O_RDONLY);
        int landing = -1;
        char* const address = rr_export(nullptr, kBytes, 0600, &landing, nullptr);
        const int control = rr_getfd(landing, RR_CONTROL);
        EXPECT_EQ(rrblk(segment, landing, 1, 2 | RR_NOTIFY, kBytes - 2), 0);
        record_from(control);
        int wrong = 0;
        for (int i = 0; i < kBytes - 2; ++i)
          wrong += address[i + 2] != static_cast<char>((i + 1) % 251) ? 1 : 0;
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

TEST_F(Rr, what_cannot_be_is_refused_with_a_reason) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        int segment = fragment_export(&address), other = -1;
        EXPECT_NO_ADDRESS(rr_export("ServiceFubar", 8192, 0660, &other, nullptr), EEXIST);
        EXPECT_NO_ADDRESS(rr_export("no/name", 8192, 0660, &other, nullptr), EINVAL);
        EXPECT_NO_ADDRESS(rr_export("x", 0, 0660, &other, nullptr), EINVAL);
        EXPECT_NO_ADDRESS(rr_export("x", -1, 0660, &other, nullptr), EINVAL);
        EXPECT_NO_ADDRESS(rr_export("x", 8192, 010660, &other, nullptr), EINVAL);
        EXPECT_NO_ADDRESS(rr_export("x", 8192, 0660, nullptr, nullptr), EINVAL);
        EXPECT_NO_ADDRESS(rr_export("x", 4096, 0660, &other, address + 1), EINVAL);
        EXPECT_EQ(other, -1);
        EXPECT_ERRNO(rr_import("ServiceFubar", O_RDWR), EINVAL);  // it is one's own
        EXPECT_NO_ADDRESS(rr_remap(segment, address - 1, 1, nullptr, 0), EFAULT);
        EXPECT_NO_ADDRESS(rr_remap(segment, nullptr, 0, address + 8191, 2), EFAULT);
        EXPECT_NO_ADDRESS(rr_remap(segment, address, -1, nullptr, 0), EINVAL);
        EXPECT_NO_ADDRESS(rr_setprot(segment, 01000), EINVAL);
        EXPECT_ERRNO(rr_setintr(segment, 3), EINVAL);
        EXPECT_ERRNO(rr_getfd(segment, 0), EINVAL);
        EXPECT_ERRNO(rwblk(segment, 0, 1, address), EBADF);  // it is not imported
        line.put('e');
        line.take<char>();
        EXPECT_EQ(rr_cleanexport(segment), 0);
        EXPECT_ERRNO(rr_cleanexport(segment), EBADF);
        EXPECT_NO_ADDRESS(rr_remap(segment, nullptr, 0, nullptr, 0), EBADF);
        EXPECT_NO_ADDRESS(rr_setprot(segment, 0600), EBADF);
        for (const auto call : {mprot, munprot, rr_cleanimport}) EXPECT_ERRNO(call(segment), EBADF);
        EXPECT_ERRNO(rr_getfd(segment, RR_CONTROL), EBADF);
        const int gone = segment;
        segment = fragment_export(&address);
        EXPECT_NE(segment, gone);
        EXPECT_ERRNO(mprot(gone), EBADF);
        EXPECT_EQ(mprot(segment), 0);
      },
      [] {
        EXPECT_ERRNO(rri(1, 1, 0, 0), EBADF);  // nothing was ever opened
        EXPECT_ERRNO(rr_import("nobody", O_RDWR), ENOENT);
        EXPECT_STRNE(hamlyn_last_error(), "");
        EXPECT_ERRNO(rr_import(nullptr, O_RDWR), EINVAL);
        EXPECT_ERRNO(rr_import("ServiceFubar", O_RDWR | O_CREAT), EINVAL);
        const int reads = rr_import("ServiceFubar", O_RDONLY), writes = rr_import("ServiceFubar", O_WRONLY);
        const int both = fragment_import();
        Results results;
        EXPECT_ERRNO(write_ten(reads, 0), EBADF);
        EXPECT_ERRNO(rri(writes, results.segment, 0, 0), EBADF);
        EXPECT_ERRNO(rrcsi(writes, results.segment, 0, 0, 0, 0, 0), EBADF);
        EXPECT_ERRNO(rrcsi(reads, results.segment, 0, 0, 0, 0, 0), EBADF);
        EXPECT_ERRNO(rri(reads, reads, 0, 0), EBADF);
        EXPECT_ERRNO(write_ten(both, 8192 - 39), EFAULT);
        EXPECT_ERRNO(write_ten(both, 0x7FFFFFFF), EFAULT);
        EXPECT_ERRNO(rri(both, results.segment, 8192 - 39, 0), EFAULT);
        EXPECT_ERRNO(rri(both, results.segment, 0xFFFFFFFF, 0), EFAULT);
        EXPECT_ERRNO(rri(both, results.segment, 0, 65536 - 39), EFAULT);
        EXPECT_ERRNO(rwblk(both, 0, 1, nullptr), EINVAL);
        EXPECT_ERRNO(rrcsi(both, results.segment, 4, 0, 0, 0, 0), EINVAL);
        EXPECT_ERRNO(rrcsi(both, results.segment, 0, 4, 0, 0, 0), EINVAL);
        EXPECT_ERRNO(rrcsi(both, results.segment, 8192, 0, 0, 0, 0), EFAULT);
        EXPECT_ERRNO(rrcsi(both, results.segment, 0, 65536, 0, 0, 0), EFAULT);
        EXPECT_EQ(rr_cleanimport(reads), 0);
        EXPECT_EQ(rr_cleanimport(writes), 0);
        EXPECT_ERRNO(rr_cleanimport(reads), EBADF);
      });
}

TEST_F(Rr, what_was_deleted_is_stale) {
  Actor exporter = process([](Line& line) {
    char* address = nullptr;
    int segment = fragment_export(&address);
    line.put('e');
    line.take<char>();
    EXPECT_EQ(rr_cleanexport(segment), 0);
    segment = fragment_export(&address);
    line.put('s');
    line.take<char>();
    EXPECT_EQ(address[0], 0);
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer = process([](Line& line) {
    const int segment = fragment_import();
    Results results;
    line.put('i');
    line.take<char>();
    EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), ESTALE);
    write_ten(segment, 0);
    EXPECT_ERRNO(rr_cleanimport(segment), ESTALE);
    return 0;
  });
  ASSERT_TRUE(importer.line().take<char>());
  exporter.line().put('d');
  ASSERT_TRUE(exporter.line().take<char>());
  importer.line().put('d');
  EXPECT_EQ(importer.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(Rr, an_exporters_death_is_told) {
  Actor exporter = process([](Line& line) {
    char* address = nullptr;
    fragment_export(&address);
    line.put('e');
    line.take<char>();
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer = process([](Line& line) {
    const int segment = fragment_import();
    Results results;
    line.put('i');
    line.take<char>();
    while (rri(segment, results.segment, 0, 0) == 0) {  // until it is known here
    }
    EXPECT_EQ(errno, ECONNRESET);
    EXPECT_ERRNO(rri(segment, results.segment, 0, 0), ECONNRESET);
    EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), ECONNRESET);
    EXPECT_ERRNO(write_ten(segment, 0), ECONNRESET);
    return 0;
  });
  ASSERT_TRUE(importer.line().take<char>());
  exporter.signal(SIGKILL);
  EXPECT_EQ(exporter.wait(), 128 + SIGKILL);
  importer.line().put('d');
  EXPECT_EQ(importer.wait(), 0);
}

TEST_F(Rr, a_forked_child_has_none_and_makes_its_own) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        const int segment = fragment_export(&address);
        const pid_t child = ::fork();
        if (child == 0) {
          int own = -1;
          EXPECT_ERRNO(mprot(segment), EBADF);
          EXPECT_NE(rr_export("childs", 8192, 0600, &own, nullptr), kNowhere) << hamlyn_last_error();
          EXPECT_NE(own, segment);
          EXPECT_ERRNO(mprot(segment), EBADF);
          EXPECT_NE(rr_import("ServiceFubar", O_RDWR), -1) << "its parent is another process";
          EXPECT_EQ(rr_cleanexport(own), 0);
          ::_exit(HasFailure() ? 1 : 0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        line.put('e');
        line.take<char>();
      },
      [] { EXPECT_EQ(rr_cleanimport(fragment_import()), 0); });
}

class RrOfUsers : public Rr {
 protected:
  RrOfUsers() : Rr(0755) {}
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "other users' processes need the superuser";
  }
};

TEST_F(RrOfUsers, rights_are_those_of_files) {
  constexpr int kOwner = 41001, kOther = 41002;
  Actor exporter = process(
      [](Line& line) {
        char* address = nullptr;
        const int segment = fragment_export(&address);  // 0660
        line.put('e');
        while (const auto prot = line.take<int>()) {
          EXPECT_EQ(rr_setprot(segment, *prot), address);
          line.put('s');
        }
        return 0;
      },
      kOwner);
  ASSERT_TRUE(exporter.line().take<char>());
  Actor other = process(
      [](Line& line) {
        line.take<char>();
        EXPECT_ERRNO(rr_import("ServiceFubar", O_RDONLY), EACCES);
        line.put('r');
        line.take<char>();
        EXPECT_ERRNO(rr_import("ServiceFubar", O_RDWR), EACCES);
        return rr_import("ServiceFubar", O_RDONLY) == -1 ? 1 : 0;
      },
      kOther);
  Actor importer = process(
      [](Line& line) {
        const int segment = fragment_import();
        Results results;
        EXPECT_EQ(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), 0);
        line.put('i');
        line.take<char>();
        EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 1, 2, 2), EACCES);
        EXPECT_EQ(rri(segment, results.segment, 0, 8 | RR_NOTIFY), 0);
        EXPECT_EQ(record_from(results.control).kind, static_cast<std::uint32_t>(RR_READ));
        line.put('r');
        line.take<char>();
        EXPECT_EQ(rrcsi(segment, results.segment, 0, 0, 1, 2, 3), 0);
        return rr_cleanimport(segment);
      },
      kOwner);
  ASSERT_TRUE(importer.line().take<char>());
  other.line().put('a');
  ASSERT_TRUE(other.line().take<char>());
  exporter.line().put(0444);
  ASSERT_TRUE(exporter.line().take<char>());
  importer.line().put('p');
  ASSERT_TRUE(importer.line().take<char>());
  other.line().put('p');
  EXPECT_EQ(other.wait(), 0);
  exporter.line().put(0600);
  ASSERT_TRUE(exporter.line().take<char>());
  importer.line().put('p');
  EXPECT_EQ(importer.wait(), 0);
}

// Of nothing: the table looks only at whether there is something.
c::RrTable::Owned some() {
  static char what;
  return {std::shared_ptr<c::Exported>(std::shared_ptr<void>(), reinterpret_cast<c::Exported*>(&what)),
          nullptr};
}

TEST(RrTable, numbers_do_not_come_again_soon) {
  auto table = std::make_unique<c::RrTable>(nullptr);
  const int first = table->add(some());
  EXPECT_GT(first, 0);
  EXPECT_NE(table->find(first).first, nullptr);
  EXPECT_NE(table->remove(first).first, nullptr);
  EXPECT_EQ(table->remove(first).first, nullptr);
  for (int i = 0; i < 3 * 2048; ++i) {
    const int number = table->add(some());
    ASSERT_GT(number, 0);
    EXPECT_NE(number, first);
    table->remove(number);
  }
  EXPECT_EQ(table->find(first).first, nullptr);
  for (const int none : {0, -1, 2047, 0x7FFFFFFF}) EXPECT_EQ(table->find(none).first, nullptr) << none;
}

TEST(RrTable, is_full_at_2048_and_a_child_gives_out_others) {
  auto table = std::make_unique<c::RrTable>(nullptr);
  std::set<int> numbers;
  int number = 0;
  for (int i = 0; i < 2048; ++i) numbers.insert(number = table->add(some()));
  EXPECT_EQ(numbers.size(), 2048u);
  EXPECT_EQ(table->add(some()), -1);
  auto childs = std::make_unique<c::RrTable>(table.get());
  for (int i = 0; i < 2048; ++i) ASSERT_FALSE(numbers.contains(childs->add(some())));
  table->remove(number);
  EXPECT_EQ(table->add(some()) % 2048, number % 2048);
}

}  // namespace
}  // namespace hamlyn::test
