// The control thread's part of mapped slots: it has the memfds of our areas, and asks peers for theirs.
#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/engine.h"
#include "library/no_link.h"

namespace hamlyn::internal_::library {

// --- our own

std::byte* Control::make_mapped_area(std::byte* at, std::size_t bytes, shm::Writers writers,
                                     interface::MappedWords** words) {
  return mapped_areas_.make(at, bytes, writers, words);
}
void Control::renew_mapped_area(std::byte* data) { mapped_areas_.renew(data); }
void Control::drop_mapped_area(std::byte* data, bool stays) noexcept { mapped_areas_.drop(data, stays); }

void Control::answer_imports(LinkKeeper& keeper) {
  std::vector<LinkMessage> requests = keeper.take_import_requests();
  const auto waits = std::ranges::find_if(
      requests, [&](const LinkMessage& request) { return !answer_import(keeper, request); });
  if (waits != requests.end()) {  // no more is heard until then
    keeper.put_back({waits, requests.end()});
    listen(keeper, false);
  }
  for (ImportAnswer& answer : keeper.take_import_answers()) {
    const std::uint64_t number = answer.number;
    finish_import(number, std::move(answer));
  }
}

// False: later, when the peer's user has read what it was handed.
bool Control::answer_import(LinkKeeper& keeper, const LinkMessage& request) {
  LinkMessage answer;
  answer.word = LinkWord::import_refused;
  answer.value = request.value;
  Ticket ticket;
  ticket.slot = request.slot;
  ticket.generation = request.slot_generation;
  ticket.key = request.key;
  const MappedAreas::Shown shown = mapped_areas_.find(ticket, keeper.user());
  answer.kind = static_cast<std::uint32_t>(shown.why);
  if (shown.area == nullptr) {
    engine_.lock_.enter_as_other();
    if (engine_.core_.refuse_import(*keeper.link(), ticket.slot, ticket.generation, ticket.key))
      engine_.wake_everybody();
    engine_.lock_.leave();
    keeper.answer_import(answer, {});
    return true;
  }
  constexpr auto kArea = LeftBehind::Kind::area;
  if (!handed_out_.allows(keeper.uid(), kArea)) {
    answer.kind = static_cast<std::uint32_t>(NotMapped::held_back);
    keeper.answer_import(answer, {});
    return true;
  }
  if (!handed_out_.room(keeper.uid(), 2)) return false;
  MappedArea& area = *shown.area;
  handed_out_.show(area.piece, keeper.uid(), area.memfd.get(), area.memory.size(), kArea);
  handed_out_.show(area.page_piece, keeper.uid(), area.page_memfd.get(), area.page.size(), kArea);
  answer.word = LinkWord::imported;
  answer.bytes = area.memory.size();
  answer.kind = area.writers == shm::Writers::everybody ? 1 : 0;
  answer.offset = shown.offset;
  answer.bound = shown.bound;
  answer.key = area.words.generation;
  const int fds[] = {area.memfd.get(), area.page_memfd.get()};
  keeper.answer_import(answer, fds);
  return true;
}

// --- others'

std::shared_ptr<MappingRequest> Control::begin_import(const Ticket& ticket) {
  const base::Uncancelled guard;
  auto import = std::make_shared<MappingRequest>();
  import->ticket = ticket;
  const std::lock_guard lock(requests_mutex_);
  imports_.push_back(import);
  attention();
  return import;
}

bool Control::import_done(const MappingRequest& import) const noexcept {
  const base::Uncancelled guard;
  const std::lock_guard lock(requests_mutex_);
  return import.done;
}

void Control::give_up_import(const std::shared_ptr<MappingRequest>& import) noexcept {
  const base::Uncancelled guard;
  const std::lock_guard lock(requests_mutex_);
  imports_.remove(import);
}

ImportAnswer Control::end_import(const std::shared_ptr<MappingRequest>& import) {
  give_up_import(import);  // from here on nobody else knows of it
  if (const WhyNoLink why = import->answer.why; why.reason != LinkReason::none)
    throw_no_link("a slot was not mapped", why);
  if (import->answer.error == ErrorCode::out_of_memory)
    throw Error(ErrorCode::out_of_memory, "no memory to map a slot");
  if (import->answer.error != ErrorCode{})
    throw Error(ErrorCode::not_permitted,
                std::string("a slot was not mapped: ") + text(import->answer.not_mapped));
  return std::move(import->answer);
}

// Whether memory can be mapped follows from the link, and from nothing that a number says: a peer whose
// sockets the node has handed over is a process of this host, whichever run of the node it has its number of.
void Control::serve_imports() {
  std::vector<std::uint64_t> missing;
  bool some_done = false;
  {
    const std::lock_guard lock(requests_mutex_);
    for (const auto& import : imports_) {
      if (import->keeper != nullptr || import->done) continue;
      LinkKeeper* keeper = keeper_of(import->ticket.interface);
      if (keeper == nullptr && far_keeper_of(import->ticket.interface) != nullptr) {
        import->answer.not_mapped = NotMapped::other_host;
        finish(*import, ErrorCode::not_permitted);
        some_done = true;
      } else if (keeper == nullptr) {
        missing.push_back(import->ticket.interface);
      } else if (keeper->link() != nullptr) {
        import->answer.number = next_request_++;
        if (keeper->ask_import(*import)) import->keeper = keeper;
      }
    }
  }
  if (some_done) have_all_look();
  if (missing.empty()) return;
  engine_.lock_.enter_as_other();
  for (const std::uint64_t peer : missing) want_link(peer);
  engine_.lock_.leave();
}

// Wakes everybody who waits: some may wait for a mapping or a name among other things.
void Control::have_all_look() noexcept {
  engine_.lock_.enter_as_other();
  engine_.wake_everybody();
  engine_.lock_.leave();
}

void Control::finish_import(std::uint64_t number, ImportAnswer answer) {
  std::unique_lock lock(requests_mutex_);
  const auto asked = std::ranges::find_if(imports_, [&](const auto& import) {
    return import->keeper != nullptr && import->answer.number == number;
  });
  if (asked != imports_.end()) {
    (*asked)->answer = std::move(answer);
    (*asked)->done = true;
    lock.unlock();
    return have_all_look();
  }
  // Nobody waits any more for what may be long.
  const std::size_t bytes = answer.memory.size();
  foreign_.unmap(answer.memory.release(), bytes);
}

void Control::finish(MappingRequest& import, ErrorCode error) {
  import.answer.error = error;
  import.done = true;
}

void Control::fail_imports(std::uint64_t peer, WhyNoLink why) {
  const std::lock_guard lock(requests_mutex_);
  for (const auto& import : imports_) {
    if (import->ticket.interface != peer || import->done) continue;
    import->answer.why = why;
    finish(*import, ErrorCode::not_permitted);
  }
}

}  // namespace hamlyn::internal_::library
