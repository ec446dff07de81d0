#pragma once
// A server's reach into parts of its clients' memory that were lent to calls.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "library/no_link.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::rpc {

// Bytes that one request brings.
inline constexpr std::size_t kPiece = 65536;

// Made when a handler reaches for the first time. Threads: any.
class Reach {
 public:
  explicit Reach(Interface& interface) noexcept : interface_(interface) {}

  Status read(const Ticket& part, std::size_t offset, std::span<std::byte> into,
              library::Patience& patience) noexcept {
    std::unique_ptr<Landing> landing = take();
    if (landing == nullptr) return Status::no_buffer;
    while (!into.empty()) {
      const std::size_t length = std::min(into.size(), kPiece);
      static_cast<void>(patience.deadline());
      const Outcome outcome =
          way_->terminus.get(part, landing->slot, 0, length, {.offset = offset}, patience.left());
      // One that is still under way may land yet: the landing goes with it.
      if (outcome.status != Status::ok) return outcome.status;
      std::memcpy(into.data(), landing->area.bytes().data(), length);
      into = into.subspan(length);
      offset += length;
    }
    give_back(std::move(landing));
    return Status::ok;
  }
  Status write(const Ticket& part, std::size_t offset, std::span<const std::byte> from,
               library::Patience& patience) noexcept {
    if (!there()) return Status::no_buffer;
    static_cast<void>(patience.deadline());
    const Status put = way_->terminus.put(part, from, {.offset = offset}, patience.left());
    if (put != Status::ok) return put;
    static_cast<void>(patience.deadline());
    return way_->terminus.flush(part, patience.left()).status;
  }
  // Maps what a client shows, or finds it mapped. Null: it cannot be.
  std::shared_ptr<const MappedSlot> map(const Ticket& shown, library::Patience& patience) noexcept {
    if (auto known = known_mapping(shown)) return known;
    if (library::is_far(interface_, shown.interface)) return nullptr;
    try {
      const auto most = std::chrono::ceil<std::chrono::milliseconds>(
          std::min<std::chrono::nanoseconds>(patience.left(), kMapping));
      auto made = std::make_shared<const MappedSlot>(interface_, shown, most);
      const std::lock_guard guard(mutex_);
      make_room(shown.interface);
      mappings_.push_back({shown, made});
      return made;
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  // Lets go of memory whose client has gone, or has left it for other.
  void forget_ended() noexcept {
    const std::lock_guard guard(mutex_);
    std::erase_if(mappings_, [](const Mapping& each) { return each.memory->status() != Status::ok; });
  }

 private:
  // Memory that a client shows. A view of it keeps it for longer.
  struct Mapping {
    Ticket of;
    std::shared_ptr<const MappedSlot> memory;
  };
  static constexpr std::size_t kMostMapped = 64, kMostOfOne = 4;
  static constexpr std::chrono::seconds kMapping{1};

  std::shared_ptr<const MappedSlot> known_mapping(const Ticket& shown) noexcept {
    forget_ended();
    const std::lock_guard guard(mutex_);
    const auto same = [&](const Mapping& each) {
      return each.of.interface == shown.interface && each.of.slot == shown.slot &&
             each.of.generation == shown.generation && each.of.key == shown.key;
    };
    const auto found = std::ranges::find_if(mappings_, same);
    return found == mappings_.end() ? nullptr : found->memory;
  }
  // For one more: the oldest of its client goes, or the oldest of all.
  void make_room(std::uint64_t peer) noexcept {
    const auto own = [&](const Mapping& each) { return each.of.interface == peer; };
    if (std::ranges::count_if(mappings_, own) >= static_cast<std::ptrdiff_t>(kMostOfOne))
      mappings_.erase(std::ranges::find_if(mappings_, own));
    else if (mappings_.size() == kMostMapped)
      mappings_.erase(mappings_.begin());
  }

  struct Way {
    explicit Way(Interface& interface) : queue(interface, 64), terminus(interface) {}
    NotificationQueue queue;  // of slots that tell nothing in it
    Terminus terminus;
  };
  struct Landing {
    Landing(Interface& interface, NotificationQueue& queue)
        : area(interface, kPiece),
          slot(area, queue, {.access = Access::write_only, .fast = false, .puts = true, .hold = 0}) {}
    MessageArea area;
    Slot slot;
  };
  static constexpr std::size_t kMostKept = 4;

  bool there() noexcept {
    const std::lock_guard guard(mutex_);
    try {
      if (!way_) way_.emplace(interface_);
    } catch (const std::exception&) {  // no memory
    }
    return way_.has_value();
  }
  // Null: there is no memory for one.
  std::unique_ptr<Landing> take() noexcept {
    if (!there()) return nullptr;
    {
      const std::lock_guard guard(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Landing> out = std::move(free_.back());
        free_.pop_back();
        return out;
      }
    }
    try {
      return std::make_unique<Landing>(interface_, way_->queue);
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  void give_back(std::unique_ptr<Landing> landing) noexcept {
    const std::lock_guard guard(mutex_);
    if (free_.size() < kMostKept) free_.push_back(std::move(landing));
  }

  Interface& interface_;
  std::mutex mutex_;
  std::vector<Mapping> mappings_;               // under the mutex, the oldest first
  std::optional<Way> way_;                      // made under the mutex, and never goes
  std::vector<std::unique_ptr<Landing>> free_;  // under the mutex
};

}  // namespace hamlyn::internal_::rpc
