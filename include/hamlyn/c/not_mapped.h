#pragma once
// Why the memory of a slot, or of a segment, is not mapped, in C (hamlyn/c.h).
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Frozen numbers.
enum hamlyn_not_mapped {
  HAMLYN_NOT_MAPPED_NONE = 0,        // it is mapped
  HAMLYN_NOT_MAPPED_OPENING = 1,     // it is not open yet, or never will be: opening it says why
  HAMLYN_NOT_MAPPED_UNSAID = 2,      // the owner does not say why, or the link ended meanwhile
  HAMLYN_NOT_MAPPED_NOT_ASKED = 3,   // the import was made with HAMLYN_NO_MAP
  HAMLYN_NOT_MAPPED_NOT_SHOWN = 4,   // the owner shows that memory to nobody: it is of the kind guarded
  HAMLYN_NOT_MAPPED_OTHER_HOST = 5,  // the owner is a process of another host
  HAMLYN_NOT_MAPPED_OTHER_USER = 6,  // of the kind mapped_read_write: the owner is of another user
  HAMLYN_NOT_MAPPED_NO_RIGHTS = 7,   // the owner's protection does not let this user read it
  HAMLYN_NOT_MAPPED_GONE = 8,        // there is no such slot any more
  HAMLYN_NOT_MAPPED_BAD_KEY = 9,     // the ticket has a wrong key
  HAMLYN_NOT_MAPPED_HELD_BACK = 10,  // this user's processes hold too much that this owner has dropped
  HAMLYN_NOT_MAPPED_MISPLACED = 11   // it does not lie inside what the owner shows, or not at a multiple of 8
};

// The name, as "other_host". Never NULL.
const char* hamlyn_not_mapped_name(uint32_t why);
// Part of a sentence that says what is so. Never NULL.
const char* hamlyn_not_mapped_text(uint32_t why);

#ifdef __cplusplus
}
#endif
