#include "library/memory/huge_pages.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/uncancelled.h"

namespace hamlyn::internal_::library {

std::size_t huge_bytes_of(std::span<const std::byte> memory) {
  const base::Uncancelled guard;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t end = begin + memory.size();
  std::ifstream file("/proc/self/smaps");
  std::size_t sum = 0;
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    unsigned long from = 0, to = 0, kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      ours = from < end && begin < to;
    } else if (ours && std::sscanf(line.c_str(), "AnonHugePages: %lu kB", &kilobytes) == 1) {
      sum += kilobytes * 1024;
    }
  }
  return std::min(sum, memory.size());
}

}  // namespace hamlyn::internal_::library
