#pragma once
// How a program of ours ends: with an exit status, and, if it failed, a line on standard error and the JSON
// object that was asked for: on standard error, too, if standard output cannot be written.
#include <cstdint>
#include <functional>
#include <string>

namespace hamlyn::tool {

// Where a program prints its JSON object, and a failure another one.
enum class JsonOutput : std::uint8_t { none, on_output, on_error };

// Whose words a failure's line begins with.
struct Speaker {
  std::string program;  // "hamlyn"
  std::string command;  // "send"; empty: the program has no commands, or none was named
  JsonOutput json = JsonOutput::none;

  std::string name() const { return command.empty() ? program : program + " " + command; }
};

// Runs `body`, which returns an exit status, and writes what it has printed. Whatever `body` throws becomes a
// status other than 0. `speaker` may be filled by `body`.
int run_to_the_end(const Speaker& speaker, const std::function<int()>& body);

}  // namespace hamlyn::tool
