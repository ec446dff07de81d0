#pragma once
// `--only`: which figures are measured.
#include <regex.h>

#include <string>

namespace hamlyn::tool::perf {

class Selection {
 public:
  // `expression`: a POSIX extended regular expression that must match a whole name; empty: every name.
  // Throws std::invalid_argument that says what is wrong with it.
  explicit Selection(const std::string& expression);
  ~Selection();
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  bool takes(const std::string& name) const;

 private:
  bool all_;
  regex_t compiled_{};
};

}  // namespace hamlyn::tool::perf
