#pragma once
// Figures of VIs (hamlyn/vi.h).
#include <cstddef>
#include <string>
#include <vector>

#include "tool/perf/figure.h"
#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

enum class Place;

// So many bytes to a posted receive, told of in a completion queue, at reliable delivery.
Meter vi_send(Place place, std::uint32_t bytes);
// 16 bytes at one of the other levels.
Meter vi_send_unreliable();
Meter vi_send_reception();
// An RDMA write of 16 bytes with immediate data, told of likewise.
Meter vi_write();
// 16 bytes to a receiver that sleeps as in VipCQWait.
Meter vi_wait();
// 16 bytes while so many other VIs of the same two NICs are connected, with receives in the same queue, idle.
Meter vi_beside(std::size_t others);
// An RDMA read of 4096 bytes, from a side that polls.
Meter vi_read();
// Messages of 16 bytes, 64 receives posted.
Meter vi_rate();
// A window of messages. `touched`: each is filled by its sender and read whole by its receiver.
Meter vi_bandwidth(std::uint32_t bytes, bool touched);
// A window of RDMA writes, each over when it has landed.
Meter vi_write_bandwidth(std::uint32_t bytes);
// A look at an empty notification queue, and at an empty completion queue of so many VIs.
Meter empty_poll_cost();
Meter vi_empty_cost(std::size_t vis);
// Memory registered for RDMA; and found again in a MemoryCache.
Meter vi_register_cost(bool again);

// Calls that paper 2 counts of a message (section 7.3): each for a batch, at the side that makes it.
enum class ViCall {
  build_send,
  post_send,
  queue_send,
  send_done,
  recycle_send,
  post_receive,
  queue_receive,
  receive_done,
  recycle_receive,
  credit,
  match,
  read,
  act,
  count
};
Meter vi_call_cost(ViCall call);

}  // namespace hamlyn::tool::perf
