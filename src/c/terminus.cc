#include "hamlyn/core/terminus.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "c/handles.h"
#include "c/send_options.h"
#include "c/values.h"

using namespace hamlyn::c;

namespace {

constexpr std::size_t kMostPieces = 16;

// Sends with the options and the handle that the caller gave.
template <class Send>
hamlyn_status send_with(const char* call, const hamlyn_send_options* options, hamlyn_send_handle* handle,
                        Send&& send) noexcept {
  hamlyn::SendOptions asked;
  if (const char* const wrong = read_send_options(options, asked)) return invalid_argument(call, wrong);
  hamlyn::SendHandle own;
  const hamlyn::Status status = send(asked, &own);
  if (handle != nullptr && (status == hamlyn::Status::ok || status == hamlyn::Status::pending))
    *handle = to(own);
  return number(status);
}

}  // namespace

hamlyn_status hamlyn_terminus_make(hamlyn_interface* interface, const hamlyn_terminus_options* options,
                                   hamlyn_terminus** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn_terminus_options asked;
  if (const char* const wrong = take_options(options, asked)) return invalid_argument(__func__, wrong);
  if (asked.priority > HAMLYN_URGENT) return invalid_argument(__func__, "no such priority");
  hamlyn::TerminusOptions how;
  if (asked.entries != 0) how.entries = asked.entries;
  how.priority = asked.priority == HAMLYN_URGENT ? hamlyn::Priority::urgent : hamlyn::Priority::normal;
  return make(__func__, made, interface->uses, interface->it, how);
}

hamlyn_status hamlyn_terminus_free(hamlyn_terminus* terminus) { return free_handle(__func__, terminus); }

hamlyn_status hamlyn_connect(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, std::int64_t timeout) {
  return answer(__func__, {terminus, ticket},
                [&] { return terminus->it.connect(from(*ticket), time_of(timeout)); });
}

hamlyn_status hamlyn_send(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                          std::size_t length, const hamlyn_send_options* options,
                          hamlyn_send_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  return send_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.send(from(*ticket), bytes_at(data, length), how, own);
  });
}

hamlyn_status hamlyn_send_posted(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                                 std::size_t length, std::uint64_t word, const hamlyn_send_options* options,
                                 hamlyn_send_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  return send_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.send_posted(from(*ticket), bytes_at(data, length), word, how, own);
  });
}

hamlyn_status hamlyn_send_share(hamlyn_terminus* terminus, const hamlyn_share* share, const void* data,
                                std::size_t length, const hamlyn_send_options* options,
                                hamlyn_send_handle* handle) {
  if (terminus == nullptr || share == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  return send_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.send(from(*share), bytes_at(data, length), how, own);
  });
}

hamlyn_status hamlyn_bind(hamlyn_terminus* terminus, std::uint32_t tag, hamlyn_send_area* area) {
  return answer(__func__, {terminus}, [&] {
    return number(area == nullptr ? terminus->it.unbind(tag) : terminus->it.bind(tag, area->it));
  });
}

hamlyn_status hamlyn_send_gathered(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                   const hamlyn_piece* pieces, std::size_t count,
                                   const hamlyn_send_options* options, hamlyn_send_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || (pieces == nullptr && count != 0))
    return invalid_argument(__func__, "a NULL argument");
  if (count > kMostPieces) return HAMLYN_TOO_LONG;
  std::array<hamlyn::Piece, kMostPieces> own_pieces;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].tag > UINT32_MAX) return HAMLYN_INVALID;
    own_pieces[i] = {static_cast<std::uint32_t>(pieces[i].tag), pieces[i].offset, pieces[i].length};
  }
  return send_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.send_gathered(from(*ticket), std::span{own_pieces}.first(count), how, own);
  });
}

hamlyn_status hamlyn_send_fast(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, const void* data,
                               std::size_t length, std::uint64_t word, std::uint64_t offset) {
  if (terminus == nullptr || ticket == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  return number(terminus->it.send_fast(from(*ticket), bytes_at(data, length), word, offset));
}

hamlyn_status hamlyn_wait_for_place(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                                    std::int64_t timeout) {
  return answer(__func__, {terminus, ticket},
                [&] { return terminus->it.wait_for_place(from(*ticket), time_of(timeout)); });
}

hamlyn_status hamlyn_send_state(const hamlyn_terminus* terminus, hamlyn_send_handle handle) {
  return answer(__func__, {terminus}, [&] { return terminus->it.status(from(handle)); });
}

hamlyn_status hamlyn_send_wait(hamlyn_terminus* terminus, hamlyn_send_handle handle, std::int64_t timeout) {
  return answer(__func__, {terminus}, [&] { return terminus->it.wait(from(handle), time_of(timeout)); });
}

hamlyn_status hamlyn_send_refusal(const hamlyn_terminus* terminus, hamlyn_send_handle handle,
                                  std::uint32_t* cause) {
  return answer(__func__, {terminus, cause},
                [&] { *cause = static_cast<std::uint32_t>(terminus->it.refusal(from(handle))); });
}

hamlyn_status hamlyn_send_cancel(hamlyn_terminus* terminus, hamlyn_send_handle handle) {
  return answer(__func__, {terminus}, [&] { return terminus->it.cancel(from(handle)); });
}

hamlyn_status hamlyn_sequence(const hamlyn_terminus* terminus, std::uint64_t* sequence) {
  return answer(__func__, {terminus, sequence}, [&] { *sequence = terminus->it.sequence(); });
}

hamlyn_status hamlyn_share_split(hamlyn_share* share, std::uint64_t bytes, hamlyn_share* piece) {
  if (share == nullptr || piece == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::Share rest = from(*share);
  hamlyn::Share first;
  const hamlyn::Status status = rest.split(bytes, first);
  if (status == hamlyn::Status::ok) {
    *share = to(rest);
    *piece = to(first);
  }
  return number(status);
}
