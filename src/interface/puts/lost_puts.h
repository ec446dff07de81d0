#pragma once
// Puts that were lost with links: a fence by the next link with that peer must say so. By which openings they
// were is known of the last links to end; of those before them, for whom a fence by any opening says so.
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/namespaces.h"
#include "interface/link.h"

namespace hamlyn::internal_::interface {

class LostPuts {
 public:
  static constexpr std::size_t kWithOpenings = 1024;  // peers
  static constexpr std::size_t kWithout = 65536;      // and of those before; beyond, it may have been any

  // Remembers the openings of a link with `peer` that has ended.
  void remember(std::uint64_t peer, std::vector<std::unique_ptr<SendCredit>> credits) noexcept;
  // A terminus has gone: nobody asks for it any more.
  void forget_terminus(std::uint64_t bit) noexcept;
  // Gives a new link its openings, or termini (a bit each) some of whose puts there may be lost.
  void recall(Link& link) noexcept;

 private:
  struct Known {
    std::uint64_t peer;
    std::vector<std::unique_ptr<SendCredit>> credits;
  };
  void forget(const Known& known) noexcept;

  std::vector<Known> known_;
  std::unordered_map<std::uint64_t, std::uint64_t> forgotten_;  // termini, by peer
  std::uint64_t of_anybody_ = 0;                                // termini
};

}  // namespace hamlyn::internal_::interface
