#pragma once
// Gate at which packets of several links come in together, as at the endpoint of a network: the interface
// asks it once in each run, and not each of its links.
#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class Core;

class Gate {
 public:
  // Hands over what has come for its links, lets the interface answer, and sends what is to leave. True if
  // anything moved.
  virtual bool arrive(Core& core) noexcept = 0;

 protected:
  ~Gate() = default;
};

}  // namespace hamlyn::internal_::interface
