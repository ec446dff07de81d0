#pragma once
#include <string>

#include "base/namespaces.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::internal_::base {

// An Error that also knows errno, for those who answer somebody else with a reason.
class SystemError : public Error {
 public:
  SystemError(ErrorCode code, const std::string& what, int number) : Error(code, what), number_(number) {}
  int number() const noexcept { return number_; }

 private:
  int number_;
};

// Throws SystemError that names the call and says what errno means: system, or out_of_memory if memory or
// descriptors have run out.
[[noreturn]] void throw_system(const char* what);

// Returns the reason for which a process that met this error has no link.
LinkReason reason_of(const Error& error) noexcept;

}  // namespace hamlyn::internal_::base
