#pragma once
// Set-up throws Error and nothing else, also where memory has run out.
#include <new>
#include <string>

#include "hamlyn/error.h"

namespace hamlyn::library {

template <class Make>
auto with_memory(const char* what, Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, std::string("no memory for ") + what);
  }
}

}  // namespace hamlyn::library
