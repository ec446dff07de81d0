#pragma once
// Words that the command lines of our programs have in common: checks of values, and how a wrong one is
// refused.
#include <CLI/CLI.hpp>
#include <sstream>
#include <string>

#include "tool/ending.h"
#include "tool/failure.h"

namespace hamlyn::tool {

inline constexpr const char* kExitCodes =
    "Exit status: 0 all went well, 1 it failed, 2 the command line is wrong, 3 the time given has passed, "
    "130 it was\n"
    "interrupted (Ctrl-C).";

// Without a description, which the help would show behind the option's type.
inline CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? std::string("It is empty") : std::string(); },
          ""};
}

// Reads the words of a program that has no commands into what `app`'s options are bound to, and notes whether
// a JSON object was asked for. Returns what is to be printed in the place of all else: help, or the version;
// empty: nothing is. Throws Failure (kUsage).
inline std::string read_words(CLI::App& app, int count, const char* const* words, Speaker& speaker) {
  const auto note = [&] {
    if (app.get_option("--json")->count() != 0) speaker.json = JsonOutput::on_output;
  };
  try {
    app.parse(count, words);
    note();
    return {};
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text);
    return text.str();
  } catch (const CLI::ParseError& error) {
    note();
    throw Failure(error.what(), "usage", "see '" + speaker.name() + " --help'", kUsage);
  }
}

}  // namespace hamlyn::tool
