#include "hamlyn/rpc/call.h"

#include "hamlyn/rpc/server.h"
#include "rpc/inherited.h"

namespace hamlyn {

namespace internal_::rpc {

void throw_failed(const Ending& ending) {
  std::string what = std::string("the call has ended with ") + hamlyn::name(ending.status);
  if (ending.cause != hamlyn::rpc::Cause::none) what += std::string(", ") + name(ending.cause);
  if (!ending.words().empty()) what += ": " + std::string(ending.words());
  throw hamlyn::rpc::Failed(ending.status, ending.cause, ending.fate, what);
}

std::span<std::byte> Reply::grow(std::size_t bytes) noexcept {
  size_ = 0;
  if (bytes > most_) return {};
  more_.reset(new (std::nothrow) std::byte[bytes]);
  no_memory_ = more_ == nullptr;
  if (no_memory_) return {};
  room_ = {more_.get(), bytes};
  size_ = bytes;
  return room_;
}

}  // namespace internal_::rpc

}  // namespace hamlyn
