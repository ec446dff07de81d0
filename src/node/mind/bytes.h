#pragma once
// Numbers as they stand in packets between nodes: little-endian, without padding, on every processor.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hamlyn::node {

class ByteWriter {
 public:
  template <class Number>
  ByteWriter& number(Number value) {
    using Bits = std::make_unsigned_t<Number>;
    for (std::size_t i = 0; i < sizeof value; ++i)
      out_.push_back(static_cast<std::byte>(static_cast<Bits>(value) >> (8 * i) & 0xFF));
    return *this;
  }
  ByteWriter& bytes(std::span<const std::byte> more) {
    out_.insert(out_.end(), more.begin(), more.end());
    return *this;
  }
  // Its length in 16 bits, then the text.
  ByteWriter& text(std::string_view text) {
    number(static_cast<std::uint16_t>(text.size()));
    return bytes(std::as_bytes(std::span{text}));
  }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

// Total: what is not there reads as zeros, and `whole` says so at the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> from) : from_(from) {}

  template <class Number>
  Number number() {
    std::make_unsigned_t<Number> out = 0;
    const auto at = take(sizeof out);
    for (std::size_t i = 0; i < at.size(); ++i)
      out = static_cast<decltype(out)>(out | static_cast<decltype(out)>(std::to_integer<decltype(out)>(at[i]))
                                                 << (8 * i));
    return static_cast<Number>(out);
  }
  template <std::size_t size>
  void bytes(std::array<std::byte, size>& out) {
    const auto at = take(size);
    out = {};
    if (!at.empty()) std::memcpy(out.data(), at.data(), size);
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > from_.size()) {
      short_ = true;
      from_ = {};
      return {};
    }
    const auto out = from_.first(size);
    from_ = from_.subspan(size);
    return out;
  }
  std::string_view text(std::size_t most) {
    const auto length = number<std::uint16_t>();
    if (length > most) short_ = true;
    const auto at = take(length);
    return {reinterpret_cast<const char*>(at.data()), at.size()};
  }
  std::size_t left() const noexcept { return from_.size(); }
  bool good() const noexcept { return !short_; }
  bool whole() const noexcept { return !short_ && from_.empty(); }  // everything was there, and no more

 private:
  std::span<const std::byte> from_;
  bool short_ = false;
};

}  // namespace hamlyn::node
