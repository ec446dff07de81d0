#pragma once
// Layers of Hamlyn whose signatures can be taken.
#include <cstdint>
#include <span>
#include <string_view>

#include "tool/perf/cores.h"
#include "tool/perf/logp/survey.h"

namespace hamlyn::tool::perf::logp {

// Takes one between two processors, in so many rounds, with so many requests under way at most. Throws
// std::exception.
using Take = Signature (*)(Cores cores, std::uint32_t under_way, int rounds);

Signature take_fast(Cores cores, std::uint32_t under_way, int rounds);
Signature take_am(Cores cores, std::uint32_t under_way, int rounds);
Signature take_am_vi(Cores cores, std::uint32_t under_way, int rounds);
Signature take_am_vi3(Cores cores, std::uint32_t under_way, int rounds);
Signature take_segments(Cores cores, std::uint32_t under_way, int rounds);
Signature take_splitc(Cores cores, std::uint32_t under_way, int rounds);
Signature take_splitc_vi(Cores cores, std::uint32_t under_way, int rounds);
Signature take_vi(Cores cores, std::uint32_t under_way, int rounds);

struct Layer {
  std::string_view name;
  std::string_view what;
  std::uint32_t under_way;  // unless --k says otherwise
  std::uint32_t most;       // that --k may say; 0: the layer has no credits
  Take take;
  std::string_view below;  // layer whose smallest message its own are built on; empty: none of these
};
std::span<const Layer> layers();

}  // namespace hamlyn::tool::perf::logp
