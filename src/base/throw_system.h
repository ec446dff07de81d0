#pragma once

namespace hamlyn::base {

// Throws Error(ErrorCode::system) that names the call and says what errno means.
[[noreturn]] void throw_system(const char* what);

}  // namespace hamlyn::base
