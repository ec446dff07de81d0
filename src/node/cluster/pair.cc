#include "node/cluster/pair.h"

#include <algorithm>

namespace hamlyn::node {

Pair::Verdict Pair::open(std::span<const std::byte> packet, Plain& plain) {
  const auto bytes = unseal(in_, packet);
  if (!bytes) return Verdict::forged;
  const std::uint64_t number = sealed_header(packet)->sequence;
  const std::uint64_t behind = highest_ - number;  // of those that are not new
  if (number == 0 || (number <= highest_ && (behind >= 64 || (window_ >> behind & 1) != 0)))
    return Verdict::repeated;
  if (number > highest_) {
    window_ = number - highest_ >= 64 ? 0 : window_ << (number - highest_);
    highest_ = number;
  }
  window_ |= std::uint64_t{1} << (highest_ - number);
  auto decoded = decode_plain(*bytes);
  if (!decoded) return Verdict::malformed;
  plain = std::move(*decoded);
  return Verdict::good;
}

bool Pair::takes(std::uint64_t number) noexcept {
  if (number != taken_) return false;
  ++taken_;
  return true;
}

bool Pair::confirmed(std::uint64_t number, Time now) {
  if (number <= first_) return true;  // told before
  if (number > most_) return false;
  while (first_ < number) {
    bytes_ -= outbox_.front().size();
    outbox_.pop_front();
    ++first_;
    if (sent_ > 0) --sent_;
  }
  resend_ = now + kResend;
  return true;
}

bool Pair::queue(std::vector<std::byte> message, Time now) {
  if (bytes_ + message.size() > kMostUnconfirmed) return false;
  if (outbox_.empty()) resend_ = now + kResend;
  bytes_ += message.size();
  outbox_.push_back(std::move(message));
  return true;
}

std::vector<std::vector<std::byte>> Pair::next_messages(std::uint64_t& first) {
  std::vector<std::vector<std::byte>> out;
  first = first_ + sent_;
  std::size_t under_way = 0;
  for (std::size_t i = 0; i < sent_; ++i) under_way += outbox_[i].size();
  std::size_t size = kSealedHeader + kPlainHeader + kSealTag;
  while (sent_ < outbox_.size() && under_way < kMostUnderWay) {
    const auto& next = outbox_[sent_];
    size += 2 + next.size();
    if (size > kMostPacket) break;
    under_way += next.size();
    out.push_back(next);
    ++sent_;
  }
  most_ = std::max(most_, first_ + sent_);
  return out;
}

void Pair::again(Time now) {
  sent_ = 0;
  resend_ = now + kResend;
}

}  // namespace hamlyn::node
