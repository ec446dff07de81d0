#pragma once
// A thread's own descriptor table.
#include <vector>

namespace hamlyn::base {

// Gives the calling thread a table of its own with nothing in it but `keep`. False: there was no memory.
bool keep_only(std::vector<unsigned> keep) noexcept;

}  // namespace hamlyn::base
