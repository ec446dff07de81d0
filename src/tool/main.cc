// The command `hamlyn`: reads the command line, runs one command, and turns how it ended into one line and a
// status.
#include <fmt/core.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "base/descriptor_table.h"
#include "tool/command_line.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

int run(const CommandLine& line) {
  if (line.command == "send") run_send(line.send);
  if (line.command == "receive") run_receive(line.receive);
  if (line.command == "node") run_node(line.node);
  if (line.command == "top") run_top(line.top);
  if (line.command == "doctor") return run_doctor(line.doctor);
  if (line.command == "sim") return run_sim(line.sim);
#ifdef HAMLYN_WITH_PERF
  if (line.command == "perf") return run_perf(line.perf);
#endif
  return kOk;
}

int fail(const CommandLine& said, const Failure& failure) {
  fmt::print(stderr, "{}\n", line(said.command, failure));
  return failure.exit();
}

int run_command(int argc, char** argv) {
  base::fill_standard_descriptors();
  CommandLine line;
  try {
    read_command_line(argc, argv, line);
    if (line.help.empty()) return run(line);
    fmt::print("{}", line.help);
    return kOk;
  } catch (const Failure& failed) {
    return fail(line, failed);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return fail(line, interrupted(error.what()));  // by Ctrl-C
    return fail(line, failure(error));
  } catch (const std::bad_alloc&) {
    return fail(line, failure(Error(ErrorCode::out_of_memory, "no memory")));
  } catch (const std::invalid_argument& error) {  // of perf, as is the next
    return fail(line, {error.what(), "usage", "see 'hamlyn " + line.command + " --help'", kUsage});
  } catch (const std::exception& error) {
    return fail(line, {error.what(), "system", "see what the message says, and try again"});
  }
}

}  // namespace
}  // namespace hamlyn::tool

int main(int argc, char** argv) { return hamlyn::tool::run_command(argc, argv); }
