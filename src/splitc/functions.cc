#include "splitc/functions.h"

namespace hamlyn::internal_::splitc {
namespace {

std::vector<Function>& entered() {
  static std::vector<Function> all;
  return all;
}

}  // namespace

std::uint32_t enter(const Function& function) {
  entered().push_back(function);
  return static_cast<std::uint32_t>(entered().size() - 1);
}

const std::vector<Function>& functions() noexcept { return entered(); }

// FNV-1a.
std::uint64_t hash_of_functions() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const Function& each : entered()) {
    for (const char letter : std::string_view(each.name)) mix(static_cast<unsigned char>(letter));
    mix(0);
  }
  return hash;
}

}  // namespace hamlyn::internal_::splitc
