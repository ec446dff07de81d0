#pragma once
// hamlynd's configuration file. docs/node.md lists its keys.
#include <string>

#include "node/node.h"

namespace hamlyn::node {

struct Config {
  Quotas quotas;
  AttachRights rights;
  std::uint64_t cut_after = 0;  // NodeOptions::cut_after
  std::string log_level = "info";
};

// Throws Error(invalid_argument) with file, line and key for anything it does not know or that cannot be.
Config read_config(const std::string& path);
Config parse_config(const std::string& text, const std::string& path);

}  // namespace hamlyn::node
