#pragma once
// Definitions that exporters and importers share.
#include <algorithm>
#include <chrono>
#include <optional>

#include "base/namespaces.h"
#include "hamlyn/segment/segment.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::segment {

// Returns the kind of record that a notification tells of; nothing if it tells of none.
inline std::optional<SegmentRecord::Kind> kind_of(Notification::Kind kind) noexcept {
  switch (kind) {
    case Notification::Kind::put:
      return SegmentRecord::Kind::written;
    case Notification::Kind::put_held:
      return SegmentRecord::Kind::held;
    case Notification::Kind::remote_done:
      return SegmentRecord::Kind::read;
    case Notification::Kind::remote_failed:
      return SegmentRecord::Kind::read_failed;
    case Notification::Kind::got:
      return SegmentRecord::Kind::got;
    case Notification::Kind::fetched:
      return SegmentRecord::Kind::swapped;
    default:
      return std::nullopt;
  }
}

inline std::optional<SegmentRecord> record_of(const Notification& notification) noexcept {
  const auto kind = kind_of(notification.kind);
  if (!kind) return std::nullopt;
  return SegmentRecord{
      .kind = *kind,
      .count = static_cast<std::uint32_t>(std::min<std::uint64_t>(notification.word, 0xFFFFFFFFu)),
      .offset = notification.offset,
      .length = notification.length,
      .peer = notification.peer};
}

}  // namespace hamlyn::internal_::segment
