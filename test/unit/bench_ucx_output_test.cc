#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/ucx_output.h"

namespace hamlyn::tool::perf {
namespace {

TEST(BenchUcxOutput, LatencyAndRateAreReadByTheirColumns) {
  const UcxResult result = parse_ucx(
      "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
      "100000,0.225,0.237,0.237,32.18,32.18,4217903,4217904\n");
  EXPECT_DOUBLE_EQ(result.latency_us, 0.225);
  EXPECT_DOUBLE_EQ(result.messages_per_second, 4217904);
}

TEST(BenchUcxOutput, OtherLinesAndOtherColumnsDoNotMatter) {
  const UcxResult result = parse_ucx(
      "[1700000000.1] [vm:1] UCX WARN something\n"
      "iterations,extra,overall_mr,50.0_percentile_lat\n5,9,2000,1.5\nlater\n");
  EXPECT_DOUBLE_EQ(result.latency_us, 1.5);
  EXPECT_DOUBLE_EQ(result.messages_per_second, 2000);
}

TEST(BenchUcxOutput, WhatIsNoTableIsAnErrorThatShowsIt) {
  for (const char* bad :
       {"", "connection refused\n", "iterations,overall_mr\n", "iterations,overall_mr\n5,7\n",
        "iterations,50.0_percentile_lat,overall_mr\n5,x,7\n",
        "iterations,50.0_percentile_lat,overall_mr\n5,0.1\n",
        "iterations,50.0_percentile_lat,overall_mr\n5,0.1,0\n"}) {
    try {
      parse_ucx(bad);
      ADD_FAILURE() << "taken: " << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
