#pragma once
// Counts of the calls of each procedure that a side has (docs/wire.md).
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/rpc/listing.h"
#include "library/call_row.h"

namespace hamlyn::internal_::rpc {

// A row for each, `service.procedure`. Throws std::bad_alloc.
inline std::vector<std::unique_ptr<library::CallRow>> rows_of(Interface& interface, library::CallSide side,
                                                              std::string_view service,
                                                              std::span<const Procedure> procedures) {
  std::vector<std::unique_ptr<library::CallRow>> out;
  for (const Procedure& each : procedures)
    out.push_back(std::make_unique<library::CallRow>(interface, side, 0,
                                                     std::string(service) + "." + std::string(each.name)));
  return out;
}

}  // namespace hamlyn::internal_::rpc
