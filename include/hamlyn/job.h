#pragma once
// Jobs: programs that `hamlyn run` has started together (docs/run.md). Include it by itself: hamlyn/hamlyn.h
// does not.
#include "hamlyn/job/job.h"
