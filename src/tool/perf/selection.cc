#include "tool/perf/selection.h"

#include <array>
#include <stdexcept>

namespace hamlyn::tool::perf {
namespace {

void compile(regex_t& into, const std::string& expression, const std::string& shown) {
  const int wrong = regcomp(&into, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (wrong == 0) return;
  std::array<char, 256> reason{};
  regerror(wrong, &into, reason.data(), reason.size());
  throw std::invalid_argument("'" + shown + "' is no POSIX extended regular expression: " + reason.data());
}

}  // namespace

Selection::Selection(const std::string& expression) : all_(expression.empty()) {
  if (all_) return;
  // First as it is: a text like "a)(b" would become valid inside the parentheses that make it match whole
  // names.
  regex_t alone{};
  compile(alone, expression, expression);
  regfree(&alone);
  compile(compiled_, "^(" + expression + ")$", expression);
}

Selection::~Selection() {
  if (!all_) regfree(&compiled_);
}

bool Selection::takes(const std::string& name) const {
  return all_ || regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace hamlyn::tool::perf
