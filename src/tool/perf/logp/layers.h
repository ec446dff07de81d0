#pragma once
// Layers of Hamlyn whose signatures can be taken.
#include <cstdint>
#include <span>
#include <string_view>

#include "tool/perf/cores.h"
#include "tool/perf/logp/survey.h"
#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf::logp {

// How a signature is taken.
struct Manner {
  Cores cores;
  std::uint32_t under_way = 1;  // requests, at most
  int rounds = 1;
  Place place = Place::shm;
  std::uint32_t peers = 1;  // endpoints that ask in turn, each of which the side that answers has a pair with
};
// Takes one between two processors. Throws std::exception.
using Take = Signature (*)(const Manner& manner);

Signature take_fast(const Manner& manner);
Signature take_am(const Manner& manner);
Signature take_am_vi(const Manner& manner);
Signature take_am_vi3(const Manner& manner);
Signature take_segments(const Manner& manner);
Signature take_splitc(const Manner& manner);
Signature take_splitc_vi(const Manner& manner);
Signature take_vi(const Manner& manner);

struct Layer {
  std::string_view name;
  std::string_view what;
  std::uint32_t under_way;  // unless --k says otherwise
  std::uint32_t most;       // that --k may say; 0: the layer has no credits
  bool has_peers;           // whether --peers is of it
  Take take;
  std::string_view below;  // layer whose smallest message its own are built on; empty: none of these
};
std::span<const Layer> layers();

}  // namespace hamlyn::tool::perf::logp
