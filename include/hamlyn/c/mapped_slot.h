#pragma once
// Slots of other processes that are mapped here, in C (hamlyn/c.h).
#include <stddef.h>
#include <stdint.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/not_mapped.h"
#include "hamlyn/c/status.h"
#include "hamlyn/c/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

// Another process's slot, mapped here; reads are loads.
typedef struct hamlyn_mapped_slot hamlyn_mapped_slot;

// Makes the link if there is none. not_permitted: the text of hamlyn_last_error says why.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_make(hamlyn_interface* interface,
                                                       const hamlyn_ticket* ticket, int64_t timeout,
                                                       hamlyn_mapped_slot** made);
// Begins to map it, and waits for nobody: for hamlyn_mapped_slot_open. Until that has said ok its bytes are
// none, and it is not current. invalid_argument: the ticket.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_begin(hamlyn_interface* interface,
                                                        const hamlyn_ticket* ticket,
                                                        hamlyn_mapped_slot** made);
// Waits until it is mapped; 0: one look. As hamlyn_mapped_slot_make. After timed_out and cancelled it goes
// on, and this may be called again.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_open(hamlyn_mapped_slot* slot, int64_t timeout);
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_free(hamlyn_mapped_slot* slot);
// For reading; until it is freed. The bytes may change at any time.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_bytes(hamlyn_mapped_slot* slot, const void** data,
                                                        size_t* length);
// `data` is NULL if it may only be read.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_writable(hamlyn_mapped_slot* slot, void** data,
                                                           size_t* length);
// `current`: 1 while the owner still uses this memory.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_current(const hamlyn_mapped_slot* slot, int* current);
// `why`: a hamlyn_not_mapped: why it is not mapped, or none. Until that is known, and where
// hamlyn_mapped_slot_open answers something else than not_permitted: opening.
HAMLYN_NODISCARD hamlyn_status hamlyn_mapped_slot_not_mapped(const hamlyn_mapped_slot* slot, uint32_t* why);

#ifdef __cplusplus
}
#endif
