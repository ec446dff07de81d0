#pragma once
// Tables of descriptors: a thread's own, and what stands in the first three places.
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Gives the calling thread a table of its own with nothing in it but `keep`. False: there was no memory.
bool keep_only(std::vector<unsigned> keep) noexcept;

// Opens /dev/null in the place of each standard descriptor that is closed: what is opened next would take its
// number, and be read or written in its place. Reading and writing fail, as they did. False: it cannot.
bool fill_standard_descriptors() noexcept;

}  // namespace hamlyn::internal_::base
