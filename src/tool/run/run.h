#pragma once
// `hamlyn run`: starts a job (docs/run.md).
#include "tool/run/options.h"

namespace hamlyn::tool {

// Returns the exit status: of the job, or, in the process in front of it, the same. Throws Failure, Error.
int run_job(RunOptions options);

}  // namespace hamlyn::tool
