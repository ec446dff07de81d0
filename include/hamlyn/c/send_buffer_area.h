#pragma once
// Memory that long messages are sent out of, in C (hamlyn/c.h).
#include <stddef.h>

#include "hamlyn/c/interface.h"
#include "hamlyn/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A send buffer area (paper 0, section 2.3): what is sent out of it is copied once, by the receiver's
// interface. The whole of it is shown, read-only, to each process that a long piece of it is sent to.
typedef struct hamlyn_send_area hamlyn_send_area;

// `bytes`, rounded up to whole pages of 4096, zeroed. At most 64 areas per interface.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_area_make(hamlyn_interface* interface, size_t bytes,
                                                     hamlyn_send_area** made);
HAMLYN_NODISCARD hamlyn_status hamlyn_send_area_free(hamlyn_send_area* area);
// Where it is, until it is freed, and how long.
HAMLYN_NODISCARD hamlyn_status hamlyn_send_area_bytes(hamlyn_send_area* area, void** data, size_t* length);

#ifdef __cplusplus
}
#endif
