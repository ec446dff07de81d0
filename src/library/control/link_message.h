#pragma once
// Messages of two processes over the socket that the node gave them, some of them with memfds. docs/wire.md
// has every byte.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/link_reasons.h"
#include "base/namespaces.h"
#include "hamlyn/values/not_mapped.h"

namespace hamlyn::internal_::library {

inline constexpr std::uint32_t kLinkMagic = 0x4B4E4C48;  // "HLNK"
inline constexpr std::uint16_t kLinkVersion = 5;

enum class LinkWord : std::uint16_t {
  page = 1,        // with a memfd: the page of this side; the first message each way
  ring,            // with a memfd: a longer ring of `value` cells that this side wants to continue in
  ring_taken,      // the ring was mapped and sealed: continue in it
  area,            // with a memfd of `bytes` bytes: a send buffer area of this side, number and generation
  area_taken,      // the area was mapped: packets may name it
  area_refused,    // it was not: too much is shown on this link already, or there is no memory
  area_withdrawn,  // the area has gone: forget it
  import,          // asks for a mapping of the memory of a slot; `value` names the request
  imported,        // with its memfd, and one with the page of its generation word
  import_refused,  // or without; `kind` is a NotMapped
  farewell,        // the last: this side ends the link, or makes none; `value` is a LinkReason
};

struct LinkMessage {
  std::uint32_t magic = kLinkMagic;
  std::uint16_t version = kLinkVersion;
  LinkWord word{};
  std::uint64_t value = 0;  // of a ring: its cells
  std::uint64_t bytes = 0;  // of an area
  std::uint16_t number = 0;
  std::uint16_t generation = 0;
  std::uint32_t slot = 0;
  std::uint32_t slot_generation = 0;
  std::uint32_t kind = 0;    // imported: 0 read-only, 1 read-write; import_refused: a NotMapped
  std::uint64_t key = 0;     // the slot's; in an answer, the generation of the memory
  std::uint64_t offset = 0;  // of the slot in its area
  std::uint64_t bound = 0;   // of the slot
};
static_assert(sizeof(LinkMessage) == 64 && std::is_trivially_copyable_v<LinkMessage>);

// How many descriptors come with it.
inline std::size_t descriptors_of(LinkWord word) noexcept {
  if (word == LinkWord::imported) return 2;
  return word == LinkWord::page || word == LinkWord::ring || word == LinkWord::area ? 1 : 0;
}

// Why an owner has shown nothing, as it says itself. What is not for an owner to say is unsaid.
inline NotMapped refusal_in(const LinkMessage& message) noexcept {
  for (const NotMapped why : {NotMapped::not_shown, NotMapped::other_user, NotMapped::no_rights,
                              NotMapped::gone, NotMapped::bad_key, NotMapped::held_back}) {
    if (message.kind == static_cast<std::uint32_t>(why)) return why;
  }
  return NotMapped::unsaid;
}

// Null if well formed, otherwise what is wrong with it.
inline const char* invalid(const LinkMessage& message) noexcept {
  if (message.magic != kLinkMagic) return "not a link message";
  if (message.version != kLinkVersion) return "a link message of another version";
  if (message.word < LinkWord::page || message.word > LinkWord::farewell) return "an unknown link message";
  if (message.word == LinkWord::farewell && !base::may_be_told(message.value))
    return "a reason that is not for a peer to say";
  return nullptr;
}

}  // namespace hamlyn::internal_::library
