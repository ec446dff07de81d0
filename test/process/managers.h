#pragma once
// Two managers in a child of the test.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hamlyn/hamlyn.h"
#include "protocols/dispatcher.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {

struct Managers {
  Managers(const Interface::Options& there, const Interface::Options& here)
      : receiver({.interface = there}), sender({.interface = here}) {}
  Manager receiver, sender;
};

class WithManagers : public OnNodes {
 protected:
  void with_both(const std::function<void(Managers&)>& work) {
    in_child([&] {
      Managers both(options(), other_options());
      work(both);
    });
  }
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The code of the Error that `work` throws; nothing if it throws none.
inline std::optional<ErrorCode> thrown_by(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

// Whether a thread has come so far as to wait for something to arrive.
inline bool waiting_in(Manager& manager) {
  const protocols::Dispatcher::Guard guard(manager.inside());
  return manager.inside().waiters() != 0;
}

}  // namespace hamlyn::test
