#pragma once
// The text of an Error.
#include <string>

#include "hamlyn/values/error.h"

namespace hamlyn::test {

// Returns what the Error says that `work` throws; empty: it throws none.
template <class Work>
std::string said_by(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace hamlyn::test
