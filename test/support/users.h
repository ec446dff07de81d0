#pragma once
// Conditions of tests with processes of several users. Only root can be several users.
#include <string>

#include "test/support/command.h"

namespace hamlyn::test {

// Whether a process of that user can start a program of the build, which may lie below somebody's own folder.
inline bool can_start(uid_t user, const std::string& program) {
  return Command({"test", "-x", program}, {.user = user}).wait().status == 0;
}

}  // namespace hamlyn::test
