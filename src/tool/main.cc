// The command `hamlyn`: reads the command line, runs one command, and turns how it ended into one line and a
// status.
#include <cstdio>
#include <new>
#include <stdexcept>

#include "base/descriptor_table.h"
#include "base/standard_output.h"
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

// A standard error that takes nothing changes no exit status.
void tell(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// Says why on standard error, in a line, and as a JSON object where the command was to print one.
int fail(const CommandLine& said, const Failure& failure) {
  if (said.json == CommandLine::Json::on_error) {
    tell(to_json(said.command, failure));
    return failure.exit();
  }
  tell(line(said.command, failure));
  if (said.json == CommandLine::Json::none) return failure.exit();
  try {
    base::print(to_json(said.command, failure) + "\n");
    base::flush_output();
  } catch (const Error&) {  // it is what has failed, perhaps
  }
  return failure.exit();
}

// Exit status 0 says that the output was written, whichever command it is of.
int run_to_the_end(const CommandLine& line) {
  int status = kOk;
  if (line.help.empty()) {
    status = run(line);
  } else {
    base::print(line.help);
  }
  base::finish_output();
  return status;
}

int run_command(int argc, char** argv) {
  base::fill_standard_descriptors();
  CommandLine line;
  try {
    read_command_line(argc, argv, line);
    return run_to_the_end(line);
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
