#pragma once
// A service for the tests: some of each kind of argument and result.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hamlyn/rpc.h"

namespace hamlyn::test {

struct Point {
  double x = 0, y = 0;
};
enum class Sign : std::uint8_t { minus, zero, plus };

class Calculator {
 public:
  virtual ~Calculator() = default;
  void nothing() {}
  std::int32_t minus(std::int32_t a, std::int32_t b) { return a - b; }
  std::uint64_t square(std::uint64_t of) const { return of * of; }
  std::string twice(std::string_view text) { return std::string(text) + std::string(text); }
  double sum(std::span<const double> of) noexcept {
    double out = 0;
    for (const double each : of) out += each;
    return out;
  }
  std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }
  std::tuple<Point, std::optional<Sign>> middle(Point a, Point b, bool with_sign) {
    const Point out{(a.x + b.x) / 2, (a.y + b.y) / 2};
    if (!with_sign) return {out, std::nullopt};
    return {out, out.x < 0 ? Sign::minus : out.x > 0 ? Sign::plus : Sign::zero};
  }
  std::uint64_t who(rpc::Call& call) { return call.client(); }
  std::int32_t fails(std::string_view with) { throw std::runtime_error(std::string(with)); }
  std::vector<std::byte> zeros(std::uint32_t count) { return std::vector<std::byte>(count); }
  std::uint64_t bytes(std::span<const std::byte> of) {
    std::uint64_t out = 0;
    for (const std::byte each : of) out += static_cast<std::uint8_t>(each);
    return out;
  }
};
HAMLYN_RPC(Calculator, nothing, minus, square, twice, sum, words, middle, who, fails, zeros, bytes)

}  // namespace hamlyn::test
