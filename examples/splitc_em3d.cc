// EM3D: fields on a graph that all ranks share, in five versions (splitc/em3d.h).
//
//   hamlyn run -n 4 splitc_em3d [NODES] [--guarded]   four ranks, each with so many
//   splitc_em3d                                   a program of one rank
#include "splitc/em3d.h"

int main(int count, char** words) {
  try {
    hamlyn::splitc::Program program(count, words);
    em3d::run(count, words);
    program.end();
    return written(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
