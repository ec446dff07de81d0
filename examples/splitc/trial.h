#pragma once
// Shared by the Split-C examples: a time that all ranks agree on, and one line about it.
#include <hamlyn/splitc.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../check.h"

namespace trial {

using namespace hamlyn::splitc;
using hamlyn::splitc::sync;  // and not that of <unistd.h>

// Returns how long `work` takes, from when all ranks are here until the last one has done it.
template <class Work>
double time_of(Work work) {
  barrier();
  const double start = seconds();
  work();
  return reduce_all(seconds() - start, maximum{});
}

// Tells, by rank 0: how long it took all ranks, and how long it takes one.
inline void tell(const std::string& what, double all, double one) {
  if (rank() != 0) return;
  std::printf("%s: %u ranks %.3f ms, one alone %.3f ms, speed-up %.2f\n", what.c_str(), ranks(), all * 1e3,
              one * 1e3, one / all);
}

// Returns the first number on the command line.
inline std::size_t number(int count, char** words, std::size_t otherwise) {
  return count > 1 ? std::strtoull(words[1], nullptr, 10) : otherwise;
}

}  // namespace trial
