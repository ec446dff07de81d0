// What the command prints: checksums as `xxhsum -H3` has them, numbers for people, one line per error.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tool/checksum.h"
#include "tool/failure.h"
#include "tool/progress.h"
#include "tool/report.h"

namespace hamlyn::tool {
namespace {

std::uint64_t checksum(std::string_view text) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.value();
}

TEST(ToolChecksum, IsXxh3) {
  EXPECT_EQ(checksum(""), 0x2D06800538D394C2u);
  EXPECT_EQ(checksum("a"), 0xE6C632B61E964E1Fu);
  EXPECT_EQ(checksum("abc"), 0x78AF5F94892F3950u);
  EXPECT_EQ(checksum("Nobody inspects the spammish repetition"), 0x6CB00603B5CC47E9u);
  EXPECT_EQ(checksum(std::string(200000, '\0')), 0x91C9851CFE25F231u);
}

TEST(ToolChecksum, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 7);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    for (const std::size_t piece : {1u, 3u, 31u, 32u, 33u, 100u}) {
      Checksum sum;
      for (std::size_t at = 0; at < length; at += piece)
        sum.add(std::as_bytes(std::span(whole.substr(at, piece))));
      ASSERT_EQ(sum.value(), checksum(whole)) << length << " bytes in pieces of " << piece;
      ASSERT_EQ(sum.bytes(), length);
    }
  }
}

TEST(ToolText, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(12'345), "12.3 kB");
  EXPECT_EQ(format_bytes(268'435'456), "268 MB");
  EXPECT_EQ(format_bytes(999'600), "1.00 MB");
  EXPECT_EQ(format_bytes(1.5e15), "1.50 PB");
  EXPECT_EQ(format_bytes(1e19), "10000 PB");
}

TEST(ToolText, Seconds) {
  EXPECT_EQ(format_seconds(0), "0:00");
  EXPECT_EQ(format_seconds(7.9), "0:07");
  EXPECT_EQ(format_seconds(754), "12:34");
  EXPECT_EQ(format_seconds(3723), "1:02:03");
  EXPECT_EQ(format_seconds(-1), "0:00");
  EXPECT_FALSE(format_seconds(1e300).empty());
}

TEST(ToolText, ProgressSaysWhatIsKnownAndKeepsToItsWidth) {
  EXPECT_EQ(format_progress(50'000'000, std::nullopt, 2, 79), "50.0 MB  25.0 MB/s    0:02");
  EXPECT_EQ(format_progress(50'000'000, 100'000'000, 2, 79),
            "50.0 MB  25.0 MB/s    0:02   50 %  0:02 left  [===============               ]");
  EXPECT_EQ(format_progress(50'000'000, 100'000'000, 2, 30).size(), 30u);
  // A file that grew, or a peer that lied about its size: never more than full.
  const std::string more = format_progress(300, 100, 1, 79);
  EXPECT_NE(more.find("100 %  0:00 left  [=============="), std::string::npos) << more;
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(format_progress(1, ~std::uint64_t{0}, 0, width).size(), width);
  }
}

TEST(ToolText, FailureIsOneLineThatSaysWhatToDo) {
  const Failure failed("cannot open 'a\nb\033'", "system", "check the path");
  EXPECT_EQ(line("hamlyn send", failed), "hamlyn send: cannot open 'a b ' (system): check the path");
  EXPECT_EQ(line("hamlyn", failed), "hamlyn: cannot open 'a b ' (system): check the path");
}

TEST(ToolText, ExitCodesFollowTheErrors) {
  EXPECT_EQ(failure(Error(ErrorCode::timed_out, "x")).exit(), kTimedOut);
  EXPECT_EQ(failure(Error(ErrorCode::name_invalid, "x")).exit(), kUsage);
  EXPECT_EQ(failure(Error(ErrorCode::name_taken, "x")).exit(), kFailed);
  EXPECT_EQ(failure("x", Status::cancelled).exit(), kInterrupted);
  EXPECT_EQ(failure(Error(ErrorCode::name_taken, "x")).name(), "name_taken");
}

TEST(ToolText, ReportAsJson) {
  const Report report{.bytes = 3000, .seconds = 2, .checksum = 0xAB, .peer = {7, 1000, {}}};
  EXPECT_EQ(to_json(report), R"({"bytes":3000,"seconds":2.000000,"rate":1500,"checksum":"00000000000000ab",)"
                             R"("peer":{"interface":7,"uid":1000,"pid":null}})");
  EXPECT_EQ(to_text(report), "3.00 kB in 2.000 s (1.50 kB/s), xxh3 00000000000000ab");
}

}  // namespace
}  // namespace hamlyn::tool
