#pragma once
// Words of active messages (docs/am.md): answers, names, and what comes. Values.
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hamlyn {

namespace am {

inline constexpr std::size_t kMostArguments = 16;               // of 32 bits, of one message
inline constexpr std::size_t kMostMedium = 4096;                // bytes of a medium message
inline constexpr std::size_t kMostLong = std::size_t{1} << 30;  // bytes of a long one
inline constexpr std::uint32_t kHandlers = 256;                 // of an endpoint; 0 hears of what comes back
inline constexpr std::uint32_t kMostTranslations = 65536;

// How messages go from one endpoint to another (docs/am.md, "Ways"). Both endpoints are to have the same.
enum class Way : std::uint8_t {
  standard,  // as HAMLYN_AM_WAY says, or slots
  slots,     // to a ring that the sender manages: the fastest
  vi,        // over a VI for each pair, as in paper 2
  vi3,       // over three: for short, for medium and for all other messages
};

// Answers. The same numbers as in am.h.
enum class Result : std::uint8_t {
  ok,
  not_init,      // a forked child, to whom nothing of the parent's belongs, or the endpoint has gone
  bad_argument,  // an index, a size or a handler that cannot be
  resource,      // no memory, or as many as there may be
  not_sent,      // it would have had to wait, or Interface::cancel has ended that
  in_use,        // a handler is running: it may reply, and do nothing that may wait
};
// The name as written above. Never null.
const char* name(Result result) noexcept;

// Why a message has come back. The same numbers as in am.h.
enum class Why : std::uint8_t {
  none,
  bad_arguments,   // the message is none that this version knows
  bad_entry,       // the index stands for nobody
  bad_tag,         // the endpoint has another tag than the mapping
  bad_handler,     // the endpoint has no such handler
  bad_offset,      // outside the endpoint's segment, or the segment has changed
  bad_length,      // beyond the segment's end
  bad_endpoint,    // the endpoint has gone
  congestion,      // the endpoint has no room for another that sends to it
  unreachable,     // its process or its node has died, or the link was cut
  reply_rejected,  // who asked has no such handler or segment
};
// The name as written above. Never null.
const char* name(Why why) noexcept;

// Kinds of message. The same numbers as in am.h.
enum class Operation : std::uint8_t {
  none,
  request_short,
  request_medium,
  request_long,
  reply_short,
  reply_medium,
  reply_long,
  get,
};
// The name as written above. Never null.
const char* name(Operation operation) noexcept;

// A tag: whoever names it in the mapping may send to the endpoint that has it.
using Tag = std::uint64_t;
inline constexpr Tag kNoTag = 0;   // of an endpoint: nobody may
inline constexpr Tag kAnyTag = 1;  // of an endpoint: everybody may who has its name

// As a segment: the whole address space, whose offsets are addresses (Endpoint::set_segment).
inline constexpr std::span<std::byte> kAddressSpace{static_cast<std::byte*>(nullptr), SIZE_MAX};

// An endpoint's name: whoever has it can map it. A value of 72 bytes, which can be sent to others.
struct Name {
  std::array<std::uint64_t, 9> words{};

  friend auto operator<=>(const Name&, const Name&) = default;
};

using HandlerNumber = std::uint8_t;
using Arguments = std::span<const std::int32_t>;

// A message, as a handler is given it. Good until that returns.
struct Arrival {
  Arguments arguments;
  // Bytes of a medium message: in the library's memory, where its sender can still change them. Those of a
  // long one: in the segment. A short one has none.
  std::span<std::byte> data;
};

// A message that has come back.
struct Returned {
  Why why = Why::none;
  Operation operation = Operation::none;
  HandlerNumber handler = 0;
  std::uint8_t count = 0;                           // arguments
  std::int32_t index = -1;                          // of the translation that it was sent by; -1: a reply
  std::uint64_t offset = 0;                         // of a long one, or of a get at its source
  std::uint64_t length = 0;                         // bytes, beside the arguments
  std::array<std::int32_t, kMostArguments> room{};  // see `arguments`
  Name to;                                          // whom it was sent to

  Arguments arguments() const noexcept { return {room.data(), count}; }
};

// Counts of messages that an endpoint has sent and heard.
struct Statistics {
  std::uint64_t requests = 0;        // sent: of each length, and gets
  std::uint64_t replies = 0;         // sent: of each length, and the answers to gets
  std::uint64_t requests_heard = 0;  // for which a handler was called, and gets that were answered
  std::uint64_t replies_heard = 0;   // for which a handler was called
  std::uint64_t returned = 0;        // that have come back, or did not leave
  std::uint64_t rejected = 0;        // that were sent back from here
  std::uint64_t bytes = 0;           // sent: the data of medium and long messages
  std::uint64_t bytes_heard = 0;     // the data of medium and long messages that have come
  std::uint64_t waits = 0;    // requests that had to wait: for a credit, for room, for their data to leave
  std::uint64_t kept = 0;     // messages that found no room, and were kept to leave later
  std::uint64_t bare = 0;     // messages that gave back credits and room, and carried nothing
  std::uint64_t refused = 0;  // what came that no honest sender sends
};

}  // namespace am

}  // namespace hamlyn
