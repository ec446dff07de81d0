#pragma once
// Programs beside `hamlyn` that do a command's work: they need packages that nothing else needs.
#include <string>
#include <vector>

namespace hamlyn::tool {

// Becomes that program: the one in this program's folder, else the one that PATH has. `lack`: what to do
// where there is none. Throws Failure.
[[noreturn]] void become(const std::vector<std::string>& words, const std::string& lack);

}  // namespace hamlyn::tool
