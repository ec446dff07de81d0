// Radix sort in a spread array (splitc/radix_sort.h).
//
//   hamlyn run -n 4 splitc_radix_sort [KEYS] [--guarded]   four ranks, each with so many
//   splitc_radix_sort                                   a program of one rank
#include "splitc/radix_sort.h"

int main(int count, char** words) {
  try {
    hamlyn::splitc::Program program(count, words);
    radix_sort::run(count, words);
    program.end();
    return written(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
