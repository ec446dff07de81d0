#pragma once
// A row of the counter page for calls of one procedure, or of one client (docs/wire.md).
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "interface/counters.h"

namespace hamlyn::internal_::library {

using interface::CallEnd;
using interface::CallSide;

// Counts into memory of its own while no row is free. Threads: one at a time. Owner: who made it; its
// interface is there for longer.
class CallRow {
 public:
  // Throws std::bad_alloc.
  CallRow(Interface& interface, CallSide side, std::uint64_t peer, std::string_view name);
  ~CallRow();
  CallRow(const CallRow&) = delete;
  CallRow& operator=(const CallRow&) = delete;

  void begun() noexcept { ++row_->calls; }
  void retried() noexcept { ++row_->retries; }
  // `cause`: as CallCounters::failed has them.
  void failed(std::size_t cause) noexcept { ++row_->failed[cause]; }
  void failed(CallEnd end) noexcept { failed(static_cast<std::size_t>(end)); }
  void took(std::chrono::nanoseconds time) noexcept {
    ++row_->times[interface::time_place(static_cast<std::uint64_t>(time.count()))];
  }
  // Whether that call of its stack is one of those that are timed.
  static constexpr bool is_timed(std::uint64_t sequence) noexcept { return (sequence & 15) == 1; }

 private:
  Interface& interface_;
  std::unique_ptr<interface::CallCounters> spare_;
  interface::CallCounters* row_;
};

}  // namespace hamlyn::internal_::library
