// Arguments and results of `hamlyn calls` in words: what a user types, and what any server may say.
#include <gtest/gtest.h>

#include <random>

#include "hamlyn/rpc/layout.h"
#include "tool/call_words.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

using internal_::rpc::Layout;
using internal_::rpc::Reader;
using internal_::rpc::Writer;

TEST(ToolCallWords, take_signatures_apart) {
  Signature all = signature_of("find(i32,list {text,(u8,bool)},[i32,3])->maybe (text,u8)");
  EXPECT_EQ(all.name, "find");
  EXPECT_EQ(signature_of("none()->nothing").arguments.size(), 0u);
  all = signature_of("minus(i32,i32)->i32");
  EXPECT_EQ(all.arguments, (std::vector<std::string>{"i32", "i32"}));
  EXPECT_EQ(all.result, "i32");
  EXPECT_TRUE(has_words(all));
  EXPECT_FALSE(has_words(signature_of("f(list i32)->i32")));
  EXPECT_FALSE(has_words(signature_of("f()->(i32,i32)")));
  for (const char* const wrong :
       {"", "f", "f(", "f(i32", "f(i32)", "f(i32)-", "f(i32)->", "f({i32)->i32", "f(i32,"})
    EXPECT_THROW(signature_of(wrong), Failure) << wrong;
}

TEST(ToolCallWords, become_the_frame_that_a_program_sends) {
  const Signature of = signature_of("f(i8,text,f64,bool,u64,text)->nothing");
  std::vector<std::byte> frame =
      frame_of(of, {"-5", "two words", "1.5", "true", "18446744073709551615", "abc"});
  std::vector<std::byte> wanted(200);
  Writer to(wanted);
  internal_::rpc::InRow<std::int8_t, std::string, double, bool, std::uint64_t, std::string>::put(
      to, std::int8_t{-5}, "two words", 1.5, true, ~std::uint64_t{0}, "abc");
  wanted.resize(to.size());
  EXPECT_EQ(frame, wanted);
}

TEST(ToolCallWords, refuse_what_is_no_value_of_its_type) {
  const auto refused = [](const char* type, const char* word) {
    EXPECT_THROW(frame_of(signature_of(std::string("f(") + type + ")->nothing"), {word}), Failure)
        << type << ' ' << word;
  };
  refused("i8", "128");
  refused("u8", "-1");
  refused("i32", "");
  refused("i32", "1.5");
  refused("i32", "1 ");
  refused("u64", "18446744073709551616");
  refused("f64", "one");
  refused("bool", "1");
  refused("list i32", "1");
  refused("{i32}", "1");
  const Signature one = signature_of("f(i32)->nothing");
  EXPECT_THROW(frame_of(one, {}), Failure);
  EXPECT_THROW(frame_of(one, {"1", "2"}), Failure);
}

TEST(ToolCallWords, show_results_that_are_printable_or_say_that_they_are_none) {
  const auto shown = [](const char* type, auto value) {
    std::vector<std::byte> frame(100);
    Writer to(frame);
    Layout<decltype(value)>::put(to, value);
    frame.resize(to.size());
    return result_of(signature_of(std::string("f()->") + type), frame).dump();
  };
  EXPECT_EQ(shown("i32", std::int32_t{-7}), "-7");
  EXPECT_EQ(shown("u8", std::uint8_t{200}), "200");
  EXPECT_EQ(shown("bool", true), "true");
  EXPECT_EQ(shown("text", std::string("a\n\x1b[2Jb\xff")), "\"a??[2Jb?\"");
  EXPECT_THROW(shown("i64", std::int32_t{1}), Failure);
  EXPECT_THROW(shown("nothing", std::int32_t{1}), Failure);
  EXPECT_THROW(shown("list u8", std::int32_t{1}), Failure);
  EXPECT_EQ(result_of(signature_of("f()->nothing"), {}).dump(), "null");
}

TEST(ToolCallWords, of_any_server_are_an_answer_or_a_failure) {
  std::mt19937_64 chance(1);
  const std::string letters = "f(),{}->[]i32text ";
  for (int i = 0; i != 20'000; ++i) {
    std::string text;
    for (std::uint64_t left = chance() % 20; left != 0; --left) text += letters[chance() % letters.size()];
    std::vector<std::byte> frame(chance() % 12);
    for (std::byte& each : frame) each = static_cast<std::byte>(chance());
    try {
      static_cast<void>(result_of(signature_of(text), frame));
    } catch (const Failure&) {
    }
  }
}

}  // namespace
}  // namespace hamlyn::tool
