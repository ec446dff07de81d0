#include "library/memory/mapped_area.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "base/throw_system.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

namespace {

// Puts `fresh`, which has the same bytes, where `there` is. False: it cannot be. (What can be in the way,
// limits and the number of mappings, the kernel looks at before it drops what was there.)
bool replace(std::byte* there, shm::Mapping& fresh) noexcept {
  const std::size_t bytes = fresh.size();
  if (mremap(fresh.data(), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, there) == MAP_FAILED) return false;
  fresh.release();
  return true;
}

}  // namespace

std::byte* MappedAreas::make(std::byte* at, std::size_t bytes, shm::Writers writers,
                             interface::MappedWords** words) {
  shm::OwnedMemory memory = shm::make_sealed_memory(bytes, writers);
  shm::OwnedMemory page = shm::make_sealed_memory(sizeof(shm::Page));
  auto* const data = at != nullptr ? at : static_cast<std::byte*>(memory.mapping.data());
  // All that can fail comes before what cannot be taken back.
  MappedArea& area =
      areas_.try_emplace(data, std::move(memory.memfd), writers, std::move(page)).first->second;
  if (at != nullptr) {
    std::memcpy(memory.mapping.data(), at, bytes);
    if (!replace(at, memory.mapping)) {
      areas_.erase(data);
      base::throw_system("mremap of a message area");
    }
  }
  memory.mapping.release();
  area.memory = shm::Mapping(data, bytes);
  area.move_generation();
  *words = &area.words;
  return data;
}

// Fresh memory at the old address. Importers see the generation move first, so that whoever still finds it
// unmoved after an access has used what the owner used.
void MappedAreas::renew(std::byte* data) {
  MappedArea& area = areas_.at(data);
  shm::OwnedMemory fresh = shm::make_sealed_memory(area.memory.size(), area.writers);
  engine_.lock().enter_as_other();  // nothing lands meanwhile
  area.move_generation();
  std::memcpy(fresh.mapping.data(), data, area.memory.size());
  const bool moved = replace(data, fresh.mapping);
  engine_.lock().leave();
  if (!moved) base::throw_system("mremap of a message area");
  area.memfd = std::move(fresh.memfd);
  handed_out_.leave(std::exchange(area.piece, 0));
}

void MappedAreas::drop(std::byte* data, bool stays) noexcept {
  MappedArea& area = areas_.at(data);
  area.move_generation();  // likewise
  if (stays) {
    const std::size_t bytes = area.memory.size();
    area.memory.release();  // the caller's: if there is no memory, it keeps these pages
    void* const own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own != MAP_FAILED) {
      shm::Mapping fresh(own, bytes);
      std::memcpy(own, data, bytes);
      replace(data, fresh);
    }
  }
  const LeftBehind::Piece pieces[] = {area.piece, area.page_piece};
  areas_.erase(data);
  for (const LeftBehind::Piece piece : pieces) handed_out_.leave(piece);
}

namespace {

// Why a ticket leads to no memory, from what its slot's own check says of it.
NotMapped not_mapped_by(Refusal refusal) noexcept {
  if (refusal == Refusal::none) return NotMapped::not_shown;  // it is good, and of a slot that is not mapped
  return refusal == Refusal::bad_key ? NotMapped::bad_key : NotMapped::gone;
}

}  // namespace

MappedAreas::Shown MappedAreas::find(const Ticket& ticket, const interface::User& user) {
  engine_.lock().enter_as_other();
  const interface::SlotRecord* slot =
      engine_.core().find_guarded_slot(ticket.slot, ticket.generation, ticket.key);
  const std::uint32_t rights = slot != nullptr ? slot->rights(user) : 0;
  const std::byte* base = slot != nullptr ? slot->base : nullptr;
  const std::uint64_t bound = slot != nullptr ? slot->bound : 0;
  const Refusal refusal = slot != nullptr
                              ? Refusal::none
                              : engine_.core().import_refusal(ticket.slot, ticket.generation, ticket.key);
  engine_.lock().leave();
  const auto after = areas_.upper_bound(base);
  if (base == nullptr || after == areas_.begin()) return {.why = not_mapped_by(refusal)};
  MappedArea& area = std::prev(after)->second;
  const auto offset = static_cast<std::uint64_t>(base - std::prev(after)->first);
  // The trust group is the user: its processes could trace each other anyway.
  const bool all_write = area.writers == shm::Writers::everybody;
  const std::uint32_t needed = interface::Guests::kRead | (all_write ? interface::Guests::kWrite : 0u);
  if (offset >= area.memory.size()) return {.why = NotMapped::not_shown};
  if (all_write && user.uid != geteuid()) return {.why = NotMapped::other_user};
  if ((rights & needed) != needed) return {.why = NotMapped::no_rights};
  return {&area, offset, bound};
}

}  // namespace hamlyn::internal_::library
