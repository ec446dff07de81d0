#include "library/opening.h"

#include <new>

namespace hamlyn::internal_::library {

Status status_of(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::peer_died:
        return Status::link_ended;
      case ErrorCode::seed_stale:
        return Status::stale;
      case ErrorCode::forked:
        return Status::forked;
      case ErrorCode::out_of_memory:
      case ErrorCode::quota_links:
      case ErrorCode::quota_bytes:
        return Status::no_buffer;
      default:
        return Status::refused;
    }
  } catch (const std::bad_alloc&) {
    return Status::no_buffer;
  }
}

}  // namespace hamlyn::internal_::library
