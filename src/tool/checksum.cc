#include "tool/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hamlyn::tool {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little, "the words below are little-endian");

template <typename Word>
std::uint64_t load(const std::byte* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) noexcept {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t sum, std::uint64_t lane) noexcept {
  return (sum ^ round(0, lane)) * kPrime1 + kPrime4;
}

std::uint64_t add_rest(std::uint64_t sum, const std::byte* at, std::size_t left) noexcept {
  for (; left >= 8; at += 8, left -= 8) {
    sum = std::rotl(sum ^ round(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    sum = std::rotl(sum ^ (load<std::uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; ++at, --left) sum = std::rotl(sum ^ (load<std::uint8_t>(at) * kPrime5), 11) * kPrime1;
  return sum;
}

std::uint64_t avalanche(std::uint64_t sum) noexcept {
  sum = (sum ^ (sum >> 33)) * kPrime2;
  sum = (sum ^ (sum >> 29)) * kPrime3;
  return sum ^ (sum >> 32);
}

}  // namespace

Checksum::Checksum() noexcept : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}

const std::byte* Checksum::add_stripes(const std::byte* at, std::size_t count) noexcept {
  auto lanes = lanes_;  // in registers: the bytes might alias the members otherwise
  for (; count > 0; --count, at += kStripe) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = round(lanes[i], load<std::uint64_t>(at + 8 * i));
  }
  lanes_ = lanes;
  return at;
}

void Checksum::add(std::span<const std::byte> bytes) noexcept {
  bytes_ += bytes.size();
  if (rest_bytes_ > 0) {
    const std::size_t taken = std::min(bytes.size(), kStripe - rest_bytes_);
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
    rest_bytes_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_bytes_ < kStripe) return;
    add_stripes(rest_.data(), 1);
  }
  const std::byte* rest = add_stripes(bytes.data(), bytes.size() / kStripe);
  rest_bytes_ = bytes.size() % kStripe;
  std::copy_n(rest, rest_bytes_, rest_.begin());
}

std::uint64_t Checksum::value() const noexcept {
  std::uint64_t sum = kPrime5;
  if (bytes_ >= kStripe) {
    sum = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
          std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) sum = merge(sum, lane);
  }
  return avalanche(add_rest(sum + bytes_, rest_.data(), rest_bytes_));
}

}  // namespace hamlyn::tool
