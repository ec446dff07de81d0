#pragma once
// Messages of the two sides of loans (docs/wire.md). Each is copied once and then checked.
//
// sender to receiver    an acknowledged message into the seed's entry: LoanOpen. Then fast-mode messages
//                       without data, one for each loan: the offset is the buffer's index, the word its
//                       number and length; a word of 0: closed
// receiver to sender    fast-mode messages to the slot that LoanOpen names, each beginning with a LoanWord
// without a message     the receiver writes the number of what it gives back into a page of its own, which
//                       the sender has mapped; the sender writes the numbers that hold into its area
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/namespaces.h"
#include "hamlyn/values/not_mapped.h"
#include "hamlyn/values/ticket.h"
#include "protocols/wire_order.h"

namespace hamlyn::internal_::protocols {

inline constexpr std::uint32_t kLoanClasses = 8;
inline constexpr std::uint32_t kLoanBuffers = 1024;
inline constexpr std::uint64_t kMostLoanBytes = std::uint64_t{1} << 30;  // of one buffer
inline constexpr std::uint64_t kMostLoanArea = std::uint64_t{1} << 36;

enum class LoanWord : std::uint64_t {
  answer = 1,      // LoanAnswer: the pool is mapped
  refuse = 2,      // LoanRefused: it is not
  given_back = 3,  // something was, and the sender waits for that
  gone = 4,        // the receiver has gone: everything is given back
};

// The first bytes of the area. The sender alone writes them; receivers have them mapped.
struct LoanHeader {
  std::uint32_t wanted;  // moves when the sender begins to wait for a buffer
  std::uint32_t reserved[15];
  std::uint32_t numbers[kLoanBuffers];  // of the loan that each buffer is now, from 1 on
};
static_assert(sizeof(LoanHeader) == 4160 && offsetof(LoanHeader, numbers) == 64);

// The receiver's page: of each buffer the number of the loan that it has given back last.
struct LoanReturns {
  std::uint32_t numbers[kLoanBuffers];
};
static_assert(sizeof(LoanReturns) == 4096);

// How the area is cut: behind the header, from a multiple of 4096 on, the buffers of each class one behind
// the other, each at a multiple of 64, or of 4096 if it is as long.
struct LoanCut {
  std::uint64_t bytes;
  std::uint64_t count;
};

struct LoanPlace {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

using LoanCuts = std::array<LoanCut, kLoanClasses>;

inline std::uint64_t loan_stride(std::uint64_t bytes) noexcept {
  const std::uint64_t unit = bytes < 4096 ? 64 : 4096;
  return (bytes + unit - 1) / unit * unit;
}

inline constexpr std::uint64_t kFirstLoan = 8192;
static_assert(kFirstLoan >= sizeof(LoanHeader));

// The bytes of an area that is cut so; 0: nothing can be.
inline std::uint64_t loan_area_bytes(const LoanCuts& cuts) noexcept {
  std::uint64_t count = 0;
  std::uint64_t bytes = kFirstLoan;
  for (const LoanCut& cut : cuts) {
    if ((cut.count == 0) != (cut.bytes == 0)) return 0;
    if (cut.bytes > kMostLoanBytes || cut.count > kLoanBuffers) return 0;
    count += cut.count;
    bytes += cut.count * loan_stride(cut.bytes);
    bytes = (bytes + 4095) / 4096 * 4096;
  }
  return count == 0 || count > kLoanBuffers || bytes > kMostLoanArea ? 0 : bytes;
}

// Where each buffer stands, of cuts that `loan_area_bytes` has found good; `place(LoanPlace)` for each.
template <class Place>
void place_loans(const LoanCuts& cuts, Place place) {
  std::uint64_t at = kFirstLoan;
  for (const LoanCut& cut : cuts) {
    for (std::uint64_t i = 0; i < cut.count; ++i, at += loan_stride(cut.bytes))
      place(LoanPlace{at, static_cast<std::uint32_t>(cut.bytes)});
    at = (at + 4095) / 4096 * 4096;
  }
}

struct LoanOpen {
  static constexpr std::uint32_t kMagic = 0x4E4F4C48;  // "HLON"
  std::uint32_t magic = kMagic;
  std::uint32_t version = 1;
  Ticket desk;  // fast mode: where the sender is answered
  Ticket area;  // opens the area for mapping
  LoanCuts cuts{};
};
static_assert(sizeof(LoanOpen) == 264 && std::is_trivially_copyable_v<LoanOpen>);
template <class What>
void each_number(LoanOpen& open, What what) noexcept {
  what(open.magic), what(open.version), each_number(open.desk, what), each_number(open.area, what);
  for (LoanCut& cut : open.cuts) what(cut.bytes), what(cut.count);
}

// Both slots are of the receiver's own interface, whatever it says.
struct LoanAnswer {
  static constexpr std::uint32_t kMagic = 0x41414C48;  // "HLAA"
  std::uint32_t magic = kMagic;
  std::uint32_t version = 1;
  std::uint64_t landing_key = 0;  // of the slot that loans are told to
  std::uint64_t returns_key = 0;  // of the slot on its page
  std::uint32_t landing_slot = 0;
  std::uint32_t landing_generation = 0;
  std::uint32_t returns_slot = 0;
  std::uint32_t returns_generation = 0;

  Ticket landing(std::uint64_t receiver) const noexcept {
    Ticket out;
    out.interface = receiver;
    out.slot = landing_slot;
    out.generation = landing_generation;
    out.key = landing_key;
    out.bound = kLoanBuffers;
    return out;
  }
  Ticket returns(std::uint64_t receiver) const noexcept {
    Ticket out;
    out.interface = receiver;
    out.slot = returns_slot;
    out.generation = returns_generation;
    out.key = returns_key;
    out.entry = Ticket::kRemote;
    out.bound = sizeof(LoanReturns);
    return out;
  }
};
static_assert(sizeof(LoanAnswer) == 40 && std::is_trivially_copyable_v<LoanAnswer>);
template <class What>
void each_number(LoanAnswer& answer, What what) noexcept {
  what(answer.magic), what(answer.version), what(answer.landing_key), what(answer.returns_key);
  what(answer.landing_slot), what(answer.landing_generation);
  what(answer.returns_slot), what(answer.returns_generation);
}

// Whether `sender` may have said that: it is answered, and its memory mapped, and nobody else's.
inline bool good(const LoanOpen& open, std::uint64_t sender) noexcept {
  return open.magic == LoanOpen::kMagic && open.version == 1 && invalid(open.desk) == nullptr &&
         open.desk.fast() && open.desk.interface == sender && invalid(open.area) == nullptr &&
         open.area.interface == sender && loan_area_bytes(open.cuts) != 0;
}

// Comes with `refuse`, and says why a receiver takes no loans of a sender. From a receiver of an earlier
// version nothing comes.
struct LoanRefused {
  static constexpr std::uint32_t kUnsaid = 0, kNotWanted = 1;
  static constexpr std::uint32_t kNoMemory = 2;         // to map the pool with
  static constexpr std::uint32_t kUnfit = 3;            // what was mapped cannot be the pool
  static constexpr std::uint32_t kNotInTime = 4;        // the receiver did not get it mapped in its time
  static constexpr std::uint32_t kNotMapped = 1u << 8;  // and in the low bits a NotMapped

  std::uint32_t why = kUnsaid;

  // Why the pool could not be mapped; none: that is not why.
  NotMapped not_mapped() const noexcept {
    return why >> 8 == 1 ? static_cast<NotMapped>(why & 0xFF) : NotMapped::none;
  }
};
static_assert(sizeof(LoanRefused) == 4 && std::is_trivially_copyable_v<LoanRefused>);
template <class What>
void each_number(LoanRefused& refused, What what) noexcept {
  what(refused.why);
}

inline bool good(const LoanAnswer& answer) noexcept {
  return answer.magic == LoanAnswer::kMagic && answer.version == 1;
}

// Tells of one loan.
struct LoanMessage {
  std::uint32_t number;
  std::uint32_t length;
};

inline constexpr std::uint64_t kLoansClosed = 0;

inline std::uint64_t word_of(const LoanMessage& message) noexcept {
  return std::uint64_t{message.number} | std::uint64_t{message.length} << 32;
}
inline LoanMessage loan_of(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
}

// Whether a sender that has shown buffers at `places` may have said that of the buffer `index`.
inline bool good(const LoanMessage& message, std::uint64_t index,
                 std::span<const LoanPlace> places) noexcept {
  return message.number != 0 && index < places.size() && message.length <= places[index].length;
}

}  // namespace hamlyn::internal_::protocols
