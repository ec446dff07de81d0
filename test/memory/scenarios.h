#pragma once
// What is explored: pieces of production code that share memory, each with the promise that it makes. Every
// one must hold on every machine; what is wrong otherwise is returned.
#include <string>
#include <vector>

#include "test/memory/explorer.h"

namespace hamlyn::test {

struct Scenario {
  const char* name;
  std::string (*run)(Model);
};

std::vector<Scenario> ring_scenarios();
std::vector<Scenario> bell_scenarios();
std::vector<Scenario> run_lock_scenarios();
std::vector<Scenario> record_scenarios();
std::vector<Scenario> loan_scenarios();
std::vector<Scenario> sequence_scenarios();

template <class Shared>
std::span<std::byte> bytes_of(Shared& shared) {
  return std::as_writable_bytes(std::span(&shared, 1));
}

}  // namespace hamlyn::test
