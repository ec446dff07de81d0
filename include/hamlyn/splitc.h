#pragma once
// Split-C as a library (docs/splitc.md). Include it by itself: hamlyn/hamlyn.h does not.
#include "hamlyn/splitc/call.h"
#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/splitc/heap.h"
#include "hamlyn/splitc/program.h"
#include "hamlyn/splitc/together.h"
#include "hamlyn/splitc/transfer.h"
#include "hamlyn/splitc/word.h"
