#pragma once
// Registered memory of a machine (vi/machine.h), and the rights of other sides there: each a slot on one
// region, for one connection.
#include "vi/machine.h"

namespace hamlyn::internal_::vi {

template <class Port>
Result Machine<Port>::register_memory(std::span<std::byte> memory, const MemoryAttributes& attributes,
                                      MemoryHandle& out) {
  const Result result = regions_.add(memory.data(), memory.size(), attributes, out);
  if (result != Result::success || !(attributes.rdma_write || attributes.rdma_read)) return result;
  if (!open_to_others(*regions_.find(out))) {
    regions_.remove(out);
    return Result::error_resource;
  }
  vis_.each([&](std::uint32_t, Vi& vi) { offer(vi, out); });
  return result;
}

template <class Port>
Result Machine<Port>::deregister_memory(const void* address, MemoryHandle handle) {
  if (regions_.find(handle, address) == nullptr) return Result::invalid_parameter;
  end_rights(handle);
  vis_.each([&](std::uint32_t, Vi& vi) { forget(vi, handle); });
  regions_.remove(handle);
  return Result::success;
}

template <class Port>
Result Machine<Port>::query_memory(const void* address, MemoryHandle handle,
                                   MemoryAttributes& out) const noexcept {
  const Memory* const region = regions_.find(handle, address);
  if (region == nullptr) return Result::invalid_parameter;
  out = region->attributes;
  return Result::success;
}

template <class Port>
Result Machine<Port>::set_memory(const void* address, MemoryHandle handle,
                                 const MemoryAttributes& attributes) {
  Memory* const region = regions_.find(handle, address);
  if (region == nullptr) return Result::invalid_parameter;
  if ((attributes.rdma_write || attributes.rdma_read) && !open_to_others(*region))
    return Result::error_resource;
  const Result result = regions_.set(*region, attributes);
  if (result != Result::success) return result;
  end_rights(handle);
  vis_.each([&](std::uint32_t, Vi& vi) { offer(vi, handle); });
  return result;
}

template <class Port>
bool Machine<Port>::open_to_others(Memory& region) {
  if (region.area == nullptr) region.area = port_.make_area({region.address, region.length});
  return region.area != nullptr;
}

template <class Port>
void Machine<Port>::end_rights(MemoryHandle handle) {
  vis_.each([&](std::uint32_t, Vi& vi) {
    if (vi.other.windows.erase(handle) == 0) return;
    Message message = to_other(vi, Say::revoke);
    message.handle = handle;
    outbox_.add(vi.other.door, message, true);  // who uses the right finds that it has gone
  });
}

inline bool uses(const Work& work, MemoryHandle handle) noexcept {
  return work.own == handle ||
         std::ranges::find(work.segments, handle, &Segment::handle) != work.segments.end();
}

template <class Port>
void Machine<Port>::forget(Vi& vi, MemoryHandle handle) {
  vi.other.landings.erase(handle);
  bool broken = false;
  std::uint64_t last = vi.receive.completed();  // behind the last receive whose descriptor lies there
  for (const Side side : {Side::send, Side::receive}) {
    WorkQueue& queue = queue_of(vi, side);
    for (std::uint64_t number = queue.completed(); number != queue.posted(); ++number) {
      Work& work = queue.at(number);
      const bool over = work.phase == Work::Phase::finished;
      // Finished work that stands behind other work is still to be written back.
      if (over ? work.own != handle : !uses(work, handle)) continue;
      if (!over) work.status |= kProtectionError;
      if (side == Side::receive && work.own == handle) last = number + 1;
      broken = true;
    }
  }
  if (!broken) return;
  if (vi.state == State::connected) return break_off(vi, Reason::broken);
  if (vi.state == State::connect_pending) {  // the other side knows a receive queue that ends
    vi.outcome = Result::error_resource;
    changed_ = true;
  }
  // Nothing has come: the buffers that stay are posted anew.
  close_inbox(vi);
  for (std::uint64_t number = vi.receive.completed(); number < last; ++number) {
    Work& work = vi.receive.at(number);
    if (work.phase != Work::Phase::finished && (work.status & kErrors) == 0) work.status |= kFlushed;
  }
  finish_marked(vi);
  reopen_inbox(vi);
}

template <class Port>
void Machine<Port>::finish_marked(Vi& vi) {
  for (std::uint64_t number = vi.receive.completed(); number < vi.receive.posted(); ++number) {
    const Work& work = vi.receive.at(number);
    if (work.phase != Work::Phase::finished && (work.status & kErrors) != 0)
      finish(vi, Side::receive, number, 0, 0);
  }
}

template <class Port>
void Machine<Port>::offer(Vi& vi, MemoryHandle handle) {
  if (vi.state == State::connected && vi.other.windows.size() < kGrantedUnasked) give_right(vi, handle, true);
}

template <class Port>
bool Machine<Port>::give_right(Vi& vi, MemoryHandle handle, bool may_be_lost) {
  Memory* const region = regions_.find(handle);
  if (region == nullptr || region->attributes.tag != vi.attributes.tag || region->area == nullptr)
    return false;
  const bool write = region->attributes.rdma_write && vi.attributes.rdma_write;
  const bool read = region->attributes.rdma_read && vi.attributes.rdma_read;
  if (!write && !read) return false;
  // Its other side remembers no more.
  if (vi.other.windows.size() >= kMostGrants && !vi.other.windows.contains(handle)) return false;
  auto& window = vi.other.windows[handle];
  if (window == nullptr)
    window = port_.make_window(*region->area, {region->address, region->length}, write, read);
  if (window == nullptr) {
    vi.other.windows.erase(handle);
    return false;
  }
  Message message = to_other(vi, Say::grant);
  message.handle = handle;
  message.detail = static_cast<std::uint16_t>((write ? kMayWrite : 0) | (read ? kMayRead : 0));
  message.address = reinterpret_cast<std::uintptr_t>(region->address);
  message.length = region->length;
  message.slot = on_wire(window->ticket());
  outbox_.add(vi.other.door, message, may_be_lost);
  return true;
}

}  // namespace hamlyn::internal_::vi
