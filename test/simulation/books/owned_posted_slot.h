#pragma once
// A slot with posted buffers, put together by hand: as PostedSlot has it, over a bare core.
#include <cstdint>
#include <span>

#include "hamlyn/core/posted_slot.h"
#include "test/simulation/books/party.h"

namespace hamlyn::simulation {

class OwnedPostedSlot {
 public:
  OwnedPostedSlot(Party& owner, interface::Queue* queue, const PostedSlot::Options& options)
      : owner_(owner),
        index_(owner.core.make_posted_slot(queue, options.buffers, options.halts)),
        number_(record().number(index_)) {}
  ~OwnedPostedSlot() { drop(); }
  OwnedPostedSlot(const OwnedPostedSlot&) = delete;
  OwnedPostedSlot& operator=(const OwnedPostedSlot&) = delete;

  void drop() noexcept {
    if (live_) owner_.core.drop_slot(index_);
    live_ = false;
  }
  interface::SlotRecord& record() noexcept {
    return owner_.core.slot(index_);
  }
  std::uint32_t number() const noexcept { return number_; }
  Status post(std::span<std::byte> buffer, std::uint64_t number) noexcept {
    return owner_.core.post(index_, {&buffer, 1}, number);
  }
  Status post(std::span<const std::span<std::byte>> pieces, std::uint64_t number) noexcept {
    return owner_.core.post(index_, pieces, number);
  }
  Status take_back(std::uint64_t& number) noexcept { return owner_.core.take_back_posted(index_, number); }
  void resume() noexcept { record().posted->resume(); }
  void change_key() { owner_.core.change_key(index_); }
  std::uint32_t posted() noexcept { return record().posted->waiting(); }

  // As PostedSlot::ticket has it.
  Ticket ticket() noexcept {
    Ticket ticket;
    ticket.entry = Ticket::kPosted;
    ticket.interface = owner_.id;
    ticket.slot = index_;
    ticket.generation = record().generation;
    ticket.key = record().key;
    ticket.bound = 0xFFFFFFFFu;
    return ticket;
  }

 private:
  Party& owner_;
  std::uint32_t index_;
  std::uint32_t number_;
  bool live_ = true;
};

}  // namespace hamlyn::simulation
