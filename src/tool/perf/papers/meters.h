#pragma once
// Figures that tables and figures of paper 2 are made of beside those of `hamlyn perf`.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "hamlyn/am/values.h"
#include "tool/perf/meter.h"
#include "tool/perf/papers/am_part.h"

namespace hamlyn::tool::perf::papers {

// Ways of active messages, as figures are named.
constexpr const char* name_of(am::Way way) {
  if (way == am::Way::slots) return "am";
  return way == am::Way::vi ? "am.vi" : "am.vi3";
}

// Table 3: what the processors spend on that part of a request with so many arguments and its reply.
Meter am_part(am::Way way, AmPart part, std::size_t arguments);
std::string am_part_name(am::Way way, AmPart part, std::size_t arguments);

// Table 4: what a get of a word costs the rank that asks; the rank that is asked, whose interface answers;
// the rank that asks again, when it waits for an answer that is there.
enum class GetPart { ask, serve, sync, count };
inline constexpr std::array<const char*, 3> kGetPartNames{"ask", "serve", "sync"};
Meter get_part(GetPart part);

// Table 5: so many bytes copied within a processor's caches.
Meter copy_cost(std::size_t bytes);

// Figure 2: Split-C's five operations on one object of the types of C.
enum class Access { read, write, get, put, store, count };
enum class CType { char_type, short_type, int_type, long_type, float_type, double_type, count };
inline constexpr std::array<const char*, 5> kAccessNames{"read", "write", "get", "put", "store"};
inline constexpr std::array<const char*, 6> kCTypeNames{"char", "short", "int", "long", "float", "double"};
Meter access_cost(Access access, CType type, bool guarded);
std::string access_name(Access access, CType type, bool guarded);

// Figure 5: messages of so many bytes, each filled by its sender and read whole by its receiver.
enum class Carrier { vi, am, am_vi, am_vi3, splitc, splitc_mapped, count };
inline constexpr std::array<const char*, 6> kCarrierNames{
    "vi", name_of(am::Way::slots), name_of(am::Way::vi), name_of(am::Way::vi3), "splitc", "splitc.mapped"};
inline const char* name_of(Carrier carrier) { return kCarrierNames[static_cast<std::size_t>(carrier)]; }
Meter carried(Carrier carrier, std::size_t bytes);
std::string carried_name(Carrier carrier, std::size_t bytes);

}  // namespace hamlyn::tool::perf::papers
