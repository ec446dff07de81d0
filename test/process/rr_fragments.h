#pragma once
// The code of paper 4, section 4.2, in C: test/process/rr_fragments.c.
#ifdef __cplusplus
extern "C" {
#endif

int fragment_export(char** address);
int fragment_export_heap(char** address);
int fragment_import(void);
void fragment_descriptors(int segment, int* control, int* data);
// CAS by CAS-II on <segment, offset>, for process `P1`; results go to <results, to>, a segment at `address`.
struct cas_place {
  int segment;
  unsigned offset;
  int results;
  unsigned to;
  const char* address;
};
int fragment_cas(const struct cas_place* A, unsigned O, unsigned N, unsigned P1);

#ifdef __cplusplus
}
#endif
