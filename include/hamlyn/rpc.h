#pragma once
// Calls: procedures of a class, called from other processes (docs/calls.md). Beside it,
// hamlyn/rpc/coroutine.h has them awaited, hamlyn/rpc/reference.h has arguments by reference, and
// hamlyn/rpc/blast.h has them go over datagrams.
#include "hamlyn/rpc/client.h"
#include "hamlyn/rpc/server.h"
