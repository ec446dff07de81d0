// A fuzz target under libFuzzer, which looks for inputs that reach new code.
#include <gtest/gtest.h>

#include "test/fuzz/target.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerInitialize(int*, char***) {
  testing::FLAGS_gtest_break_on_failure = true;
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hamlyn::fuzz::fuzz(std::as_bytes(std::span{data, size}));
  return 0;
}
