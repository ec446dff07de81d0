// How shares are made and divided.
#include "hamlyn/values/share.h"

#include <algorithm>

#include "base/copy.h"

namespace hamlyn {

const char* invalid(const Share& share) noexcept {
  if (const char* why = invalid(share.ticket)) return why;
  if (share.version != 1) return "the bytes are no share of this version";
  if (share.ticket.fast()) return "a share of no metadata entry";
  if (share.count == 0) return "a share that counts nothing";
  return nullptr;
}

Status Share::split(std::uint64_t bytes, Share& piece) noexcept {
  if (invalid(*this) != nullptr) return Status::invalid;
  if (bytes > ticket.bound) return Status::out_of_bounds;
  const std::uint64_t for_piece = packets_at_most(bytes);
  const std::uint64_t for_rest = packets_at_most(ticket.bound - bytes);
  if (for_piece + for_rest > count) return Status::share_too_small;
  Share made = *this;
  made.ticket.bound = bytes;
  made.count = static_cast<std::uint32_t>(for_piece + (count - for_piece - for_rest) / 2);
  ticket.base += bytes;
  ticket.bound -= bytes;
  count -= made.count;
  piece = made;
  return Status::ok;
}

Status GroupShares::next(Share& share, Limits part) noexcept {
  if (left_ == 0 || members_ > kMostMembers) return Status::invalid;
  if (part.base > ticket_.bound) return Status::out_of_bounds;
  const std::uint64_t bytes = std::min(part.bound, ticket_.bound - part.base);
  // Two by two: one a little below what is fair, one as much above it.
  const std::uint32_t fair = kWhole / members_;
  const std::uint32_t number = members_ - left_;
  const std::uint32_t apart = number / 2 + 1;
  std::uint32_t count = left_ == 1 ? rest_ : number % 2 == 0 ? fair - apart : fair + apart;
  // The remainder of the division goes to the largest, so that an odd one out has what is fair and no other
  // has.
  if (left_ == 2 && members_ % 2 == 1) count += kWhole % members_;
  if (packets_at_most(bytes) > count) return Status::share_too_small;
  const std::uint64_t base = ticket_.base + part.base;
  // Word by word: a receiver arms its next group at once, and a wide copy of a ticket that was just written
  // would wait until the stores have left the store buffer (docs/performance.md).
  base::copy_words<sizeof(Ticket) / 8>(&share.ticket, &ticket_);
  share.ticket.base = base;
  share.ticket.bound = bytes;
  share.count = count;
  share.version = 1;
  rest_ -= count;
  --left_;
  return Status::ok;
}

}  // namespace hamlyn
