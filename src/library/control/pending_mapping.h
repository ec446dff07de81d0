#pragma once
// A slot of a peer's that is being mapped, for those who do not wait. Everybody who waits of this interface
// looks again when it is done.
#include <memory>

#include "base/namespaces.h"
#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::library {

struct MappingRequest;

class PendingMapping {
 public:
  // Asks the peer, and makes the link if there is none. Throws Error, std::bad_alloc.
  PendingMapping(Interface& interface, const Ticket& ticket);
  ~PendingMapping();  // if it is not done, the answer is thrown away
  PendingMapping(const PendingMapping&) = delete;
  PendingMapping& operator=(const PendingMapping&) = delete;

  bool done() const noexcept;
  // Gives what has come of it, once it is done. Throws Error, as MappedSlot does.
  std::unique_ptr<MappedSlot> take();

 private:
  Interface& interface_;
  std::shared_ptr<MappingRequest> request_;
};

}  // namespace hamlyn::internal_::library
