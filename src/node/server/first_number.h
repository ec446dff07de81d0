#pragma once
// Number at which a run of the daemon starts to number interfaces and links.
#include <cstdint>

namespace hamlyn::node {

// Draws a number whose upper 16 bits are `node` (0: it belongs to no cluster), and of whose other 48 the
// highest is 0: so many more can be given without one that names another node. Two runs that give n numbers
// each have one in common with odds of n in 2^46.
std::uint64_t draw_first_number(std::uint16_t node);

}  // namespace hamlyn::node
