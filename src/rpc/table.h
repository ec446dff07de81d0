#pragma once
// The procedures of a server, by number.
#include <algorithm>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/rpc/server.h"
#include "hamlyn/values/error.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

// Throws Error(invalid_argument): two have one name, or there are too many.
inline std::vector<Procedure> table_of(const std::vector<Offered>& offered) {
  std::vector<Procedure> out;
  for (const Offered& each : offered) out.push_back(each.procedure);
  for (const Procedure& each : out) {
    const auto same = [&](const Procedure& other) { return other.named == each.named; };
    if (std::ranges::count_if(out, same) != 1)
      throw Error(ErrorCode::invalid_argument, "two procedures have one name, " + std::string(each.name));
  }
  if (out.size() >= kReserved)
    throw Error(ErrorCode::invalid_argument, "a service has up to 65519 procedures");
  return out;
}

}  // namespace hamlyn::internal_::rpc
