#include "splitc/settings.h"

#include <charconv>
#include <cstdlib>

#include "hamlyn/values/error.h"
#include "splitc/vi/message.h"

namespace hamlyn::internal_::splitc {
namespace {

constexpr const char* kOver = "HAMLYN_SPLITC_OVER";
constexpr const char* kCredits = "HAMLYN_SPLITC_CREDITS";

// Null: it is not set.
const char* variable(const char* name) noexcept {
  const char* const text = ::secure_getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

[[noreturn]] void refuse(const std::string& name, const std::string& range, std::string_view text) {
  throw Error(ErrorCode::invalid_argument,
              name + " is to be " + range + ", and is '" + std::string(text) + "'");
}

}  // namespace

Over over_of(const std::string& name, std::string_view text) {
  if (text == "segments") return Over::segments;
  if (text == "vi") return Over::vi;
  refuse(name, "segments or vi", text);
}

std::uint32_t credits_of(const std::string& name, std::string_view text) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out == 0 || out > kMostCredits)
    refuse(name, "1 to " + std::to_string(kMostCredits), text);
  return out;
}

Over over_of(const ProgramOptions& options) {
  switch (options.over) {
    case Over::segments:
    case Over::vi:
      return options.over;
    case Over::standard:
      break;
    default:
      throw Error(ErrorCode::invalid_argument, "ProgramOptions::over is to be one of splitc::Over");
  }
  const char* const text = variable(kOver);
  return text == nullptr ? Over::segments : over_of(kOver, text);
}

std::uint32_t credits_of(const ProgramOptions& options) {
  if (options.credits != 0) return credits_of("ProgramOptions::credits", std::to_string(options.credits));
  const char* const text = variable(kCredits);
  return text == nullptr ? kStandardCredits : credits_of(kCredits, text);
}

}  // namespace hamlyn::internal_::splitc
