#include "tool/perf/logp/layers.h"

#include <array>

#include "am/vi_word.h"
#include "tool/perf/logp/logp.h"
#include "tool/perf/ranks.h"

namespace hamlyn::tool::perf::logp {
namespace {

using internal_::am::kMostViCredits;
using internal_::am::kStandardViCredits;

constexpr std::array kLayers{
    Layer{"fast", "16 bytes in fast mode", 64, 0, false, take_fast, ""},
    Layer{"am", "active messages of four arguments", 128, kMostCredits, true, take_am, "fast"},
    Layer{"segments", "reads of 8 bytes that do not wait", 64, 0, false, take_segments, ""},
    Layer{"splitc", "gets of 8 bytes from a guarded heap", kGetsOfRank, 0, false, take_splitc, ""},
    Layer{"vi", "16 bytes to posted receives, and back", 64, 255, false, take_vi, ""},
    Layer{"splitc.vi", "gets of 8 bytes over a VI", 8, 32, false, take_splitc_vi, "vi"},
    Layer{"am.vi", "active messages of four arguments over a VI", kStandardViCredits, kMostViCredits, true,
          take_am_vi, "vi"},
    Layer{"am.vi3", "active messages of four arguments over three VIs", kStandardViCredits, kMostViCredits,
          true, take_am_vi3, "vi"},
};

}  // namespace

std::span<const Layer> layers() { return kLayers; }

}  // namespace hamlyn::tool::perf::logp
