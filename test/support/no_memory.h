#pragma once
// Memory that runs out when a test says so. The source replaces operator new: for programs of their own.

namespace hamlyn::test {

extern thread_local bool no_memory;  // each allocation of this thread fails

}  // namespace hamlyn::test
