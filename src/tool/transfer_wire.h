#pragma once
// Messages of `hamlyn send` and `hamlyn receive` (docs/tool.md). A transfer is one stream: its first record
// is a Greeting, then come the data, an empty record ends them, the last one is a Trailer. The receiver says
// how it went by a datagram, a Verdict, to the seed in the greeting. All of it comes from another process and
// is nothing but bytes until `parse` has said null to it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/values/seed.h"

namespace hamlyn::tool {

inline constexpr std::uint32_t kMagic = 0x784D4C48;  // "HLMx"
inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::uint64_t kUnknownSize = ~std::uint64_t{0};
inline constexpr std::size_t kPieceBytes = 1 << 17;   // of data in a record, at most
inline constexpr std::size_t kPieces = 8;             // of the sender's: being read, or copied
inline constexpr std::size_t kWindowBytes = 1 << 20;  // that the receiver has not written out, at most

enum Kind : std::uint16_t { kGreeting = 1, kTrailer, kVerdict };

// Begins each of them. A greeting has the same place for its seed in every version from 3 on, and a verdict
// its outcome, so that who speaks another one can be told.
struct Head {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t kind = 0;
};

struct Greeting {
  Head head{.kind = kGreeting};
  std::uint64_t expected = kUnknownSize;  // bytes to come, only for the receiver's progress bar
  Seed verdict;                           // of a datagram receiver of the sender's
};

struct Trailer {
  Head head{.kind = kTrailer};
  std::uint64_t total = 0;     // bytes sent
  std::uint64_t checksum = 0;  // XXH3 of them
};

enum class Outcome : std::uint32_t { whole = 1, output_failed, broken, interrupted, other_version };

struct Verdict {
  Head head{.kind = kVerdict};
  Outcome outcome = Outcome::broken;
  std::uint32_t reserved = 0;
  std::uint64_t total = 0;
  std::uint64_t checksum = 0;
};

static_assert(sizeof(Head) == 8 && sizeof(Greeting) == 80 && sizeof(Trailer) == 24 && sizeof(Verdict) == 32);

// Copies a message out of memory that its sender may still be writing. Null if it is what it claims,
// otherwise what is wrong with it: kOtherVersion if it is of another one. `sender`: whose seed a greeting may
// hold. It holds that or, if anything is wrong with it, none; of another version it may still be there.
inline constexpr char kOtherVersion[] = "it is of another version";
const char* parse(std::span<const std::byte> bytes, std::uint64_t sender, Greeting& out) noexcept;
const char* parse(std::span<const std::byte> bytes, Trailer& out) noexcept;
const char* parse(std::span<const std::byte> bytes, Verdict& out) noexcept;

// As it travels: in wire order.
Greeting travelling(Greeting greeting) noexcept;
Trailer travelling(Trailer trailer) noexcept;
Verdict travelling(Verdict verdict) noexcept;

template <typename Message>
std::span<const std::byte> bytes_of(const Message& message) noexcept {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace hamlyn::tool
