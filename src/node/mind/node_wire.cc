#include "node/mind/node_wire.h"

#include <arpa/inet.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "node/mind/bytes.h"

namespace hamlyn::node {
namespace {

constexpr std::size_t kMac = sizeof(Secret);
static_assert(sizeof(Secret) == crypto_generichash_KEYBYTES && kMac == crypto_generichash_BYTES);
static_assert(sizeof(Secret) == crypto_aead_chacha20poly1305_IETF_KEYBYTES);
static_assert(kSealTag == crypto_aead_chacha20poly1305_IETF_ABYTES);

const unsigned char* raw(const std::byte* at) { return reinterpret_cast<const unsigned char*>(at); }
unsigned char* raw(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }

constexpr std::array<std::byte, 12> kMapped{std::byte{}, std::byte{}, std::byte{},     std::byte{},
                                            std::byte{}, std::byte{}, std::byte{},     std::byte{},
                                            std::byte{}, std::byte{}, std::byte{0xFF}, std::byte{0xFF}};

bool mapped(const Address& address) noexcept {
  return std::equal(kMapped.begin(), kMapped.end(), address.ip.begin());
}

// Everything that both ends have said, and so the stuff that keys are made of.
std::vector<std::byte> both_said(const char* purpose, NodeId asker, std::uint64_t asker_incarnation,
                                 NodeId answerer, std::uint64_t answerer_incarnation,
                                 std::span<const std::byte, 24> asked,
                                 std::span<const std::byte, 32> challenged) {
  return ByteWriter{}
      .text(purpose)
      .number(asker)
      .number(asker_incarnation)
      .number(answerer)
      .number(answerer_incarnation)
      .bytes(asked)
      .bytes(challenged)
      .take();
}

std::array<unsigned char, crypto_aead_chacha20poly1305_IETF_NPUBBYTES> nonce_of(std::uint64_t sequence) {
  std::array<unsigned char, crypto_aead_chacha20poly1305_IETF_NPUBBYTES> out{};
  for (std::size_t i = 0; i < sizeof sequence; ++i)
    out[4 + i] = static_cast<unsigned char>(sequence >> (8 * i));
  return out;
}

}  // namespace

std::string to_text(const Address& address) {
  const std::string host = host_text(address);
  return (mapped(address) ? host : "[" + host + "]") + ":" + std::to_string(address.port);
}

std::string host_text(const Address& address) {
  char text[INET6_ADDRSTRLEN]{};
  if (mapped(address)) {
    ::inet_ntop(AF_INET, address.ip.data() + kMapped.size(), text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, address.ip.data(), text, sizeof text);
  }
  return text;
}

bool loopback(const Address& address) noexcept {
  if (mapped(address)) return address.ip[kMapped.size()] == std::byte{127};
  Address one;
  one.ip[15] = std::byte{1};
  return address.ip == one.ip;
}

bool multicast(const Address& address) noexcept {
  const auto first = std::to_integer<unsigned>(address.ip[mapped(address) ? kMapped.size() : 0]);
  return mapped(address) ? first >= 224 && first < 240 : first == 0xFF;
}

// Handshakes.

Secret keyed_hash(const Secret& key, std::span<const std::byte> what) {
  Secret out;
  ::crypto_generichash(raw(out.data()), out.size(), raw(what.data()), what.size(), raw(key.data()),
                       key.size());
  return out;
}

Secret ClusterKeys::slot_key(NodeId sender) const {
  return keyed_hash(secret_, ByteWriter{}.text("hamlyn slot").number(sender).take());
}

PairKeys ClusterKeys::pair_keys(NodeId asker, std::uint64_t asker_incarnation, NodeId answerer,
                                std::uint64_t answerer_incarnation, std::span<const std::byte, 24> asked,
                                std::span<const std::byte, 32> challenged) const {
  const auto make = [&](const char* purpose) {
    return keyed_hash(secret_, both_said(purpose, asker, asker_incarnation, answerer, answerer_incarnation,
                                         asked, challenged));
  };
  return {make("hamlyn asker"), make("hamlyn answerer")};
}

Secret ClusterKeys::handshake_key(const Handshake& handshake, std::uint64_t answerer_incarnation) const {
  if (handshake.kind != HandshakeKind::confirm) return slot_key(handshake.from);
  return keyed_hash(secret_, both_said("hamlyn confirm", handshake.from, handshake.incarnation, handshake.to,
                                       answerer_incarnation, handshake.asked, handshake.challenged));
}

HandshakeBytes ClusterKeys::encode(const Handshake& handshake) const {
  const auto said = ByteWriter{}
                        .number(kClusterMagic)
                        .number(handshake.version)
                        .number(static_cast<std::uint16_t>(handshake.kind))
                        .number(handshake.from)
                        .number(handshake.to)
                        .number(static_cast<std::uint16_t>(handshake.reason))
                        .number(handshake.incarnation)
                        .number(handshake.known)
                        .number(handshake.structures)
                        .number(std::uint32_t{0})
                        .bytes(handshake.asked)
                        .bytes(handshake.challenged)
                        .take();
  HandshakeBytes out{};
  static_assert(kHandshakeBytes == 96 + kMac);
  std::memcpy(out.data(), said.data(), said.size());
  const Secret key = handshake_key(handshake, handshake.known);
  const Secret mac = keyed_hash(key, said);
  std::memcpy(out.data() + said.size(), mac.data(), mac.size());
  return out;
}

std::optional<Handshake> ClusterKeys::decode(std::span<const std::byte> packet) const {
  if (packet.size() != kHandshakeBytes) return {};
  ByteReader reader{packet};
  if (reader.number<std::uint32_t>() != kClusterMagic) return {};
  Handshake out;
  out.version = reader.number<std::uint32_t>();
  const auto kind = reader.number<std::uint16_t>();
  out.from = reader.number<std::uint16_t>();
  out.to = reader.number<std::uint16_t>();
  const auto reason = reader.number<std::uint16_t>();
  out.incarnation = reader.number<std::uint64_t>();
  out.known = reader.number<std::uint64_t>();
  out.structures = reader.number<std::uint32_t>();
  const auto nothing = reader.number<std::uint32_t>();
  reader.bytes(out.asked);
  reader.bytes(out.challenged);
  if (kind < 1 || kind > 4 || out.from == 0 || nothing != 0) return {};
  out.kind = static_cast<HandshakeKind>(kind);
  if (reason > static_cast<std::uint16_t>(Reason::not_boot)) return {};
  out.reason = static_cast<Reason>(reason);
  if ((out.reason != Reason::none) != (out.kind == HandshakeKind::refusal)) return {};
  const Secret key = handshake_key(out, out.known);
  const Secret mac = keyed_hash(key, packet.first(96));
  if (::sodium_memcmp(packet.data() + 96, mac.data(), mac.size()) != 0) return {};
  return out;
}

// Sealed packets.

std::optional<SealedHeader> sealed_header(std::span<const std::byte> packet) noexcept {
  if (packet.size() < kSealedHeader + kPlainHeader + kSealTag || packet.size() > kMostPacket) return {};
  ByteReader reader{packet};
  if (reader.number<std::uint32_t>() != kClusterMagic) return {};
  if (reader.number<std::uint32_t>() != kClusterVersion) return {};
  if (reader.number<std::uint16_t>() != kSealed) return {};
  SealedHeader out;
  out.from = reader.number<std::uint16_t>();
  out.to = reader.number<std::uint16_t>();
  const auto nothing = reader.number<std::uint16_t>();
  out.sequence = reader.number<std::uint64_t>();
  if (out.from == 0 || out.to == 0 || nothing != 0) return {};
  return out;
}

std::vector<std::byte> seal(const Secret& key, const SealedHeader& header, std::span<const std::byte> plain) {
  std::vector<std::byte> out = ByteWriter{}
                                   .number(kClusterMagic)
                                   .number(kClusterVersion)
                                   .number(kSealed)
                                   .number(header.from)
                                   .number(header.to)
                                   .number(std::uint16_t{0})
                                   .number(header.sequence)
                                   .take();
  out.resize(kSealedHeader + plain.size() + kSealTag);
  // A key is of one pair, one handshake and one direction: its numbers are its nonces.
  const auto nonce = nonce_of(header.sequence);
  ::crypto_aead_chacha20poly1305_ietf_encrypt(raw(out.data() + kSealedHeader), nullptr, raw(plain.data()),
                                              plain.size(), raw(out.data()), kSealedHeader, nullptr,
                                              nonce.data(), raw(key.data()));
  return out;
}

std::optional<std::vector<std::byte>> unseal(const Secret& key, std::span<const std::byte> packet) {
  const auto header = sealed_header(packet);
  if (!header) return {};
  const auto nonce = nonce_of(header->sequence);
  std::vector<std::byte> out(packet.size() - kSealedHeader - kSealTag);
  if (::crypto_aead_chacha20poly1305_ietf_decrypt(raw(out.data()), nullptr, nullptr,
                                                  raw(packet.data() + kSealedHeader),
                                                  packet.size() - kSealedHeader, raw(packet.data()),
                                                  kSealedHeader, nonce.data(), raw(key.data())) != 0)
    return {};
  return out;
}

std::vector<std::byte> encode(const Plain& plain) {
  ByteWriter out;
  out.number(plain.flags)
      .number(std::uint8_t{0})
      .number(static_cast<std::uint16_t>(plain.messages.size()))
      .number(std::uint32_t{0})
      .number(plain.taken)
      .number(plain.first)
      .number(plain.digest);
  for (const auto& message : plain.messages)
    out.number(static_cast<std::uint16_t>(message.size())).bytes(message);
  return out.take();
}

std::optional<Plain> decode_plain(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  Plain out;
  out.flags = reader.number<std::uint8_t>();
  const auto nothing = reader.number<std::uint8_t>();
  const auto count = reader.number<std::uint16_t>();
  const auto nothing_more = reader.number<std::uint32_t>();
  out.taken = reader.number<std::uint64_t>();
  out.first = reader.number<std::uint64_t>();
  out.digest = reader.number<std::uint64_t>();
  if (!reader.good() || out.flags > 15 || nothing != 0 || nothing_more != 0) return {};
  for (std::uint16_t i = 0; i < count && reader.good(); ++i) {
    const auto length = reader.number<std::uint16_t>();
    if (length < 2 || length > kMostMessage) return {};
    const auto message = reader.take(length);
    out.messages.emplace_back(message.begin(), message.end());
  }
  if (!reader.whole()) return {};
  return out;
}

// Messages.

std::optional<std::pair<std::uint16_t, std::span<const std::byte>>> split_message(
    std::span<const std::byte> message) {
  if (message.size() < 2 || message.size() > kMostMessage) return {};
  ByteReader reader{message};
  const auto kind = reader.number<std::uint16_t>();
  return std::pair{kind, message.subspan(2)};
}

std::vector<std::byte> encode_members(std::span<const Member> members) {
  ByteWriter out;
  out.number(static_cast<std::uint16_t>(MessageKind::members));
  for (const Member& member : members) {
    out.number(member.id)
        .number(static_cast<std::uint16_t>(member.left ? 1 : 0))
        .number(member.address.port)
        .number(std::uint16_t{0})
        .number(member.incarnation)
        .bytes(member.address.ip);
  }
  return out.take();
}

std::optional<std::vector<Member>> decode_members(std::span<const std::byte> body) {
  if (body.empty() || body.size() % Member::kBytes != 0 || body.size() / Member::kBytes > kMembersInMessage)
    return {};
  ByteReader reader{body};
  std::vector<Member> out(body.size() / Member::kBytes);
  for (Member& member : out) {
    member.id = reader.number<std::uint16_t>();
    const auto left = reader.number<std::uint16_t>();
    member.address.port = reader.number<std::uint16_t>();
    const auto nothing = reader.number<std::uint16_t>();
    member.incarnation = reader.number<std::uint64_t>();
    reader.bytes(member.address.ip);
    member.left = left == 1;
    if (member.id == 0 || left > 1 || member.address.port == 0 || nothing != 0 || member.incarnation == 0)
      return {};
  }
  return out;
}

}  // namespace hamlyn::node
