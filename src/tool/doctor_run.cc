// `hamlyn doctor`, with what takes a library that others do not need to look at: libfabric.
#include <algorithm>

#include "base/standard_output.h"
#include "library/far/far_engines.h"
#include "tool/doctor.h"
#include "tool/failure.h"
#include "tool/node_view.h"

namespace hamlyn::tool {

namespace {

std::string whether_asked() {
  try {
    return "the one at " + node_asked({}) + " answers here";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  Host host = look_at_host();
  const library::FarEngines far = library::far_engines();
  host.engine = far.chosen;
  host.libfabric = far.version;
  host.engines = far.looked_at;
  host.node = whether_asked();
  const std::vector<Finding> findings = diagnose(host);
  base::print(options.json ? to_json(findings) + "\n" : to_text(findings));
  const bool works = std::none_of(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.verdict == Finding::Verdict::problem; });
  return works ? kOk : kFailed;
}

}  // namespace hamlyn::tool
