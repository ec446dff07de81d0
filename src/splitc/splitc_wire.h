#pragma once
// The control block in front of each rank's heap, as the others write it (docs/wire.md, "Split-C"). Whoever
// has the segment mapped may write any bits there: each is copied once and then checked.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"
#include "hamlyn/splitc/call.h"
#include "hamlyn/splitc/here.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::splitc {

inline constexpr std::uint32_t kWireVersion = 2;
inline constexpr std::uint32_t kCalls = 8;      // of one rank that may wait at another
inline constexpr std::size_t kPieceBytes = 32;  // that a rank gives to a meeting at a time

// Tells all others of a rank when a program begins.
struct Told {
  std::uint32_t version = kWireVersion;
  std::uint32_t guarded = 0;
  std::uint32_t over_vi = 0;
  std::uint32_t credits = 0;    // over VI
  std::uint64_t heap = 0;       // bytes
  std::uint64_t functions = 0;  // a hash of those that may be called
  std::uint64_t mark = 0;       // rank 0's is the program's
  std::uint64_t interface = 0;
  Ticket ticket;              // of its segment
  std::uint64_t session = 0;  // by which its VIs are called, over VI
  Ticket door;                // where its NIC hears, over VI
};
static_assert(sizeof(Told) == 184 && std::is_trivially_copyable_v<Told>);

// A rank that comes to a meeting.
struct Line {
  std::uint64_t meeting = 0;  // its number, written last
  std::uint64_t doing = 0;    // what that rank is doing there (meeting.h)
  std::array<std::byte, kPieceBytes> piece{};
  std::uint64_t stored = 0;  // bytes that it had stored at this rank before
  std::uint64_t behind = 0;  // requests that it had sent this rank by their VI before
};
inline constexpr std::size_t kLineBytes = offsetof(Line, behind) - offsetof(Line, doing);
inline constexpr std::size_t kLineBytesOverVi = sizeof(Line) - offsetof(Line, doing);
static_assert(sizeof(Line) == 64 && kLineBytes == 48 && kLineBytesOverVi == 56);

struct Request {
  std::uint64_t number = 0;  // of that rank's calls here, from 1 on; written last
  std::uint32_t function = 0;
  std::uint32_t bytes = 0;     // of arguments
  std::uint32_t answered = 0;  // 1: the caller waits for the reply
  std::uint32_t behind = 0;    // requests that the rank had sent by their VI before, modulo 2^32
  std::array<std::byte, kMostArguments> arguments{};
};
inline constexpr std::size_t kRequestHead = offsetof(Request, arguments) - offsetof(Request, function);
static_assert(sizeof(Request) == 128 && kRequestHead == 16);

enum class Done : std::uint32_t { ok, threw, refused };

struct Reply {
  std::uint64_t number = 0;  // of the call; written last
  Done done = Done::ok;
  std::uint32_t bytes = 0;  // that follow: the result, or why not
  std::array<std::byte, kMostResult> result{};
};
inline constexpr std::size_t kReplyHead = offsetof(Reply, result) - offsetof(Reply, done);
static_assert(sizeof(Reply) == 128 && kReplyHead == 8);

// Part that one other rank writes. Lines that ranks write at different times are apart.
struct alignas(64) Other {
  std::uint64_t stored = 0;  // bytes that it has stored here, behind them
  std::array<std::uint64_t, 7> reserved{};
  std::array<Line, 2> lines;  // of meetings with even and odd numbers
  std::uint64_t handled = 0;  // this rank's calls there, that are over
  std::uint64_t behind = 0;   // requests that it had sent this rank by their VI before its reply
  std::array<std::uint64_t, 6> reserved_too{};
  Reply reply;
  std::array<Request, kCalls> requests;
};
static_assert(sizeof(Other) == 1408);

struct alignas(64) Head {
  std::uint64_t calls = 0;  // that all ranks together have made here: each adds 1 behind its request
  std::array<std::uint64_t, 7> reserved{};
};
static_assert(sizeof(Head) == 64);

// Places of a segment, in bytes.
inline constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t other_at(std::uint32_t rank) noexcept { return sizeof(Head) + rank * sizeof(Other); }
constexpr std::uint64_t heap_at(std::uint32_t ranks) noexcept {
  return (other_at(ranks) + kPage - 1) / kPage * kPage;
}
constexpr std::uint64_t line_at(std::uint32_t rank, std::uint64_t meeting) noexcept {
  return other_at(rank) + offsetof(Other, lines) + meeting % 2 * sizeof(Line);
}
constexpr std::uint64_t request_at(std::uint32_t rank, std::uint64_t number) noexcept {
  return other_at(rank) + offsetof(Other, requests) + number % kCalls * sizeof(Request);
}

}  // namespace hamlyn::internal_::splitc
