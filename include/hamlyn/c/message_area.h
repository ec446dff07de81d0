#pragma once
// Memory that messages land in, in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Memory of this process that messages land in. It is freed after its slots.
typedef struct hamlyn_area hamlyn_area;

// Ways to the memory that go past its owner's interface.
enum hamlyn_sharing {
  HAMLYN_GUARDED = 0,            // private: every byte comes through the interface
  HAMLYN_MAPPED_READ_ONLY = 1,   // any holder of a ticket may map and read it
  HAMLYN_MAPPED_READ_WRITE = 2,  // holders of a ticket who run as this process's user may read and write it
};

// A message area of `bytes` zeroed bytes (paper 0, section 2.2); `sharing`: enum hamlyn_sharing.
HAMLYN_NODISCARD hamlyn_status hamlyn_area_make(hamlyn_interface* interface, size_t bytes, uint32_t sharing,
                                                hamlyn_area** made);
// Makes an area over memory that stays the caller's: whole pages of 4096, writable, until the area is freed.
HAMLYN_NODISCARD hamlyn_status hamlyn_area_make_over(hamlyn_interface* interface, void* memory, size_t bytes,
                                                     hamlyn_area** made);
// A durable area, kept in the file `path`, or, if that is NULL, in `descriptor` (paper 1, section 3.5.1).
HAMLYN_NODISCARD hamlyn_status hamlyn_area_make_durable(hamlyn_interface* interface, const char* path,
                                                        int descriptor, size_t bytes, hamlyn_area** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_area_free(hamlyn_area* area);
// Where it is, until it is freed, and how long.
HAMLYN_NODISCARD hamlyn_status hamlyn_area_bytes(hamlyn_area* area, void** data, size_t* length);
// Mapped kinds: moves the area to fresh memory at the same address; who had it mapped keeps the old pages.
HAMLYN_NODISCARD hamlyn_status hamlyn_area_revoke(hamlyn_area* area);
// Durable areas: puts these bytes into the file and waits until they are safe.
HAMLYN_NODISCARD hamlyn_status hamlyn_area_sync(hamlyn_area* area, size_t offset, size_t length,
                                                int64_t timeout);

#ifdef __cplusplus
}
#endif
