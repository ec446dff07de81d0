#pragma once
// How the node's mind makes its answers.
#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "node/client/protocol.h"
#include "node/mind/accounts.h"

namespace hamlyn::node {

inline Reply make_reply(ReplyKind kind, std::uint64_t request) {
  Reply out;
  out.kind = kind;
  out.request = request;
  return out;
}

template <std::size_t size>
void put_text(char (&to)[size], std::string_view text) {
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

inline Reply make_refusal(std::uint64_t request, const Refused& refusal) {
  Reply out = make_reply(ReplyKind::refused, request);
  out.error = static_cast<std::uint32_t>(refusal.code);
  out.initiator = static_cast<std::uint32_t>(refusal.reason);
  put_text(out.text, refusal.text);
  return out;
}

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span{&message, 1});
}

}  // namespace hamlyn::node
