// Settings of endpoints: options, or variables of the environment.
#include "am/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "am/vi_word.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::am {

namespace {

// A setting of an endpoint: an option, or a variable of the environment if that is 0.
struct Setting {
  const char* option;
  const char* variable;
  std::size_t otherwise;
  std::size_t least, most, multiple_of;
  const char* range;
};
constexpr Setting kCredits{
    "EndpointOptions::credits", "HAMLYN_AM_CREDITS", 128, 1, kMostCredits, 1, "1 to 512"};
constexpr Setting kViCredits{
    "EndpointOptions::credits", "HAMLYN_AM_CREDITS", kStandardViCredits, 1, kMostViCredits, 1,
    "1 to 32 over VIs"};
constexpr Setting kRing{"EndpointOptions::ring",
                        "HAMLYN_AM_RING",
                        65536,
                        kLeastRing,
                        kMostRing,
                        kUnit,
                        "32768 to 1048576 bytes, a multiple of 64"};

// Throws Error: invalid_argument, with the setting's name, its range, and what it is.
std::size_t value_of(const Setting& setting, std::size_t option) {
  const char* text = option == 0 ? std::getenv(setting.variable) : nullptr;
  if (text != nullptr && *text == '\0') text = nullptr;
  std::size_t value = option != 0 ? option : setting.otherwise;
  bool good = true;
  if (text != nullptr) {
    const char* const end = text + std::strlen(text);
    const std::from_chars_result read = std::from_chars(text, end, value);
    good = read.ec == std::errc{} && read.ptr == end;
  }
  if (good && value >= setting.least && value <= setting.most && value % setting.multiple_of == 0)
    return value;
  throw Error(ErrorCode::invalid_argument, std::string(text != nullptr ? setting.variable : setting.option) +
                                               " is to be " + setting.range + ", and is " +
                                               (text != nullptr ? text : std::to_string(value)));
}

}  // namespace

Limits limits_of(Way way, const EndpointOptions& options) {
  const Setting& credits = way == Way::slots ? kCredits : kViCredits;
  return {.credits = static_cast<std::uint32_t>(value_of(credits, options.credits)),
          .ring = value_of(kRing, options.ring)};
}

Way way_of(const EndpointOptions& options) {
  constexpr std::array<const char*, 4> kNames{"", "slots", "vi", "vi3"};
  if (static_cast<std::size_t>(options.way) >= kNames.size())
    throw Error(ErrorCode::invalid_argument, "EndpointOptions::way is to be one of am::Way");
  if (options.way != Way::standard) return options.way;
  const char* const text = ::secure_getenv("HAMLYN_AM_WAY");
  if (text == nullptr || *text == '\0') return Way::slots;
  const auto found = std::ranges::find(kNames, std::string_view(text));
  if (found != kNames.end()) return static_cast<Way>(found - kNames.begin());
  throw Error(ErrorCode::invalid_argument,
              std::string("HAMLYN_AM_WAY is to be slots, vi or vi3, and is ") + text);
}

}  // namespace hamlyn::internal_::am
