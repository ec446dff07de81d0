#include "tool/transfer_wire.h"

#include <algorithm>

#include "protocols/copy_of.h"

namespace hamlyn::tool {
namespace {

using protocols::each_number;

template <class What>
void each_number(Head& head, What what) noexcept {
  what(head.magic), what(head.version), what(head.kind);
}
template <class What>
void each_number(Greeting& greeting, What what) noexcept {
  each_number(greeting.head, what), what(greeting.expected), each_number(greeting.verdict.ticket, what);
}
template <class What>
void each_number(Trailer& trailer, What what) noexcept {
  each_number(trailer.head, what), what(trailer.total), what(trailer.checksum);
}
template <class What>
void each_number(Verdict& verdict, What what) noexcept {
  each_number(verdict.head, what), what(verdict.outcome), what(verdict.reserved);
  what(verdict.total), what(verdict.checksum);
}

template <class Message>
Message in_wire_order(Message message) noexcept {
  if constexpr (!base::kLittleEndian)
    each_number(message, [](auto& number) { number = base::turned(number); });
  return message;
}

template <class Message>
const char* copy(std::span<const std::byte> bytes, std::uint16_t kind, Message& out) noexcept {
  if (bytes.size() != sizeof out) return "a message has a wrong length";
  std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof out);
  out = in_wire_order(out);
  if (out.head.magic != kMagic) return "it is no message of hamlyn send or receive";
  if (out.head.kind != kind) return "it is a message of another kind";
  return out.head.version == kVersion ? nullptr : kOtherVersion;
}

}  // namespace

const char* parse(std::span<const std::byte> bytes, std::uint64_t sender, Greeting& out) noexcept {
  // Other versions may have more to say behind it.
  const char* why = copy(bytes.first(std::min(bytes.size(), sizeof out)), kGreeting, out);
  if (!why && bytes.size() != sizeof out) why = "a message has a wrong length";
  if (why && why != kOtherVersion) {
    out.verdict = {};
    return why;
  }
  const Ticket& ticket = out.verdict.ticket;
  const char* seed = hamlyn::invalid(ticket);
  if (!seed && ticket.interface != sender) seed = "the seed for the verdict is that of a third process";
  if (!seed && (out.verdict.kind() != SeedKind::datagram || ticket.fast()))
    seed = "the seed for the verdict is of another kind";
  if (!seed && ticket.bound < sizeof(Verdict)) seed = "there is no room for the verdict";
  if (!seed) return why;
  out.verdict = {};
  return why ? why : seed;
}

const char* parse(std::span<const std::byte> bytes, Trailer& out) noexcept {
  return copy(bytes, kTrailer, out);
}

const char* parse(std::span<const std::byte> bytes, Verdict& out) noexcept {
  if (const char* why = copy(bytes, kVerdict, out)) return why;
  if (out.reserved != 0) return "a reserved field of the verdict is not zero";
  switch (out.outcome) {
    case Outcome::whole:
    case Outcome::output_failed:
    case Outcome::broken:
    case Outcome::interrupted:
    case Outcome::other_version:
      return nullptr;
  }
  return "the verdict is none that this version knows";
}

Greeting travelling(Greeting greeting) noexcept { return in_wire_order(greeting); }
Trailer travelling(Trailer trailer) noexcept { return in_wire_order(trailer); }
Verdict travelling(Verdict verdict) noexcept { return in_wire_order(verdict); }

}  // namespace hamlyn::tool
