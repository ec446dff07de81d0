#pragma once
// How a client tells of a call that has ended, over links and over datagrams.
#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "base/namespaces.h"
#include "hamlyn/rpc/client.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::CallId;

inline Ending ended(Status status, Fate fate, CallId call = {}) noexcept {
  Ending out;
  out.status = status;
  out.fate = fate;
  out.call = call;
  return out;
}

// Tells what a reply says; `came`: with it. Without memory its words are missing.
inline void tell(const ReplyWord& reply, const Landing& came, Ending& out) noexcept {
  const bool result = reply.kind == Kind::result;
  out.fate = result || reply.begun ? Fate::done : Fate::not_done;
  out.cause = reply.cause;
  out.status = result                                  ? Status::ok
               : reply.cause == Cause::result_too_long ? Status::too_long
                                                       : Status::refused;
  if (reply.cause != Cause::threw) return;
  const std::size_t length = std::min(came.bytes.size(), kMostText);
  try {
    out.text = std::make_unique<const std::string>(reinterpret_cast<const char*>(came.bytes.data()), length);
  } catch (const std::bad_alloc&) {
  }
}

// A status after which the same call may start later.
inline bool may_start_later(Status status) noexcept {
  return status == Status::queue_full || status == Status::connecting;
}

}  // namespace hamlyn::internal_::rpc
