// The fragments of paper 4, section 4.2, as they stand in the text, but for what no compiler of today takes
// (docs/c-interface.md): the headers' names, arithmetic on a pointer's bits, and three names that are written
// in two ways.
#include "test/process/rr_fragments.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hamlyn/c/rr.h"

// Section 4.2.1.
int fragment_export(char** address) {
  char* addr;
  int segment;

  addr = rr_export("ServiceFubar", 8192, 0660, &segment, 0);
  if (addr == (char*)-1) {
    perror("export failed");
    exit(1);
  }
  *address = addr;
  return segment;
}

int fragment_export_heap(char** address) {
  char* new, *addr;
  int segment;

  addr = malloc(4 * 4096 + 4096);
  addr = (char*)(((uintptr_t)addr + 4096) & ~(uintptr_t)(4096 - 1));
  new = rr_export("ServiceFubar", 8192, 0660, &segment, addr);
  if (addr != new) {
    perror("export failed");
    exit(1);
  }
  *address = addr;
  return segment;
}

// Section 4.2.2.
int fragment_import(void) {
  int segment;

  segment = rr_import("ServiceFubar", O_RDWR);
  if (segment == -1) {
    perror("import failed");
    exit(1);
  }
  return segment;
}

// Section 4.2.5.
void fragment_descriptors(int segment, int* control, int* data) {
  int data_fd, control_fd;

  control_fd = rr_getfd(segment, RR_CONTROL);
  data_fd = rr_getfd(segment, RR_DATA);
  *control = control_fd;
  *data = data_fd;
}

// Section 4.2.3: CAS (A, O, N). A nonce is a process's number and one of its attempt.
int fragment_cas(const struct cas_place* A, unsigned O, unsigned N, unsigned P1) {
  static unsigned attempts = 0;
  const unsigned nonce = P1 << 24 | (++attempts & 0xFFFFFF);
  struct {
    unsigned old_value;
    unsigned processor;
  } X;

  if (rrcsi(A->segment, A->results, A->offset, A->to, O, N, nonce) == -1) {
    perror("rrcsi failed");
    exit(1);
  }
  memcpy(&X, A->address + A->to, sizeof X);
  return X.processor == nonce && X.old_value == O;
}
