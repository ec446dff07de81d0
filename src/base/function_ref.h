#pragma once
// A function that is called while its caller's frame stands: two words, no allocation. What takes one is
// compiled once, and not once for each lambda that is given to it.
#include <memory>
#include <utility>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  // `function` outlives this.
  template <class Function>
  FunctionRef(const Function& function) noexcept
      : object_(std::addressof(function)), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const Function*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* object_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace hamlyn::internal_::base
