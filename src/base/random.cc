#include "base/random.h"

#include <sys/random.h>

#include "base/throw_system.h"
#include "base/uncancelled.h"

namespace hamlyn::internal_::base {

std::uint64_t random_key() {
  const Uncancelled guard;
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof key, 0) != sizeof key) throw_system("getrandom");
  return key;
}

}  // namespace hamlyn::internal_::base
