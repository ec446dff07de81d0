#include "library/far/far_engines.h"

#include <utility>

#include "fabric/ofi/engine.h"

namespace hamlyn::internal_::library {

FarEngines far_engines() {
  ofi::EngineChoice choice = ofi::explain_engine();
  return {std::move(choice.name), std::move(choice.version), std::move(choice.reasons)};
}

}  // namespace hamlyn::internal_::library
