#pragma once
// A C program's use of puts and segments: test/process/c_segments.c and c_segment_ends.c. Each gives 0, or
// the number of the line that was not answered as it should be.
#include <hamlyn/hamlyn.h>

#ifdef __cplusplus
extern "C" {
#endif

// Between an owner's slot that takes puts, and a terminus.
int c_puts(hamlyn_interface* owner, hamlyn_interface* sender);
int c_puts_that_wait(hamlyn_interface* owner, hamlyn_interface* sender);
// With a segment of that kind (enum hamlyn_sharing).
int c_segment(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing);
int c_segment_control(hamlyn_interface* exporter, hamlyn_interface* importer);
// Does as a run-time does: signals in another segment, changes without an answer, flushes of several at once,
// reads under way together.
int c_run_time(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing);
// The end of a send in a queue, and bytes that have landed.
int c_ends_of_sends(hamlyn_interface* receiver, hamlyn_interface* sender);
// A word of three users, in a segment of that kind.
int c_sure_swap(hamlyn_interface* exporter, hamlyn_interface* importer, uint32_t sharing);
// Frees the exporter's interface.
int c_reason_of_flush(hamlyn_interface* exporter, hamlyn_interface* importer);
// Imports and a mapped slot that are begun.
int c_openings(hamlyn_interface* exporter, hamlyn_interface* importer);
int c_segment_refusals(hamlyn_interface* exporter, hamlyn_interface* importer);

#ifdef __cplusplus
}
#endif
