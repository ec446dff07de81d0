#pragma once
// What `hamlyn send` and `hamlyn receive` say to each other, byte by byte (docs/tool.md has the same as a
// table).
//
// The receiver publishes a fast-mode ticket of its *door*. A sender writes a Hello there, which carries the
// ticket of its *mailbox*. The receiver writes an Answer into the mailbox: one paranoid one-shot ticket per
// place for a chunk. Each chunk is a message with a ChunkNote as metadata; each place comes back with a
// Returned; a Verdict ends it all. Every structure here comes from another process and is nothing but bytes
// until `invalid` has said null to it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hamlyn/ticket.h"

namespace hamlyn::tool {

inline constexpr std::uint32_t kMagic = 0x784D4C48;  // "HLMx"
inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::uint32_t kPlaces = 8;
inline constexpr std::uint64_t kChunkBytes = 1 << 18;
inline constexpr std::uint64_t kUnknownSize = ~std::uint64_t{0};

enum class Kind : std::uint16_t { hello = 1, answer, chunk, returned, verdict };

struct Head {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Kind kind;
};

struct Hello {
  Head head{.kind = Kind::hello};
  std::uint64_t expected = kUnknownSize;  // bytes to come, only for the receiver's progress bar
  Ticket mailbox;
};

struct Answer {
  Head head{.kind = Kind::answer};
  std::uint32_t places = kPlaces;
  std::uint32_t reserved = 0;
  std::array<Ticket, kPlaces> tickets;
};

// Travels as the metadata of a chunk. The end is a chunk of its own, without bytes: so an empty input, or one
// that is a multiple of a chunk, needs no case of its own.
struct ChunkNote {
  Head head{.kind = Kind::chunk};
  std::uint64_t sequence = 0;  // 0, 1, 2, ...
  std::uint64_t length = 0;
  std::uint64_t total = 0;     // of the end only: bytes sent
  std::uint64_t checksum = 0;  // of the end only: XXH3 of them
  std::uint32_t end = 0;       // 1: this is the end
  std::uint32_t reserved = 0;
};

struct Returned {
  Head head{.kind = Kind::returned};
  std::uint32_t place = 0;
  std::uint32_t reserved = 0;
  std::uint64_t sequence = 0;  // of the chunk that was there
  Ticket ticket;               // for the next one: the key of a one-shot place is used once
};

enum class Outcome : std::uint32_t { whole = 1, output_failed, broken, interrupted };

struct Verdict {
  Head head{.kind = Kind::verdict};
  Outcome outcome = Outcome::broken;
  std::uint32_t reserved = 0;
  std::uint64_t total = 0;
  std::uint64_t checksum = 0;
};

static_assert(sizeof(Head) == 8 && sizeof(Hello) == 80 && sizeof(Answer) == 16 + kPlaces * 64);
static_assert(sizeof(ChunkNote) == 48 && sizeof(Returned) == 88 && sizeof(Verdict) == 32);
static_assert(std::has_unique_object_representations_v<Hello> &&
              std::has_unique_object_representations_v<Answer> &&
              std::has_unique_object_representations_v<ChunkNote> &&
              std::has_unique_object_representations_v<Returned> &&
              std::has_unique_object_representations_v<Verdict>);

// Where the receiver writes in the sender's mailbox. Each place for a chunk has a corner of its own there,
// written again only after the sender has read it and used the ticket in it.
inline constexpr std::uint64_t kAnswerAt = 0;
inline constexpr std::uint64_t kVerdictAt = 1024;
inline constexpr std::uint64_t kReturnedAt = 2048;
inline constexpr std::uint64_t kReturnedStride = 128;
inline constexpr std::uint64_t kMailboxBytes = kReturnedAt + kPlaces * kReturnedStride;

// Where a sender writes its Hello in the receiver's door: two senders seldom hit the same corner, and if they
// do, the one whose Hello was overwritten is not answered (its mailbox is not that of the process that
// wrote).
inline constexpr std::uint64_t kDoorStride = 128;
inline constexpr std::uint64_t kDoorPlaces = 64;
inline constexpr std::uint64_t door_offset(std::uint64_t interface) {
  return interface % kDoorPlaces * kDoorStride;
}

// Null if the message is what it claims and belongs to `peer` (as the link attests), otherwise what is wrong.
const char* invalid(const Hello& hello, std::uint64_t peer) noexcept;
const char* invalid(const Answer& answer, std::uint64_t peer) noexcept;
const char* invalid(const ChunkNote& note) noexcept;
const char* invalid(const Returned& returned, std::uint64_t peer) noexcept;
const char* invalid(const Verdict& verdict) noexcept;

// The kind of message that these bytes claim to be; 0 if they are too short to say.
Kind kind_of(std::span<const std::byte> bytes) noexcept;

// Copies a message out of memory that its sender may still be writing. False if the length is not exactly
// right.
template <typename Message>
bool copy_message(std::span<const std::byte> bytes, Message& out) noexcept {
  if (bytes.size() != sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return true;
}

template <typename Message>
std::span<const std::byte> bytes_of(const Message& message) noexcept {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace hamlyn::tool
