// What the thesis's own interface (hamlyn/c/rr.h) refuses, and what ends: deletion, death, fork, rights,
// numbers.
#include <memory>
#include <set>

#include "c/rr_swap.h"
#include "c/rr_table.h"
#include "test/process/rr_ends.h"

namespace hamlyn::test {
namespace {

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
        EXPECT_EQ(rr_cleanimport(rr_import("ServiceFubar", O_RDWR)), 0)
            << "one's own is as good as another's";
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
  take_turns(
      [](Line& line) {
        char* address = nullptr;
        int segment = fragment_export(&address);
        line.put('e');
        line.take<char>();
        EXPECT_EQ(rr_cleanexport(segment), 0);
        segment = fragment_export(&address);
        line.put('s');
        line.take<char>();
        EXPECT_EQ(address[0], 0);
      },
      [](Line& line) {
        const int segment = fragment_import();
        Results results;
        line.put('i');
        line.take<char>();
        EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), ESTALE);
        // What is not waited for is told of by the next call, whichever that is.
        int error = 0;
        const auto told = [&](int answer) {
          error = errno;
          return answer == -1;
        };
        EXPECT_TRUE(eventually([&] { return told(rri(segment, results.segment, 0, 0)); }));
        EXPECT_EQ(error, ESTALE);
        EXPECT_TRUE(eventually([&] { return told(write_ten(segment, 0)); }));
        EXPECT_EQ(error, ESTALE);
        EXPECT_ERRNO(rr_cleanimport(segment), ESTALE);
      });
}

TEST_F(Rr, reads_that_were_not_done_are_told_of) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        const int segment = fragment_export(&address);
        EXPECT_EQ(rr_remap(segment, address + 4096, 1, nullptr, 0), address);
        line.put('e');
        line.take<char>();
        EXPECT_EQ(address[0], 1) << "the write behind it was done when it was asked for again";
      },
      [] {
        const int segment = fragment_import(), reads = rr_import("ServiceFubar", O_RDONLY);
        Results results;
        // The swap says how it ends; by then the read before it is over.
        EXPECT_EQ(rri(segment, results.segment, 4096, 0), 0);
        EXPECT_TRUE(eventually([&] { return rrcsi(segment, results.segment, 64, 64, 0, 1, 1) == -1; }));
        EXPECT_EQ(rri(segment, results.segment, 4096, 0), 0) << "it was told of once";
        EXPECT_TRUE(eventually([&] { return write_ten(segment, 0) == -1; }));
        EXPECT_EQ(write_ten(segment, 0), 0);
        EXPECT_EQ(rr_cleanimport(segment), 0);
        EXPECT_EQ(rri(reads, results.segment, 4096, 0), 0);
        EXPECT_TRUE(eventually([&] { return rri(reads, results.segment, 0, 0) == -1 && errno == EAGAIN; }));
        EXPECT_EQ(rr_cleanimport(reads), 0);
      });
}

TEST_F(Rr, an_exporters_death_is_told) {
  Actor exporter = process(Side::exporter, [](Line& line) {
    char* address = nullptr;
    fragment_export(&address);
    line.put('e');
    line.take<char>();
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer = process(Side::importer, [](Line& line) {
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
  RrOfUsers() { ::chmod(folder_.path().c_str(), 0755); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "other users' processes need the superuser";
  }
  std::string socket(Side) const override { return folder_.file("service"); }
  Daemon service_{folder_.file("service"), {"--service"}};
};

TEST_F(RrOfUsers, rights_are_those_of_files) {
  constexpr int kOwner = 41001, kOther = 41002;
  Actor exporter = process(
      Side::exporter,
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
      Side::importer,
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
      Side::importer,
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

// As it is with one who writes another nonce before each try.
TEST(RrSwap, a_nonce_that_never_stays_holds_nobody_up_for_ever) {
  std::uint32_t nonce = 0;
  int tries = 0;
  const auto swap = [&](std::uint64_t, std::uint64_t) {
    ++tries;
    return Outcome{Status::ok, Refusal::none, c::word_of({0, ++nonce})};
  };
  c::Two result;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(c::swap_value(swap, 0, {1, 77}, 0, result, now).status, Status::timed_out);
  EXPECT_EQ(tries, 1);
  const auto tries_again = [&] {
    tries = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
    EXPECT_EQ(c::swap_value(swap, 0, {1, 77}, nonce, result, until).status, Status::timed_out);
    return tries > 1;
  };
  EXPECT_TRUE(eventually(tries_again));
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
