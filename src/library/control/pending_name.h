#pragma once
// A name that is looked for, for those who do not wait. Everybody who waits of this interface looks again
// when somebody has registered it.
#include <memory>
#include <string_view>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::library {

struct NameRequest;

class PendingName {
 public:
  // Asks this node's daemon. Throws Error(forked), std::bad_alloc.
  PendingName(Interface& interface, std::string_view name);
  ~PendingName();  // if it is not done, nobody looks any more
  PendingName(const PendingName&) = delete;
  PendingName& operator=(const PendingName&) = delete;

  bool done() const noexcept;
  // Gives what has come of it, once it is done. Throws Error, as Interface::lookup does.
  Ticket take();

 private:
  Interface& interface_;
  std::shared_ptr<NameRequest> request_;
};

}  // namespace hamlyn::internal_::library
