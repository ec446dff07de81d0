#include "library/call_row.h"

#include <algorithm>

#include "base/run_lock.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

CallRow::CallRow(Interface& interface, CallSide side, std::uint64_t peer, std::string_view name)
    : interface_(interface), spare_(std::make_unique<interface::CallCounters>()), row_(spare_.get()) {
  spare_->side = side;
  spare_->peer = peer;
  std::ranges::copy(name.substr(0, sizeof spare_->name - 1), spare_->name);
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) return;
  auto& rows = interface.engine().counters().call;
  const auto free = std::ranges::find(rows, CallSide::none, &interface::CallCounters::side);
  if (free == std::end(rows)) return;
  *free = *spare_;
  row_ = free;
  spare_.reset();
}

CallRow::~CallRow() {
  if (spare_ != nullptr) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) *row_ = {};
}

}  // namespace hamlyn::internal_::library
