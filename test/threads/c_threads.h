#pragma once
// A C program whose threads share the handles of the C interface: test/threads/c_threads.c. It gives 0, or
// the number of the line that was not answered as it should be.
#include <hamlyn/hamlyn.h>

#ifdef __cplusplus
extern "C" {
#endif

// Several threads send by one terminus, and several take what comes from one queue.
int c_threads_share_a_terminus_and_a_queue(hamlyn_interface* receiver, hamlyn_interface* sender);

#ifdef __cplusplus
}
#endif
