// `hamlyn calls`: lists the procedures of a service, or calls one.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/standard_output.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/rpc.h"
#include "tool/call_words.h"
#include "tool/failure.h"
#include "tool/node_view.h"
#include "tool/options.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

void print_list(const CallsOptions& options, const std::vector<std::string>& signatures) {
  if (options.json) {
    base::print(ordered_json{{"name", options.name}, {"procedures", signatures}}.dump() + "\n");
    return;
  }
  for (const std::string& each : signatures) base::print(each + "\n");
}

std::string find(const CallsOptions& options, const std::vector<std::string>& signatures) {
  const auto named = [&](const std::string& each) { return each.starts_with(options.procedure + "("); };
  const auto found = std::ranges::find_if(signatures, named);
  if (found != signatures.end()) return *found;
  throw Failure(fmt::format("'{}' has no procedure '{}'", options.name, options.procedure), "no_procedure",
                fmt::format("'hamlyn calls {}' lists those that it has", options.name));
}

// Throws Failure unless it is ok.
void check(const internal_::rpc::Ending& ending) {
  if (ending.status == Status::ok) return;
  if (ending.cause == rpc::Cause::threw)
    throw Failure(fmt::format("the procedure has failed: {}", ending.words()), name(ending.cause),
                  "see what it takes");
  if (ending.cause != rpc::Cause::none)
    throw Failure("the server has refused the call", name(ending.cause), "see docs/calls.md");
  throw failure("the call has not ended well", ending.status);
}

ordered_json call(Interface& interface, const CallsOptions& options, const std::string& words) {
  const Signature signature = signature_of(words);
  const std::vector<std::byte> frame = frame_of(signature, options.arguments);
  internal_::rpc::ClientCore client(interface, options.name,
                                    {internal_::rpc::procedure_of(signature.name, words)},
                                    {.stacks = 1, .timeout = options.timeout});
  internal_::rpc::Terms terms{.time = options.timeout};
  internal_::rpc::Ending ending = client.start(0, frame, terms, true, nullptr);
  internal_::rpc::Landing landing;
  if (ending.status == Status::pending) ending = client.finish(ending.call, terms.time, landing);
  check(ending);
  return result_of(signature, landing.bytes);
}

void print_result(const CallsOptions& options, const ordered_json& result) {
  if (options.json) {
    base::print(
        ordered_json{{"name", options.name}, {"procedure", options.procedure}, {"result", result}}.dump() +
        "\n");
  } else if (!result.is_null()) {
    base::print((result.is_string() ? result.get<std::string>() : result.dump()) + "\n");
  }
}

}  // namespace

void run_calls(const CallsOptions& options) {
  Stop stop;
  Manager manager({.interface = {.node = options.node, .start_node = options.node.empty()}});
  const Stop::Cancels cancels(stop, manager);
  try {
    const std::vector<std::string> signatures =
        rpc::procedures(manager.interface(), options.name, options.timeout);
    if (options.procedure.empty()) return print_list(options, signatures);
    print_result(options, call(manager.interface(), options, find(options, signatures)));
  } catch (const rpc::Failed& failed) {
    check_stop("the server was asked");
    throw failure(failed.what(), failed.status());
  } catch (const Error& error) {
    check_stop("the server was asked");
    if (error.code() != ErrorCode::timed_out) throw;
    throw Failure(fmt::format("no service '{}' has answered in the time given{}", options.name,
                              where_asked(options.node)),
                  name(error.code()), "see whether it is there and serves, or give more time with --timeout",
                  kTimedOut);
  }
}

}  // namespace hamlyn::tool
