#include "files/store.h"

#include <climits>

namespace hamlyn::internal_::files {

Fault judge(std::string_view name) noexcept {
  if (name.size() > NAME_MAX) return Fault::name_too_long;
  const bool wrong = name.empty() || name == "." || name == ".." ||
                     name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos;
  return wrong ? Fault::invalid : Fault::none;
}

}  // namespace hamlyn::internal_::files
