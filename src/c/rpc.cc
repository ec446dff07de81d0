#include "hamlyn/c/rpc.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"
#include "hamlyn/rpc/client.h"
#include "hamlyn/rpc/server.h"

using namespace hamlyn::c;

using hamlyn::internal_::rpc::ClientCore;
using hamlyn::internal_::rpc::Ending;
using hamlyn::internal_::rpc::Landing;
using hamlyn::internal_::rpc::Offered;
using hamlyn::internal_::rpc::Owed;
using hamlyn::internal_::rpc::Procedure;
using hamlyn::internal_::rpc::Ran;
using hamlyn::internal_::rpc::Reply;
using hamlyn::internal_::rpc::ServerCore;
using hamlyn::internal_::rpc::Terms;

static_assert(static_cast<int>(hamlyn::rpc::Cause::count) == HAMLYN_RPC_TOO_MANY + 1);
static_assert(static_cast<int>(hamlyn::rpc::Fate::unknown) == HAMLYN_RPC_UNKNOWN);

namespace {

constexpr std::size_t kMostText = 200;

// A procedure whose signature is `signature`, which is there for longer. Throws Error.
Procedure procedure_of(const std::string& signature) {
  const std::size_t end = signature.find('(');
  if (end == 0 || end == std::string::npos || signature.find(")->") == std::string::npos)
    throw hamlyn::Error(hamlyn::ErrorCode::invalid_argument, "'" + signature + "' is no signature");
  return hamlyn::internal_::rpc::procedure_of(std::string_view(signature).substr(0, end), signature);
}

std::size_t or_else(std::size_t asked, std::size_t otherwise) noexcept {
  return asked == 0 ? otherwise : asked;
}
std::uint32_t or_else(std::uint32_t asked, std::uint32_t otherwise) noexcept {
  return asked == 0 ? otherwise : asked;
}

constexpr std::uint32_t kMostWaits = HAMLYN_RPC_SLEEP;

const char* read_options(const hamlyn_rpc_server_options* given, hamlyn::rpc::ServerOptions& options) {
  hamlyn_rpc_server_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if ((asked.rights & ~kRights) != 0) return "unknown rights";
  if (asked.waits > kMostWaits) return "no such way to wait";
  options.clients = or_else(asked.clients, options.clients);
  options.of_one = or_else(asked.of_one, options.of_one);
  options.stacks = or_else(asked.stacks, options.stacks);
  options.owed = or_else(asked.owed, options.owed);
  options.frame = or_else(asked.frame, options.frame);
  options.long_frame = or_else(asked.long_frame, options.long_frame);
  options.result = or_else(asked.result, options.result);
  options.rights = rights_of(asked.rights);
  options.waits = static_cast<hamlyn::rpc::Waits>(asked.waits);
  return nullptr;
}

const char* read_options(const hamlyn_rpc_client_options* given, hamlyn::rpc::ClientOptions& options) {
  hamlyn_rpc_client_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if (asked.waits > kMostWaits) return "no such way to wait";
  options.stacks = or_else(asked.stacks, options.stacks);
  options.frame = or_else(asked.frame, options.frame);
  options.result = or_else(asked.result, options.result);
  options.waits = static_cast<hamlyn::rpc::Waits>(asked.waits);
  if (asked.timeout != 0) options.timeout = milliseconds_of(asked.timeout);
  return nullptr;
}

// Terms of a call, and the trace that they point at.
struct Asked {
  Terms terms;
  hamlyn::rpc::Trace trace;
};
const char* read_terms(const hamlyn_rpc_terms* given, Asked& out) {
  hamlyn_rpc_terms asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if (asked.urgent > 1) return "a call is urgent, 1, or is not, 0";
  if (asked.time != 0) out.terms.time = time_of(asked.time);
  if (asked.urgent != 0) out.terms.priority = hamlyn::Priority::urgent;
  if (asked.trace == nullptr) return nullptr;
  std::memcpy(out.trace.data(), asked.trace, out.trace.size());
  out.terms.trace = &out.trace;
  return nullptr;
}

hamlyn_rpc_id id_of(const hamlyn::rpc::CallId& call) noexcept {
  return {call.server, call.sequence, call.session, call.stack};
}
hamlyn::rpc::CallId call_of(const hamlyn_rpc_id& call) noexcept {
  return {call.server, call.sequence, call.session,
          static_cast<std::uint16_t>(std::min<std::uint32_t>(call.stack, UINT16_MAX))};
}

// Fills what its caller is told, and copies what came.
hamlyn_status told(const Ending& ending, const Landing& landing, void* into, std::size_t room,
                   hamlyn_rpc_result& result) noexcept {
  const bool came = ending.status == hamlyn::Status::ok;
  result = {};
  result.call = id_of(ending.call);
  result.length = came ? landing.bytes.size() : 0;
  result.cause = static_cast<std::uint32_t>(ending.cause);
  result.fate = static_cast<std::uint32_t>(ending.fate);
  const std::string_view words = ending.words().substr(0, sizeof result.text - 1);
  std::ranges::copy(words, result.text);
  const std::size_t length = std::min(result.length, room);
  if (length != 0) std::memcpy(into, landing.bytes.data(), length);
  return number(length < result.length ? hamlyn::Status::too_long : ending.status);
}

}  // namespace

// --- servers

struct hamlyn_rpc_call {
  enum class Said { nothing, answered, too_long, failed, later, not_owed };
  hamlyn::rpc::Call& call;
  Reply& reply;
  Said said = Said::nothing;
  Ran why = Ran::done;  // it is not owed
  Owed owed{nullptr};
  std::array<char, kMostText + 1> text{};
};

struct hamlyn_rpc_owed {
  explicit hamlyn_rpc_owed(Owed owed) noexcept : it(std::move(owed)) {}
  Owed it;
};

struct hamlyn_rpc_server {
  hamlyn_rpc_server(hamlyn_interface& interface, const char* name,
                    std::span<const hamlyn_rpc_procedure> procedures, void* given,
                    const hamlyn::rpc::ServerOptions& options)
      : use(interface.uses),
        context(given),
        signatures(signatures_of(procedures)),
        functions(functions_of(procedures)),
        it(interface.it, name, offered(signatures), this, options) {}

  static std::vector<std::string> signatures_of(std::span<const hamlyn_rpc_procedure> procedures) {
    std::vector<std::string> out;
    for (const hamlyn_rpc_procedure& each : procedures) {
      if (each.signature == nullptr || each.function == nullptr)
        throw hamlyn::Error(hamlyn::ErrorCode::invalid_argument,
                            "a procedure without a signature or a function");
      out.emplace_back(each.signature);
    }
    return out;
  }
  static std::vector<hamlyn_rpc_function> functions_of(std::span<const hamlyn_rpc_procedure> procedures) {
    std::vector<hamlyn_rpc_function> out;
    for (const hamlyn_rpc_procedure& each : procedures) out.push_back(each.function);
    return out;
  }
  static std::vector<Offered> offered(const std::vector<std::string>& signatures) {
    std::vector<Offered> out;
    out.reserve(signatures.size());
    for (const std::string& each : signatures) out.push_back({procedure_of(each), run, false});
    return out;
  }
  static Ran run(void* object, std::span<std::byte> frame, Reply& reply, hamlyn::rpc::Call& call) {
    const auto& server = *static_cast<const hamlyn_rpc_server*>(object);
    hamlyn_rpc_call one{call, reply};
    hamlyn::internal_::rpc::owing(one.owed, [&] {
      server.functions[call.procedure()](server.context, &one, frame.data(), frame.size());
    });
    switch (one.said) {
      case hamlyn_rpc_call::Said::answered:
        return Ran::done;
      case hamlyn_rpc_call::Said::too_long:
        return Ran::too_long;
      case hamlyn_rpc_call::Said::failed:
        throw std::runtime_error(one.text.data());
      case hamlyn_rpc_call::Said::later:
        one.owed.returned();
        return Ran::later;
      case hamlyn_rpc_call::Said::not_owed:
        return one.why;
      case hamlyn_rpc_call::Said::nothing:
        break;
    }
    return Ran::unanswered;
  }

  Unused uses;
  Use use;
  void* context;
  const std::vector<std::string> signatures;
  const std::vector<hamlyn_rpc_function> functions;
  ServerCore it;
};

const char* hamlyn_rpc_cause_name(std::uint32_t cause) {
  return cause < static_cast<std::uint32_t>(hamlyn::rpc::Cause::count)
             ? name(static_cast<hamlyn::rpc::Cause>(cause))
             : "unknown";
}

hamlyn_status hamlyn_rpc_server_make(hamlyn_interface* interface, const char* name,
                                     const hamlyn_rpc_procedure* procedures, std::size_t count, void* context,
                                     const hamlyn_rpc_server_options* options, hamlyn_rpc_server** made) {
  if (interface == nullptr || name == nullptr || made == nullptr || !readable(procedures, count))
    return invalid_argument(__func__, "a NULL argument");
  hamlyn::rpc::ServerOptions asked;
  if (const char* const wrong = read_options(options, asked)) return invalid_argument(__func__, wrong);
  return make(__func__, made, *interface, name, std::span(procedures, count), context, asked);
}

hamlyn_status hamlyn_rpc_server_free(hamlyn_rpc_server* server) { return free_handle(__func__, server); }

hamlyn_status hamlyn_rpc_run(hamlyn_rpc_server* server) {
  return answer(__func__, {server}, [&] { return server->it.run(); });
}

hamlyn_status hamlyn_rpc_serve_one(hamlyn_rpc_server* server, std::int64_t timeout) {
  return answer(__func__, {server}, [&] { return server->it.serve_one(time_of(timeout)); });
}

hamlyn_status hamlyn_rpc_stop(hamlyn_rpc_server* server) {
  return answer(__func__, {server}, [&] { server->it.stop(); });
}

hamlyn_status hamlyn_rpc_server_descriptor(hamlyn_rpc_server* server, int* descriptor) {
  return answer(__func__, {server, descriptor}, [&] { *descriptor = server->it.descriptor(); });
}

hamlyn_status hamlyn_rpc_server_clients(const hamlyn_rpc_server* server, std::size_t* clients) {
  return answer(__func__, {server, clients}, [&] { *clients = server->it.clients(); });
}

hamlyn_status hamlyn_rpc_answer(hamlyn_rpc_call* call, const void* result, std::size_t length) {
  if (call == nullptr || !readable(result, length)) return invalid_argument(__func__, "a NULL argument");
  if (call->said != hamlyn_rpc_call::Said::nothing) return number(hamlyn::Status::invalid);
  std::span<std::byte> room = call->reply.room();
  if (length <= room.size())
    call->reply.made(length);
  else
    room = call->reply.grow(length);
  call->said = length <= room.size() ? hamlyn_rpc_call::Said::answered : hamlyn_rpc_call::Said::too_long;
  if (length > room.size())
    return number(call->reply.no_memory() ? hamlyn::Status::no_buffer : hamlyn::Status::too_long);
  if (length != 0) std::memcpy(room.data(), result, length);
  return HAMLYN_OK;
}

hamlyn_status hamlyn_rpc_fail(hamlyn_rpc_call* call, const char* text) {
  if (call == nullptr || text == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (call->said != hamlyn_rpc_call::Said::nothing) return number(hamlyn::Status::invalid);
  std::memcpy(call->text.data(), text, ::strnlen(text, kMostText));
  call->said = hamlyn_rpc_call::Said::failed;
  return HAMLYN_OK;
}

hamlyn_status hamlyn_rpc_later(hamlyn_rpc_call* call, hamlyn_rpc_owed** owed) {
  return answer(__func__, {call, owed}, [&] {
    if (call->said != hamlyn_rpc_call::Said::nothing) return hamlyn::Status::invalid;
    auto own = std::make_unique<hamlyn_rpc_owed>(Owed(nullptr));
    const auto [later, ran] = hamlyn::internal_::rpc::go_on(call->call);
    call->said = later ? hamlyn_rpc_call::Said::later : hamlyn_rpc_call::Said::not_owed;
    call->why = ran;
    if (!later) return ran == Ran::too_many ? hamlyn::Status::queue_full : hamlyn::Status::no_buffer;
    own->it = call->owed = later;
    *owed = own.release();
    return hamlyn::Status::ok;
  });
}

hamlyn_status hamlyn_rpc_call_caller(const hamlyn_rpc_call* call, hamlyn_rpc_caller* caller) {
  return answer(__func__, {call, caller}, [&] {
    const std::chrono::nanoseconds left = call->call.left();
    *caller = {};
    caller->client = call->call.client();
    caller->left = left == std::chrono::nanoseconds::max() ? HAMLYN_FOREVER : left.count();
    caller->user = call->call.user();
    caller->urgent = call->call.priority() == hamlyn::Priority::urgent ? 1 : 0;
    const hamlyn::rpc::Trace trace = call->call.trace();
    std::memcpy(caller->trace, trace.data(), trace.size());
  });
}

hamlyn_status hamlyn_rpc_call_cancelled(const hamlyn_rpc_call* call, int* cancelled) {
  return answer(__func__, {call, cancelled}, [&] { *cancelled = call->call.cancelled() ? 1 : 0; });
}

hamlyn_status hamlyn_rpc_owed_give(hamlyn_rpc_owed* owed, const void* result, std::size_t length) {
  if (owed == nullptr || !readable(result, length)) return invalid_argument(__func__, "a NULL argument");
  return number(owed->it.give(bytes_at(result, length)));
}

hamlyn_status hamlyn_rpc_owed_fail(hamlyn_rpc_owed* owed, const char* text) {
  return answer(__func__, {owed, text}, [&] { return owed->it.fail(hamlyn::rpc::Cause::threw, text); });
}

hamlyn_status hamlyn_rpc_owed_cancelled(const hamlyn_rpc_owed* owed, int* cancelled) {
  return answer(__func__, {owed, cancelled}, [&] { *cancelled = owed->it.cancelled() ? 1 : 0; });
}

hamlyn_status hamlyn_rpc_owed_free(hamlyn_rpc_owed* owed) {
  delete owed;
  return HAMLYN_OK;
}

// --- clients

struct hamlyn_rpc_client {
  hamlyn_rpc_client(hamlyn_interface& interface, const char* name, std::span<const char* const> asked,
                    const hamlyn::rpc::ClientOptions& options)
      : use(interface.uses),
        signatures(asked.begin(), asked.end()),
        it(interface.it, name, wanted(signatures), options) {}
  static std::vector<Procedure> wanted(const std::vector<std::string>& signatures) {
    std::vector<Procedure> out;
    out.reserve(signatures.size());
    for (const std::string& each : signatures) out.push_back(procedure_of(each));
    return out;
  }

  Unused uses;
  Use use;
  const std::vector<std::string> signatures;
  ClientCore it;
};

hamlyn_status hamlyn_rpc_client_make(hamlyn_interface* interface, const char* name,
                                     const char* const* signatures, std::size_t count,
                                     const hamlyn_rpc_client_options* options, hamlyn_rpc_client** made) {
  if (interface == nullptr || name == nullptr || made == nullptr || !readable(signatures, count))
    return invalid_argument(__func__, "a NULL argument");
  const std::span<const char* const> all(signatures, count);
  if (std::ranges::count(all, nullptr) != 0) return invalid_argument(__func__, "a NULL signature");
  hamlyn::rpc::ClientOptions asked;
  if (const char* const wrong = read_options(options, asked)) return invalid_argument(__func__, wrong);
  return make(__func__, made, *interface, name, all, asked);
}

hamlyn_status hamlyn_rpc_client_free(hamlyn_rpc_client* client) { return free_handle(__func__, client); }

hamlyn_status hamlyn_rpc_client_has(const hamlyn_rpc_client* client, std::size_t procedure, int* has) {
  return answer(__func__, {client, has}, [&] { *has = client->it.has(procedure) ? 1 : 0; });
}

hamlyn_status hamlyn_rpc_client_reopen(hamlyn_rpc_client* client, std::int64_t timeout) {
  return answer(__func__, {client}, [&] { return client->it.reopen(time_of(timeout)); });
}

namespace {

// Says what is wrong with a call, or null.
const char* call_fault(const hamlyn_rpc_client* client, std::size_t procedure, const void* arguments,
                       std::size_t length) noexcept {
  if (client == nullptr || !readable(arguments, length)) return "a NULL argument";
  return procedure < client->signatures.size() ? nullptr : "the client has no such procedure";
}

}  // namespace

hamlyn_status hamlyn_rpc_do(hamlyn_rpc_client* client, std::size_t procedure, const void* arguments,
                            std::size_t length, const hamlyn_rpc_terms* terms, void* into, std::size_t room,
                            hamlyn_rpc_result* result) {
  if (result == nullptr || !readable(into, room)) return invalid_argument(__func__, "a NULL argument");
  if (const char* const wrong = call_fault(client, procedure, arguments, length))
    return invalid_argument(__func__, wrong);
  Asked asked;
  if (const char* const wrong = read_terms(terms, asked)) return invalid_argument(__func__, wrong);
  Landing landing;
  Ending ending = client->it.start(procedure, bytes_at(arguments, length), asked.terms, true, nullptr);
  if (ending.status == hamlyn::Status::pending) {
    const hamlyn::rpc::CallId call = ending.call;
    ending = client->it.finish(call, asked.terms.time, landing);
    if (hamlyn::internal_::rpc::goes_on(ending.status)) {
      client->it.cancel(call);
      client->it.forget(call);
    }
  }
  return told(ending, landing, into, room, *result);
}

hamlyn_status hamlyn_rpc_start(hamlyn_rpc_client* client, std::size_t procedure, const void* arguments,
                               std::size_t length, const hamlyn_rpc_terms* terms, hamlyn_rpc_id* call) {
  if (call == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (const char* const wrong = call_fault(client, procedure, arguments, length))
    return invalid_argument(__func__, wrong);
  Asked asked;
  if (const char* const wrong = read_terms(terms, asked)) return invalid_argument(__func__, wrong);
  const Ending ending = client->it.start(procedure, bytes_at(arguments, length), asked.terms, false, nullptr);
  if (ending.status != hamlyn::Status::pending) return number(ending.status);
  *call = id_of(ending.call);
  return HAMLYN_OK;
}

hamlyn_status hamlyn_rpc_wait(hamlyn_rpc_client* client, const hamlyn_rpc_id* call, std::int64_t timeout,
                              void* into, std::size_t room, hamlyn_rpc_result* result) {
  if (client == nullptr || call == nullptr || result == nullptr || !readable(into, room))
    return invalid_argument(__func__, "a NULL argument");
  Landing landing;
  const Ending ending = client->it.finish(call_of(*call), time_of(timeout), landing);
  return told(ending, landing, into, room, *result);
}

hamlyn_status hamlyn_rpc_cancel(hamlyn_rpc_client* client, const hamlyn_rpc_id* call) {
  return answer(__func__, {client, call}, [&] { client->it.cancel(call_of(*call)); });
}

hamlyn_status hamlyn_rpc_drop(hamlyn_rpc_client* client, const hamlyn_rpc_id* call) {
  return answer(__func__, {client, call}, [&] { client->it.forget(call_of(*call)); });
}

hamlyn_status hamlyn_rpc_settle(hamlyn_rpc_client* client, const hamlyn_rpc_id* call, std::int64_t timeout,
                                std::uint32_t* fate) {
  return answer(__func__, {client, call, fate}, [&] {
    *fate = static_cast<std::uint32_t>(client->it.settle(call_of(*call), time_of(timeout)));
  });
}
