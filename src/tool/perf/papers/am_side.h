#pragma once
// An endpoint of active messages with a stopwatch between its parts, without the locks and waits of the
// library's own (am/inside.h).
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hamlyn/am/values.h"
#include "hamlyn/core/interface.h"

namespace hamlyn::tool::perf::papers {

// Requests under way, as in the paper. A batch has as many.
inline constexpr std::uint32_t kBatch = 8;

class AmSide {
 public:
  virtual ~AmSide() = default;
  virtual const am::Name& name() const noexcept = 0;
  // Requests go to the endpoint of that name. Throws std::runtime_error, as those below.
  virtual void aim(const am::Name& other) = 0;
  // Asks with so many arguments; polls until there is room for it.
  virtual void ask(std::size_t arguments) = 0;
  // Handles a batch, up to the message of that number: when the first has come, waits until all are there,
  // and times the others by `watch()`. False: they were not all there.
  virtual bool take_batch(std::uint64_t until) = 0;
  // Tells the other side that this one goes, and waits until both have said so.
  virtual void leave() = 0;
};
// Throws Error, std::bad_alloc. It replies to each request with its arguments.
std::unique_ptr<AmSide> make_am_side(Interface& interface, am::Way way);

}  // namespace hamlyn::tool::perf::papers
