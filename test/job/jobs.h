#pragma once
// Jobs, as their users start them.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "test/process/tool_world.h"

namespace hamlyn::test {

class Jobs : public testing::Test {
 protected:
  // Starts `hamlyn run` with these options, of the program that does what `word` says.
  Command start(std::vector<std::string> options, const std::string& word, const std::string& file = {}) {
    options.insert(options.begin(), "run");
    for (const std::string& each : {program_, word, file}) options.push_back(each);
    return world.start(options);
  }
  Finished run(const std::vector<std::string>& options, const std::string& word,
               const std::string& file = {}) {
    return start(options, word, file).wait();
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    std::ranges::sort(out);
    return out;
  }
  static bool alive(const std::string& file) { return ::kill(std::stoi(read_file(file)), 0) == 0; }

  const std::string program_ = std::string(HAMLYN_JOB_RANK);
  World world;
};

}  // namespace hamlyn::test
