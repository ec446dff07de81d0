// Sentences on a daemon that was started by a program with limits: read from a /proc of the test's own.
#include <gtest/gtest.h>

#include <filesystem>

#include "node/client/constraints.h"
#include "test/support/command.h"

namespace hamlyn::test {
namespace {

using node::constraints_of;
using Texts = std::vector<std::string>;

std::string stat_line(int nice, int policy) {
  std::string out = "7 (a) name ) S";
  for (int field = 4; field <= 52; ++field)
    out += ' ' + std::to_string(field == 19 ? nice : field == 41 ? policy : field);
  return out + "\n";
}

constexpr const char* kUsual =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max open files            1048576              1048576              files     \n";

Texts said(const std::string& stat, const std::string& score, const std::string& limits) {
  const Folder proc;
  std::filesystem::create_directory(proc.file("7"));
  write_file(proc.file("7/stat"), stat);
  write_file(proc.file("7/oom_score_adj"), score);
  write_file(proc.file("7/limits"), limits);
  return constraints_of(7, proc.path());
}

TEST(Constraints, AreNoneWhereNothingLimits) {
  EXPECT_EQ(said(stat_line(0, 0), "0\n", kUsual), Texts{});
  EXPECT_EQ(said(stat_line(-5, 0), "200\n", kUsual), Texts{}) << "a user's session";
  EXPECT_EQ(constraints_of(7, "/nowhere"), Texts{});
  EXPECT_EQ(said("", "", ""), Texts{});
  EXPECT_EQ(said("7 no name", "x", "Max open files\n"), Texts{});
}

TEST(Constraints, EachHasASentence) {
  EXPECT_EQ(said(stat_line(19, 0), "0\n", kUsual), Texts{"it runs at nice 19"});
  EXPECT_EQ(said(stat_line(0, 5), "0\n", kUsual), Texts{"it runs when nobody else does (SCHED_IDLE)"});
  EXPECT_EQ(said(stat_line(0, 3), "0\n", kUsual), Texts{"it is scheduled for batches (SCHED_BATCH)"});
  EXPECT_EQ(said(stat_line(0, 0), "900\n", kUsual),
            Texts{"the kernel ends it early where memory is short (oom_score_adj 900)"});
  EXPECT_EQ(said(stat_line(0, 0), "0\n",
                 "Max cpu time              5                    5                    seconds   \n"
                 "Max file size             4096                 4096                 bytes     \n"
                 "Max data size             1                    2                    bytes     \n"
                 "Max open files            64                   64                   files     \n"
                 "Max address space         3                    unlimited            bytes     \n"),
            (Texts{"it may have 64 descriptors open", "it ends after 5 s of processor time",
                   "its files may have 4096 bytes", "its data may have 1 bytes",
                   "its address space may have 3 bytes"}));
}

}  // namespace
}  // namespace hamlyn::test
