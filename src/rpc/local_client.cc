#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>

#include "hamlyn/rpc/client.h"
#include "hamlyn/rpc/local_call.h"
#include "library/wait/deadline.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "rpc/ending.h"
#include "rpc/local_call.h"

namespace hamlyn {

namespace local = internal_::rpc::local;

using internal_::rpc::Ending;
using internal_::rpc::Landing;

namespace {

[[noreturn]] void throw_no_service(const std::string& why) {
  throw Error(ErrorCode::seed_wrong_kind, "no service of local calls is registered there: " + why);
}

std::vector<internal_::rpc::Procedure> wanted() {
  std::vector<internal_::rpc::Procedure> out;
  out.push_back(local::procedure());
  return out;
}

// Says how a call ended, as its caller is told.
Status told(const Ending& ending) noexcept {
  if (ending.status != Status::refused) return ending.status;
  switch (ending.cause) {
    case rpc::Cause::bad_arguments:
      return Status::too_long;
    case rpc::Cause::no_memory:
      return Status::no_buffer;
    case rpc::Cause::unanswered:  // the service goes
      return Status::link_ended;
    default:
      return Status::refused;
  }
}

}  // namespace

struct LocalClient::Connection {
  Connection(Interface& interface, std::string_view service, const Options& options) try
      : core(interface, service, wanted(),
             {.stacks = local::kCalls,
              .frame = local::short_room(options.reply),
              .result = local::long_room(options.reply),
              .timeout = options.timeout}) {
    if (!core.has(0)) throw_no_service("a server of other calls is");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::version_mismatch) throw_no_service(error.what());
    throw;
  }

  Status call(std::span<const std::byte> request, std::chrono::nanoseconds timeout, Landing& into) noexcept;
  // Where the last reply to this thread stays. Null: no memory.
  Landing* landing() noexcept {
    try {
      const std::lock_guard guard(mutex);
      return &landings[std::this_thread::get_id()];
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  internal_::rpc::ClientCore core;
  std::mutex mutex;  // of the next
  std::unordered_map<std::thread::id, Landing> landings;
};

Status LocalClient::Connection::call(std::span<const std::byte> request, std::chrono::nanoseconds timeout,
                                     Landing& into) noexcept {
  library::Patience patience(timeout);
  internal_::rpc::Terms terms;
  Ending begun = core.start(0, request, terms, false, nullptr);
  if (internal_::rpc::may_start_later(begun.status)) [[unlikely]] {
    static_cast<void>(patience.deadline());
    terms.time = timeout;
    begun = core.start(0, request, terms, true, nullptr);
    if (begun.status == Status::timed_out) return Status::not_ready;
  }
  if (begun.status != Status::pending) return told(begun);
  const Ending ending = core.finish(begun.call, patience.left(), into);
  if (internal_::rpc::goes_on(ending.status)) {
    core.cancel(begun.call);
    core.forget(begun.call);
  }
  return told(ending);
}

LocalClient::LocalClient(Interface& interface, std::string_view service, const Options& options) try
    : connection_(std::make_unique<Connection>(interface, service, options)) {
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a client of a service");
}

LocalClient::~LocalClient() = default;

Status LocalClient::call(std::span<const std::byte> request, std::span<const std::byte>& reply,
                         std::chrono::nanoseconds timeout) noexcept {
  // There another thread may have had the mutex.
  if (connection_->core.interface().waiting().forked()) return Status::forked;
  Landing* const landing = connection_->landing();
  if (landing == nullptr) return Status::no_buffer;
  const Status status = connection_->call(request, timeout, *landing);
  if (status == Status::ok) reply = landing->bytes;
  return status;
}

Status LocalClient::call_for(std::span<const std::byte> request, std::span<std::byte> reply,
                             std::chrono::nanoseconds timeout) noexcept {
  Landing landing;
  const Status status = connection_->call(request, timeout, landing);
  if (status != Status::ok) return status;
  if (landing.bytes.size() != reply.size()) return Status::broken;
  if (!reply.empty()) std::memcpy(reply.data(), landing.bytes.data(), reply.size());
  return Status::ok;
}

}  // namespace hamlyn
