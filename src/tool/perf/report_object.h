#pragma once
// A report as the JSON object that a program may add to.
#include <nlohmann/json_fwd.hpp>

#include "tool/perf/report.h"

namespace hamlyn::tool::perf {

nlohmann::ordered_json to_object(const Report& report);

}  // namespace hamlyn::tool::perf
