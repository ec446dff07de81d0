#pragma once
// Greetings of clients that are not whole yet: words of anybody's, in any order. What is held of them has a
// bound; the oldest go first.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

// Greetings of one interface that are not whole.
inline constexpr std::size_t kMostGreetings = 8;
// Interfaces with such.
inline constexpr std::size_t kMostGreeters = 1024;

class Greeters {
 public:
  struct Whole {
    std::uint32_t mark;
    Greeting greeting;
  };

  // Takes a word; `link`: that by which its peer is linked now. Returns the greeting that it makes whole.
  // Throws std::bad_alloc.
  std::optional<Whole> take(std::uint64_t peer, std::uint64_t link, std::uint64_t word) {
    auto greeter = std::ranges::find(all_, peer, &Greeter::peer);
    if (greeter == all_.end()) {
      if (all_.size() == kMostGreeters) all_.erase(all_.begin());
      greeter = all_.insert(all_.end(), {peer, link, {}});
    }
    const auto mark = static_cast<std::uint32_t>(word >> 40);
    auto& greetings = greeter->greetings;
    auto one = std::ranges::find(greetings, mark, &Greeted::mark);
    if (one == greetings.end()) {
      if (greetings.size() == kMostGreetings) greetings.erase(greetings.begin());
      one = greetings.insert(greetings.end(), Greeted(mark));
    }
    one->take(word);
    if (!one->whole()) return std::nullopt;
    const Whole out{mark, one->greeting()};
    greetings.erase(one);
    if (greetings.empty()) all_.erase(greeter);
    return out;
  }
  // Forgets those whose link has ended, as over(peer, link) says.
  template <class Over>
  void end(Over over) noexcept {
    std::erase_if(all_, [&](const Greeter& each) { return over(each.peer, each.link); });
  }

 private:
  struct Greeter {
    std::uint64_t peer;
    std::uint64_t link;
    std::vector<Greeted> greetings;
  };
  std::vector<Greeter> all_;
};

}  // namespace hamlyn::internal_::rpc
