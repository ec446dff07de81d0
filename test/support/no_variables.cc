// Takes variables of the library out of the environment before any test runs, and any process of one: a test
// says itself what its processes find there.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace hamlyn::test {
namespace {

// Variables for tests themselves stay.
bool is_of_library(std::string_view name) {
  return name.starts_with("HAMLYN_") && name != "HAMLYN_BIN_DIR" && !name.starts_with("HAMLYN_TEST_") &&
         !name.starts_with("HAMLYN_FUZZ_");
}

[[gnu::constructor]] void take_them_out() {
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (is_of_library(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace
}  // namespace hamlyn::test
