#include "node/cluster/far.h"

#include <netinet/in.h>

#include <cstring>

#include "base/link_reasons.h"
#include "node/mind/bytes.h"

namespace hamlyn::node {
namespace {

constexpr std::uint16_t kFirstOpenPort = 1024;

ByteWriter start(FarKind kind, std::uint64_t first) {
  ByteWriter out;
  out.number(static_cast<std::uint16_t>(kind)).number(first);
  return out;
}

constexpr std::uint32_t kClerk = 1u << 31;  // beside a pid, which is smaller

void put(ByteWriter& out, const FarEnd& end) {
  out.number(end.uid)
      .number(end.gid)
      .number(end.pid | (end.clerk ? kClerk : 0))
      .bytes(std::as_bytes(std::span{end.engine}))
      .number(static_cast<std::uint16_t>(end.address.size()))
      .bytes(end.address);
}

bool take(ByteReader& reader, FarEnd& end) {
  end.uid = reader.number<std::uint32_t>();
  end.gid = reader.number<std::uint32_t>();
  const auto pid = reader.number<std::uint32_t>();
  end.pid = pid & ~kClerk;
  end.clerk = (pid & kClerk) != 0;
  std::array<std::byte, kMaxEngine> engine;
  reader.bytes(engine);
  std::memcpy(end.engine, engine.data(), engine.size());
  const auto length = reader.number<std::uint16_t>();
  if (length == 0 || length > kMaxFabricAddress || !valid_engine(end.engine)) return false;
  const auto address = reader.take(length);
  end.address.assign(address.begin(), address.end());
  return reader.good();
}

void put(ByteWriter& out, const Ticket& ticket) {
  out.number(ticket.host)
      .number(ticket.interface)
      .number(ticket.slot)
      .number(ticket.generation)
      .number(ticket.key)
      .number(ticket.entry)
      .number(ticket.incarnation)
      .number(ticket.base)
      .number(ticket.bound)
      .number(ticket.version)
      .number(ticket.purpose);
}

void take(ByteReader& reader, Ticket& ticket) {
  ticket.host = reader.number<std::uint64_t>();
  ticket.interface = reader.number<std::uint64_t>();
  ticket.slot = reader.number<std::uint32_t>();
  ticket.generation = reader.number<std::uint32_t>();
  ticket.key = reader.number<std::uint64_t>();
  ticket.entry = reader.number<std::uint32_t>();
  ticket.incarnation = reader.number<std::uint32_t>();
  ticket.base = reader.number<std::uint64_t>();
  ticket.bound = reader.number<std::uint64_t>();
  ticket.version = reader.number<std::uint32_t>();
  ticket.purpose = reader.number<std::uint32_t>();
}

}  // namespace

bool by_rxm(std::string_view engine) noexcept { return engine.find("ofi_rxm") != std::string_view::npos; }

const char* wrong_place(const FarEnd& end, const Address& node) {
  const std::string_view engine = engine_of(end.engine);
  if (engine != "net" && engine != "tcp" && engine != "tcp;ofi_rxm")
    return nullptr;  // others reach no service of anybody
  Address at;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  sa_family_t family = 0;
  if (end.address.size() >= sizeof family) std::memcpy(&family, end.address.data(), sizeof family);
  if (family == AF_INET && end.address.size() == sizeof v4) {
    std::memcpy(&v4, end.address.data(), sizeof v4);
    at.ip[10] = at.ip[11] = std::byte{0xFF};
    std::memcpy(at.ip.data() + 12, &v4.sin_addr, 4);
    at.port = ntohs(v4.sin_port);
  } else if (family == AF_INET6 && end.address.size() == sizeof v6) {
    std::memcpy(&v6, end.address.data(), sizeof v6);
    std::memcpy(at.ip.data(), &v6.sin6_addr, 16);
    at.port = ntohs(v6.sin6_port);
  } else {
    return "it is no address of IPv4 or IPv6";
  }
  if (multicast(at)) return "it is the address of a group";
  if (at.ip != node.ip) return "its node is at another address";
  if (at.port < kFirstOpenPort) return "its port is one that only root can open";
  return nullptr;
}

std::vector<std::byte> encode(const FarIntroduce& message) {
  ByteWriter out = start(FarKind::introduce, message.serial);
  out.number(message.asker).number(message.peer).number(message.link).bytes(message.key);
  put(out, message.end);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarIntroduce& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  out.asker = reader.number<std::uint64_t>();
  out.peer = reader.number<std::uint64_t>();
  out.link = reader.number<std::uint64_t>();
  reader.bytes(out.key);
  return take(reader, out.end) && reader.whole() && out.link != 0;
}

std::vector<std::byte> encode(const FarIntroduced& message) {
  ByteWriter out = start(FarKind::introduced, message.serial);
  put(out, message.end);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarIntroduced& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  return take(reader, out.end) && reader.whole();
}

std::vector<std::byte> encode(const FarRefused& message) {
  ByteWriter out = start(FarKind::refused, message.serial);
  out.number(message.error).text(std::string_view{message.text}.substr(0, kMaxText - 1));
  return out.take();
}

bool decode(std::span<const std::byte> body, FarRefused& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  out.error = reader.number<std::uint32_t>();
  out.text = reader.text(kMaxText - 1);
  for (const char c : out.text) {
    if (c < ' ' || c > '~') return false;  // it ends on a terminal
  }
  return reader.whole() && out.error != 0;
}

std::vector<std::byte> encode(const FarEnded& message) {
  ByteWriter out = start(FarKind::ended, message.link);
  out.number(message.mine).number(message.yours).number(static_cast<std::uint8_t>(message.reason));
  return out.take();
}

bool decode(std::span<const std::byte> body, FarEnded& out) {
  ByteReader reader{body};
  out.link = reader.number<std::uint64_t>();
  out.mine = reader.number<std::uint64_t>();
  out.yours = reader.number<std::uint64_t>();
  const LinkReason reason = base::link_reason(reader.number<std::uint8_t>());
  const bool theirs = reason == LinkReason::died || base::may_be_told(static_cast<std::uint64_t>(reason));
  out.reason = theirs ? reason : LinkReason::ended;
  return reader.whole();
}

std::vector<std::byte> encode(const FarLookup& message) {
  ByteWriter out = start(FarKind::lookup, message.serial);
  out.number(message.uid).number(message.gid).number(static_cast<std::uint8_t>(message.wait ? 1 : 0));
  out.text(message.name);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarLookup& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  out.uid = reader.number<std::uint32_t>();
  out.gid = reader.number<std::uint32_t>();
  const auto wait = reader.number<std::uint8_t>();
  out.wait = wait == 1;
  out.name = reader.text(kMaxName);
  return reader.whole() && wait <= 1 && valid_name(out.name);
}

std::vector<std::byte> encode(const FarFound& message) {
  ByteWriter out = start(FarKind::found, message.serial);
  out.number(message.peer).number(message.uid).number(message.gid).number(message.pid);
  put(out, message.ticket);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarFound& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  out.peer = reader.number<std::uint64_t>();
  out.uid = reader.number<std::uint32_t>();
  out.gid = reader.number<std::uint32_t>();
  out.pid = reader.number<std::uint32_t>();
  take(reader, out.ticket);
  return reader.whole() && hamlyn::invalid(out.ticket) == nullptr;
}

std::vector<std::byte> encode(const FarCancel& message) {
  return start(FarKind::cancel, message.serial).take();
}

bool decode(std::span<const std::byte> body, FarCancel& out) {
  ByteReader reader{body};
  out.serial = reader.number<std::uint64_t>();
  return reader.whole();
}

std::vector<std::byte> encode(const FarWantRegistry& message) {
  ByteWriter out;
  out.number(static_cast<std::uint16_t>(FarKind::want_registry)).number(message.version);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarWantRegistry& out) {
  ByteReader reader{body};
  out.version = reader.number<std::uint32_t>();
  return reader.whole();
}

std::vector<std::byte> encode(const FarRegistry& message) {
  ByteWriter out = start(FarKind::registry, message.generation);
  out.number(message.buckets);
  put(out, message.ticket);
  return out.take();
}

bool decode(std::span<const std::byte> body, FarRegistry& out) {
  ByteReader reader{body};
  out.generation = reader.number<std::uint64_t>();
  out.buckets = reader.number<std::uint32_t>();
  take(reader, out.ticket);
  return reader.whole() && hamlyn::invalid(out.ticket) == nullptr;
}

}  // namespace hamlyn::node
