#pragma once
// Messages of the node daemon and its clerk, which is a process of its own: one structure a message, over a
// socket that nobody else has.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/namespaces.h"
#include "node/client/protocol.h"
#include "node/mind/clerk.h"
#include "segment/registry.h"

namespace hamlyn::internal_::segment {

enum class ClerkKind : std::uint32_t {
  // To the clerk.
  begin = 1,  // key. The first message
  table,      // table, buckets; descriptor: the memory of this node's registry, to be read by others from now
              // on. No buckets, no descriptor: there is none any more
  read,       // serial, node, registry, name, reads: the most buckets to read
  // By the clerk.
  ready,    // table; registry: where it is read
  found,    // serial, node, reads, ticket and what follows it
  absent,   // serial, node, reads
  unknown,  // serial, node: not now
  lost,     // serial, node: that registry is no longer there, or is none
  changed,  // node: names there may have changed since they were read
};

struct ClerkMessage {
  ClerkKind kind{};
  std::uint32_t node = 0;
  std::uint64_t serial = 0;
  Ticket registry{.version = 0};
  std::uint64_t table = 0;  // generation of the registry
  std::uint32_t buckets = 0;
  std::uint32_t reads = 0;
  RegistryKey key{};
  char name[node::kMaxName]{};
  std::uint32_t name_length = 0;
  std::uint32_t rights = 0;  // 1: group, 2: everyone
  Ticket ticket{.version = 0};
  std::uint64_t generation = 0;
  std::uint64_t interface = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ClerkMessage) == 296 && std::is_trivially_copyable_v<ClerkMessage>);

inline std::string_view name_in(const ClerkMessage& message) noexcept {
  return {message.name, std::min<std::size_t>(message.name_length, sizeof message.name)};
}
inline void put_name(ClerkMessage& message, std::string_view name) noexcept {
  message.name_length = static_cast<std::uint32_t>(std::min(name.size(), sizeof message.name));
  std::memcpy(message.name, name.data(), message.name_length);
}

inline void put_what(ClerkMessage& message, const node::RegisteredName& what) noexcept {
  message.rights = (what.rights.group ? 1u : 0u) | (what.rights.everyone ? 2u : 0u);
  message.ticket = what.ticket;
  message.generation = what.generation;
  message.interface = what.interface;
  message.uid = what.uid;
  message.gid = what.gid;
  message.pid = what.pid;
}
inline node::RegisteredName what_in(const ClerkMessage& message) noexcept {
  return {message.ticket,
          message.generation,
          message.interface,
          message.uid,
          message.gid,
          message.pid,
          {(message.rights & 1) != 0, (message.rights & 2) != 0}};
}

inline void put_registry(ClerkMessage& message, const node::FarRegistry& registry) noexcept {
  message.registry = registry.ticket;
  message.table = registry.generation;
  message.buckets = registry.buckets;
}
inline node::FarRegistry registry_in(const ClerkMessage& message) noexcept {
  return {message.registry, message.table, message.buckets};
}

}  // namespace hamlyn::internal_::segment
