#pragma once
// XXH3, compiled in: nobody links its library for it. Of each file that includes this, for its processor.
#define XXH_INLINE_ALL
#include <xxhash.h>
