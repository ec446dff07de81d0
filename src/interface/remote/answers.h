#pragma once
// Answers to requests, as they leave.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

inline Packet reply_to(const Packet& request, Operation operation, std::size_t length,
                       std::uint32_t element = 0) noexcept {
  Packet reply{};
  set_lead(reply, operation, length, 0, element);
  reply.word = message_of(request.word);  // the requester's number, and nothing else of the request
  return reply;
}

inline Packet refused(const Packet& request, Refusal cause, std::uint32_t sent) noexcept {
  Packet reply = reply_to(request, Operation::refused_request, 0);
  reply.offset = sent;
  reply.delta = static_cast<std::uint32_t>(cause);
  return reply;
}

inline Packet fetched(const Packet& request, std::uint64_t value) noexcept {
  Packet reply = reply_to(request, Operation::fetched, sizeof value);
  std::memcpy(reply.data, &value, sizeof value);
  return reply;
}

}  // namespace hamlyn::internal_::interface
