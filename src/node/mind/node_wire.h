#pragma once
// Words of node daemons to each other, as bytes of UDP packets (docs/wire.md has the tables). Two kinds: a
// handshake, of 128 bytes in every version, authenticated under the key of a bootstrap slot; and a sealed
// packet of a pair, encrypted and authenticated under keys that the handshake has made. Whatever is not
// exactly one of the two is refused before anything is remembered of it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/client/protocol.h"
#include "node/client/reason.h"

namespace hamlyn::node {

using NodeId = std::uint16_t;  // 1 to 65535
using Secret = std::array<std::byte, 32>;

inline constexpr std::uint32_t kClusterMagic = 0x434C4D48;  // "HMLC"
inline constexpr std::uint32_t kClusterVersion = 3;
inline constexpr std::size_t kHandshakeBytes = 128;
inline constexpr std::size_t kSealedHeader = 24;
inline constexpr std::size_t kSealTag = 16;
inline constexpr std::size_t kMostPacket = 1232;  // in any IPv6 network in one piece
inline constexpr std::size_t kPlainHeader = 32;
inline constexpr std::size_t kMostMessage = 512;

// Where a node's daemon listens: IPv4 as ::ffff:a.b.c.d.
struct Address {
  std::array<std::byte, 16> ip{};
  std::uint16_t port = 0;
  auto operator<=>(const Address&) const = default;
};
std::string to_text(const Address& address);
std::string host_text(const Address& address);  // without the port: 10.0.0.7, fd00::7
bool loopback(const Address& address) noexcept;
bool multicast(const Address& address) noexcept;

enum class HandshakeKind : std::uint16_t {
  hello = 1,  // by whoever wants to talk; `to` is 0 if it only knows the address
  challenge,  // the answer, for which nothing is remembered
  confirm,    // proves that the first was no replay. The answer is a sealed packet
  refusal,    // instead of a challenge
};
inline constexpr std::uint16_t kSealed = 5;  // where handshakes have their kind

struct Handshake {
  std::uint32_t version = kClusterVersion;
  HandshakeKind kind{};
  NodeId from = 0;
  NodeId to = 0;
  Reason reason{};                // of a refusal
  std::uint64_t incarnation = 0;  // of `from`
  std::uint64_t known = 0;        // of `to`, in a confirm and in a refusal
  std::uint32_t structures = kStructuresVersion;
  std::array<std::byte, 24> asked{};       // random, by whoever said hello
  std::array<std::byte, 32> challenged{};  // not to be guessed, by the other; zero in a hello and a refusal
};

struct PairKeys {
  Secret seal_asker{};  // of packets by whoever said hello
  Secret seal_answerer{};
};

using HandshakeBytes = std::array<std::byte, kHandshakeBytes>;

// Keys of this cluster: one per sending node, for what is said before there are keys of a pair. (These are
// the well-known slots of paper 1, section 4.3: a function of the sending node, and here of the cluster's
// secret.)
class ClusterKeys {
 public:
  explicit ClusterKeys(const Secret& secret) : secret_(secret) {}

  // A confirm is authenticated by what both ends have said; the other kinds by the sender's slot.
  HandshakeBytes encode(const Handshake& handshake) const;
  // Empty for whatever nobody with the secret has said, in this version or another.
  std::optional<Handshake> decode(std::span<const std::byte> packet) const;
  // After hello, challenge and confirm.
  PairKeys pair_keys(NodeId asker, std::uint64_t asker_incarnation, NodeId answerer,
                     std::uint64_t answerer_incarnation, std::span<const std::byte, 24> asked,
                     std::span<const std::byte, 32> challenged) const;

 private:
  Secret slot_key(NodeId sender) const;
  Secret handshake_key(const Handshake& handshake, std::uint64_t answerer_incarnation) const;

  Secret secret_;
};

// A keyed hash, for challenges that need no memory.
Secret keyed_hash(const Secret& key, std::span<const std::byte> what);

// The part of a sealed packet that everybody may read, and that is authenticated with the rest.
struct SealedHeader {
  NodeId from = 0;
  NodeId to = 0;
  std::uint64_t sequence = 0;
};
std::optional<SealedHeader> sealed_header(std::span<const std::byte> packet) noexcept;
std::vector<std::byte> seal(const Secret& key, const SealedHeader& header, std::span<const std::byte> plain);
std::optional<std::vector<std::byte>> unseal(const Secret& key, std::span<const std::byte> packet);

// Content of a sealed packet.
struct Plain {
  static constexpr std::uint8_t kAnswer = 1;   // say something at once
  static constexpr std::uint8_t kLeaving = 2;  // this incarnation ends now
  static constexpr std::uint8_t kOver = 4;     // you are dead to me: nothing more comes under these keys
  static constexpr std::uint8_t kBoot = 8;     // I am a boot server

  std::uint8_t flags = 0;
  std::uint64_t taken = 0;   // messages of the other end taken so far, in order
  std::uint64_t first = 0;   // number of the first message here
  std::uint64_t digest = 0;  // of the sender's table of members
  std::vector<std::vector<std::byte>> messages;
};
std::vector<std::byte> encode(const Plain& plain);
std::optional<Plain> decode_plain(std::span<const std::byte> bytes);

// One row of the table of members.
struct Member {
  static constexpr std::size_t kBytes = 32;
  NodeId id = 0;
  bool left = false;  // it has said that this incarnation has ended
  std::uint64_t incarnation = 0;
  Address address;
  friend bool operator==(const Member&, const Member&) = default;
};
inline constexpr std::size_t kMembersInMessage = 15;

// Messages; all but the first two are the business of far.h.
enum class MessageKind : std::uint16_t {
  members = 1,   // up to 15 rows
  want_members,  // all rows of the receiver's table, please
  first_of_node = 16,
};
std::vector<std::byte> encode_members(std::span<const Member> members);
std::optional<std::vector<Member>> decode_members(std::span<const std::byte> body);
// The kind of a message, and what follows.
std::optional<std::pair<std::uint16_t, std::span<const std::byte>>> split_message(
    std::span<const std::byte> message);

}  // namespace hamlyn::node
