#include "test/conformance/conformance.h"

namespace hamlyn::test {

std::vector<FabricKind> fabrics() {
  return {{"shm", make_shm_fabric}, {"sim", make_sim_fabric}, {"ofi", make_ofi_fabric}};
}

}  // namespace hamlyn::test
