#pragma once
// Messages of a client and a clerk before the first call. The client tells where its replies go: as a
// DatagramReply, of which each word of fast-mode metadata carries 32 bits, and where they stand. So it comes
// into the clerk's own queue, where no other client can write, and no link has more than its places of it.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/namespaces.h"
#include "protocols/datagram_wire.h"

namespace hamlyn::internal_::protocols {

class Greeting {
 public:
  static constexpr std::size_t kWords = sizeof(DatagramReply) / sizeof(std::uint32_t);

  Greeting() = default;
  // Greets for the process that has this ticket's slot.
  explicit Greeting(Ticket ticket) noexcept {
    ticket.purpose = static_cast<std::uint32_t>(SeedKind::datagram);
    const DatagramReply reply = in_wire_order(DatagramReply(ticket));
    std::memcpy(words_.data(), &reply, sizeof reply);
    came_ = kAll;
    mark_ = (ticket.key ^ ticket.key >> 32) & kMark;
  }

  std::uint64_t word(std::size_t place) const noexcept {
    return mark_ << kMarkAt | std::uint64_t{place} << 32 |
           base::load_little<std::uint32_t>(bytes() + 4 * place);
  }
  // In any order. Whatever is no such word is passed over; one of another greeting begins it anew.
  void take(std::uint64_t word) noexcept {
    const std::uint64_t place = word >> 32 & ((1u << (kMarkAt - 32)) - 1), mark = word >> kMarkAt;
    if (place >= kWords) return;
    if (mark != mark_) came_ = 0;
    mark_ = mark;
    base::store_little(reinterpret_cast<std::byte*>(words_.data()) + 4 * place,
                       static_cast<std::uint32_t>(word));
    came_ |= 1u << place;
  }
  bool whole() const noexcept { return came_ == kAll; }
  // Leads to `sender` and nowhere else. Nothing: it is no such ticket.
  std::optional<Ticket> ticket(std::uint64_t sender) const noexcept {
    const auto seed = reply_of({bytes(), sizeof(DatagramReply)}, sender);
    return seed ? std::optional(seed->ticket) : std::nullopt;
  }
  std::span<const std::byte> data() const noexcept { return {bytes(), sizeof(DatagramReply)}; }

 private:
  static constexpr std::uint32_t kAll = (1u << kWords) - 1;
  static constexpr std::uint32_t kMarkAt = 36;
  static constexpr std::uint64_t kMark = (1u << (64 - kMarkAt)) - 1;
  const std::byte* bytes() const noexcept { return reinterpret_cast<const std::byte*>(words_.data()); }

  std::array<std::uint32_t, kWords> words_{};  // as they travel
  std::uint32_t came_ = 0;
  std::uint64_t mark_ =
      0;  // which greeting of its sender it is: of one that was broken off some words have come
};

// With a request, and with its reply; without one, a reply says that the client was let go. Of the reply to a
// greeting it is 0; then the data is where calls go, as a DatagramReply, or nothing, if there is no room for
// another client.
class CallNumber {
 public:
  CallNumber() = default;
  explicit CallNumber(std::uint64_t number) noexcept { base::store_little(bytes_.data(), number); }
  // Nothing: it is none.
  static std::optional<std::uint64_t> of(std::span<const std::byte> metadata) noexcept {
    if (metadata.size() != sizeof(std::uint64_t)) return std::nullopt;
    return base::load_little<std::uint64_t>(metadata.data());
  }
  std::span<const std::byte> data() const noexcept { return bytes_; }

 private:
  std::array<std::byte, sizeof(std::uint64_t)> bytes_{};
};

}  // namespace hamlyn::internal_::protocols
