// Lines of ranks, and how they are passed on.
#include "tool/run/streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "test/process/tool_world.h"
#include "tool/run/left_over.h"

namespace hamlyn::tool {
namespace {

using namespace std::chrono_literals;
using test::Pipe;

void put(int descriptor, const std::string& text) {
  ASSERT_EQ(::write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

// The lengths of the lines that a rank's text is passed on as.
std::vector<std::size_t> lengths_of(const std::string& text) {
  const base::FileDescriptor file{::memfd_create("lines", MFD_CLOEXEC)};
  Sink sink(file.get());
  Lines lines("", sink);
  for (std::size_t at = 0; at < text.size(); at += 16384) {
    put(lines.theirs(), text.substr(at, 16384));
    lines.pass_on();
  }
  lines.started();
  lines.pass_on();
  EXPECT_TRUE(lines.ended());
  std::string all(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(file.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < all.size(); at += out.back() + 1) out.push_back(all.find('\n', at) - at);
  return out;
}

TEST(RunLines, are_cut_at_64_KiB) {
  constexpr std::size_t kLongest = 65536;
  using Lengths = std::vector<std::size_t>;
  const auto line = [](std::size_t length) { return std::string(length, 'x') + '\n'; };
  EXPECT_EQ(lengths_of(line(0) + line(1)), (Lengths{0, 1}));
  EXPECT_EQ(lengths_of(line(kLongest - 1) + line(3)), (Lengths{kLongest - 1, 3}));
  EXPECT_EQ(lengths_of(line(kLongest) + line(3)), (Lengths{kLongest, 3}));
  EXPECT_EQ(lengths_of(line(kLongest + 1) + line(3)), (Lengths{kLongest, 1, 3}));
  EXPECT_EQ(lengths_of(line(70000)), (Lengths{kLongest, 70000 - kLongest}));
  EXPECT_EQ(lengths_of(line(2 * kLongest) + line(0)), (Lengths{kLongest, kLongest, 0}));
  EXPECT_EQ(lengths_of(std::string(kLongest, 'x')), Lengths{kLongest}) << "without an end";
  EXPECT_EQ(lengths_of(std::string(200000, 'x')),
            (Lengths{kLongest, kLongest, kLongest, 200000 - 3 * kLongest}));
}

// Sixty ranks that have more to say than their output, its pipe and what may wait can take.
class RunStreams : public testing::Test {
 protected:
  static constexpr std::size_t kRanks = 60, kEach = 16384;

  RunStreams() {
    ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
    for (std::size_t rank = 0; rank != kRanks; ++rank)
      ranks.emplace_back(::fcntl(streams.add("").output, F_DUPFD_CLOEXEC, 0));
    streams.started();
    serve();  // the end of each standard error
  }
  static char letter(std::size_t rank) { return static_cast<char>('A' + rank); }
  bool said_all(std::size_t rank) const {
    int unread = 0;
    return ::ioctl(ranks[rank].get(), FIONREAD, &unread) == 0 && unread == 0;
  }
  void say(std::size_t rank) { put(ranks[rank].get(), std::string(kEach - 1, letter(rank)) + '\n'); }
  // Serves what can be served now.
  void serve() {
    std::vector<pollfd> all;
    streams.watch(all);
    ::poll(all.data(), all.size(), 0);
    streams.serve(all);
  }
  std::string take() {
    std::string out(65536, '\0');
    const ssize_t got = ::read(pipe.read.get(), out.data(), out.size());
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
  }

  Pipe pipe;
  Streams streams{pipe.write.get(), pipe.write.get()};
  std::vector<base::FileDescriptor> ranks;
};

TEST_F(RunStreams, leave_lines_where_they_are_while_their_output_is_full) {
  constexpr std::size_t kTaken = (65536 + 262144) / kEach + 1;
  for (std::size_t rank = 0; rank != kRanks; ++rank) say(rank);
  serve();
  std::size_t taken = 0;
  for (std::size_t rank = 0; rank != kRanks; ++rank) taken += said_all(rank);
  EXPECT_GT(taken, 0u);
  EXPECT_LE(taken, kTaken);
  EXPECT_FALSE(streams.taken());
  ranks.clear();
  std::string all = take();
  for (; !streams.over(); all += take()) serve();
  EXPECT_TRUE(streams.taken());
  EXPECT_EQ(all.size(), kRanks * kEach);
  std::map<char, std::size_t> count;
  for (const char each : all) ++count[each];
  for (std::size_t rank = 0; rank != kRanks; ++rank) EXPECT_EQ(count[letter(rank)], kEach - 1);
}

TEST_F(RunStreams, let_each_rank_have_its_turn_while_all_write_for_ever) {
  std::string all;
  for (int round = 0; round != 40; ++round) {
    for (std::size_t rank = 0; rank != kRanks; ++rank)
      if (said_all(rank)) say(rank);
    serve();
    all += take();
  }
  for (std::size_t rank = 0; rank != kRanks; ++rank)
    EXPECT_NE(all.find(letter(rank)), std::string::npos) << "rank " << rank;
}

TEST(RunLeftOver, is_a_template_whose_host_has_been_gone_for_long) {
  LeftOver left_over(60s);
  const LeftOver::Time start{};
  EXPECT_FALSE(left_over.is(1, true, start));
  EXPECT_FALSE(left_over.is(1, true, start + 59s));
  EXPECT_TRUE(left_over.is(1, true, start + 60s));
  EXPECT_FALSE(left_over.is(1, false, start + 61s));
  EXPECT_FALSE(left_over.is(1, true, start + 62s)) << "from the beginning";
  EXPECT_FALSE(left_over.is(2, true, start + 121s)) << "another one";
  EXPECT_TRUE(left_over.is(1, true, start + 122s));
}

}  // namespace
}  // namespace hamlyn::tool
