// The control thread's part of send buffer areas: it has their memfds, and shows them to the peers of links.
#include <utility>

#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

void Control::have_done(const std::function<void()>& call) {
  const base::Uncancelled guard;
  std::unique_lock lock(requests_mutex_);
  DelegatedCall mine{&call, delegated_, false, nullptr};
  delegated_ = &mine;
  attention();
  request_done_.wait(lock, [&] { return mine.done; });
  if (mine.failure) std::rethrow_exception(mine.failure);
}

void Control::do_delegated_calls() {
  DelegatedCall* next = nullptr;
  {
    const std::lock_guard lock(requests_mutex_);
    std::swap(next, delegated_);
  }
  while (next != nullptr) {
    DelegatedCall* const call = next;
    next = call->next;  // it goes with who waits for it
    try {
      (*call->work)();
    } catch (...) {
      call->failure = std::current_exception();
    }
    const std::lock_guard lock(requests_mutex_);
    call->done = true;
    request_done_.notify_all();
  }
}

void Control::take_area_bytes(std::uint64_t bytes) {
  const std::lock_guard lock(area_bytes_mutex_);
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::area_bytes;
  request->name = "an area";
  request->bytes = area_bytes_ + bytes;
  ask(request, options_.timeout);
  area_bytes_ += bytes;
}

void Control::give_back_area_bytes(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(area_bytes_mutex_);
  area_bytes_ -= bytes;
  try {
    auto request = std::make_shared<Request>();
    request->kind = node::RequestKind::area_bytes;
    request->bytes = area_bytes_;
    const std::lock_guard requests_lock(requests_mutex_);
    requests_.push_back(std::move(request));
  } catch (const std::bad_alloc&) {
    return;  // the next one says it, too
  }
  attention();
}

shm::Mapping Control::make_area(std::size_t bytes, std::uint32_t& number) {
  shm::OwnedMemory made = shm::make_sealed_memory(bytes);
  engine_.lock_.enter_as_other();
  std::exception_ptr failure;
  try {
    number = engine_.core_.add_area(static_cast<const std::byte*>(made.mapping.data()), bytes);
  } catch (...) {
    failure = std::current_exception();
  }
  engine_.lock_.leave();
  if (failure) std::rethrow_exception(failure);
  areas_[number] = {std::move(made.memfd), 0};
  return std::move(made.mapping);
}

void Control::drop_area(std::uint32_t number) noexcept {
  engine_.lock_.enter_as_other();
  engine_.core_.drop_area(number);
  engine_.wake_everybody();  // whoever waits for a message out of it
  engine_.lock_.leave();
  for (const auto& keeper : keepers_) keeper->withdraw_area(number);
  handed_out_.leave(areas_[number].piece);
  areas_[number] = {};
}

void Control::show_areas(LinkKeeper& keeper, std::uint64_t wanted) {
  for (std::uint32_t number = 0; number < areas_.size(); ++number) {
    OwnArea& area = areas_[number];
    if ((wanted >> number & 1) == 0 || !area.memfd) continue;
    // Later, if at all: until then what is sent from it goes through the ring.
    if (!handed_out_.fits(keeper.uid(), 1) || !handed_out_.allows(keeper.uid(), LeftBehind::Kind::area))
      return;
    const interface::SendArea& shown = engine_.core_.area(number);
    handed_out_.show(area.piece, keeper.uid(), area.memfd.get(), shown.size, LeftBehind::Kind::area);
    keeper.show_area(number, shown, area.memfd.get());
  }
}

}  // namespace hamlyn::internal_::library
