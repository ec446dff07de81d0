#pragma once
// Calls: procedures of a class, called from other processes (docs/calls.md). Beside it,
// hamlyn/rpc/coroutine.h has them awaited, and hamlyn/rpc/reference.h has arguments by reference.
#include "hamlyn/rpc/client.h"
#include "hamlyn/rpc/server.h"
