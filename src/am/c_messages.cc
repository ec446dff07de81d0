// Requests and replies of am.h.
#include <array>
#include <cstdarg>

#include "am/am_wire.h"
#include "am/c_endpoints.h"

namespace hamlyn::internal_::am {

namespace {

int none() noexcept { return registry().process == nullptr ? AM_ERR_NOT_INIT : AM_ERR_BAD_ARG; }

// As many ints as a list has.
class List {
 public:
  List(int count, va_list from) noexcept : good_(count >= 0 && count <= static_cast<int>(kMostArguments)) {
    for (int i = 0; good_ && i != count; ++i) all_[count_++] = va_arg(from, int);
  }
  bool good() const noexcept { return good_; }
  Arguments get() const noexcept { return {all_.data(), count_}; }

 private:
  const bool good_;
  std::size_t count_ = 0;
  std::array<std::int32_t, kMostArguments> all_;  // NOLINT: not written beyond `count_`
};

std::span<const std::byte> bytes(const void* source, size_t length) noexcept {
  return {static_cast<const std::byte*>(source), length};
}

// Does `what(endpoint, index)`.
template <class What>
__attribute__((always_inline)) inline int with(ep_t handle, int index, What what) noexcept {
  CEndpoint* const found = registry().endpoints.find(handle);
  if (found == nullptr) [[unlikely]]
    return none();
  if (index < 0) [[unlikely]]
    return AM_ERR_BAD_ARG;
  return static_cast<int>(what(*found, static_cast<std::uint32_t>(index)));
}

template <class... Ints>
__attribute__((always_inline)) inline int request(ep_t ep, int index, handler_t handler,
                                                  Ints... ints) noexcept {
  const std::array<std::int32_t, sizeof...(Ints)> all{ints...};
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) { return of.request(at, handler, all); });
}
template <class... Ints>
__attribute__((always_inline)) inline int reply(void* token, handler_t handler, Ints... ints) noexcept {
  if (token == nullptr) return AM_ERR_BAD_ARG;
  const std::array<std::int32_t, sizeof...(Ints)> all{ints...};
  return static_cast<int>(static_cast<Token*>(token)->reply(handler, all));
}

// Calls `what` with the arguments behind `last`.
#define HAMLYN_LIST(call, last, ...)                     \
  va_list arguments;                                     \
  va_start(arguments, last);                             \
  const int result = call(__VA_ARGS__, last, arguments); \
  va_end(arguments);                                     \
  return result

}  // namespace

}  // namespace hamlyn::internal_::am

using namespace hamlyn::internal_::am;  // NOLINT: the functions below are its front

extern "C" {

int AM_RequestVA(ep_t ep, int index, handler_t handler, int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good()) return AM_ERR_BAD_ARG;
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) { return of.request(at, handler, list.get()); });
}

int AM_RequestIVA(ep_t ep, int index, handler_t handler, const void* source, size_t length, int numargs,
                  va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || (source == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) {
    return of.request(at, handler, bytes(source, length), list.get());
  });
}

int AM_RequestXferVA(ep_t ep, int index, size_t offset, handler_t handler, const void* source, size_t length,
                     int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || (source == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) {
    return of.request_to(at, offset, handler, bytes(source, length), list.get());
  });
}

int AM_RequestXferAsyncVA(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                          size_t length, int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || (source == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) {
    return of.request_to_async(at, offset, handler, bytes(source, length), list.get());
  });
}

int AM_GetXferVA(ep_t ep, int index, size_t source_offset, handler_t handler, size_t length, size_t offset,
                 int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good()) return AM_ERR_BAD_ARG;
  return with(ep, index, [&](Endpoint& of, std::uint32_t at) {
    return of.get(at, source_offset, handler, length, offset, list.get());
  });
}

int AM_ReplyVA(void* token, handler_t handler, int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || token == nullptr) return AM_ERR_BAD_ARG;
  return static_cast<int>(static_cast<Token*>(token)->reply(handler, list.get()));
}

int AM_ReplyIVA(void* token, handler_t handler, const void* source, size_t length, int numargs,
                va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || token == nullptr || (source == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  return static_cast<int>(static_cast<Token*>(token)->reply(handler, bytes(source, length), list.get()));
}

int AM_ReplyXferVA(void* token, size_t offset, handler_t handler, const void* source, size_t length,
                   int numargs, va_list arguments) {
  const List list(numargs, arguments);
  if (!list.good() || token == nullptr || (source == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  return static_cast<int>(
      static_cast<Token*>(token)->reply_to(offset, handler, bytes(source, length), list.get()));
}

int AM_Request(ep_t ep, int index, handler_t handler, int numargs, ...) {
  HAMLYN_LIST(AM_RequestVA, numargs, ep, index, handler);
}
int AM_RequestI(ep_t ep, int index, handler_t handler, const void* source, size_t length, int numargs, ...) {
  HAMLYN_LIST(AM_RequestIVA, numargs, ep, index, handler, source, length);
}
int AM_RequestXfer(ep_t ep, int index, size_t offset, handler_t handler, const void* source, size_t length,
                   int numargs, ...) {
  HAMLYN_LIST(AM_RequestXferVA, numargs, ep, index, offset, handler, source, length);
}
int AM_RequestXferAsync(ep_t ep, int index, size_t offset, handler_t handler, const void* source,
                        size_t length, int numargs, ...) {
  HAMLYN_LIST(AM_RequestXferAsyncVA, numargs, ep, index, offset, handler, source, length);
}
int AM_GetXfer(ep_t ep, int index, size_t source_offset, handler_t handler, size_t length, size_t offset,
               int numargs, ...) {
  HAMLYN_LIST(AM_GetXferVA, numargs, ep, index, source_offset, handler, length, offset);
}
int AM_Reply(void* token, handler_t handler, int numargs, ...) {
  HAMLYN_LIST(AM_ReplyVA, numargs, token, handler);
}
int AM_ReplyI(void* token, handler_t handler, const void* source, size_t length, int numargs, ...) {
  HAMLYN_LIST(AM_ReplyIVA, numargs, token, handler, source, length);
}
int AM_ReplyXfer(void* token, size_t offset, handler_t handler, const void* source, size_t length,
                 int numargs, ...) {
  HAMLYN_LIST(AM_ReplyXferVA, numargs, token, offset, handler, source, length);
}

int AM_Request0(ep_t ep, int index, handler_t handler) { return request(ep, index, handler); }
int AM_Request1(ep_t ep, int index, handler_t handler, int a0) { return request(ep, index, handler, a0); }
int AM_Request2(ep_t ep, int index, handler_t handler, int a0, int a1) {
  return request(ep, index, handler, a0, a1);
}
int AM_Request3(ep_t ep, int index, handler_t handler, int a0, int a1, int a2) {
  return request(ep, index, handler, a0, a1, a2);
}
int AM_Request4(ep_t ep, int index, handler_t handler, int a0, int a1, int a2, int a3) {
  return request(ep, index, handler, a0, a1, a2, a3);
}
int AM_Reply0(void* token, handler_t handler) { return reply(token, handler); }
int AM_Reply1(void* token, handler_t handler, int a0) { return reply(token, handler, a0); }
int AM_Reply2(void* token, handler_t handler, int a0, int a1) { return reply(token, handler, a0, a1); }
int AM_Reply3(void* token, handler_t handler, int a0, int a1, int a2) {
  return reply(token, handler, a0, a1, a2);
}
int AM_Reply4(void* token, handler_t handler, int a0, int a1, int a2, int a3) {
  return reply(token, handler, a0, a1, a2, a3);
}

}  // extern "C"
