#pragma once
// The whole address space as a segment (am/machine.h). Data of long messages comes in pieces, by the way that
// messages take, in front of its message. The receiver copies each piece to its address by a call that
// reports addresses where nothing can be written.
#include "am/machine.h"

namespace hamlyn::internal_::am {

// --- who may

// Whether the other side is of this job and this user, and on this host or of a network that is trusted.
template <class Port>
bool Machine<Port>::proves(const Other& pair, const Hello& hello) noexcept {
  if (!member_) return false;
  const Greeting greeting{pair.peer, hello.from, interface_of(name_), own_, hello.session};
  return hello.proof == proof_of(*member_, greeting) && port_.door().is_own_user(pair.peer) &&
         (member_->trusted_network || !port_.door().is_far(pair.peer));
}

// --- what leaves

// Keeps a message with its data, which leaves in pieces as there is room.
template <class Port>
Try Machine<Port>::keep_with_data(Other& pair, const Leaving& leaving) noexcept {
  // Two pieces of more than a half do not always fit the short ring with what is not told there.
  if (leaving.data.size() > kMostMedium / 2) ask_longer(pair);
  const LongHead head =
      protocols::in_wire_order(LongHead{leaving.offset, leaving.data.size(), pair.segment.number, 0});
  if (const Try kept = keep(pair, behind_data(leaving, head)); kept != Try::ok) return kept;
  Kept& last = pair.kept.back();
  last.closes = leaving.closes;
  last.data.number = ++pair.last_data;
  last.data.bytes = leaving.data;
  last.data.segment = pair.segment.number;
  return Try::ok;
}

template <class Port>
Try Machine<Port>::begin_data(Other& pair, const Leaving& leaving, Moving& moving) noexcept {
  if (const Try kept = keep_with_data(pair, leaving); kept != Try::ok) return kept;
  ++pair.promised;  // until it leaves
  ++statistics.requests;
  statistics.bytes += leaving.data.size();
  moving = {pair.number, {}, {}, pair.last_data};
  static_cast<void>(flush(pair));
  return Try::ok;
}

// Data of a get is sent from where it is; that of a reply is the caller's again, and is copied.
template <class Port>
Try Machine<Port>::reply_with_data(Delivery& to, Leaving leaving) noexcept {
  Other& pair = *to.pair;
  std::unique_ptr<std::byte[]> copy;
  if (to.kind != Kind::get && !leaving.data.empty()) {
    copy.reset(new (std::nothrow) std::byte[leaving.data.size()]);
    if (copy == nullptr) return Try::resource;
    std::memcpy(copy.get(), leaving.data.data(), leaving.data.size());
    leaving.data = {copy.get(), leaving.data.size()};
  }
  leaving.closes = true;
  to.may_reply = false;
  const Try kept = keep_with_data(pair, leaving);
  if (kept != Try::ok) return kept;
  pair.kept.back().data.own = std::move(copy);
  if (to.kind == Kind::get) pair.kept.back().data.source = segment_number_;
  to.over = true;  // when it leaves
  ++pair.answered;
  ++statistics.replies;
  statistics.bytes += leaving.data.size();
  static_cast<void>(flush(pair));
  return Try::ok;
}

// Lets leave what there is room for of the data in front of a message. ok: all of it has left.
template <class Port>
Sent Machine<Port>::send_data(Other& pair, Kept& kept) noexcept {
  Kept::Data& data = kept.data;
  while (data.left != data.bytes.size()) {
    const std::size_t length = std::min(kMostMedium, data.bytes.size() - data.left);
    const PieceHead head = protocols::in_wire_order(PieceHead{kept.offset, data.left, data.segment});
    std::memcpy(scratch_.data(), &head, sizeof head);
    if (!read_piece(data, scratch_.data() + sizeof head, length)) return not_there(pair, kept);
    const Word word{.kind = Kind::piece};
    const Sent sent = give(pair, word, {scratch_.data(), sizeof head + length}, {.kind = Kind::piece});
    if (sent != Sent::ok) return sent;
    data.left += length;
  }
  return Sent::ok;
}

// False: it is not there, or not in the segment any more.
template <class Port>
bool Machine<Port>::read_piece(const Kept::Data& data, std::byte* to, std::size_t length) const noexcept {
  const bool ours = data.source != 0;
  if (ours && data.source != segment_number_) return false;
  const auto from = reinterpret_cast<std::uintptr_t>(data.bytes.data()) + data.left;
  if (ours && gives_all()) return Port::Memory::read(to, from, length);
  std::memcpy(to, reinterpret_cast<const std::byte*>(from), length);
  return true;
}

// The data that a get asks for is not there: the get goes back.
template <class Port>
Sent Machine<Port>::not_there(Other& pair, Kept& kept) noexcept {
  ReturnedHead head;
  head.why = static_cast<std::uint8_t>(Why::bad_offset);
  head.operation = static_cast<std::uint8_t>(Operation::get);
  head = protocols::in_wire_order(head);
  // The head of a long message was longer.
  std::memcpy(kept.bytes.data(), &head, sizeof head);
  kept.bytes.erase(kept.bytes.begin() + sizeof head, kept.bytes.begin() + sizeof(LongHead));
  kept.kind = Kind::returned;
  kept.data = {};
  --pair.answered;
  --statistics.replies;
  ++statistics.rejected;
  return Sent::ok;
}

// Whether a message has not left with all of its data.
template <class Port>
bool Machine<Port>::is_kept(const Other& pair, std::uint64_t data) const noexcept {
  return std::ranges::any_of(pair.kept, [&](const Kept& kept) { return kept.data.number == data; });
}

// A request that was not sent yet is not: its data is the caller's again. False: it has left.
template <class Port>
bool Machine<Port>::drop_data(Other& pair, std::uint64_t data) noexcept {
  if (!is_kept(pair, data)) return false;
  std::erase_if(pair.kept, [&](const Kept& kept) { return kept.data.number == data; });
  --pair.promised;
  return true;
}

// Puts data that may not be there. out_of_bounds: it is not.
template <class Port>
Status Machine<Port>::put_checked(Other& pair, const Leaving& leaving) noexcept {
  for (std::size_t at = 0; at != leaving.data.size();) {
    const std::size_t length = std::min(scratch_.size(), leaving.data.size() - at);
    const auto from = reinterpret_cast<std::uintptr_t>(leaving.data.data() + at);
    if (!Port::Memory::read(scratch_.data(), from, length)) return Status::out_of_bounds;
    const std::span<const std::byte> piece{scratch_.data(), length};
    if (const Status landed = put(pair, piece, leaving.offset + at); landed != Status::ok) return landed;
    at += length;
  }
  return Status::ok;
}

// --- what comes

// Copies a piece to its address. False: no honest side sends it.
template <class Port>
bool Machine<Port>::take_piece(Other& pair, const Come& come) noexcept {
  const auto head = *protocols::copy_of<PieceHead>(come.bytes.first(sizeof(PieceHead)));
  if (head.segment != segment_number_) return head.segment < segment_number_;  // the segment has changed
  if (!gives_all() || !pair.is_member) return false;
  if (head.at == 0) pair.laid = {.offset = head.offset};
  if (head.offset != pair.laid.offset || head.at != pair.laid.bytes) return false;
  const std::span<const std::byte> data = come.bytes.subspan(sizeof(PieceHead));
  const std::uint64_t room = kEverywhere - head.offset;
  const bool fits = head.at <= room && data.size() <= room - head.at;
  pair.laid.whole =
      pair.laid.whole && fits && Port::Memory::write(head.offset + head.at, data.data(), data.size());
  pair.laid.bytes += data.size();
  return true;
}

// Whether a long message's data has come, and found its place. It is the last to ask.
template <class Port>
bool Machine<Port>::has_come(Other& pair, const LongHead& head) noexcept {
  const Laid laid = std::exchange(pair.laid, {});
  if (head.length == 0) return true;
  return laid.whole && laid.offset == head.offset && laid.bytes == head.length;
}

}  // namespace hamlyn::internal_::am
