#include "hamlyn/values/seed.h"

#include <string>

#include "hamlyn/values/error.h"
#include "protocols/seeds.h"

namespace hamlyn {

const char* invalid(const Seed& seed) noexcept {
  if (const char* why = invalid(seed.ticket)) return why;
  if (seed.kind() == SeedKind::none) return "it is a plain ticket";
  if (seed.ticket.fast() != (seed.kind() == SeedKind::tagged)) return "its ticket is not of its kind";
  return nullptr;
}

namespace internal_::protocols {

Seed make_seed(Ticket ticket, SeedKind kind) noexcept {
  ticket.purpose = static_cast<std::uint32_t>(kind);
  return {ticket};
}

void check_seed(const Seed& seed, SeedKind kind) {
  if (seed.ticket.version != Ticket{}.version)
    throw Error(ErrorCode::seed_invalid, "the bytes are no seed of this version of Hamlyn");
  if (const char* why = invalid(seed.ticket))
    throw Error(ErrorCode::seed_invalid, std::string("the seed: ") + why);
  if (seed.kind() != kind) throw Error(ErrorCode::seed_wrong_kind, "the seed is of another protocol");
  if (const char* why = invalid(seed)) throw Error(ErrorCode::seed_invalid, std::string("the seed: ") + why);
}

void throw_refused_seed(Refusal cause) {
  switch (cause) {
    case Refusal::bad_slot:
    case Refusal::stale_generation:
      throw Error(ErrorCode::seed_stale, "the seed's receiver has gone");
    case Refusal::entry_not_armed:
    case Refusal::entry_busy:
    case Refusal::stale_message:
      throw Error(ErrorCode::seed_used, "a sender has grown from this seed already");
    default:
      throw Error(ErrorCode::seed_forged, "the seed's key opens nothing, or nothing any more");
  }
}

void throw_nested(const char* what) {
  throw Error(ErrorCode::invalid_argument,
              std::string("inside process_arrival nobody can wait until ") + what + " is open");
}

}  // namespace internal_::protocols

}  // namespace hamlyn
