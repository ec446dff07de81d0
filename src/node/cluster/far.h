#pragma once
// Messages of two daemons about their processes: introductions, ends of links, look-ups of names. They are
// bodies of messages of a pair (node_wire.h). A body that is not exactly of its kind is refused.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/ticket.h"
#include "node/mind/clerk.h"
#include "node/mind/node_wire.h"

namespace hamlyn::node {

// The node's mind reaches the other nodes by this.
class OtherNodes {
 public:
  virtual ~OtherNodes() = default;
  virtual NodeId self() const = 0;
  virtual std::uint64_t incarnation() const = 0;
  virtual std::uint64_t incarnation_of(NodeId node) const = 0;  // 0: it is not there
  virtual std::vector<NodeId> there() const = 0;
  // The address of this host at which that node reaches it, as text; empty: nobody knows.
  virtual std::string reached_at(NodeId by) const = 0;
  // Where packets for that node go; nothing if it is not there.
  virtual std::optional<Address> place_of(NodeId node) const = 0;
  // Whether it may be told what a process wants: false if it is not there, and while much waits for it. What
  // has to be said (answers, ends) does not ask.
  virtual bool has_room(NodeId node) const = 0;
  virtual void tell(NodeId node, std::vector<std::byte> message) = 0;  // in vain if it is not there
  virtual void random(std::span<std::byte> out) = 0;
  virtual std::vector<MemberReply> members() const = 0;  // by their ids
};

struct FarEnd {  // where a process is reached, and as whom its daemon attests it
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  char engine[kMaxEngine]{};
  std::vector<std::byte> address;
  bool clerk = false;  // its node's clerk of names
};

// Whether that is one of libfabric's engines that crash, or worse, at what a stranger sends to their ports.
bool by_rxm(std::string_view engine) noexcept;

// Null, or why no process of the node at that address is reached there. TCP would connect whoever is
// introduced to any service of any host, so by the engines net and tcp processes are reached at their node's
// own address alone, and at no port that only root can open.
const char* wrong_place(const FarEnd& end, const Address& node);

struct FarIntroduce {  // please introduce `peer`, which is yours, to `asker`, which is mine
  std::uint64_t serial = 0;
  std::uint64_t asker = 0;
  std::uint64_t peer = 0;
  std::uint64_t link = 0;
  std::array<std::byte, 32> key{};
  FarEnd end;
};
struct FarIntroduced {  // it is done
  std::uint64_t serial = 0;
  FarEnd end;
};
struct FarRefused {  // an introduction or a look-up
  std::uint64_t serial = 0;
  std::uint32_t error = 0;
  std::string text;
};
struct FarEnded {  // my end of this link has ended
  std::uint64_t link = 0;
  std::uint64_t mine = 0;
  std::uint64_t yours = 0;
  LinkReason reason = LinkReason::ended;  // cut: by the rule on reports
};
struct FarLookup {
  std::uint64_t serial = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool wait = false;
  std::string name;
};
struct FarFound {
  std::uint64_t serial = 0;
  std::uint64_t peer = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  Ticket ticket;
};
struct FarCancel {  // nobody waits for this look-up any more
  std::uint64_t serial = 0;
};

struct FarWantRegistry {      // where can my clerk read your names?
  std::uint32_t version = 0;  // of the registry's layout
};

enum class FarKind : std::uint16_t {
  introduce = static_cast<std::uint16_t>(MessageKind::first_of_node),
  introduced,
  refused,
  ended,
  lookup,
  found,
  cancel,
  want_registry,
  registry,  // FarRegistry: the answer, if there is one, and again when it has moved
};

std::vector<std::byte> encode(const FarIntroduce& message);
std::vector<std::byte> encode(const FarIntroduced& message);
std::vector<std::byte> encode(const FarRefused& message);
std::vector<std::byte> encode(const FarEnded& message);
std::vector<std::byte> encode(const FarLookup& message);
std::vector<std::byte> encode(const FarFound& message);
std::vector<std::byte> encode(const FarCancel& message);
std::vector<std::byte> encode(const FarWantRegistry& message);
std::vector<std::byte> encode(const FarRegistry& message);

// Total: false, or `out` is whole.
bool decode(std::span<const std::byte> body, FarIntroduce& out);
bool decode(std::span<const std::byte> body, FarIntroduced& out);
bool decode(std::span<const std::byte> body, FarRefused& out);
bool decode(std::span<const std::byte> body, FarEnded& out);
bool decode(std::span<const std::byte> body, FarLookup& out);
bool decode(std::span<const std::byte> body, FarFound& out);
bool decode(std::span<const std::byte> body, FarCancel& out);
bool decode(std::span<const std::byte> body, FarWantRegistry& out);
bool decode(std::span<const std::byte> body, FarRegistry& out);

}  // namespace hamlyn::node
