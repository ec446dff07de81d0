#pragma once
// Settings of a program: options, words of the command line, or variables of the environment.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "hamlyn/splitc/program.h"

namespace hamlyn::internal_::splitc {

using hamlyn::splitc::Over;
using hamlyn::splitc::ProgramOptions;

// Way and number that somebody gives as text, by a word or variable of that name. Throws Error:
// invalid_argument, with the name, what may be said, and what was.
Over over_of(const std::string& name, std::string_view text);
std::uint32_t credits_of(const std::string& name, std::string_view text);

// Way and credits of a program. Throws Error, as above.
Over over_of(const ProgramOptions& options);
std::uint32_t credits_of(const ProgramOptions& options);

}  // namespace hamlyn::internal_::splitc
