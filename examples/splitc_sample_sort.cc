// Sample sort: each rank's keys, sorted over all ranks (splitc/sample_sort.h).
//
//   hamlyn run -n 4 splitc_sample_sort [KEYS] [--guarded]   four ranks, each with so many
//   splitc_sample_sort                                   a program of one rank
#include "splitc/sample_sort.h"

int main(int count, char** words) {
  try {
    hamlyn::splitc::Program program(count, words);
    sample_sort::run(count, words);
    program.end();
    return written(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
