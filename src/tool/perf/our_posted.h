#pragma once
// Messages to posted buffers (hamlyn/core/posted_slot.h): each buffer is posted again when it was read.
#include <cstddef>

#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

enum class Place;

// 16 bytes, 64 buffers posted, the notification polled.
Meter posted_latency(Place place);
// A window of messages, each filled by its sender and read whole by its receiver.
Meter posted_touched_bandwidth(std::size_t bytes);

}  // namespace hamlyn::tool::perf
