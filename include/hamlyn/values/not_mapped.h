#pragma once
// Why the memory of a slot, or of a segment, is not mapped here.
#include <cstdint>

namespace hamlyn {

// Numbers are frozen: an owner tells some of them to whoever asks (docs/wire.md).
enum class NotMapped : std::uint8_t {
  none = 0,    // it is mapped
  opening,     // it is not open yet, or never will be: `open` says why
  unsaid,      // the owner does not say why, being of an earlier version, or the link ended meanwhile
  not_asked,   // the import was made without `map`
  not_shown,   // the owner shows that memory to nobody: it is of the kind `guarded`
  other_host,  // the owner is a process of another host
  other_user,  // of the kind mapped_read_write: the owner is of another user
  no_rights,   // the owner's protection does not let this user read it (mapped_read_write: read and write it)
  gone,        // there is no such slot any more
  bad_key,     // the ticket has a wrong key
  held_back,   // this user's processes hold too much memory that this owner had shown them and has dropped
  misplaced,   // the segment does not lie inside what the owner shows, or not at a multiple of 8 bytes
};

// The name as written above. Never null.
const char* name(NotMapped why) noexcept;
// Part of a sentence that says what is so. Never null.
const char* text(NotMapped why) noexcept;

}  // namespace hamlyn
