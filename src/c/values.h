#pragma once
// The values of hamlyn/c.h and those of the classes: the same bytes, or member by member.
#include <bit>
#include <chrono>
#include <cstdint>
#include <span>

#include "hamlyn/c.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/put.h"
#include "hamlyn/values/remote.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/seed.h"
#include "hamlyn/values/share.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::c {

inline Ticket from(const hamlyn_ticket& ticket) noexcept { return std::bit_cast<Ticket>(ticket); }
inline hamlyn_ticket to(const Ticket& ticket) noexcept { return std::bit_cast<hamlyn_ticket>(ticket); }
inline Seed from(const hamlyn_seed& seed) noexcept { return std::bit_cast<Seed>(seed); }
inline hamlyn_seed to(const Seed& seed) noexcept { return std::bit_cast<hamlyn_seed>(seed); }
inline Share from(const hamlyn_share& share) noexcept { return std::bit_cast<Share>(share); }
inline hamlyn_share to(const Share& share) noexcept { return std::bit_cast<hamlyn_share>(share); }

inline hamlyn_notification to(const Notification& from) noexcept {
  return {static_cast<std::uint8_t>(from.kind),
          from.wrap,
          from.fast,
          static_cast<std::uint8_t>(from.cause),
          from.slot,
          from.entry,
          from.message_id,
          from.offset,
          from.length,
          from.word,
          from.peer,
          {}};
}

inline void tell(WhyNoLink why, std::uint32_t& reason, std::uint32_t& told) noexcept {
  reason = static_cast<std::uint32_t>(why.reason);
  told = why.told ? 1 : 0;
}
inline hamlyn_status tell(const Outcome& from, hamlyn_outcome& outcome) noexcept {
  outcome = {static_cast<hamlyn_status>(from.status), static_cast<std::uint32_t>(from.cause), from.value};
  return outcome.status;
}

inline SendHandle from(hamlyn_send_handle handle) noexcept {
  return {handle.sequence, static_cast<std::uint32_t>(handle.entry)};
}
inline hamlyn_send_handle to(SendHandle handle) noexcept { return {handle.sequence, handle.entry}; }

inline Strides from(const hamlyn_strides& strides) noexcept {
  return {strides.chunk, strides.x_chunks, strides.y_chunks, strides.x_stride, strides.y_stride};
}
inline Fetch fetch_of(const hamlyn_fetch_request& request) noexcept {
  return {static_cast<FetchOp>(request.op), request.bytes, request.operand, request.compare};
}
// Says what is wrong with strides that may be NULL, or null.
inline const char* strides_fault(const hamlyn_strides* strides) noexcept {
  return strides != nullptr && strides->reserved != 0 ? "a reserved member of the strides is not 0" : nullptr;
}

inline std::span<const std::byte> bytes_at(const void* data, std::size_t length) noexcept {
  return {static_cast<const std::byte*>(data), length};
}

// Whether a call can read its data: nothing needs no address.
inline bool readable(const void* data, std::size_t length) noexcept { return data != nullptr || length == 0; }

inline std::chrono::nanoseconds time_of(std::int64_t timeout) noexcept {
  return timeout < 0 ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds{timeout};
}
// Set-up counts milliseconds: rounded up, so that a short time is not none.
inline std::chrono::milliseconds milliseconds_of(std::int64_t timeout) noexcept {
  const std::chrono::nanoseconds time = time_of(timeout);
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  return timeout > 0 && whole != time ? whole + std::chrono::milliseconds{1} : whole;
}

constexpr std::uint32_t kRights = HAMLYN_FOR_GROUP | HAMLYN_FOR_EVERYONE;
inline Rights rights_of(std::uint32_t rights) noexcept {
  return {.group = (rights & HAMLYN_FOR_GROUP) != 0, .everyone = (rights & HAMLYN_FOR_EVERYONE) != 0};
}

}  // namespace hamlyn::c
