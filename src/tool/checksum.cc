#include "tool/checksum.h"

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the widest vectors that the processor has
#endif

#include <new>

namespace hamlyn::tool {

Checksum::Checksum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void Checksum::Free::operator()(XXH3_state_s* state) const noexcept { XXH3_freeState(state); }

void Checksum::add(std::span<const std::byte> bytes) noexcept {
  bytes_ += bytes.size();
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const noexcept { return XXH3_64bits_digest(state_.get()); }

}  // namespace hamlyn::tool
