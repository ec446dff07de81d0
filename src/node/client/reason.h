#pragma once
// Why a node does not let another one in.
#include <cstdint>

namespace hamlyn::node {

enum class Reason : std::uint16_t {
  none = 0,
  version,          // this is what the other end speaks: see version and structures
  id_alive,         // another node has that id, and lives
  old_incarnation,  // `known` is newer
  not_boot,         // it does not know you, and is no boot server
  unanswered,       // nobody answers where it asks. Not on the wire
};
// Never null.
const char* reason_text(Reason reason) noexcept;

}  // namespace hamlyn::node
