// End of the metadata entries that a link was to fill when it ended: they fail. Entries of other links are
// not looked at, and of many only some in one run, so that no peer chooses for how long the run lock is held.
#include <algorithm>

#include "base/assert.h"
#include "interface/deposit.h"

namespace hamlyn::internal_::interface {

// The rest follows in the next runs. The link's index is nobody's until then.
void Core::fail_entries(const Link& link) noexcept {
  HAMLYN_ASSERT(by_index_[link.index] == nullptr,
                "the index stays nobody's until all its entries have failed");
  const Ended ended{link.peer, link.serial, link.index};
  if (fail_some(ended)) {
    free_link_indices_.push_back(link.index);
  } else {
    HAMLYN_ASSERT(ended_.size() < ended_.capacity(), "make_link_indices has made the room");
    ended_.push_back(ended);  // there is room (make_link_indices)
    replies_due_ = true;
  }
}

void Core::go_on_failing() noexcept {
  HAMLYN_ASSERT(!ended_.empty(), "whoever goes on has seen that something is left");
  if (fail_some(ended_.back())) {
    free_link_indices_.push_back(ended_.back().index);
    ended_.pop_back();
  }
  replies_due_ |= !ended_.empty();
}

// True: there are no more of its entries.
bool Core::fail_some(const Ended& link) noexcept {
  for (int left = kFailedAtOnce; left > 0; --left) {
    const std::size_t s = filled_slots_.take(link.index);
    if (s == LinkSets::kNone) return true;
    SlotRecord& slot = slots_[s];
    for (; slot.live; --left) {
      if (left <= 0) {
        filled_slots_.add(s, link.index);
        return false;
      }
      const std::size_t block = slot.fillers.take(link.index);
      if (block == LinkSets::kNone) break;
      fail_block(link, static_cast<std::uint32_t>(s), block);
    }
  }
  return false;
}

void Core::fail_block(const Ended& link, std::uint32_t slot_index, std::size_t block) noexcept {
  SlotRecord& slot = slots_[slot_index];
  const std::size_t word = link.index / kBits;
  const std::uint64_t bit = std::uint64_t{1} << link.index % kBits;
  const auto begin = static_cast<std::uint32_t>(block * kFillBlock);
  const std::uint32_t end = std::min(slot.entry_count, begin + static_cast<std::uint32_t>(kFillBlock));
  HAMLYN_ASSERT(begin < slot.entry_count, "a block that a link may fill has entries");
  looks_ += end - begin;
  for (std::uint32_t e = begin; e < end; ++e) {
    const MetadataEntry& entry = slot.entries[e];
    const bool waits = entry.state == EntryState::armed || entry.state == EntryState::filling ||
                       entry.state == EntryState::taking;
    const bool its_own = entry.state == EntryState::gathering ? (links_of(slot, e)[word] & bit) != 0
                                                              : waits && entry.link == link.serial;
    if (its_own) fail(slot, slot_index, e, Failure::link_ended, link.peer);
  }
}

}  // namespace hamlyn::internal_::interface
