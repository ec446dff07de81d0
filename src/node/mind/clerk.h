#pragma once
// The node's mind reaches its clerk by this: who keeps its names where other nodes read them, and reads
// theirs (paper 4, section 7.3; docs/names.md). A node without one asks the other nodes, and is asked.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hamlyn/values/rights.h"
#include "hamlyn/values/ticket.h"
#include "node/mind/node_wire.h"

namespace hamlyn::node {

// Registered at a node: what the largest registry takes.
inline constexpr std::size_t kMostNames = 327'680;

// Entry of the registry, by its name.
struct RegisteredName {
  Ticket ticket;
  std::uint64_t generation = 0;  // counts registrations at its node: a later one is of a higher number
  std::uint64_t interface = 0;   // of who registered it
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  Rights rights;
};

// Where a node's registry is read, and what shape it has.
struct FarRegistry {
  Ticket ticket;
  std::uint64_t generation = 0;  // of the table
  std::uint32_t buckets = 0;
};

enum class NameSays : std::uint8_t {
  found,
  absent,
  unknown,  // it could not be read: ask
};

class Clerk {
 public:
  virtual ~Clerk() = default;

  // A name of this node has come, or gone, or stands for something else: Node::registered says what.
  virtual void changed(std::string_view name) = 0;

  // Gives what was read lately of other nodes' names, of that node alone unless it is 0. Null: the name has
  // to be looked for. Good until the next call.
  virtual const RegisteredName* cached(std::string_view name, NodeId node) = 0;
  // Reads it there. True: the node is told (Node::name_read); false: ask that node, which is better now.
  virtual bool read(std::uint64_t serial, NodeId node, std::string_view name) = 0;
  // A look-up that does not wait is asked of that node, and is answered: what it takes is compared.
  virtual void asked(std::uint64_t serial, NodeId node) = 0;
  virtual void answered(std::uint64_t serial, NodeId node) = 0;

  // Words of that node's clerk for this one's.
  virtual void registry_wanted(NodeId node, std::uint32_t version) = 0;
  virtual void registry_told(NodeId node, const FarRegistry& registry) = 0;
  virtual void node_gone(NodeId node) = 0;
  // A process of another node has gone, or was gone when somebody wanted a link with it.
  virtual void interface_gone(std::uint64_t interface) = 0;
};

}  // namespace hamlyn::node
