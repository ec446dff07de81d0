/* Parts of programs of Active Messages II that check themselves. */
#ifndef TEST_AM_CHECK_H
#define TEST_AM_CHECK_H

#include <am.h>

static eb_t bundle;
static ep_t endpoint;
static int self, ranks;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) AM_FatalErr("%s:%d: %s", __FILE__, __LINE__, #condition); \
  } while (0)
#define GOOD(call) CHECK((call) == AM_OK)

static void wait_for(volatile int* what, int value) {
  while (*what < value) GOOD(AM_Poll(bundle));
}

#endif
