#pragma once
// The VI Architecture (docs/vi.md): registered memory, work queues of descriptors, completion queues. vipl.h
// has the same as C functions, VIPL 1.0.
#include "hamlyn/vi/memory_cache.h"
#include "hamlyn/vi/nic.h"
#include "hamlyn/vi/objects.h"
