#pragma once
// For people: which of libfabric's engines would carry links to other hosts here, and why none better.
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

struct FarEngines {
  std::string chosen;                  // "efa", "net", "tcp"; empty: none will do
  std::string version;                 // of libfabric; empty: it is not installed
  std::vector<std::string> looked_at;  // a line for each: why it was taken, or not
};

// Takes up to a second: libfabric is loaded and looks around. Throws nothing of its own.
FarEngines far_engines();

}  // namespace hamlyn::internal_::library
