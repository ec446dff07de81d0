#pragma once
// Output of ucx_perftest with -f -v: a line of column names and a line of values.
#include <string>

namespace hamlyn::tool::perf {

struct UcxResult {
  double latency_us = 0;           // median; half a round trip in the latency tests
  double messages_per_second = 0;  // over the whole test
};

// Throws std::runtime_error, with the output, if the columns are not there.
UcxResult parse_ucx(const std::string& output);

}  // namespace hamlyn::tool::perf
