#pragma once
// One process that plays a part, from its fork to its end.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "test/chaos/cast.h"

namespace hamlyn::chaos {

class Player {
 public:
  static constexpr int kSorry = 3;  // ended by an Error that chaos may cause

  Player(Ledger& ledger, const Part& part, std::uint32_t seat, const std::string& node, std::uint64_t seed);
  ~Player();  // kills it if it is there, and waits for it
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const noexcept;
  // As a shell has it; nothing: it runs. The kernel keeps what is left of it for as long as this is there.
  std::optional<int> ended() const noexcept;

 private:
  pid_t pid_;
};

}  // namespace hamlyn::chaos
