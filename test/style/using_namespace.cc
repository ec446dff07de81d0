// A program may say `using namespace hamlyn`, and call its variables as layers and folders of the source are
// called. Compiles, or a public header names one of them.
#include "hamlyn/hamlyn.h"
#include "hamlyn/protocols/coroutine.h"

using namespace hamlyn;

int base = 0, c = 0, core = 0, detail = 0, fabric = 0, impl = 0, interface = 0, internal = 0, library = 0;
int node = 0, ofi = 0, plain = 0, protocols = 0, segment = 0, shm = 0, sim = 0, simulation = 0, tool = 0,
    values = 0;

int used() {
  return base + c + core + detail + fabric + impl + interface + internal + library + node + ofi + plain +
         protocols + segment + shm + sim + simulation + tool + values;
}
