#pragma once
// The control thread waits by this; its parts share it, and nobody else.
#include <chrono>
#include <cstdint>

#include "base/namespaces.h"
#include "library/control/link_keeper.h"

namespace hamlyn::internal_::library {

// Meaning of an epoll event: one of these, or twice a link keeper's serial number, and 1 more for its pidfd.
inline constexpr std::uint64_t kWake = 2;
inline constexpr std::uint64_t kNode = 4;
inline constexpr std::uint64_t kHandedOut = 6;
inline constexpr std::uint64_t kSignals = 8;
inline constexpr std::uint64_t kPidfd = 1;
inline constexpr std::uint64_t kFirstSerial = 5;
inline std::uint64_t tag(const LinkKeeper& keeper) noexcept { return keeper.serial() * 2; }

inline constexpr std::chrono::milliseconds kAttachPause{200};  // between two tries to find a daemon again
inline constexpr std::chrono::milliseconds kCutOff{500};       // after so long without one it is told
inline constexpr int kCloseAgain = 5;  // ms, while sockets wait to be closed by a thread of their own

}  // namespace hamlyn::internal_::library
