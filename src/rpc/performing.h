#pragma once
// Runs a procedure, and says what is to be told of it.
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/rpc/server.h"
#include "rpc/inherited.h"
#include "rpc/rpc_wire.h"
#include "rpc/server_inside.h"

namespace hamlyn::internal_::rpc {

struct Performed {
  Cause cause = Cause::threw;
  bool begun = true;
  bool later = false;               // its handler answers by itself
  std::span<const std::byte> data;  // in the reply, or of what was thrown
};

// `depth`: of the call. `room`: bytes that the caller takes. `words` has what was thrown.
__attribute__((always_inline)) inline Performed run_offered(const Offered& procedure, void* object,
                                                            Serving& serving, std::uint8_t depth,
                                                            std::span<std::byte> frame, Reply& reply,
                                                            std::size_t room,
                                                            std::array<char, kMostText>& words) noexcept {
  const Inherited*& own = inherited();
  const Inherited* const before = own;
  if (before != nullptr) [[unlikely]]
    serving.own.deadline = std::min(serving.own.deadline, before->deadline);
  serving.own.depth = static_cast<std::uint8_t>(depth + 1);
  own = &serving.own;
  Performed out;
  const auto say = [&](const char* what) {
    const std::size_t length = strnlen(what, words.size());
    std::memcpy(words.data(), what, length);
    out.data = std::as_bytes(std::span(words).first(length));
  };
  try {
    hamlyn::rpc::Call call(serving);
    switch (procedure.run(object, frame, reply, call)) {
      case Ran::done:
        out.cause = Cause::none;
        out.data = reply.bytes();
        break;
      case Ran::bad_arguments:
        out.cause = Cause::bad_arguments;
        out.begun = false;
        break;
      case Ran::no_memory:
        out.cause = Cause::no_memory;
        out.begun = false;
        break;
      case Ran::too_long:
        out.cause = reply.no_memory() ? Cause::no_memory : Cause::result_too_long;
        break;
      case Ran::later:
        out.later = true;
        break;
      case Ran::too_many:
        out.cause = Cause::too_many;
        out.begun = false;
        break;
      case Ran::unanswered:
        out.cause = Cause::unanswered;
        break;
    }
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say(kNoException);
  }
  own = before;
  if (out.data.size() > room) [[unlikely]] {
    if (out.cause == Cause::none) out.cause = Cause::result_too_long;
    out.data = out.cause == Cause::threw ? out.data.first(room) : std::span<const std::byte>{};
  }
  return out;
}

}  // namespace hamlyn::internal_::rpc
