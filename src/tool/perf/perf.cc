#include "tool/perf/perf.h"

#include "base/standard_output.h"
#include "tool/perf/catalogue.h"
#include "tool/perf/session.h"

namespace hamlyn::tool {

int run_perf(const PerfOptions& options) {
  const std::vector<perf::Meter> meters = selected(perf::catalogue(), options, "--list shows the names");
  if (options.list) return list(meters);
  const perf::Measured measured = measure(meters, options, 1);
  base::print(options.json ? to_json(measured.report) : to_text(measured.report));
  return perf::tell(measured.failures, "hamlyn perf");
}

}  // namespace hamlyn::tool
