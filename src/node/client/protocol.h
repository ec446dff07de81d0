#pragma once
// Protocol of processes and the node daemon over its Unix socket (SOCK_SEQPACKET, one structure per message,
// this machine's byte order). A message of another size, or with a field set that its kind does not use, is
// malformed, and whoever sends one is dropped. docs/wire.md describes it field by field.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "hamlyn/values/ticket.h"

namespace hamlyn::node {

inline constexpr std::uint32_t kMagic = 0x4E4C4D48;  // "HMLN"
inline constexpr std::uint32_t kProtocolVersion = 5;
// Additions to that version: kinds of requests, and nothing else, for nobody else minds. A daemon that does
// not know a kind says so, and one that knows more says nothing to a process that it does not know.
inline constexpr std::uint32_t kProtocolAdded = 3;  // 1: farewell, 2: consent, 3: end_reason
inline constexpr std::uint32_t kProtocol = kProtocolAdded << 16 | kProtocolVersion;
constexpr std::uint32_t version_of(std::uint32_t protocol) noexcept { return protocol & 0xFFFF; }
// Version of everything that two processes share: cells, link memory, counter page, tickets. It is compared
// at the attachment, so that two processes that have met through one node agree on it.
inline constexpr std::uint32_t kStructuresVersion = 11;

inline constexpr std::size_t kMaxName = 64;
inline constexpr std::size_t kMaxText = 160;
inline constexpr std::uint32_t kListPage = 32;  // attached processes per list request
// Bytes that one end of a link is taken to hold until it says otherwise: two pages, ring and replies.
inline constexpr std::uint64_t kLinkBytes = 8192;
inline constexpr std::size_t kMaxFabricAddress = 64;
inline constexpr std::size_t kMaxEngine = 16;
inline constexpr std::size_t kMaxConsent = kMaxName / sizeof(std::uint32_t);  // users and groups together
// An interface number carries the id of its node in its upper 16 bits; 0: a node that belongs to no cluster.
inline constexpr unsigned kNodeShift = 48;
constexpr std::uint16_t node_of(std::uint64_t interface) noexcept {
  return static_cast<std::uint16_t>(interface >> kNodeShift);
}

// Proof, signed by the daemon, that it had given this number or name to this user.
using Token = std::array<std::byte, 32>;

// The first message of a connection. Its first twelve bytes stay as they are in every version.
struct Hello {
  static constexpr std::uint32_t kObserver = 1;  // attaches nothing: may only list

  std::uint32_t magic = kMagic;
  std::uint32_t protocol = kProtocol;
  std::uint32_t structures = kStructuresVersion;
  std::uint32_t flags = 0;
  std::uint64_t interface = 0;  // the number to get back, proven by `token`; 0: a new one
  Token token{};
};
static_assert(sizeof(Hello) == 56 && std::is_trivially_copyable_v<Hello>);

// The answer to it. `error` is an ErrorCode, 0 for none.
struct Welcome {
  std::uint32_t magic = kMagic;
  std::uint32_t protocol = kProtocol;
  std::uint32_t structures = kStructuresVersion;
  std::uint32_t error = 0;
  std::uint64_t interface = 0;
  Token token{};
  char text[kMaxText]{};
};
static_assert(sizeof(Welcome) == 216 && std::is_trivially_copyable_v<Welcome>);

enum class RequestKind : std::uint32_t {
  introduce = 1,   // number: peer
  link_ended,      // number: link
  link_bytes,      // number: link, bytes
  adopt_link,      // number: link, peer, bytes: a link that is older than this daemon
  publish,         // name, flags: rights, ticket, token if it is to get the name back
  withdraw,        // name
  lookup,          // name, flags: kWait, kCached; number: the node where it is likely to be, or 0
  cancel,          // request: the one to cancel
  list,            // number: the last interface already listed; 0: from the start
  report,          // number: link, bytes: packets of its other end refused so far. No answer
  area_bytes,      // bytes: of all areas of the asker that others may be shown, from now on
  fabric_address,  // name: where processes of other nodes reach the asker, engine: by which engine. Without
                   // an engine: it cannot be reached; name: why, as text, or empty. No answer
  nodes,           // number: the last node already listed; 0: from the start
  watch,           // of an observer, its last request: all nodes, and then every change
  farewell,  // the asker leaves and does not come back: its names are free at once. Its last request. No
             // answer
  consent,  // flags: kNamed, or everyone may open links with the asker; number: users, bytes: groups who may,
            // name: their numbers, 4 bytes each
  end_reason,  // number: link to another node, bytes: the LinkReason for which the asker is about to end it.
               // No answer
};

struct Request {
  static constexpr std::uint32_t kGroup = 1;     // publish: Rights::group
  static constexpr std::uint32_t kEveryone = 2;  // publish: Rights::everyone
  static constexpr std::uint32_t kWait = 1;      // lookup
  static constexpr std::uint32_t kCached = 2;    // lookup: what was read lately will do
  static constexpr std::uint32_t kNamed = 1;     // consent: those that are named, and no others

  RequestKind kind{};
  std::uint32_t flags = 0;
  std::uint64_t request = 0;  // chosen by the asker; answers carry it
  std::uint64_t number = 0;
  std::uint64_t peer = 0;
  std::uint64_t bytes = 0;
  std::uint32_t name_length = 0;
  std::uint32_t reserved = 0;
  char name[kMaxName]{};        // or, of a fabric_address, any bytes
  Ticket ticket{.version = 0};  // where the kind has none: all zero, but for `entry`, which is all ones
  Token token{};
  char engine[kMaxEngine]{};  // text, filled up with zeros
};
static_assert(sizeof(Request) == 224 && std::is_trivially_copyable_v<Request>);

enum class ReplyKind : std::uint32_t {
  refused = 1,  // error, text; of an introduction also why there is no link: a LinkReason in `initiator`
  introduced,   // peer, link, uid, gid, pid, initiator; descriptors: socket, pidfd of the peer
  linked,       // peer, link: these two have a link already
  granted,      // link: link_bytes was within the quota; 0: area_bytes was, or a consent holds from now on
  published,    // token
  withdrawn,
  found,  // ticket; peer, uid, gid, pid of who registered it
  cancelled,
  attached,  // one process of a list (AttachedReply); descriptor: its counter page, if the asker may see it
  node,      // the end of a page of a list (NodeReply)
  cut,       // peer, link: to be ended now, by the rule on reports. Not asked for; both ends are told
  introduced_remote,  // a link with a process of another node may be made (FarReply)
  open_fabric,  // links with other nodes are wanted, or likely: say your fabric_address. text: the address of
                // this host to be reached at; empty: unknown; behind it, if the node asks for one, a space
                // and the engine to be reached by. Not asked for
  far_gone,  // peer, link, error, text, LinkReason in `initiator`: the other end of this link to another node
             // has gone. Not asked for
  member,  // one node of the cluster (MemberReply); after a page of them, or all to be watched, comes `node`
};

struct Reply {
  ReplyKind kind{};
  std::uint32_t error = 0;
  std::uint64_t request = 0;
  std::uint64_t peer = 0;
  std::uint64_t link = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  std::uint32_t initiator = 0;  // of refused and far_gone: a LinkReason
  Ticket ticket{.version = 0};
  Token token{};
  char text[kMaxText]{};
};
static_assert(sizeof(Reply) == 304 && std::is_trivially_copyable_v<Reply>);

// Reply to both ends of a link between nodes. The asker gets it with its `request`, the other end with 0.
struct FarReply {
  ReplyKind kind = ReplyKind::introduced_remote;
  std::uint32_t initiator = 0;  // 1 at the asker
  std::uint64_t request = 0;
  std::uint64_t peer = 0;              // its interface, and so its node
  std::uint64_t link = 0;              // 64 random bits, the same at both ends
  std::uint64_t peer_incarnation = 0;  // of the peer's node
  std::uint64_t own_incarnation = 0;   // of this node
  std::uint32_t uid = 0;               // of the peer, as its daemon attests them
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  std::uint32_t address_length = 0;
  char engine[kMaxEngine]{};  // text, filled up with zeros
  std::array<std::byte, kMaxFabricAddress> address{};
  std::array<std::byte, 32>
      key{};  // made by the asker's daemon; only the two daemons and the two ends know it
};
static_assert(sizeof(FarReply) == 176 && std::is_trivially_copyable_v<FarReply>);

struct AttachedReply {
  ReplyKind kind = ReplyKind::attached;
  std::uint32_t uid = 0;
  std::uint64_t request = 0;
  std::uint64_t interface = 0;
  std::uint64_t age_ms = 0;  // since it attached
  std::uint64_t links = 0;
  std::uint64_t link_bytes = 0;
  std::uint64_t area_bytes = 0;
  std::uint64_t refused = 0;  // packets, as it has reported of the links that it has
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  char program[16]{};
};
static_assert(sizeof(AttachedReply) == 88 && std::is_trivially_copyable_v<AttachedReply>);

// Where a node's daemon stands with another: `state` is Cluster::State.
struct MemberReply {
  ReplyKind kind = ReplyKind::member;
  std::uint32_t state = 0;
  std::uint64_t request = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t since_ms = 0;  // in that state
  std::uint64_t refused = 0;   // packets, of anybody; at this node itself
  std::uint16_t id = 0;
  std::uint16_t boot = 0;      // 1: it admits newcomers
  std::uint32_t kept_out = 0;  // at this node itself: Reason why nobody lets it in
  char address[48]{};          // text; empty for this node itself
  std::uint32_t changes = 0;   // told to who watches: how many this one stands for. 0: a list or snapshot
  std::uint32_t reserved = 0;
};
static_assert(sizeof(MemberReply) == 104 && std::is_trivially_copyable_v<MemberReply>);

// Usage of the user that asks, and what it may use; every list ends with it.
struct Usage {
  std::uint64_t interfaces = 0;
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;
  std::uint64_t names = 0;
};

struct NodeReply {
  ReplyKind kind = ReplyKind::node;
  std::uint32_t more = 0;  // 1: ask again, from the last interface listed
  std::uint64_t request = 0;
  std::uint64_t uptime_ms = 0;
  std::uint64_t interfaces = 0;
  std::uint64_t links = 0;
  std::uint64_t names = 0;
  std::uint64_t malformed = 0;  // connections dropped for a malformed request
  std::uint64_t dropped = 0;    // and for not reading
  std::uint64_t refused = 0;    // requests refused
  std::uint64_t cut = 0;        // links, by the rule on reports
  Usage used;
  Usage quota;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  char version[32]{};
};
static_assert(sizeof(NodeReply) == 184 && std::is_trivially_copyable_v<NodeReply>);

// Whether `name` is 1 to 64 characters out of [A-Za-z0-9._-].
bool valid_name(std::string_view name) noexcept;
// The name in it, cut to what there is room for.
std::string_view name_of(const Request& request) noexcept;
// Text of the engine of a fabric_address.
std::string_view engine_of(const char (&engine)[kMaxEngine]) noexcept;
// Whether the daemon answers such a request by its number.
bool waits_for_reply(RequestKind kind) noexcept;
// Whether it is of a later daemon.
bool later(RequestKind kind) noexcept;
// Null, or what is wrong with it.
const char* invalid(const Request& request) noexcept;
const char* invalid(const FarReply& reply) noexcept;
// Whether `engine` is 1 to 15 printable characters, filled up with zeros.
bool valid_engine(const char (&engine)[kMaxEngine]) noexcept;

}  // namespace hamlyn::node
