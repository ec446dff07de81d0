#pragma once
// Words and structures of calls (docs/wire.md, "Calls"). Whatever comes is copied once and then checked; any
// bits may come.
//
//   client to server    to the door, which is public: six words of a greeting, in any order
//   server to client    Admission, into the place of stack 0
//   client to server    calls, each a frame at the place of its stack, with a word; a long frame into a
//                       paranoid entry, with the word and the stack as its metadata. Procedures from
//                       kReserved on are the library's
//   server to client    results, each at the place of its stack
//   either way          a put of a sequence number to the stack's flag: the call is cancelled
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "base/byte_order.h"
#include "base/copy.h"
#include "base/namespaces.h"
#include "hamlyn/rpc/call.h"
#include "hamlyn/values/ticket.h"
#include "protocols/copy_of.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::Cause;
using hamlyn::rpc::Fate;

inline constexpr std::uint32_t kWireVersion = 3;
inline constexpr std::size_t kLeastFrame = 128, kMostFrame = 8064;
inline constexpr std::uint32_t kMostStacks = 1024;
inline constexpr std::size_t kMostLong = std::size_t{1} << 30;
inline constexpr std::size_t kFlag = 8;  // bytes of each stack, in front of the frames
inline constexpr std::uint32_t kMostDepth = 15;
inline constexpr std::size_t kMostText = 200;
inline constexpr std::size_t kUrgentFrame = 320;

// Bytes of a frame that are copied as one cache line: places are longer.
inline constexpr std::size_t kCopiedShort = 64;

// Copies a short frame. Up to 16 bytes in the pieces in which they were stored a moment ago: a processor
// hands a load what a store of the same bytes had, and otherwise waits for that store.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  if (length <= 16) [[likely]]
    base::copy_up_to_16(to, from, length);
  else
    std::memcpy(to, from, kCopiedShort);
}

// Frames stand at multiples of this, so that a place is found by a shift.
constexpr std::size_t stride_of(std::size_t frame) noexcept { return std::bit_ceil(frame); }
// The first frame, behind the flags.
constexpr std::size_t first_frame(std::size_t stacks, std::size_t stride) noexcept {
  return (stacks * kFlag + stride - 1) / stride * stride;
}

// Places of a slot with so many stacks. Half of them the other side can count on: a message for each stack,
// and a farewell. With fewer than 256 what is free is told of too often (docs/performance.md).
constexpr std::uint32_t places_for(std::size_t stacks) noexcept {
  return static_cast<std::uint32_t>(std::max<std::size_t>(256, 2 * stacks + 2));
}

// --- time left, in 16 bits: an exponent of 5 and a mantissa of 11, in units of 64 ns. 0: no deadline

inline constexpr std::uint64_t kTimeUnit = 64;

// Never more than there is; what is less than a unit is one.
constexpr std::uint16_t time_word(std::chrono::nanoseconds left) noexcept {
  std::uint64_t units = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)) / kTimeUnit;
  std::uint32_t exponent = 0;
  while (units >= 1u << 11) {
    units >>= 1;
    ++exponent;
  }
  if (exponent > 31) return 0;
  if (units == 0) units = 1;
  return static_cast<std::uint16_t>(exponent << 11 | units);
}
constexpr std::chrono::nanoseconds time_of(std::uint16_t word) noexcept {
  if (word == 0) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds{static_cast<std::int64_t>((word & 0x7FFu) * kTimeUnit << (word >> 11))};
}

// --- calls

// Procedures of the library's own.
inline constexpr std::uint16_t kReserved = 0xFFF0;
enum class Own : std::uint16_t {
  bind = kReserved,  // hashes of names and signatures, in pairs; returns a number for each
  tell,              // the hash of a name; returns the signature in words
  settle,            // FateQuestion; returns a Fate, or kStillRunning
  leave,             // the client goes: at any stack, without an answer
  list,              // the place of a procedure; returns signatures in words, from there on
};
// Pairs that one bind asks for: what fits any frame. More are refused, for each is looked for.
inline constexpr std::size_t kPair = 2 * sizeof(std::uint64_t);
inline constexpr std::size_t kMostPairs = kLeastFrame / kPair;
// Numbers that a bind answers with in the place of a procedure's.
inline constexpr std::uint16_t kNoSuchName = 0xFFFF, kOtherSignature = 0xFFFE;
inline constexpr std::uint8_t kStillRunning = 0xFF;

struct CallWord {
  std::uint16_t procedure = 0;
  std::uint16_t left = 0;  // time_word
  std::uint16_t sequence = 0;
  std::uint8_t depth = 0;  // 4 bits
  bool urgent = false;
  bool traced = false;  // the last 16 bytes of the frame are a trace
};
inline constexpr std::uint64_t kIsCall = 1;  // in the 4 bits behind the depth
// Bits of which each call has these.
inline constexpr std::uint64_t kCallMask = ~std::uint64_t{0} << 58 | std::uint64_t{0xF} << 52;
inline constexpr std::uint64_t kCallBits = kIsCall << 52;

constexpr std::uint64_t word_of(const CallWord& call) noexcept {
  return std::uint64_t{call.procedure} | std::uint64_t{call.left} << 16 | std::uint64_t{call.sequence} << 32 |
         std::uint64_t{call.depth} << 48 | kIsCall << 52 | std::uint64_t{call.urgent} << 56 |
         std::uint64_t{call.traced} << 57;
}
// A call's word that has come, taken apart where it is looked at.
class CallBits {
 public:
  constexpr CallBits() noexcept = default;
  explicit constexpr CallBits(std::uint64_t word) noexcept : word_(word) {}
  constexpr std::uint16_t procedure() const noexcept { return static_cast<std::uint16_t>(word_); }
  constexpr std::uint16_t left() const noexcept { return static_cast<std::uint16_t>(word_ >> 16); }
  constexpr std::uint16_t sequence() const noexcept { return static_cast<std::uint16_t>(word_ >> 32); }
  constexpr std::uint8_t depth() const noexcept { return static_cast<std::uint8_t>(word_ >> 48 & 0xF); }
  constexpr bool urgent() const noexcept { return (word_ >> 56 & 1) != 0; }
  constexpr bool traced() const noexcept { return (word_ >> 57 & 1) != 0; }
  // Whether no bit is set that means nothing.
  constexpr bool good() const noexcept { return (word_ & kCallMask) == kCallBits; }

 private:
  std::uint64_t word_ = 0;
};

// Both sides count the calls of a stack in 64 bits. A word has the lowest 16 of them, which are never 0.
constexpr std::uint64_t next_sequence(std::uint64_t last) noexcept {
  return last + ((last & 0xFFFF) == 0xFFFF ? 2 : 1);
}
constexpr std::uint16_t in_word(std::uint64_t sequence) noexcept {
  return static_cast<std::uint16_t>(sequence);
}
// Whether a call comes after another one of its stack. Numbers may be left out: of calls that did not leave.
constexpr bool follows(std::uint16_t sequence, std::uint64_t last) noexcept {
  return sequence != 0 && static_cast<std::uint16_t>(sequence - last - 1) < 0x7FFF;
}
// The whole number of one that follows.
constexpr std::uint64_t after(std::uint64_t last, std::uint16_t sequence) noexcept {
  return last + static_cast<std::uint16_t>(sequence - last);
}

// Metadata of a long frame.
struct LongCall {
  std::uint64_t word = 0;
  std::uint64_t stack = 0;
};
static_assert(sizeof(LongCall) == 16);
template <class What>
void each_number(LongCall& call, What what) noexcept {
  what(call.word), what(call.stack);
}

// --- results

enum class Kind : std::uint8_t {
  admitted = 1,  // Admission
  full,          // there is no room for another client
  result,        // of the call with that sequence number
  failed,        // for `cause`; the data is the text
  closed,        // the server goes: the low half of the session stands for the sequence
};
struct ReplyWord {
  std::uint16_t sequence = 0;
  Kind kind = Kind::result;
  Cause cause = Cause::none;
  bool begun = false;  // the procedure was begun
  bool good = true;
};
constexpr std::uint64_t word_of(const ReplyWord& reply) noexcept {
  return std::uint64_t{reply.sequence} | std::uint64_t{static_cast<std::uint8_t>(reply.kind)} << 16 |
         std::uint64_t{static_cast<std::uint8_t>(reply.cause)} << 24 | std::uint64_t{reply.begun} << 32;
}
constexpr ReplyWord reply_of(std::uint64_t word) noexcept {
  ReplyWord out{static_cast<std::uint16_t>(word), static_cast<Kind>(word >> 16 & 0xFF),
                static_cast<Cause>(word >> 24 & 0xFF), (word >> 32 & 1) != 0, word >> 33 == 0};
  out.good = out.good && out.cause < Cause::count && (out.kind == Kind::failed) == (out.cause != Cause::none);
  return out;
}

// --- the greeting

// A client's first words, before it has a place where no other could write: where its results go.
struct Greeting {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint32_t key_low = 0;
  std::uint32_t key_high = 0;
  std::uint32_t shape = 0;        // stacks - 1, 10 bits; log2 of the stride, 4 bits; the version, 8 bits
  std::uint32_t length = 0;       // bytes of a long result; 0: none
  std::uint32_t incarnation = 0;  // of the entries for long results
};
inline constexpr std::size_t kGreetingWords = sizeof(Greeting) / sizeof(std::uint32_t);

constexpr std::uint32_t shape_of(std::uint32_t stacks, std::size_t stride) noexcept {
  return (stacks - 1) | static_cast<std::uint32_t>(std::countr_zero(stride)) << 10 | kWireVersion << 14;
}
struct ClientShape {
  std::uint32_t stacks = 0;
  std::size_t stride = 0;
};
constexpr std::optional<ClientShape> client_shape(std::uint32_t shape) noexcept {
  const ClientShape out{(shape & 0x3FF) + 1, std::size_t{1} << (shape >> 10 & 0xF)};
  if (shape >> 14 != kWireVersion || out.stride < kLeastFrame || out.stride > stride_of(kMostFrame))
    return std::nullopt;
  return out;
}

inline constexpr std::uint32_t kMarkBits = 0xFFFFFF;
// One word of it, with its place and a mark, which tells the words of one greeting from those of another.
constexpr std::uint64_t greeting_word(std::uint32_t mark, std::size_t place, std::uint32_t value) noexcept {
  return std::uint64_t{mark & kMarkBits} << 40 | std::uint64_t{place} << 32 | value;
}

// Puts the words of a greeting together, in any order.
class Greeted {
 public:
  explicit Greeted(std::uint32_t mark) noexcept : mark_(mark) {}
  std::uint32_t mark() const noexcept { return mark_; }
  // Passes over what is no word of one.
  void take(std::uint64_t word) noexcept {
    const std::size_t place = word >> 32 & 0xFF;
    if (place >= kGreetingWords) return;
    words_[place] = static_cast<std::uint32_t>(word);
    came_ |= 1u << place;
  }
  bool whole() const noexcept { return came_ == (1u << kGreetingWords) - 1; }
  Greeting greeting() const noexcept { return std::bit_cast<Greeting>(words_); }

 private:
  std::uint32_t mark_;
  std::uint32_t came_ = 0;
  std::array<std::uint32_t, kGreetingWords> words_{};
};

// A place that a client is given: a slot of its own at the server.
struct Admission {
  static constexpr std::uint32_t kMagic = 0x43525048;  // "HPRC"
  std::uint32_t magic = kMagic;
  std::uint32_t version = kWireVersion;
  std::uint32_t session = 0;
  std::uint32_t stacks = 0;
  std::uint32_t stride = 0;
  std::uint32_t frame = 0;  // bytes of a frame at most
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint64_t key = 0;
  std::uint32_t long_slot = 0;  // an entry for one long frame
  std::uint32_t long_generation = 0;
  std::uint64_t long_key = 0;
  std::uint64_t long_bound = 0;  // 0: the server takes none
  std::uint32_t long_incarnation = 0;
  std::uint32_t mark = 0;  // of the greeting
};
static_assert(sizeof(Admission) == 72);
template <class What>
void each_number(Admission& one, What what) noexcept {
  what(one.magic), what(one.version), what(one.session), what(one.stacks), what(one.stride), what(one.frame);
  what(one.slot), what(one.generation), what(one.key), what(one.long_slot), what(one.long_generation);
  what(one.long_key), what(one.long_bound), what(one.long_incarnation), what(one.mark);
}
inline bool good(const Admission& one, std::uint32_t asked) noexcept {
  return one.magic == Admission::kMagic && one.version == kWireVersion && one.session != 0 &&
         one.stacks != 0 && one.stacks <= asked && std::has_single_bit(one.stride) &&
         one.stride >= kLeastFrame && one.stride <= stride_of(kMostFrame) && one.frame >= kLeastFrame &&
         one.frame <= one.stride && one.frame <= kMostFrame && one.long_bound <= kMostLong;
}

// Asks how a call of a session that is over has ended.
struct FateQuestion {
  std::uint32_t session = 0;
  std::uint32_t stack = 0;
  std::uint64_t sequence = 0;
};
static_assert(sizeof(FateQuestion) == 16);
template <class What>
void each_number(FateQuestion& question, What what) noexcept {
  what(question.session), what(question.stack), what(question.sequence);
}

}  // namespace hamlyn::internal_::rpc
