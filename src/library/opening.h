#pragma once
// Objects that begin to open and do not wait for the other side (hamlyn/values/begin.h): how what went wrong
// is told.
#include <exception>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/status.h"
#include "library/with_memory.h"

namespace hamlyn::internal_::library {

// Returns the status of `opened` for an opening that an Error, or no memory, has ended.
Status status_of(const std::exception_ptr& failure) noexcept;

// Throws unless `status`, what `opened` has answered, is ok. `failure` gives the exception that has ended the
// opening, if one has. `what`: what could not be done.
template <class Failure>
void check_opened(const char* what, Status status, Failure failure) {
  switch (status) {
    case Status::ok:
      return;
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, std::string(what) + " in the time given");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, std::string(what) + ": cancelled");
    case Status::forked:
      throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
    default:
      break;
  }
  try {
    std::rethrow_exception(failure());
  } catch (const std::bad_alloc&) {
    throw_no_memory(what);
  }
}

}  // namespace hamlyn::internal_::library
