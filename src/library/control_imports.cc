// The control thread's part of mapped slots: it has the memfds of our areas, and asks peers for theirs.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/generation.h"
#include "base/throw_system.h"
#include "library/control.h"
#include "library/engine.h"

namespace hamlyn::library {

// --- our own

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

std::byte* Control::make_mapped_area(std::byte* at, std::size_t bytes, shm::Writers writers,
                                     const std::uint64_t** generation) {
  shm::OwnedMemory memory = shm::make_sealed_memory(bytes, writers);
  shm::OwnedMemory page = shm::make_sealed_memory(sizeof(shm::Page));
  auto* const data = at != nullptr ? at : static_cast<std::byte*>(memory.mapping.data());
  // All that can fail comes before what cannot be taken back.
  MappedArea& area =
      mapped_areas_
          .emplace(data,
                   MappedArea{
                       {}, std::move(memory.memfd), writers, std::move(page.mapping), std::move(page.memfd)})
          .first->second;
  if (at != nullptr) {
    std::memcpy(memory.mapping.data(), at, bytes);
    if (!replace(at, memory.mapping)) {
      mapped_areas_.erase(data);
      base::throw_system("mremap of a message area");
    }
  }
  memory.mapping.release();
  area.memory = shm::Mapping(data, bytes);
  area.generation() = 1;
  *generation = &area.generation();
  return data;
}

// Fresh memory at the old address. Importers see the generation move first, so that whoever still finds it
// unmoved after an access has used what the owner used.
void Control::renew_mapped_area(std::byte* data) {
  MappedArea& area = mapped_areas_.at(data);
  shm::OwnedMemory fresh = shm::make_sealed_memory(area.memory.size(), area.writers);
  engine_.lock_.enter_as_other();  // nothing lands meanwhile
  base::Generation<>::move(area.generation());
  std::memcpy(fresh.mapping.data(), data, area.memory.size());
  const bool moved = replace(data, fresh.mapping);
  engine_.lock_.leave();
  if (!moved) base::throw_system("mremap of a message area");
  area.memfd = std::move(fresh.memfd);
}

void Control::drop_mapped_area(std::byte* data, bool stays) noexcept {
  MappedArea& area = mapped_areas_.at(data);
  base::Generation<>::move(area.generation());  // likewise
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
  mapped_areas_.erase(data);
}

void Control::answer_imports(LinkKeeper& keeper) {
  for (const LinkMessage& request : keeper.take_import_requests()) answer_import(keeper, request);
  for (ImportAnswer& answer : keeper.take_import_answers()) {
    const std::uint64_t number = answer.number;
    finish_import(number, std::move(answer));
  }
}

void Control::answer_import(LinkKeeper& keeper, const LinkMessage& request) {
  LinkMessage answer;
  answer.word = LinkWord::import_refused;
  answer.value = request.value;
  engine_.lock_.enter_as_other();
  const interface::SlotRecord* slot =
      engine_.core_.find_guarded_slot(request.slot, request.slot_generation, request.key);
  const std::uint32_t rights = slot != nullptr ? slot->rights(keeper.user()) : 0;
  const std::byte* base = slot != nullptr ? slot->base : nullptr;
  const std::uint64_t bound = slot != nullptr ? slot->bound : 0;
  engine_.lock_.leave();
  const auto after = mapped_areas_.upper_bound(base);
  if (base == nullptr || after == mapped_areas_.begin()) return keeper.answer_import(answer, {});
  MappedArea& area = std::prev(after)->second;
  const auto offset = static_cast<std::uint64_t>(base - std::prev(after)->first);
  // The trust group is the user: its processes could trace each other anyway.
  const bool all_write = area.writers == shm::Writers::everybody;
  const std::uint32_t needed = interface::Guests::kRead | (all_write ? interface::Guests::kWrite : 0u);
  if (offset >= area.memory.size() || (rights & needed) != needed || (all_write && keeper.uid() != geteuid()))
    return keeper.answer_import(answer, {});
  answer.word = LinkWord::imported;
  answer.bytes = area.memory.size();
  answer.kind = all_write ? 1 : 0;
  answer.offset = offset;
  answer.bound = bound;
  answer.key = area.generation();
  const int fds[] = {area.memfd.get(), area.page_memfd.get()};
  keeper.answer_import(answer, fds);
}

// --- others'

ImportAnswer Control::import_slot(const Ticket& ticket, std::chrono::milliseconds timeout) {
  auto import = std::make_shared<Import>();
  import->ticket = ticket;
  std::unique_lock lock(requests_mutex_);
  imports_.push_back(import);
  attention();
  const Deadline deadline = deadline_in(timeout);
  const auto done = [&] { return import->done; };
  const bool in_time =
      deadline ? request_done_.wait_until(lock, *deadline, done) : (request_done_.wait(lock, done), true);
  imports_.remove(import);
  if (!in_time) throw Error(ErrorCode::timed_out, "a slot was not mapped in the time given");
  if (import->answer.error == ErrorCode::out_of_memory)
    throw Error(ErrorCode::out_of_memory, "no memory to map a slot");
  if (import->answer.error != ErrorCode{})
    throw Error(
        ErrorCode::not_permitted,
        "no slot to be mapped: it is guarded, gone, of another user or host, or the ticket is not good");
  return std::move(import->answer);
}

void Control::serve_imports() {
  std::vector<std::uint64_t> missing;
  {
    const std::lock_guard lock(requests_mutex_);
    for (const auto& import : imports_) {
      if (import->keeper != nullptr || import->done) continue;
      if (is_far(import->ticket.interface)) {  // nobody maps the memory of another host
        finish(*import, ErrorCode::not_permitted);
        continue;
      }
      LinkKeeper* keeper = keeper_of(import->ticket.interface);
      if (keeper == nullptr) {
        missing.push_back(import->ticket.interface);
      } else if (keeper->link() != nullptr) {
        import->answer.number = next_request_++;
        if (keeper->ask_import(*import)) import->keeper = keeper;
      }
    }
  }
  if (missing.empty()) return;
  engine_.lock_.enter_as_other();
  for (const std::uint64_t peer : missing) want_link(peer);
  engine_.lock_.leave();
}

void Control::finish_import(std::uint64_t number, ImportAnswer answer) {
  const std::lock_guard lock(requests_mutex_);
  for (const auto& import : imports_) {
    if (import->keeper == nullptr || import->answer.number != number) continue;
    import->answer = std::move(answer);
    import->done = true;
    request_done_.notify_all();
    return;
  }
}

void Control::finish(Import& import, ErrorCode error) {
  import.answer.error = error;
  import.done = true;
  request_done_.notify_all();
}

void Control::fail_imports(std::uint64_t peer) {
  const std::lock_guard lock(requests_mutex_);
  for (const auto& import : imports_) {
    if (import->ticket.interface != peer || import->done) continue;
    finish(*import, ErrorCode::not_permitted);
  }
}

}  // namespace hamlyn::library
