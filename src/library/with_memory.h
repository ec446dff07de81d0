#pragma once
// Set-up throws Error and nothing else, also where memory has run out; or throws nothing.
#include <exception>
#include <new>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::library {

[[noreturn]] inline void throw_no_memory(const char* what) {
  throw Error(ErrorCode::out_of_memory, std::string("no memory for ") + what);
}

template <class Make>
auto with_memory(const char* what, Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    throw_no_memory(what);
  }
}

// Null if it cannot be made.
template <class Make>
auto or_null(Make make) noexcept -> decltype(make()) {
  try {
    return make();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace hamlyn::internal_::library
