#pragma once
// Names that objects of one interface have registered, or are about to: the node takes a second registration
// by the same interface for a change of the first.
#include <mutex>
#include <set>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"

namespace hamlyn::internal_::library {

class NameClaims {
 public:
  // False: another has it.
  bool take(const std::string& name) {
    const std::lock_guard guard(mutex_);
    return names_.insert(name).second;
  }
  void give_back(const std::string& name) noexcept {
    const std::lock_guard guard(mutex_);
    names_.erase(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

// Returns the claims of that interface.
NameClaims& name_claims(Interface& interface) noexcept;

}  // namespace hamlyn::internal_::library
