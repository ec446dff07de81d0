#include <nlohmann/json.hpp>

#include "tool/failure.h"

namespace hamlyn::tool {

std::string to_json(const std::string& command, const Failure& failure) {
  using nlohmann::ordered_json;
  const ordered_json error{{"command", command},
                           {"name", failure.name()},
                           {"what", failure.what()},
                           {"advice", failure.advice()},
                           {"status", static_cast<int>(failure.exit())}};
  // A path or a name in the text need not be UTF-8.
  return ordered_json{{"error", error}}.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace hamlyn::tool
