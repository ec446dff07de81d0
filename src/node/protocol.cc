#include "node/protocol.h"

namespace hamlyn::node {

bool valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMaxName) return false;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '.' || c == '_' || c == '-';
    if (!allowed) return false;
  }
  return true;
}

}  // namespace hamlyn::node
