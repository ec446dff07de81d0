#pragma once
// What exporters and importers share.
#include <algorithm>
#include <chrono>
#include <optional>

#include "hamlyn/segment.h"
#include "library/engine.h"

namespace hamlyn::segment {

// What an exporter is told of by a notification; nothing: it is of something else.
inline std::optional<SegmentRecord> record_of(const Notification& notification) noexcept {
  if (notification.kind != Notification::Kind::put && notification.kind != Notification::Kind::put_held)
    return std::nullopt;
  const bool held = notification.kind == Notification::Kind::put_held;
  return SegmentRecord{
      .kind = held ? SegmentRecord::Kind::held : SegmentRecord::Kind::written,
      .count = static_cast<std::uint32_t>(std::min<std::uint64_t>(notification.word, 0xFFFFFFFFu)),
      .offset = notification.offset,
      .length = notification.length,
      .peer = notification.peer};
}

}  // namespace hamlyn::segment
