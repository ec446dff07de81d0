#pragma once
// Active messages (docs/am.md): requests and replies that call handlers. am.h has the same as C functions,
// Active Messages II.
#include "hamlyn/am/endpoint.h"
#include "hamlyn/am/values.h"
