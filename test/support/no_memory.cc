#include "test/support/no_memory.h"

#include <cstdlib>
#include <new>

namespace hamlyn::test {

thread_local bool no_memory = false;

}  // namespace hamlyn::test

void* operator new(std::size_t bytes) {
  void* const memory = hamlyn::test::no_memory ? nullptr : std::malloc(bytes + (bytes == 0 ? 1 : 0));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
