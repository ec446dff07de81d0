#pragma once
// How the last calls of clients ended that have gone, for those who come again and ask. Of so many clients:
// beyond them whose interface has most loses its oldest, so that who comes and goes for ever has only its own
// forgotten.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::rpc {

template <class Stack>
class Memories {
 public:
  explicit Memories(std::size_t most) noexcept : most_(most) {}

  // Without memory its calls stay unknown.
  void remember(std::uint64_t peer, std::uint32_t session, std::vector<Stack> stacks) noexcept {
    try {
      if (count_ == most_) forget_one();
      by_peer_[peer].push_back({session, std::move(stacks)});
      ++count_;
    } catch (const std::bad_alloc&) {
    }
  }
  // Null: nothing is known of that session.
  const std::vector<Stack>* find(std::uint64_t peer, std::uint32_t session) const noexcept {
    const auto own = by_peer_.find(peer);
    if (own == by_peer_.end()) return nullptr;
    const auto found = std::ranges::find(own->second, session, &Memory::session);
    return found == own->second.end() ? nullptr : &found->stacks;
  }

 private:
  struct Memory {
    std::uint32_t session;
    std::vector<Stack> stacks;
  };
  void forget_one() noexcept {
    const auto fewer = [](const auto& one, const auto& other) {
      return one.second.size() < other.second.size();
    };
    const auto most = std::ranges::max_element(by_peer_, fewer);
    most->second.pop_front();
    if (most->second.empty()) by_peer_.erase(most);
    --count_;
  }

  const std::size_t most_;
  std::size_t count_ = 0;
  std::map<std::uint64_t, std::deque<Memory>> by_peer_;
};

}  // namespace hamlyn::internal_::rpc
