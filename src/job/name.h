#pragma once
// How a job's desk is found.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/namespaces.h"

namespace hamlyn::internal_::job {

// The name that is registered for a job.
inline std::string desk_name(const std::string& job) { return "job." + job; }
inline constexpr std::size_t kMostName = 60;  // letters of a job's name

inline constexpr std::uint32_t kMostRanks = 1000;    // of a job
inline constexpr std::uint32_t kMostClients = 1024;  // of its desk: ranks and other hosts

}  // namespace hamlyn::internal_::job
