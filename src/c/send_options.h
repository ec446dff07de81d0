#pragma once
// The options of a send.
#include <cstddef>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"

namespace hamlyn::c {

// Says what is wrong with `given`, or null. The metadata's length is the terminus's to judge.
inline const char* read_send_options(const hamlyn_send_options* given, SendOptions& options) {
  if (given == nullptr) return nullptr;  // the usual way, without a copy
  hamlyn_send_options asked;
  if (const char* const wrong = take_options(given, asked, offsetof(hamlyn_send_options, queue)))
    return wrong;
  if ((asked.flags & ~(HAMLYN_ACKNOWLEDGED | kElements)) != 0) return "unknown flags";
  if (!readable(asked.metadata, asked.metadata_length)) return "metadata is NULL and has a length";
  options.offset = asked.offset;
  options.metadata = bytes_at(asked.metadata, asked.metadata_length);
  options.acknowledged = (asked.flags & HAMLYN_ACKNOWLEDGED) != 0;
  options.element = element_in(asked.flags);
  options.queue = asked.queue == nullptr ? nullptr : &asked.queue->it;
  options.word = asked.word;
  return nullptr;
}

}  // namespace hamlyn::c
