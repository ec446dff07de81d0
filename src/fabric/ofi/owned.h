#pragma once
// libfabric's objects with an owner each, and its errors as ours.
#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fabric/ofi/libfabric.h"
#include "hamlyn/error.h"

namespace hamlyn::ofi {

inline constexpr std::size_t kAddressLimit = 64;  // bytes of an endpoint's address

[[noreturn]] inline void fail(const char* what, std::int64_t error) {
  throw Error(ErrorCode::system, std::string(what) + ": " + libfabric().strerror(static_cast<int>(-error)));
}
inline void check(const char* what, std::int64_t error) {
  if (error < 0) fail(what, error);
}

struct Close {
  template <class Object>
  void operator()(Object* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

}  // namespace hamlyn::ofi
