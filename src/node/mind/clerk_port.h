#pragma once
// The clerk as the server sees it: it has a descriptor and a clock.
#include <cstdint>
#include <string>

#include "node/mind/clerk.h"
#include "node/mind/node.h"

namespace hamlyn::node {

class ClerkPort {
 public:
  struct Options {
    Secret key{};                  // of the cluster's registries
    std::uint64_t generation = 1;  // above all of the run before
    std::uint32_t after = 0;       // names looked for on other nodes before the clerk is started; 0: never
    std::string socket;            // the daemon's
  };

  virtual ~ClerkPort() = default;
  // Once, before anybody is connected. `node` lives as long as this is called.
  virtual void serve(Node& node, const Options& options) = 0;
  virtual int descriptor() const noexcept = 0;  // readable or writable: receive_some
  virtual void receive_some(Time now) = 0;
  virtual void tick(Time now) = 0;  // to be called at `deadline` at the latest
  virtual Time deadline(Time now) const = 0;
};

}  // namespace hamlyn::node
