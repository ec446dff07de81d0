#include "hamlyn/values/remote.h"

#include <cstddef>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"
#include "hamlyn/c/segment.h"

using namespace hamlyn::c;

namespace {

const char* read_options(const hamlyn_remote_options* given, hamlyn_remote_options& options) noexcept {
  constexpr std::size_t kFirst = offsetof(hamlyn_remote_options, strides);
  if (const char* const wrong = take_options(given, options, kFirst)) return wrong;
  if ((options.flags & ~(HAMLYN_NO_ANSWER | HAMLYN_FENCED | HAMLYN_TELL | kElements)) != 0)
    return "unknown flags";
  return strides_fault(options.strides);
}

// Asks with the options and the handle that the caller gave.
template <class Ask>
hamlyn_status ask_with(const char* call, const hamlyn_remote_options* options, hamlyn_remote_handle* handle,
                       Ask&& ask) noexcept {
  hamlyn_remote_options given;
  if (const char* const wrong = read_options(options, given)) return invalid_argument(call, wrong);
  hamlyn::Strides strides;
  if (given.strides != nullptr) strides = from(*given.strides);
  const hamlyn::RemoteOptions how{.offset = given.offset,
                                  .answered = (given.flags & HAMLYN_NO_ANSWER) == 0,
                                  .fenced = (given.flags & HAMLYN_FENCED) != 0,
                                  .queue = given.queue == nullptr ? nullptr : &given.queue->it,
                                  .word = given.word,
                                  .element = element_in(given.flags),
                                  .strides = given.strides == nullptr ? nullptr : &strides,
                                  .notify = (given.flags & HAMLYN_TELL) != 0};
  hamlyn::RemoteHandle own;
  const hamlyn::Status status = ask(how, &own);
  if (handle != nullptr && (status == hamlyn::Status::ok || status == hamlyn::Status::pending))
    *handle = {own.sequence};
  return number(status);
}

}  // namespace

hamlyn_status hamlyn_fetch(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                           const hamlyn_fetch_request* request, const hamlyn_remote_options* options,
                           hamlyn_remote_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || request == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  if (request->op < HAMLYN_ADD || request->op > HAMLYN_COMPARE_AND_SWAP)
    return invalid_argument(__func__, "no such operation");
  return ask_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.fetch(from(*ticket), fetch_of(*request), how, own);
  });
}

hamlyn_status hamlyn_get(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, hamlyn_slot* into,
                         std::uint64_t at, std::size_t length, const hamlyn_remote_options* options,
                         hamlyn_remote_handle* handle) {
  if (terminus == nullptr || ticket == nullptr || into == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return ask_with(__func__, options, handle, [&](const auto& how, auto* own) {
    return terminus->it.get(from(*ticket), into->it, at, length, how, own);
  });
}

hamlyn_status hamlyn_fence(hamlyn_terminus* terminus, const hamlyn_ticket* ticket,
                           const hamlyn_remote_options* options, hamlyn_remote_handle* handle) {
  if (terminus == nullptr || ticket == nullptr) return invalid_argument(__func__, "a NULL argument");
  return ask_with(__func__, options, handle,
                  [&](const auto& how, auto* own) { return terminus->it.fence(from(*ticket), how, own); });
}

hamlyn_status hamlyn_flush(hamlyn_terminus* terminus, const hamlyn_ticket* ticket, std::int64_t timeout,
                           hamlyn_outcome* outcome) {
  return answer(__func__, {terminus, ticket, outcome},
                [&] { return tell(terminus->it.flush(from(*ticket), time_of(timeout)), *outcome); });
}

hamlyn_status hamlyn_outcome_why(const hamlyn_outcome* outcome, std::uint32_t* reason, std::uint32_t* told) {
  return answer(__func__, {outcome, reason, told}, [&] {
    const bool ended = outcome->status == HAMLYN_LINK_ENDED;
    const hamlyn::Outcome said{ended ? hamlyn::Status::link_ended : hamlyn::Status::ok, hamlyn::Refusal::none,
                               outcome->value};
    tell(said.why(), *reason, *told);
  });
}

hamlyn_status hamlyn_remote_outcome(const hamlyn_terminus* terminus, hamlyn_remote_handle handle,
                                    hamlyn_outcome* outcome) {
  return answer(__func__, {terminus, outcome},
                [&] { return tell(terminus->it.outcome({handle.sequence}), *outcome); });
}

hamlyn_status hamlyn_remote_wait(hamlyn_terminus* terminus, hamlyn_remote_handle handle, std::int64_t timeout,
                                 hamlyn_outcome* outcome) {
  return answer(__func__, {terminus, outcome}, [&] {
    return tell(terminus->it.wait_outcome({handle.sequence}, time_of(timeout)), *outcome);
  });
}
