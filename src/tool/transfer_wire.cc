#include "tool/transfer_wire.h"

namespace hamlyn::tool {
namespace {

const char* invalid_head(const Head& head, Kind expected) noexcept {
  if (head.magic != kMagic) return "it is no message of hamlyn send or receive";
  if (head.version != kVersion) return "the other side speaks another version of the transfer";
  if (head.kind != expected) return "it is a message of another kind";
  return nullptr;
}

const char* invalid_chunk_ticket(const Ticket& ticket, std::uint64_t peer) noexcept {
  if (const char* why = hamlyn::invalid(ticket)) return why;
  if (ticket.interface != peer) return "a ticket for a chunk leads to a third process";
  if (ticket.fast()) return "a ticket for a chunk is one for fast mode";
  if (ticket.bound != kChunkBytes) return "a ticket for a chunk has not room for exactly one";
  return nullptr;
}

}  // namespace

const char* invalid(const Hello& hello, std::uint64_t peer) noexcept {
  if (const char* why = invalid_head(hello.head, Kind::hello)) return why;
  if (const char* why = hamlyn::invalid(hello.mailbox)) return why;
  if (hello.mailbox.interface != peer) return "the mailbox is that of a third process";
  if (!hello.mailbox.fast()) return "the ticket of the mailbox is not for fast mode";
  if (hello.mailbox.bound < kMailboxBytes) return "the mailbox is too small";
  return nullptr;
}

const char* invalid(const Answer& answer, std::uint64_t peer) noexcept {
  if (const char* why = invalid_head(answer.head, Kind::answer)) return why;
  if (answer.places != kPlaces) return "the answer has another number of places than this version has";
  if (answer.reserved != 0) return "a reserved field of the answer is not zero";
  for (const Ticket& ticket : answer.tickets) {
    if (const char* why = invalid_chunk_ticket(ticket, peer)) return why;
  }
  return nullptr;
}

const char* invalid(const ChunkNote& note) noexcept {
  if (const char* why = invalid_head(note.head, Kind::chunk)) return why;
  if (note.end > 1 || note.reserved != 0) return "a chunk has flags that this version does not know";
  if (note.length > kChunkBytes) return "a chunk is longer than chunks are";
  if (note.end == 1 && note.length != 0) return "the end carries bytes";
  if (note.end == 0 && note.length == 0) return "a chunk has no bytes and is not the end";
  if (note.end == 0 && (note.total != 0 || note.checksum != 0)) return "a total comes before the end";
  return nullptr;
}

const char* invalid(const Returned& returned, std::uint64_t peer) noexcept {
  if (const char* why = invalid_head(returned.head, Kind::returned)) return why;
  if (returned.place >= kPlaces) return "a place comes back that was never given";
  if (returned.reserved != 0) return "a reserved field of a returned place is not zero";
  return invalid_chunk_ticket(returned.ticket, peer);
}

const char* invalid(const Verdict& verdict) noexcept {
  if (const char* why = invalid_head(verdict.head, Kind::verdict)) return why;
  if (verdict.reserved != 0) return "a reserved field of the verdict is not zero";
  switch (verdict.outcome) {
    case Outcome::whole:
    case Outcome::output_failed:
    case Outcome::broken:
    case Outcome::interrupted:
      return nullptr;
  }
  return "the verdict is none that this version knows";
}

Kind kind_of(std::span<const std::byte> bytes) noexcept {
  Head head{.kind = Kind{}};
  if (bytes.size() < sizeof head) return Kind{};
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.kind;
}

}  // namespace hamlyn::tool
