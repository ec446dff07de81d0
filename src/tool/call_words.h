#pragma once
// Arguments and results of calls in words, as `hamlyn calls` takes and prints them: numbers, true and false,
// text. The other side's signature says which; of another type there are no words.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hamlyn::tool {

// A signature such as `minus(i32,i32)->i32`, taken apart. A server chose it.
struct Signature {
  std::string name;
  std::vector<std::string> arguments;
  std::string result;
};

// Throws Failure: it is none.
Signature signature_of(std::string_view text);
// The frame of a call with such arguments. Throws Failure (kUsage): there are more or fewer, one is no value
// of its type, or a type has no words.
std::vector<std::byte> frame_of(const Signature& signature, const std::vector<std::string>& words);
// Throws Failure: what came is no result of that type, or the type has no words.
nlohmann::ordered_json result_of(const Signature& signature, std::span<std::byte> frame);
// Whether `frame_of` and `result_of` have words for all of it.
bool has_words(const Signature& signature);

}  // namespace hamlyn::tool
