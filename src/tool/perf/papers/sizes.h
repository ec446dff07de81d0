#pragma once
#include <array>
#include <cstdint>

namespace hamlyn::tool::perf::papers {

// Bytes of the messages of figure 5. The paper's end at 32 KiB.
inline constexpr std::array<std::uint32_t, 10> kSizes{4,    16,    64,    256,    1024,
                                                      4096, 16384, 65536, 262144, 1048576};

}  // namespace hamlyn::tool::perf::papers
