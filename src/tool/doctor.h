#pragma once
// `hamlyn doctor`: what on this machine keeps Hamlyn from being as fast or as safe as it could be, what to
// change, and what that gains.
#include <string>
#include <vector>

#include "tool/host.h"

namespace hamlyn::tool {

struct Finding {
  enum class Verdict { good, could_be_better, problem };
  Verdict verdict;
  std::string check;   // a word or two, the same on every machine
  std::string found;   // a sentence
  std::string advice;  // empty if good
  std::string gain;    // likewise
};

std::vector<Finding> diagnose(const Host& host);

std::string to_text(const std::vector<Finding>& findings);
std::string to_json(const std::vector<Finding>& findings);

struct DoctorOptions {
  bool json = false;
};

// Exit status: 0, or 1 if anything is a problem: without it nothing works.
int run_doctor(const DoctorOptions& options);

}  // namespace hamlyn::tool
