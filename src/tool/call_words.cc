#include "tool/call_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "hamlyn/rpc/layout.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

using internal_::rpc::Layout;
using internal_::rpc::Reader;
using internal_::rpc::Writer;

// Calls what(value) with a value of the type that is spelled so; false: it has no words.
template <class What>
bool with_type(std::string_view spelled, What what) {
  if (spelled == "i8") return what(std::int8_t{}), true;
  if (spelled == "i16") return what(std::int16_t{}), true;
  if (spelled == "i32") return what(std::int32_t{}), true;
  if (spelled == "i64") return what(std::int64_t{}), true;
  if (spelled == "u8") return what(std::uint8_t{}), true;
  if (spelled == "u16") return what(std::uint16_t{}), true;
  if (spelled == "u32") return what(std::uint32_t{}), true;
  if (spelled == "u64") return what(std::uint64_t{}), true;
  if (spelled == "f32") return what(float{}), true;
  if (spelled == "f64") return what(double{}), true;
  if (spelled == "bool") return what(bool{}), true;
  if (spelled == "text") return what(std::string{}), true;
  return false;
}

Failure no_words(std::string_view type) {
  return {fmt::format("there are no words for the type '{}'", type), "no_words",
          "write a program that calls it, with hamlyn/rpc.h", kUsage};
}

Failure no_value(const std::string& word, std::string_view type) {
  return {fmt::format("'{}' is no value of the type '{}'", word, type), "usage", "see 'hamlyn calls --help'",
          kUsage};
}

void read(const std::string& word, std::string& value, std::string_view) { value = word; }
void read(const std::string& word, bool& value, std::string_view type) {
  if (word != "true" && word != "false") throw no_value(word, type);
  value = word == "true";
}
template <class Number>
void read(const std::string& word, Number& value, std::string_view type) {
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (wrong != std::errc{} || end != word.data() + word.size()) throw no_value(word, type);
}

// Makes what a server says fit for terminals.
nlohmann::ordered_json shown(std::string value) {
  std::ranges::replace_if(
      value, [](char each) { return each < ' ' || each > '~'; }, '?');
  return value;
}
template <class Number>
nlohmann::ordered_json shown(Number value) {
  return value;
}

Failure no_signature(std::string_view text) {
  return {fmt::format("the server has named a procedure '{}', which is no signature", text), "broken",
          "see whether it is a server of the same version of hamlyn"};
}

// The end of the type that begins there: behind it stands a comma, or the bracket that was opened before it.
std::size_t end_of_type(std::string_view text, std::size_t at) {
  for (int depth = 0; at != text.size(); ++at) {
    const char each = text[at];
    if (depth == 0 && (each == ',' || each == ')')) return at;
    if (each == '(' || each == '{') ++depth;
    if (each == ')' || each == '}') --depth;
  }
  throw no_signature(text);
}

}  // namespace

Signature signature_of(std::string_view text) {
  Signature out;
  std::size_t at = text.find('(');
  if (at == std::string_view::npos) throw no_signature(text);
  out.name = text.substr(0, at);
  do {
    const std::size_t begin = ++at;
    at = end_of_type(text, begin);
    if (at != begin) out.arguments.emplace_back(text.substr(begin, at - begin));
  } while (text[at] == ',');
  const std::string_view rest = text.substr(at + 1);
  if (rest.size() < 3 || !rest.starts_with("->")) throw no_signature(text);
  out.result = rest.substr(2);
  return out;
}

bool has_words(const Signature& signature) {
  const auto nothing = [](auto) {};
  const auto has = [&](const std::string& type) { return with_type(type, nothing); };
  return std::ranges::all_of(signature.arguments, has) &&
         (signature.result == "nothing" || has(signature.result));
}

std::vector<std::byte> frame_of(const Signature& signature, const std::vector<std::string>& words) {
  if (words.size() != signature.arguments.size())
    throw Failure(fmt::format("'{}' takes {} arguments, not {}", signature.name, signature.arguments.size(),
                              words.size()),
                  "usage", "'hamlyn calls NAME' lists what the procedures take", kUsage);
  std::size_t room = sizeof(std::uint64_t), align = 1;
  for (const std::string& word : words) room += word.size() + 2 * sizeof(std::uint64_t);
  std::vector<std::byte> out(room);
  Writer to(out);
  for (std::size_t i = 0; i != words.size(); ++i) {
    const std::string& type = signature.arguments[i];
    const auto put = [&]<class Type>(Type value) {
      read(words[i], value, type);
      Layout<Type>::put(to, value);
      align = std::max(align, Layout<Type>::kAlign);
    };
    if (!with_type(type, put)) throw no_words(type);
  }
  to.align(align);
  out.resize(to.size());
  return out;
}

nlohmann::ordered_json result_of(const Signature& signature, std::span<std::byte> frame) {
  Reader from(frame);
  nlohmann::ordered_json out;
  const auto get = [&]<class Type>(Type value) {
    Layout<Type>::get(from, value);
    out = shown(value);
  };
  if (signature.result != "nothing" && !with_type(signature.result, get)) throw no_words(signature.result);
  if (!from.whole())
    throw Failure("the server has sent what is no result of that type", "broken",
                  "see whether it is a server of the same version of hamlyn");
  return out;
}

}  // namespace hamlyn::tool
